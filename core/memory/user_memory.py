"""One person's long-term memory: search, save, update, delete.

Knows whose memories these are, and asks the store for nobody else's. Does not know why anything is saved or looked for.
The store changes first, then the index; if that second step fails, the index is dropped and built again (`Indexes`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import numpy as np

from core.memory.drafts import cleaned, distinct, merged, phrases_of
from core.memory.embedding import Embedding
from core.memory.indexes import Indexes, Shelf
from core.memory.nearest import Reach, nearest
from core.memory.ranking import Evidence, Match, rank
from core.memory.undo import Undone, UndoResult
from core.memory.wording import Asked, words
from core.ports import Clock
from core.stores import NO_MARK, Mark, MemoryStore
from core.types import Change, MemoryDraft, MemoryHit, MemoryItem, MemoryKind, UserKey, Vector

_WORDED_A_HIT: Final = 2
"""How many memories full text may name for each one asked for: their words are few, and common ones name many."""


@dataclass(frozen=True, slots=True)
class UserMemory:
    """What `Memories.of` gives: everything here is `owner`'s."""

    owner: UserKey
    store: MemoryStore
    indexes: Indexes
    embedding: Embedding
    clock: Clock
    common_words: frozenset[str]
    undo_within: timedelta
    on_partial: Callable[[UserKey], None]
    on_deleted: Callable[[], None]
    mark: Mark = NO_MARK

    @staticmethod
    def phrases_of(draft: MemoryDraft) -> tuple[str, ...]:
        """Return the texts of a draft that want to be embedded before it is saved: its bindings and its content."""
        return phrases_of(draft)

    async def embed(self, texts: Sequence[str]) -> Mapping[str, Vector]:
        """Map the texts to vectors by one call of the embedder; empty while it is down, and then words must do."""
        return await self.embedding.vectors(texts)

    async def search(
        self, queries: Sequence[str], vectors: Mapping[str, Vector], *, limit: int = 5
    ) -> Sequence[MemoryHit]:
        """Return up to `limit` memories, the best first, each with its best score over its phrases and the queries.

        `vectors` holds what `embed` made of the queries; one that is not in it is searched by its words alone.
        Nothing under the floor is returned: an unrelated question gets an empty answer. In a room, only what may be
        spoken of there is looked at, however near the rest may lie.
        """
        asked = list(dict.fromkeys(query for query in queries if query.strip()))
        room = self.mark.room
        audible = await self.store.audible_phrases(self.owner, room) if room else None
        if not asked or limit <= 0 or audible == []:
            return []
        evidence, partial = await self._gather(asked, vectors, Reach(limit, audible))
        if partial:
            self.on_partial(self.owner)
        candidates = dict.fromkeys(key for each in evidence for key in each.candidates())
        items = await self.store.get(self.owner, list(candidates)) if candidates else []
        return rank(items, evidence, limit=limit, partial=partial)

    async def save(
        self, drafts: Sequence[MemoryDraft], vectors: Mapping[str, Vector], *, source_ids: Sequence[int] = ()
    ) -> Sequence[MemoryItem]:
        """Store the drafts and return the memories that now hold them, one for each different draft, in order.

        What is known already (same kind, same content) gains the new bindings, and the room that it was said in,
        instead of a second memory.

        Raises:
            ValueError: a draft without a readable binding; nothing is stored.
        """
        wanted = distinct([cleaned(draft) for draft in drafts])
        async with self.indexes.changing(self.owner) as shelf:
            known = [await self.store.find(self.owner, draft.kind, draft.content) for draft in wanted]
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
            await self._follow(shelf, [item.id for item in added], vectors)
            new = iter(added)
            return [
                next(new) if item is None else await self._merge(shelf, item, draft, vectors)
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

        Raises:
            ValueError: no readable binding; nothing is changed.
        """
        async with self.indexes.changing(self.owner) as shelf:
            for item in await self.store.get(self.owner, [memory_id]):
                draft = MemoryDraft(
                    item.kind if kind is None else kind,
                    item.content if content is None else content,
                    item.bindings if bindings is None else tuple(bindings),
                )
                return await self._replace(shelf, item.id, cleaned(draft), vectors)
        return None

    async def delete(self, memory_ids: Sequence[str]) -> Sequence[MemoryItem]:
        """Delete those of the ids that this person has, and return what was deleted."""
        async with self.indexes.changing(self.owner) as shelf:
            before = await self._indexed(shelf, memory_ids)
            deleted = await self.store.delete(self.owner, memory_ids, at=self.clock.now(), mark=self.mark)
            await self._follow(shelf, [], {}, before)
        if deleted and self.mark.act:
            self.on_deleted()
        return deleted

    async def flag(
        self, memory_id: str, *, pinned: bool | None = None, shared: bool | None = None
    ) -> MemoryItem | None:
        """Say whether a memory stands first in lists, and is known in every room; None stays as it is.

        None is returned if this person has none of that id.
        """
        async with self.indexes.changing(self.owner):
            for item in await self.store.get(self.owner, [memory_id]):
                return await self.store.put_flags(
                    self.owner,
                    item.id,
                    pinned=item.pinned if pinned is None else pinned,
                    shared=item.shared if shared is None else shared,
                )
        return None

    async def versions(self, memory_id: str) -> Sequence[Change]:
        """Return what was done to a memory, the newest first, as far as it was recorded."""
        return await self.store.changes(self.owner, memory_id=memory_id)

    async def last_change(self) -> Change | None:
        """Return the newest change that can still be undone, with all of its act; None if there is none."""
        since = self.clock.now() - self.undo_within
        changes = await self.store.changes(self.owner, since=since, standing=True, limit=1)
        return changes[0] if changes else None

    async def undo(self, act: str = "") -> Undone:
        """Take back all of an act, or of the newest one that can be."""
        if not act and (last := await self.last_change()):
            act = last.act
        changes = await self.store.changes(self.owner, act=act, standing=True) if act else ()
        if not changes:
            return Undone(UndoResult.NOTHING)
        if changes[0].at < self.clock.now() - self.undo_within:
            return Undone(UndoResult.TOO_LATE)
        before = [change.before for change in changes if change.before]
        vectors = await self.embed([text for item in before for text in (*item.bindings, item.content)])
        keys = list(dict.fromkeys(change.memory_id for change in changes))
        async with self.indexes.changing(self.owner) as shelf:
            phrases = await self._indexed(shelf, keys)
            undone = await self.store.undo(self.owner, act)
            if undone is None:
                return Undone(UndoResult.CHANGED)
            await self._embed_again(keys, vectors)
            await self._follow(shelf, keys, vectors, phrases)
        return Undone(UndoResult.DONE, undone)

    async def get(self, memory_ids: Sequence[str]) -> Sequence[MemoryItem]:
        """Return those of the ids that this person has, in the order asked."""
        return await self.store.get(self.owner, memory_ids)

    async def page(self, *, limit: int, before: str = "", kind: MemoryKind | None = None) -> Sequence[MemoryItem]:
        """Return the pinned first, then the newest, of one kind or all; with `before`, what comes after that one.

        In a room only what may be spoken of there.
        """
        if not self.mark.room:
            return await self.store.page(self.owner, limit=limit, before=before, kind=kind)
        here = await self._audible(kind)
        start = next((at for at, item in enumerate(here, 1) if item.id == before), len(here)) if before else 0
        return here[start : start + max(limit, 0)]

    async def count(self, kind: MemoryKind | None = None) -> int:
        """Return how many memories this person has, of one kind or all; in a room, of which may be spoken there."""
        return len(await self._audible(kind)) if self.mark.room else await self.store.count(self.owner, kind)

    async def forget(self) -> int:
        """Delete everything of this person's and return how many memories that were."""
        async with self.indexes.changing(self.owner) as shelf:
            shelf.clear()
            return await self.store.forget(self.owner)

    async def _audible(self, kind: MemoryKind | None) -> Sequence[MemoryItem]:
        """Return what may be spoken of in this room, in the order of `page`."""
        heard = await self.store.get(self.owner, sorted(await self.store.audible(self.owner, self.mark.room)))
        those = [item for item in heard if kind in {None, item.kind}]
        return sorted(those, key=lambda item: (item.pinned, item.created_at), reverse=True)

    async def _gather(
        self, queries: Sequence[str], vectors: Mapping[str, Vector], reach: Reach
    ) -> tuple[Sequence[Evidence], bool]:
        """Ask vectors and full text about each query; tell whether some memories have no vectors yet."""
        near: Mapping[str, Mapping[str, Match]] = {}
        partial = False
        lens = await self.embedding.lens() if any(query in vectors for query in queries) else None
        if lens is not None:
            seeing = [query for query in queries if query in vectors]
            rows = lens.project(np.stack([vectors[query] for query in seeing]))
            async with self.indexes.reading(self.owner, lens) as shelf:
                found = await nearest(self.store, self.owner, shelf, rows, reach)
                near, partial = dict(zip(seeing, found, strict=True)), shelf.partial
        worded = [await self._worded(query, reach.limit) for query in queries]
        return [
            Evidence(Asked(query, self.common_words), near.get(query), keys)
            for query, keys in zip(queries, worded, strict=True)
        ], partial

    async def _worded(self, query: str, limit: int) -> frozenset[str]:
        if not words(query):
            return frozenset()
        found = await self.store.lexical(self.owner, query, limit * _WORDED_A_HIT, room=self.mark.room)
        return frozenset(key for key, _ in found)

    async def _merge(
        self, shelf: Shelf, item: MemoryItem, draft: MemoryDraft, vectors: Mapping[str, Vector]
    ) -> MemoryItem:
        both = merged(item, draft)
        if both.bindings == item.bindings:
            if self.mark.room and self.mark.room not in item.rooms:
                await self.store.put_room(self.owner, [item.id], self.mark.room)
                [item] = await self.store.get(self.owner, [item.id])
            return item
        return await self._replace(shelf, item.id, both, vectors) or item

    async def _replace(
        self, shelf: Shelf, memory_id: str, draft: MemoryDraft, vectors: Mapping[str, Vector]
    ) -> MemoryItem | None:
        before = await self._indexed(shelf, [memory_id])
        item = await self.store.update(
            self.owner,
            memory_id,
            draft,
            at=self.clock.now(),
            vectors=vectors,
            space=self.embedding.space,
            mark=self.mark,
        )
        await self._follow(shelf, [memory_id], vectors, before)
        return item

    async def _embed_again(self, memory_ids: Sequence[str], vectors: Mapping[str, Vector]) -> None:
        """Store vectors of the memories' phrases that came back without any."""
        phrases = await self.store.memory_phrases(self.owner, memory_ids)
        known = {i: vectors[text] for i, text in phrases.items() if text in vectors}
        if known:
            await self.store.put_vectors(self.owner, self.embedding.space, known)

    async def _indexed(self, shelf: Shelf, memory_ids: Sequence[str]) -> Mapping[int, str]:
        """Return the phrases that an index, if there is one, may hold of those memories."""
        return {} if shelf.index is None else await self.store.memory_phrases(self.owner, memory_ids)

    async def _follow(
        self,
        shelf: Shelf,
        memory_ids: Sequence[str],
        vectors: Mapping[str, Vector],
        before: Mapping[int, str] | None = None,
    ) -> None:
        """Bring a built index to what the store now holds of those memories; `before` are their phrases until now."""
        now = await self._indexed(shelf, memory_ids) if memory_ids else {}
        seen = {i: vectors[text] for i, text in now.items() if text in vectors}
        old = before or {}
        await shelf.remove([i for i in old if i not in now or i in seen])
        lens = await self.embedding.lens() if seen else None
        if lens is not None:
            shelf.add(lens, seen)
        shelf.partial = shelf.partial or any(i not in seen and i not in old for i in now)
