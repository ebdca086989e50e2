"""What was done to memories, in a list: how it is undone, and when it is removed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from core.storage.parting import REPEATED, Logged
from core.storage.record import storable
from core.types import Change, ChangeKind, MemoryItem, UserKey


@dataclass(slots=True)
class Entry:
    """A memory with the number that says how old it is, whose it is, and its phrases (text to id)."""

    number: int
    account: UserKey
    item: MemoryItem
    phrases: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class RecordedChange:
    """A change, whose it is, the number of its memory, whose words it replaced, and who made it.

    One that is `repeated` changes nothing: its speaker said the memory, too.
    """

    owner: UserKey
    account: UserKey
    number: int
    change: Change
    speaker: UserKey
    repeated: bool = False

    @property
    def key(self) -> str:
        """The id of its memory."""
        return self.change.memory_id

    @property
    def stands(self) -> bool:
        """Whether it changed something, and that was not taken back."""
        return not self.repeated and not self.change.undone


@dataclass(frozen=True, slots=True)
class Step:
    """What an act made of one memory in all: how it was before its first change, and after its last."""

    number: int
    account: UserKey
    before: MemoryItem | None
    after: MemoryItem | None


class InMemoryChanges:
    """All changes of everybody's, oldest first."""

    def __init__(self) -> None:
        self._kept: list[RecordedChange] = []

    def record(self, owner: UserKey, entry: Entry, change: Change, account: UserKey, speaker: UserKey) -> None:
        """Keep what an act made of a memory that had that account's words."""
        self._kept.append(RecordedChange(owner, account, entry.number, change, speaker))

    def repeat(self, owner: UserKey, entry: Entry, change: Change, speaker: UserKey) -> None:
        """Keep, in place of what it said before, in which words another account said a memory, too."""
        key = entry.item.id
        self._kept = [each for each in self._kept if not (each.repeated and (each.key, each.speaker) == (key, speaker))]
        self._kept.append(RecordedChange(owner, entry.account, entry.number, change, speaker, repeated=True))

    def of(self, owner: UserKey, *, act: str = "", memory_id: str = "") -> list[RecordedChange]:
        """Return the owner's changes, all or those of an act or a memory."""
        return [
            kept
            for kept in self._kept
            if kept.owner == owner
            and not kept.repeated
            and act in {"", kept.change.act}
            and memory_id in {"", kept.change.memory_id}
        ]

    def whose(self, act: str) -> UserKey | None:
        """Return the account that made those changes."""
        return next((kept.speaker for kept in self._kept if kept.change.act == act), None)

    def steps(self, owner: UserKey, act: str) -> Mapping[str, Step]:
        """Map memory ids to what an act, if it stands, made of each."""
        steps: dict[str, Step] = {}
        for kept in self._lasting(owner, act):
            change = kept.change
            known = steps.get(change.memory_id)
            new = Step(kept.number, kept.account, change.before, change.after)
            steps[change.memory_id] = new if known is None else replace(known, after=change.after)
        return steps

    def overtaken(self, owner: UserKey, act: str) -> bool:
        """Tell whether another act that stands changed one of the memories later."""
        mine: set[str] = set()
        for kept in self._kept:
            change = kept.change
            if kept.owner == owner and change.act == act and kept.stands:
                mine.add(change.memory_id)
            elif change.memory_id in mine and kept.stands:
                return True
        return False

    def undone(self, owner: UserKey, act: str) -> Sequence[Change]:
        """Mark an act as taken back, forget what it had saved, and return its changes, newest first."""
        steps, changes = self.steps(owner, act), []
        for kept in self._lasting(owner, act):
            kept.change = replace(kept.change, undone=True)
            changes.append(kept.change)
        for key in [key for key, step in steps.items() if step.before is None]:
            self.drop(key)
        again = [kept for kept in self._kept if kept.repeated and kept.key in steps and kept.change.act == act]
        self._kept = [kept for kept in self._kept if kept not in again]
        return changes[::-1]

    def drop(self, memory_id: str) -> None:
        """Forget every change of a memory."""
        self._kept = [kept for kept in self._kept if kept.change.memory_id != memory_id]

    def purge(self, before: datetime) -> int:
        """Forget every change of what was deleted before then; return how many memories those are."""
        last: dict[str, datetime] = {}
        for kept in self._kept:
            if kept.change.kind is ChangeKind.DELETED and not kept.change.undone:
                last[kept.change.memory_id] = kept.change.at
        gone = [key for key, at in last.items() if at < before]
        for key in gone:
            self.drop(key)
        return len(gone)

    def link(self, owner: UserKey, other: UserKey) -> None:
        """Put the other account's changes under the owner."""
        for kept in self._kept:
            if kept.owner == other:
                kept.owner, kept.account, kept.speaker = owner, other, other

    def unlink(self, other: UserKey) -> None:
        """Give the changes of the other account's memories back."""
        for kept in self._kept:
            if kept.account == other:
                kept.owner = other

    def log(self, owner: UserKey, memory_id: str) -> list[Logged[UserKey]]:
        """Return the changes of a memory that stand, and who repeated it, numbered by their places."""
        return [
            Logged(place, kept.account, kept.speaker, REPEATED if kept.repeated else change.kind, change.act, *states)
            for place, kept in enumerate(self._kept, 1)
            for change in [kept.change]
            for states in [(None if kept.repeated else change.before, change.after)]
            if kept.owner == owner and kept.key == memory_id and (kept.repeated or kept.stands)
        ]

    def mixed(self, owner: UserKey) -> list[str]:
        """Return the memories in which both of the owner's accounts have words."""
        return list(dict.fromkeys(e.key for e in self._kept if e.owner == owner and e.speaker != e.account))

    def rewrite(self, account: UserKey, number: int, place: int, change: Change) -> RecordedChange:
        """Make the change at that place one of an account's own."""
        old = self._kept[place - 1]
        kept = replace(old, account=account, speaker=account, number=number, change=change, repeated=False)
        self._kept[place - 1] = kept
        return kept

    def keep_of(self, memory_id: str, kept: Collection[RecordedChange], more: Sequence[RecordedChange]) -> None:
        """Forget the changes of a memory but those; and add some."""
        self._kept = [each for each in self._kept if each.key != memory_id or any(each is one for one in kept)]
        self._kept += more

    def at(self, place: int) -> datetime:
        """Return when the change at that place was made."""
        return self._kept[place - 1].change.at

    def rename(self, memory_id: str, act: str, account: UserKey, after: MemoryItem) -> None:
        """Make the saving of an earlier version a part of another act, "" for none."""
        for kept in self._kept:
            if kept.key == memory_id and kept.change.kind is ChangeKind.SAVED and act:
                kept.change = replace(kept.change, act=act, after=after)
                kept.account = kept.speaker = account
        if not act:
            self.drop(memory_id)

    def drop_versions(self, owner: UserKey, act: str, memory_id: str) -> None:
        """Forget the earlier versions that were deleted together with a memory."""
        for kept in self.of(owner, act=act):
            before = kept.change.before
            if kept.change.kind is ChangeKind.DELETED and before is not None and before.current == memory_id:
                self.drop(kept.key)

    def forget(self, owner: UserKey) -> None:
        """Forget all of an owner's."""
        self._kept = [kept for kept in self._kept if kept.owner != owner]

    def _lasting(self, owner: UserKey, act: str) -> list[RecordedChange]:
        return [kept for kept in self.of(owner, act=act) if act and not kept.change.undone]


def with_rooms(rooms: tuple[str, ...], *more: str) -> tuple[str, ...]:
    """Return the rooms, in order, with those of the others that are any."""
    return tuple(sorted({*rooms, *(storable(room) for room in more if room)}))


def said(item: MemoryItem | None) -> tuple[object, ...]:
    """Return what must be as an act left it for that to be taken back; flags and rooms may have been changed since."""
    return () if item is None else (item.draft, item.updated_at)
