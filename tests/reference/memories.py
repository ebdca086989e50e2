"""The truth about memories, in dicts and numpy: the reference that the database is held to, and good for dry runs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from core.storage.parting import Version, kind_of, versions
from core.storage.record import checked, digest, random_id, storable
from core.stores import NO_CHANGE_CONTEXT, ChangeContext, Done, MemoryStore, Merge, Saved, Share
from core.types import Change, ChangeKind, MemoryDraft, MemoryItem, MemoryKind, MessageKey, UserKey, Vector
from tests.reference.changes import Entry, InMemoryChanges, RecordedChange, Step, said, with_rooms
from tests.reference.phrases import InMemoryPhrases, check_space


@dataclass(frozen=True, slots=True)
class _Given:
    """What a save is given beside its drafts."""

    owner: UserKey
    at: datetime
    source_ids: Sequence[int]
    vectors: Mapping[str, Vector]
    space: str
    context: ChangeContext


class InMemoryMemories(InMemoryPhrases, MemoryStore):
    """Gone with the process."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers = itertools.count(1)
        self._changes = InMemoryChanges()

    async def save(
        self,
        owner: UserKey,
        drafts: Sequence[MemoryDraft],
        *,
        at: datetime,
        merge: Merge,
        source_ids: Sequence[int] = (),
        vectors: Mapping[str, Vector] | None = None,
        space: str = "",
        context: ChangeContext = NO_CHANGE_CONTEXT,
    ) -> Saved:
        """Keep the drafts that are new; what is known becomes what `merge` makes of both."""
        ready = [checked(draft) for draft in drafts]
        check_space(vectors, space)
        given = _Given(owner, at, source_ids, vectors or {}, space, context)
        for draft in ready:  # all or nothing
            if known := self._found(owner, draft.kind, draft.content, context.room):
                checked(merge(known.item, draft)[0])
        entries, new = [], set()
        for draft in ready:
            entry = self._found(owner, draft.kind, draft.content, context.room)
            if entry is None:
                entry = self._add(draft, given)
                new.add(entry.item.id)
            else:
                self._say_again(entry, *merge(entry.item, draft), given, draft)
            entries.append(entry)
        return Saved([entry.item for entry in entries], frozenset(new))

    async def update(
        self,
        owner: UserKey,
        memory_id: str,
        draft: MemoryDraft,
        *,
        at: datetime,
        vectors: Mapping[str, Vector] | None = None,
        space: str = "",
        context: ChangeContext = NO_CHANGE_CONTEXT,
        rooms: Sequence[str] = (),
        shared: bool = False,
        source_ids: Sequence[int] = (),
        keeps_past: bool = False,
    ) -> MemoryItem | None:
        """Replace kind, content, bindings and where they are heard; None if the owner has no such memory.

        Raises:
            ValueError: no binding, or an empty one; nothing is changed.
        """
        ready = checked(draft)
        check_space(vectors, space)
        entry = self._of(owner).get(memory_id)
        if entry is None:
            return None
        before, account = entry.item, entry.account
        if keeps_past and not before.current:
            past = replace(before, id=random_id(), current=before.id, until=at, pinned=False)
            copy = Entry(next(self._numbers), entry.account, past)
            known = {text: self._vectors_of(phrase_id) for text, phrase_id in entry.phrases.items()}
            self._keep(owner, copy, {}, "")
            for text, kept in known.items():
                self._vectors.update({(copy.phrases[text], name): vector for name, vector in kept.items()})
            self._record(owner, context, copy, Change(context.act, ChangeKind.SAVED, at, None, past))
        entry.item = _saying(
            before,
            ready,
            updated_at=at,
            rooms=with_rooms((), context.room, *rooms),
            shared=shared,
            source_ids=tuple(sorted({*before.source_ids, *source_ids})),
        )
        speaker = self._account(owner, context.account or owner)
        if entry.item.content != before.content:
            entry.account = speaker
        self._set_phrases(entry, vectors or {}, space)
        change = Change(context.act, ChangeKind.UPDATED, at, before, entry.item)
        self._record(owner, context, entry, change, account=account, speaker=speaker)
        self._bump(owner)
        return entry.item

    async def delete(
        self,
        owner: UserKey,
        memory_ids: Sequence[str],
        *,
        at: datetime | None = None,
        context: ChangeContext = NO_CHANGE_CONTEXT,
    ) -> Sequence[MemoryItem]:
        """Delete those of the ids that the owner has; return what was deleted."""
        wanted = dict.fromkeys([*memory_ids, *(item.id for item in await self.earlier(owner, memory_ids))])
        gone = [self._remove(owner, key) for key in wanted if key in self._of(owner)]
        for entry in sorted(gone, key=lambda entry: entry.number):
            if context.act and at is not None:
                self._record(owner, context, entry, Change(context.act, ChangeKind.DELETED, at, entry.item, None))
            else:
                self._changes.drop(entry.item.id)
        return [entry.item for entry in gone if entry.item.id in memory_ids]

    async def flag(
        self,
        owner: UserKey,
        memory_ids: Sequence[str],
        *,
        pinned: bool | None = None,
        shared: bool | None = None,
        room: str = "",
    ) -> Sequence[MemoryItem]:
        """Set what is given of those of the owner's memories, add a room that they were said in, and return them."""
        held = self._of(owner)
        for entry in [held[key] for key in memory_ids if key in held]:
            entry.item = replace(
                entry.item,
                pinned=entry.item.pinned if pinned is None else pinned,
                shared=entry.item.shared if shared is None else shared,
                rooms=with_rooms(entry.item.rooms, room),
            )
        for past in await self.earlier(owner, memory_ids) if shared is False else ():
            held[past.id].item = replace(past, shared=False)
        self._bump(owner)
        return await self.get(owner, memory_ids)

    async def changes(
        self,
        owner: UserKey,
        *,
        act: str = "",
        memory_id: str = "",
        since: datetime | None = None,
        not_undone: bool = False,
        limit: int | None = None,
    ) -> Sequence[Change]:
        """Return what was changed, the newest first: all of it, that of one act, or that of one memory."""
        found = [kept.change for kept in self._changes.of(self._owner(owner), act=storable(act), memory_id=memory_id)]
        wanted = [c for c in found if (since is None or c.at >= since) and not (not_undone and c.undone)]
        return wanted[::-1][:limit]

    async def undo(
        self, owner: UserKey, act: str, *, context: ChangeContext = NO_CHANGE_CONTEXT, keeps: bool = False
    ) -> Sequence[Change] | None:
        """Take back all of an act and return its changes, the newest first, marked as undone."""
        del context, keeps  # nothing is answered again
        owner, act = self._owner(owner), storable(act)
        steps, held = self._changes.steps(owner, act), self._of(owner)
        now = {key: held[key].item if key in held else None for key in steps}
        as_left = all(said(now[key]) == said(step.after) for key, step in steps.items())
        of = {step.before.current for step in steps.values() if step.before} - {""}
        if not steps or not as_left or not of <= held.keys() | steps.keys() or self._changes.overtaken(owner, act):
            return None
        for key, step in steps.items():
            self._take_back(owner, key, step)
        self._bump(owner)
        return self._changes.undone(owner, act)

    async def done(self, owner: UserKey, message: MessageKey) -> Done:
        """Return nothing: there is no inbox here, and so nothing is answered again."""
        del owner, message
        return Done()

    async def purge(self, before: datetime) -> int:
        """Forget all changes of memories that were deleted before then; return how many those are."""
        return self._changes.purge(before)

    async def link(self, owner: UserKey, other: UserKey, message: MessageKey | None = None) -> None:
        """Put all that the other account has under the owner.

        Raises:
            ValueError: one of them is linked already, or both are the same.
        """
        del message
        if owner == other or {owner, other} & {*self._linked, *self._linked.values()}:
            raise ValueError("an account is linked to one other")
        self._linked[other] = owner
        self._bump(owner, removed=True)
        moved = self._owners.pop(other, {})
        for entry in moved.values():
            entry.account = other
        self._owners.setdefault(owner, {}).update(moved)
        self._changes.link(owner, other)

    async def unlink(self, owner: UserKey, other: UserKey) -> None:
        """Give the other account back what came from it; accounts that are not linked are fine."""
        if self._linked.get(other) != owner:
            return
        held = self._of(owner)
        past = [e.item.current for e in held.values() if e.item.current and e.account != held[e.item.current].account]
        for key in dict.fromkeys([*self._changes.mixed(owner), *past]):
            self._part(owner, key)
        del self._linked[other]
        for account in (owner, other):
            self._bump(account, removed=True)
        held = self._of(owner)
        for key in [key for key, entry in held.items() if entry.account == other]:
            self._owners.setdefault(other, {})[key] = held.pop(key)
        self._changes.unlink(other)

    async def whose(self, act: str) -> UserKey | None:
        """Return the account that made those changes."""
        return self._changes.whose(storable(act))

    async def accounts(self, user: UserKey) -> Sequence[UserKey]:
        """Return every account of that person's, the owner first."""
        owner = self._owner(user)
        return [owner, *(other for other, main in self._linked.items() if main == owner)]

    async def shares(self, owner: UserKey) -> Mapping[UserKey, Share]:
        """Return what each of the owner's accounts would have if they were parted now."""
        main, held, accounts = self._owner(owner), self._of(owner), await self.accounts(owner)
        mixed = set(self._changes.mixed(main))
        mixed |= {e.item.current for e in held.values() if e.item.current and e.account != held[e.item.current].account}
        own: dict[UserKey, set[str]] = {account: set() for account in accounts}
        counts = dict.fromkeys(accounts, 0)
        for key, entry in held.items():
            if not {key, entry.item.current} & mixed:
                own[entry.account].add(key)
            said = self._said(main, key) if key in mixed else (entry.account,)
            for account in said if not entry.item.current else ():
                counts[account] += 1
        return {account: Share(frozenset(own[account]), counts[account]) for account in accounts}

    async def get(self, owner: UserKey, memory_ids: Sequence[str]) -> Sequence[MemoryItem]:
        """Return those of the ids that the owner has, in the order asked."""
        held = self._of(owner)
        return [held[key].item for key in dict.fromkeys(memory_ids) if key in held]

    async def earlier(self, owner: UserKey, memory_ids: Sequence[str]) -> Sequence[MemoryItem]:
        """Return the earlier versions of those memories of the owner's, the newest first."""
        found = [entry for entry in self._of(owner).values() if entry.item.current in set(memory_ids) - {""}]
        return [entry.item for entry in sorted(found, key=lambda each: (each.item.until, each.number), reverse=True)]

    async def find(self, owner: UserKey, kind: MemoryKind, content: str, *, room: str = "") -> MemoryItem | None:
        """Return the owner's memory of that kind and content, one that has it to the letter first, or None."""
        found = self._found(owner, kind, content, room)
        return None if found is None else found.item

    async def page(
        self,
        owner: UserKey,
        *,
        limit: int,
        before: str = "",
        skip: int = 0,
        kind: MemoryKind | None = None,
        room: str = "",
    ) -> Sequence[MemoryItem]:
        """Return the pinned first, then the newest, of one kind or all; with `before`, what comes after that one."""
        held = self._of(owner)
        newest = sorted(self._narrowed(owner, kind, room), key=_place, reverse=True)
        if before:
            newest = [entry for entry in newest if before in held and _place(entry) < _place(held[before])]
        return [entry.item for entry in newest[skip : skip + max(limit, 0)]]

    async def count(self, owner: UserKey, kind: MemoryKind | None = None, *, room: str = "") -> int:
        """Return how many memories the owner has, of one kind or all; with a `room`, how many are audible there."""
        return len(self._narrowed(owner, kind, room))

    async def owners(self) -> Sequence[UserKey]:
        """Return everybody who has a memory."""
        return [owner for owner, held in self._owners.items() if held]

    async def forget(self, owner: UserKey) -> int:
        """Delete everything of all of the owner's accounts, links included; return how many memories that were."""
        count = await self.count(owner)
        held = self._owners.pop(self._owner(owner), {})
        for entry in held.values():
            self._drop_vectors(entry.phrases.values())
        self._bump(owner, removed=True)
        accounts = await self.accounts(owner)
        self._changes.forget(accounts[0])
        for account in accounts[1:]:
            del self._linked[account]
        return count

    def _found(self, owner: UserKey, kind: MemoryKind, content: str, room: str) -> Entry | None:
        text, place = storable(content), storable(room)
        alike = [
            entry
            for entry in self._of(owner).values()
            if (entry.item.kind, digest(kind, entry.item.content), entry.item.current) == (kind, digest(kind, text), "")
            and (not room or entry.item.content == text or place in entry.item.rooms)
        ]
        return min(alike, key=lambda entry: (entry.item.content != text, entry.number), default=None)

    @staticmethod
    def _new(draft: MemoryDraft, given: _Given) -> MemoryItem:
        said_at = min(draft.said_at or given.at, given.at)
        return MemoryItem(
            id=random_id(),
            kind=draft.kind,
            content=draft.content,
            bindings=draft.bindings,
            created_at=said_at,
            updated_at=said_at,
            source_ids=tuple(sorted(set(given.source_ids))),
            rooms=with_rooms((), given.context.room),
            until=draft.until,
            meant=draft.meant,
        )

    def _add(self, draft: MemoryDraft, given: _Given) -> Entry:
        item = self._new(draft, given)
        entry = Entry(next(self._numbers), self._account(given.owner, given.context.account or given.owner), item)
        self._keep(given.owner, entry, given.vectors, given.space)
        self._record(
            given.owner, given.context, entry, Change(given.context.act, ChangeKind.SAVED, given.at, None, item)
        )
        return entry

    def _say_again(
        self, entry: Entry, draft: MemoryDraft, rooms: Sequence[str], given: _Given, said: MemoryDraft
    ) -> None:
        speaker = self._account(given.owner, given.context.account or given.owner)
        if speaker != entry.account:
            words = replace(self._new(said, given), id=entry.item.id)
            again = Change(storable(given.context.act), ChangeKind.SAVED, given.at, None, words)
            self._changes.repeat(self._owner(given.owner), entry, again, speaker)
        before, ready, heard = entry.item, checked(draft), with_rooms((), *rooms)
        entry.item = replace(before, source_ids=tuple(sorted({*before.source_ids, *given.source_ids})))
        if (_saying(before, ready).draft, heard) != (before.draft, before.rooms):
            entry.item = _saying(entry.item, ready, updated_at=given.at, rooms=heard)
            self._set_phrases(entry, given.vectors, given.space)
            change = Change(given.context.act, ChangeKind.UPDATED, given.at, before, entry.item)
            self._record(given.owner, given.context, entry, change, speaker=speaker)
        self._bump(given.owner)

    def _narrowed(self, owner: UserKey, kind: MemoryKind | None, room: str) -> list[Entry]:
        heard = self._audible(owner, room) if room else self._of(owner).keys()
        return [
            entry
            for key, entry in self._of(owner).items()
            if key in heard and kind in {None, entry.item.kind} and not entry.item.current
        ]

    def _account(self, owner: UserKey, account: UserKey) -> UserKey:
        """Return which of the owner's accounts that is; the owner, where it is none of theirs."""
        return account if self._owner(account) == self._owner(owner) else self._owner(owner)

    def _keep(self, owner: UserKey, entry: Entry, vectors: Mapping[str, Vector], space: str) -> None:
        self._owners.setdefault(self._owner(owner), {})[entry.item.id] = entry
        self._set_phrases(entry, vectors, space)
        self._bump(owner)

    def _remove(self, owner: UserKey, key: str) -> Entry:
        entry = self._of(owner).pop(key)
        self._drop_vectors(entry.phrases.values())
        self._bump(owner, removed=True)
        return entry

    def _record(
        self,
        owner: UserKey,
        context: ChangeContext,
        entry: Entry,
        change: Change,
        *,
        account: UserKey | None = None,
        speaker: UserKey | None = None,
    ) -> None:
        if context.act:
            done = replace(change, act=storable(context.act))
            whose = account or entry.account
            self._changes.record(self._owner(owner), entry, done, whose, speaker or whose)

    def _said(self, owner: UserKey, key: str) -> Mapping[UserKey, Sequence[Version]]:
        """Map the accounts to what each said of a memory, oldest first."""
        there = self._of(owner).get(key)
        kept = [(entry.account, entry.item) for entry in (*self._past(owner, key), *([there] if there else []))]
        return versions(self._changes.log(owner, key), kept, {})

    def _past(self, owner: UserKey, key: str) -> list[Entry]:
        found = [entry for entry in self._of(owner).values() if entry.item.current == key]
        return sorted(found, key=lambda each: (each.item.until, each.number))

    def _part(self, owner: UserKey, key: str) -> None:
        """Give each account its own last words of a memory, and the changes of them."""
        said, past, log = self._said(owner, key), self._past(owner, key), self._changes.log(owner, key)
        there = self._of(owner).get(key)
        deleted = next((row for row in reversed(log) if row.after is None), None)
        pinned, whose = (there.item.pinned, there.account) if there else (False, deleted.account if deleted else None)
        kept, more = [], []
        for account, history in said.items() if there or deleted else ():
            entry = self._place_of(account, history, there if account == whose else None, past, pinned=pinned)
            if account == whose:
                entry.item = replace(entry.item, id=key)
            if there:
                self._of(owner)[entry.item.id] = entry
                self._set_phrases(entry, {}, "")
            self._keep_versions(account, history, entry, past)
            before: MemoryItem | None = None
            for version in history:
                item = replace(version.item, id=entry.item.id)
                if version.number:
                    at = self._changes.at(version.number)
                    change = Change(version.act, kind_of(before, item), at, before, item)
                    kept.append(self._changes.rewrite(account, entry.number, version.number, change))
                before = item
            if deleted:
                gone = Change(deleted.act, ChangeKind.DELETED, self._changes.at(deleted.number), before, None)
                if account == whose:
                    kept.append(self._changes.rewrite(account, entry.number, deleted.number, gone))
                else:
                    more.append(RecordedChange(owner, account, entry.number, gone, account))
        for each in past:
            self._remove(owner, each.item.id)
            self._changes.drop(each.item.id)
        if deleted:
            self._changes.drop_versions(owner, deleted.act, key)
        self._changes.keep_of(key, kept, more)

    def _place_of(
        self, account: UserKey, history: Sequence[Version], there: Entry | None, past: list[Entry], *, pinned: bool
    ) -> Entry:
        """Return the memory that is to have an account's last words: the joint, an earlier, or a new one."""
        last = history[-1].item
        if there:
            there.item = last
            return there
        last = replace(last, current="", until=None if last.current else last.until, pinned=pinned)
        for each in reversed(past):
            if each.account == account and each.item.content == last.content:
                past.remove(each)
                each.item = replace(last, id=each.item.id)
                return each
        return Entry(next(self._numbers), account, replace(last, id=random_id()))

    def _keep_versions(self, account: UserKey, history: Sequence[Version], entry: Entry, past: list[Entry]) -> None:
        """Keep what was once true and said by the account, below its own last words."""
        for each in [each for each in past if each.account == account]:
            for version, later in itertools.pairwise(history):
                if version.item.content == each.item.content:
                    past.remove(each)
                    words = version.item
                    each.item = replace(words, id=each.item.id, until=each.item.until, current=entry.item.id)
                    self._set_phrases(each, {}, "")
                    self._changes.rename(each.item.id, later.act, account, each.item)
                    break

    def _take_back(self, owner: UserKey, key: str, step: Step) -> None:
        entry = self._of(owner).get(key)
        if step.before is None:
            if entry is not None:
                self._remove(owner, key)
        elif entry is None or step.after is None:
            self._keep(owner, Entry(step.number, step.account, step.before), {}, "")
        else:
            entry.account = step.account
            now, old = entry.item, step.before
            entry.item = replace(old, pinned=now.pinned, source_ids=now.source_ids)
            self._set_phrases(entry, {}, "")


def _place(entry: Entry) -> tuple[bool, datetime, int]:
    return (entry.item.pinned, entry.item.created_at, entry.number)


def _saying(item: MemoryItem, draft: MemoryDraft, **changed: Any) -> MemoryItem:
    """Return a memory with the words of a draft."""
    return replace(
        item,
        kind=draft.kind,
        content=draft.content,
        bindings=draft.bindings,
        until=item.until if item.current else draft.until,
        meant=draft.meant,
        **changed,
    )
