"""What was done to memories, in a list: how it is undone, and when it is removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

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
    """A change, whose it is, and the number and account of its memory."""

    owner: UserKey
    account: UserKey
    number: int
    change: Change


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

    def record(self, owner: UserKey, entry: Entry, change: Change) -> None:
        """Keep what an act made of a memory."""
        self._kept.append(RecordedChange(owner, entry.account, entry.number, change))

    def of(self, owner: UserKey, *, act: str = "", memory_id: str = "") -> list[RecordedChange]:
        """Return the owner's changes, all or those of an act or a memory."""
        return [
            kept
            for kept in self._kept
            if kept.owner == owner and act in {"", kept.change.act} and memory_id in {"", kept.change.memory_id}
        ]

    def whose(self, act: str) -> UserKey | None:
        """Return the account that made those changes."""
        return next((kept.account for kept in self._kept if kept.change.act == act), None)

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
            if kept.owner == owner and change.act == act and not change.undone:
                mine.add(change.memory_id)
            elif change.memory_id in mine and not change.undone:
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
                kept.owner, kept.account = owner, other

    def unlink(self, other: UserKey) -> None:
        """Give the changes of the other account's memories back."""
        for kept in self._kept:
            if kept.account == other:
                kept.owner = other

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
