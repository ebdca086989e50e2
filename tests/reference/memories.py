"""The truth about memories, in dicts and numpy: the reference that the database is held to, and good for dry runs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from core.storage.record import checked, random_id, storable
from core.stores import NO_CHANGE_CONTEXT, ChangeContext, MemoryStore
from core.text.unicode import fold
from core.types import Change, ChangeKind, MemoryDraft, MemoryItem, MemoryKind, UserKey, Vector
from tests.reference.changes import Entry, InMemoryChanges, Step, said, with_rooms
from tests.reference.phrases import InMemoryPhrases, check_space


class InMemoryMemories(InMemoryPhrases, MemoryStore):
    """Gone with the process."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers = itertools.count(1)
        self._changes = InMemoryChanges()

    async def add(
        self,
        owner: UserKey,
        drafts: Sequence[MemoryDraft],
        *,
        at: datetime,
        source_ids: Sequence[int] = (),
        vectors: Mapping[str, Vector] | None = None,
        space: str = "",
        context: ChangeContext = NO_CHANGE_CONTEXT,
    ) -> Sequence[MemoryItem]:
        """Keep all drafts, in order.

        Raises:
            ValueError: a draft without a binding, or with an empty one; nothing is kept.
        """
        ready = [checked(draft) for draft in drafts]
        check_space(vectors, space)
        sources = tuple(sorted(set(source_ids)))
        rooms = (context.room,) if context.room else ()
        account = self._account(owner, context.account or owner)
        entries = []
        for draft in ready:
            said_at = min(draft.said_at or at, at)
            item = MemoryItem(random_id(), draft.kind, draft.content, draft.bindings, said_at, said_at, sources, rooms)
            entry = Entry(next(self._numbers), account, item)
            entries.append(entry)
            self._keep(owner, entry, vectors or {}, space)
            self._record(owner, context, entry, Change(context.act, ChangeKind.SAVED, at, None, item))
        return [entry.item for entry in entries]

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
        before = entry.item
        entry.item = replace(
            before,
            kind=ready.kind,
            content=ready.content,
            bindings=ready.bindings,
            updated_at=at,
            rooms=with_rooms((), context.room, *rooms),
            shared=shared,
        )
        self._set_phrases(entry, vectors or {}, space)
        self._record(owner, context, entry, Change(context.act, ChangeKind.UPDATED, at, before, entry.item))
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
        gone = [self._remove(owner, key) for key in dict.fromkeys(memory_ids) if key in self._of(owner)]
        for entry in sorted(gone, key=lambda entry: entry.number):
            if context.act and at is not None:
                self._record(owner, context, entry, Change(context.act, ChangeKind.DELETED, at, entry.item, None))
            else:
                self._changes.drop(entry.item.id)
        return [entry.item for entry in gone]

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

    async def undo(self, owner: UserKey, act: str) -> Sequence[Change] | None:
        """Take back all of an act and return its changes, the newest first, marked as undone."""
        owner, act = self._owner(owner), storable(act)
        steps, held = self._changes.steps(owner, act), self._of(owner)
        now = {key: held[key].item if key in held else None for key in steps}
        as_left = all(said(now[key]) == said(step.after) for key, step in steps.items())
        if not steps or not as_left or self._changes.overtaken(owner, act):
            return None
        for key, step in steps.items():
            self._take_back(owner, key, step)
        return self._changes.undone(owner, act)

    async def purge(self, before: datetime) -> int:
        """Forget all changes of memories that were deleted before then; return how many those are."""
        return self._changes.purge(before)

    async def link(self, owner: UserKey, other: UserKey) -> None:
        """Put all that the other account has under the owner.

        Raises:
            ValueError: one of them is linked already, or both are the same.
        """
        if owner == other or {owner, other} & {*self._linked, *self._linked.values()}:
            raise ValueError("an account is linked to one other")
        self._linked[other] = owner
        moved = self._owners.pop(other, {})
        for entry in moved.values():
            entry.account = other
        self._owners.setdefault(owner, {}).update(moved)
        self._changes.link(owner, other)

    async def unlink(self, owner: UserKey, other: UserKey) -> None:
        """Give the other account back what came from it; accounts that are not linked are fine."""
        if self._linked.get(other) != owner:
            return
        del self._linked[other]
        held = self._of(owner)
        for key in [key for key, entry in held.items() if entry.account == other]:
            self._owners.setdefault(other, {})[key] = held.pop(key)
        self._changes.unlink(other)

    async def accounts(self, user: UserKey) -> Sequence[UserKey]:
        """Return every account of that person's, the owner first."""
        owner = self._owner(user)
        return [owner, *(other for other, main in self._linked.items() if main == owner)]

    async def from_account(self, owner: UserKey, account: UserKey) -> frozenset[str]:
        """Return the ids of the owner's memories that came from that account."""
        return frozenset(key for key, entry in self._of(owner).items() if entry.account == account)

    async def get(self, owner: UserKey, memory_ids: Sequence[str]) -> Sequence[MemoryItem]:
        """Return those of the ids that the owner has, in the order asked."""
        held = self._of(owner)
        return [held[key].item for key in dict.fromkeys(memory_ids) if key in held]

    async def find(self, owner: UserKey, kind: MemoryKind, content: str, *, room: str = "") -> MemoryItem | None:
        """Return the owner's memory of that kind and content, one that has it to the letter first, or None."""
        text, place = storable(content), storable(room)
        alike = [
            entry
            for entry in self._of(owner).values()
            if (entry.item.kind, fold(entry.item.content)) == (kind, fold(text))
            and (not room or entry.item.content == text or place in entry.item.rooms)
        ]
        found = min(alike, key=lambda entry: (entry.item.content != text, entry.number), default=None)
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
        held = self._owners.pop(self._owner(owner), {})
        for entry in held.values():
            self._drop_vectors(entry.phrases.values())
        accounts = await self.accounts(owner)
        self._changes.forget(accounts[0])
        for account in accounts[1:]:
            del self._linked[account]
        return len(held)

    def _narrowed(self, owner: UserKey, kind: MemoryKind | None, room: str) -> list[Entry]:
        heard = self._audible(owner, room) if room else self._of(owner).keys()
        return [entry for key, entry in self._of(owner).items() if key in heard and kind in {None, entry.item.kind}]

    def _account(self, owner: UserKey, account: UserKey) -> UserKey:
        """Return which of the owner's accounts that is; the owner, where it is none of theirs."""
        return account if self._owner(account) == self._owner(owner) else self._owner(owner)

    def _keep(self, owner: UserKey, entry: Entry, vectors: Mapping[str, Vector], space: str) -> None:
        self._owners.setdefault(self._owner(owner), {})[entry.item.id] = entry
        self._set_phrases(entry, vectors, space)

    def _remove(self, owner: UserKey, key: str) -> Entry:
        entry = self._of(owner).pop(key)
        self._drop_vectors(entry.phrases.values())
        return entry

    def _record(self, owner: UserKey, context: ChangeContext, entry: Entry, change: Change) -> None:
        if context.act:
            self._changes.record(self._owner(owner), entry, replace(change, act=storable(context.act)))

    def _take_back(self, owner: UserKey, key: str, step: Step) -> None:
        entry = self._of(owner).get(key)
        if step.before is None:
            if entry is not None:
                self._remove(owner, key)
        elif entry is None or step.after is None:
            self._keep(owner, Entry(step.number, step.account, step.before), {}, "")
        else:
            now, old = entry.item, step.before
            entry.item = replace(old, pinned=now.pinned, source_ids=now.source_ids)
            self._set_phrases(entry, {}, "")


def _place(entry: Entry) -> tuple[bool, datetime, int]:
    return (entry.item.pinned, entry.item.created_at, entry.number)
