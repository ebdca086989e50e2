"""One person's long-term memory as it is read; in a room, only what may be spoken of there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from core.memory.draft_rules import phrases_of
from core.memory.embedding import Embedding
from core.memory.indexes import Indexes
from core.memory.nearest import Reach, nearest
from core.memory.ranking import Evidence, Match, rank
from core.memory.wording import Asked, words
from core.stores import ChangeContext, MemoryStore
from core.types import Change, MemoryDraft, MemoryHit, MemoryItem, MemoryKind, UserKey, Vector

_WORDED_A_HIT: Final = 2
"""How many memories the words may name for each one asked for: their words are few, and common ones name many."""


@dataclass(frozen=True, slots=True)
class MemoryReading:
    """The reading half of `UserMemory`: all is `owner`'s, and in a room (`mark.room`) what is audible there."""

    owner: UserKey
    store: MemoryStore
    indexes: Indexes
    embedding: Embedding
    common_words: frozenset[str]
    on_partial: Callable[[UserKey], None]
    mark: ChangeContext

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
        audible = await self.indexes.phrases.audible_phrases(self.owner, room) if room else None
        if not asked or limit <= 0 or audible == []:
            return []
        evidence, partial = await self._gather(asked, vectors, Reach(limit, audible))
        if partial:
            self.on_partial(self.owner)
        candidates = dict.fromkeys(key for each in evidence for key in each.candidates())
        items = await self.store.get(self.owner, list(candidates)) if candidates else []
        return rank(items, evidence, limit=limit, partial=partial)

    async def get(self, memory_ids: Sequence[str]) -> Sequence[MemoryItem]:
        """Return those of the ids that this person has, in the order asked; in a room, what is audible there."""
        items = await self.store.get(self.owner, memory_ids)
        return [item for item in items if self._is_audible(item)]

    async def page(
        self, *, limit: int, before: str = "", skip: int = 0, kind: MemoryKind | None = None
    ) -> Sequence[MemoryItem]:
        """Return the pinned first, then the newest, of one kind or all; with `before`, what comes after that one.

        The first `skip` of these are passed over. In a room only what may be spoken of there.
        """
        room = self.mark.room
        return await self.store.page(self.owner, limit=limit, before=before, skip=skip, kind=kind, room=room)

    async def count(self, kind: MemoryKind | None = None) -> int:
        """Return how many memories this person has, of one kind or all; in a room, of which may be spoken there."""
        return await self.store.count(self.owner, kind, room=self.mark.room)

    async def versions(self, memory_id: str) -> Sequence[Change]:
        """Return what was done to a memory, the newest first, as far as it was recorded."""
        return await self.store.changes(self.owner, memory_id=memory_id)

    def _is_audible(self, item: MemoryItem) -> bool:
        """Whether it may be spoken of where this is read."""
        return not self.mark.room or item.shared or self.mark.room in item.rooms

    async def _gather(
        self, queries: Sequence[str], vectors: Mapping[str, Vector], reach: Reach
    ) -> tuple[Sequence[Evidence], bool]:
        """Ask vectors and words about each query; tell whether some memories have no vectors yet."""
        near: Mapping[str, Mapping[str, Match]] = {}
        partial = False
        normalizer = await self.embedding.normalizer() if any(query in vectors for query in queries) else None
        if normalizer is not None:
            seeing = [query for query in queries if query in vectors]
            rows = normalizer.project(np.stack([vectors[query] for query in seeing]))
            async with self.indexes.reading(self.owner, normalizer) as owner_index:
                found = await nearest(self.indexes.phrases, self.owner, owner_index, rows, reach)
                near, partial = dict(zip(seeing, found, strict=True)), owner_index.partial
        worded = [await self._worded(query, reach.limit) for query in queries]
        return [
            Evidence(Asked(query, self.common_words), near.get(query), keys)
            for query, keys in zip(queries, worded, strict=True)
        ], partial

    async def _worded(self, query: str, limit: int) -> frozenset[str]:
        if not words(query):
            return frozenset()
        found = await self.indexes.phrases.lexical(self.owner, query, limit * _WORDED_A_HIT, room=self.mark.room)
        return frozenset(key for key, _ in found)
