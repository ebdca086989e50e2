"""One person's long-term memory: what is read, and how it is saved, updated, deleted and undone.

The store changes first, then the index; if that second step fails, the index is dropped and built again (`Indexes`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from core.memory.draft_rules import MAX_PHRASE_CHARS, cleaned, distinct, said_again
from core.memory.indexes import OwnerIndex
from core.memory.reading import MemoryReading
from core.memory.undo_result import Undone, UndoResult
from core.ports import Clock
from core.text.unicode import one_line
from core.types import Change, MemoryDraft, MemoryItem, MemoryKind, Vector


@dataclass(frozen=True, slots=True)
class UserMemory(MemoryReading):
    """What `Memories.of` gives: everything here is `owner`'s, and what is changed is marked with `mark`."""

    clock: Clock
    undo_within: timedelta
    on_changed: Callable[[], None]

    async def save(
        self, drafts: Sequence[MemoryDraft], vectors: Mapping[str, Vector], *, source_ids: Sequence[int] = ()
    ) -> Sequence[MemoryItem]:
        """Store the drafts and return the memories that now hold them, one for each different draft, in order.

        What is known already (same kind, same content) gains the room that it was said in instead of a second memory,
        and those of the new bindings that nobody hears where they were not said.

        Raises:
            ValueError: a draft without a readable binding; nothing is stored.
        """
        wanted = distinct([cleaned(draft) for draft in drafts])
        async with self.indexes.changing(self.owner) as owner_index:
            room = self.mark.room
            known = [await self.store.find(self.owner, draft.kind, draft.content, room=room) for draft in wanted]
            fresh = [draft for draft, item in zip(wanted, known, strict=True) if item is None]
            added = await self.store.add(
                self.owner,
                fresh,
                at=self.clock.now(),
                source_ids=source_ids,
                vectors=vectors,
                space=self.embedding.space,
                mark=self.mark,
            )
            await self._follow(owner_index, [item.id for item in added], vectors)
            new = iter(added)
            return [
                next(new) if item is None else await self._merge(owner_index, item, draft, vectors)
                for draft, item in zip(wanted, known, strict=True)
            ]

    async def update(
        self,
        memory_id: str,
        *,
        kind: MemoryKind | None = None,
        content: str | None = None,
        bindings: Sequence[str] | None = None,
        vectors: Mapping[str, Vector],
    ) -> MemoryItem | None:
        """Change what is given of a memory; None, and nothing changed, if this person has none of that id.

        The new words are heard where they were said: in this room, or in private only. In a room, nothing is kept of
        the words of a memory that is not audible there.

        Raises:
            ValueError: no readable binding; nothing is changed.
        """
        async with self.indexes.changing(self.owner) as owner_index:
            for item in await self.store.get(self.owner, [memory_id]):
                known = item.draft
                if not self._is_audible(item):
                    if content is None:
                        return None
                    known = MemoryDraft(MemoryKind.TEXT, content, (one_line(content, MAX_PHRASE_CHARS),))
                draft = MemoryDraft(
                    known.kind if kind is None else kind,
                    known.content if content is None else content,
                    known.bindings if bindings is None else tuple(bindings),
                )
                rooms, shared = (item.rooms, item.shared) if draft == item.draft else ((), False)
                return await self._replace(owner_index, item, cleaned(draft), vectors, rooms=rooms, shared=shared)
        return None

    async def delete(self, memory_ids: Sequence[str]) -> Sequence[MemoryItem]:
        """Delete those of the ids that this person has, and return what was deleted.

        Where nothing can be undone, nothing of it is kept. In a room, what is not audible there stays.
        """
        mark = self.mark if self.undo_within else replace(self.mark, act="")
        async with self.indexes.changing(self.owner) as owner_index:
            memory_ids = [item.id for item in await self.get(memory_ids)]
            before = await self._indexed(owner_index, memory_ids)
            deleted = await self.store.delete(self.owner, memory_ids, at=self.clock.now(), mark=mark)
            await self._follow(owner_index, [], {}, before)
        if deleted:
            self.on_changed()
        return deleted

    async def flag(
        self, memory_id: str, *, pinned: bool | None = None, shared: bool | None = None
    ) -> MemoryItem | None:
        """Set whether a memory stands first in lists, and is known in every room; None leaves it as it is.

        Return the memory, or None if this person has none of that id.
        """
        async with self.indexes.changing(self.owner):
            audible = [item.id for item in await self.get([memory_id])]
            flagged = await self.store.flag(self.owner, audible, pinned=pinned, shared=shared)
        return flagged[0] if flagged else None

    async def last_change(self) -> Change | None:
        """Return the newest change that can still be undone, with all of its act; None if there is none."""
        if not self.undo_within:
            return None
        since = self.clock.now() - self.undo_within
        changes = await self.store.changes(self.owner, since=since, not_undone=True, limit=1)
        return changes[0] if changes else None

    async def undo(self, act: str = "") -> Undone:
        """Undo all of an act, or of the newest one that can be undone."""
        if not act and (last := await self.last_change()):
            act = last.act
        changes = await self.store.changes(self.owner, act=act, not_undone=True) if act else ()
        if not changes:
            return Undone(UndoResult.NOTHING)
        if not self.undo_within or changes[0].at < self.clock.now() - self.undo_within:
            return Undone(UndoResult.TOO_LATE)
        before = [change.before for change in changes if change.before]
        vectors = await self.embed([text for item in before for text in (*item.bindings, item.content)])
        keys = list(dict.fromkeys(change.memory_id for change in changes))
        async with self.indexes.changing(self.owner) as owner_index:
            phrases = await self._indexed(owner_index, keys)
            undone = await self.store.undo(self.owner, act)
            if undone is None:
                return Undone(UndoResult.CHANGED)
            await self._embed_again(keys, vectors)
            await self._follow(owner_index, keys, vectors, phrases)
        self.on_changed()
        return Undone(UndoResult.DONE, undone)

    async def forget(self) -> int:
        """Delete everything of this person's and return how many memories that were."""
        async with self.indexes.changing(self.owner) as owner_index:
            owner_index.clear()
            return await self.store.forget(self.owner)

    async def _merge(
        self, owner_index: OwnerIndex, item: MemoryItem, draft: MemoryDraft, vectors: Mapping[str, Vector]
    ) -> MemoryItem:
        both, rooms = said_again(item, draft, self.mark.room)
        if both.bindings != item.bindings:
            return await self._replace(owner_index, item, both, vectors, rooms=rooms, shared=item.shared) or item
        if rooms != item.rooms:
            [item] = await self.store.flag(self.owner, [item.id], room=self.mark.room)
        return item

    async def _replace(
        self,
        owner_index: OwnerIndex,
        old: MemoryItem,
        draft: MemoryDraft,
        vectors: Mapping[str, Vector],
        *,
        rooms: Sequence[str],
        shared: bool,
    ) -> MemoryItem | None:
        before = await self._indexed(owner_index, [old.id])
        item = await self.store.update(
            self.owner,
            old.id,
            draft,
            at=self.clock.now(),
            vectors=vectors,
            space=self.embedding.space,
            mark=self.mark,
            rooms=rooms,
            shared=shared,
        )
        await self._follow(owner_index, [old.id], vectors, before)
        self.on_changed()
        return item

    async def _embed_again(self, memory_ids: Sequence[str], vectors: Mapping[str, Vector]) -> None:
        """Store vectors of the memories' phrases that came back without any."""
        phrases = await self.indexes.phrases.phrases(self.owner, memory_ids=memory_ids)
        known = {i: vectors[text] for i, (_, text) in phrases.items() if text in vectors}
        if known:
            await self.indexes.phrases.put_vectors(self.owner, self.embedding.space, known)

    async def _indexed(self, owner_index: OwnerIndex, memory_ids: Sequence[str]) -> Mapping[int, str]:
        """Return the phrases that an index, if there is one, may hold of those memories."""
        if owner_index.index is None:
            return {}
        phrases = await self.indexes.phrases.phrases(self.owner, memory_ids=memory_ids)
        return {i: text for i, (_, text) in phrases.items()}

    async def _follow(
        self,
        owner_index: OwnerIndex,
        memory_ids: Sequence[str],
        vectors: Mapping[str, Vector],
        before: Mapping[int, str] | None = None,
    ) -> None:
        """Bring a built index to what the store now holds of those memories; `before` are their phrases until now."""
        now = await self._indexed(owner_index, memory_ids) if memory_ids else {}
        seen = {i: vectors[text] for i, text in now.items() if text in vectors}
        old = before or {}
        await owner_index.remove([i for i in old if i not in now or i in seen])
        normalizer = await self.embedding.normalizer() if seen else None
        if normalizer is not None:
            owner_index.add(normalizer, seen)
        owner_index.newest = max((owner_index.newest, *now))
        owner_index.partial = owner_index.partial or any(i not in seen and i not in old for i in now)
