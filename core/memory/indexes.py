"""Vector indexes in RAM, one a person: built at the first use, dropped when many are held.

The store is the truth, an index is a copy of one person's vectors. A user of an index holds its owner's lock; any
exception inside, cancellation included, may have left the two apart, so the index is dropped and built again by its
next use. What another process, such as the command line, changed meanwhile is found by the next use, too: the index
adds the phrases that are new and removes those that are gone.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import numpy as np

from core.memory.embedding import EmbeddingNormalizer
from core.ports import VectorIndex
from core.stores import PhraseStore
from core.types import UserKey, Vector, Vectors

_CHUNK_ROWS = 4096
"""As many as fill a block of the FAISS index at once; a block that grows step by step leaves holes behind."""

_INLINE_ROWS = 8192
"""Up to here a search takes about a millisecond: less than it is worth leaving the event loop for."""


@dataclass(slots=True)
class OwnerIndex:
    """One person's index, if it is built, of which space, and whether it lacks phrases of the store.

    `newest` is the store's newest phrase that it knows of, with a vector or without; `foreign` the store's number of
    what others had changed when the index was last brought up to it.
    """

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    normalizer: EmbeddingNormalizer | None = None
    index: VectorIndex | None = None
    partial: bool = False
    newest: int = 0
    foreign: int = 0

    @property
    def space(self) -> str:
        """The space of the index, "" if there is none."""
        return self.normalizer.space if self.normalizer is not None else ""

    def clear(self) -> None:
        """Drop the index; the next reader builds it."""
        self.normalizer, self.index, self.partial, self.newest = None, None, False, 0

    async def search(
        self, rows: Vectors, k: int, among: Sequence[int] | None = None
    ) -> Sequence[Sequence[tuple[int, float]]]:
        """Return, per row, up to `k` (phrase id, cosine), nearest first, among those phrases or all."""
        if self.index is None:
            return [[] for _ in rows]
        if len(self.index) * len(rows) <= _INLINE_ROWS:
            return self.index.search(rows, k, among)
        return await asyncio.to_thread(self.index.search, rows, k, among)

    def add(self, normalizer: EmbeddingNormalizer, vectors: Mapping[int, Vector]) -> None:
        """Add a few phrases, if there is an index; one of another space is dropped."""
        if self.index is not None and self.space != normalizer.space:
            self.clear()
        if self.index is not None and vectors:
            self.index.add(list(vectors), normalizer.project(np.stack(list(vectors.values()))))

    async def remove(self, phrase_ids: Sequence[int]) -> None:
        """Remove phrases, if there is an index."""
        if self.index is None or not phrase_ids:
            return
        if len(self.index) <= _INLINE_ROWS:
            self.index.remove(phrase_ids)
        else:
            await asyncio.to_thread(self.index.remove, phrase_ids)


class Indexes:
    """Least-recently-used indexes of at most `max_owners` people, and of `max_vectors` in all."""

    def __init__(
        self,
        phrases: PhraseStore,
        new_index: Callable[[int], VectorIndex],
        *,
        max_owners: int = 256,
        max_vectors: int = 1_000_000,
    ) -> None:
        self.phrases = phrases
        self._new_index = new_index
        self._max_owners = max_owners
        self._max_vectors = max_vectors
        self._owners: OrderedDict[UserKey, OwnerIndex] = OrderedDict()

    @asynccontextmanager
    async def changing(self, owner: UserKey) -> AsyncIterator[OwnerIndex]:
        """Hold the owner's lock and give their index; one that lacks another's additions is dropped first."""
        owner_index = self._owners.get(owner)
        if owner_index is None:
            owner_index = self._owners[owner] = OwnerIndex()
        self._owners.move_to_end(owner)
        owner_index.users += 1
        try:
            async with owner_index.lock:
                try:
                    await self._follow_others(owner, owner_index)
                    if owner_index.index is not None and await self.phrases.newest_phrase(owner) > owner_index.newest:
                        owner_index.clear()
                    yield owner_index
                except BaseException:
                    owner_index.clear()
                    raise
        finally:
            owner_index.users -= 1
            if len(self._owners) > self._max_owners:
                self._evict()

    @asynccontextmanager
    async def reading(self, owner: UserKey, normalizer: EmbeddingNormalizer) -> AsyncIterator[OwnerIndex]:
        """Hold the owner's lock and give their index, built now if there is none of that space."""
        async with self.changing(owner) as owner_index:
            if owner_index.index is None or owner_index.space != normalizer.space:
                owner_index.clear()
                newest = await self.phrases.newest_phrase(owner)
                owner_index.index, owner_index.newest = await self._build(owner, normalizer), newest
                owner_index.normalizer = normalizer
                owner_index.partial = bool(await self.phrases.unembedded(owner, normalizer.space, 1))
                self._evict()
            yield owner_index

    @asynccontextmanager
    async def joining(self, owner: UserKey, other: UserKey) -> AsyncIterator[None]:
        """Hold the locks of both, and drop their indexes, while memories go from one to the other."""
        # Always in one order: two who link crosswise never wait forever.
        first, second = sorted((owner, other), key=str)
        async with self.changing(first) as one, self.changing(second) as two:
            one.clear()
            two.clear()
            yield

    @property
    def loaded(self) -> int:
        """How many people's indexes are in RAM."""
        return sum(owner_index.index is not None for owner_index in self._owners.values())

    async def _follow_others(self, owner: UserKey, owner_index: OwnerIndex) -> None:
        """Bring the index to what the store holds, if somebody else changed that since."""
        foreign = await self.phrases.foreign_version()
        if owner_index.index is not None and owner_index.normalizer is not None and foreign != owner_index.foreign:
            newest = await self.phrases.newest_phrase(owner)
            held, there = owner_index.index.ids(), await self.phrases.embedded(owner, owner_index.space)
            await owner_index.remove(list(held - there))
            ids, vectors = await self.phrases.vectors(owner, owner_index.space, there - held)
            owner_index.add(owner_index.normalizer, dict(zip(ids, vectors, strict=True)))
            owner_index.partial = bool(await self.phrases.unembedded(owner, owner_index.space, 1))
            owner_index.newest = newest
        owner_index.foreign = foreign

    async def _build(self, owner: UserKey, normalizer: EmbeddingNormalizer) -> VectorIndex:
        ids, vectors = await self.phrases.vectors(owner, normalizer.space)
        index = self._new_index(normalizer.dims)

        def move(start: int) -> None:
            """Move the rows from there to the end: what goes into the index is given back, so the peak is one copy."""
            seen = normalizer.project(vectors[start:])
            if vectors.flags.owndata:
                vectors.resize((start, vectors.shape[1]), refcheck=False)
            index.add(ids[start : start + len(seen)], seen)

        for end in range(len(ids), 0, -_CHUNK_ROWS):
            await asyncio.to_thread(move, max(end - _CHUNK_ROWS, 0))
        return index

    def _evict(self) -> None:
        """Drop the least recently used that nobody is using, until both limits hold."""
        held = sum(len(owner_index.index) for owner_index in self._owners.values() if owner_index.index is not None)
        for owner, owner_index in list(self._owners.items()):
            if len(self._owners) <= self._max_owners and held <= self._max_vectors:
                break
            if owner_index.users == 0:
                held -= len(owner_index.index) if owner_index.index is not None else 0
                del self._owners[owner]
