"""Which people have a vector index in RAM. Knows when to build one and when to let go; does not know what it is asked.

The store is the truth, an index is a copy of one person's vectors. Whoever uses an index holds its owner's lock; any
exception inside, cancellation included, may have left the two apart, so the index is dropped and built again by its
next use. What another process, such as the command line, changed meanwhile is found by the next use, too: the index
takes in the phrases that are new and lets go of those that went.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import numpy as np

from core.memory.lens import Lens
from core.ports import VectorIndex
from core.stores import MemoryStore
from core.types import UserKey, Vector, Vectors

_CHUNK_ROWS = 4096
"""As many as fill a block of the FAISS index at once; a block that grows step by step leaves holes behind."""

_INLINE_ROWS = 8192
"""Up to here a search takes about a millisecond: less than it is worth leaving the event loop for."""


@dataclass(slots=True)
class Shelf:
    """One person's place: the index, if it is built, of which space, and whether it lacks phrases of the store.

    `newest` is the store's newest phrase that it knows of, with a vector or without; `foreign` the store's number of
    what others had changed when the index was last brought up to it.
    """

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    lens: Lens | None = None
    index: VectorIndex | None = None
    partial: bool = False
    newest: int = 0
    foreign: int = 0

    @property
    def space(self) -> str:
        """The space of the index, "" if there is none."""
        return self.lens.space if self.lens is not None else ""

    def clear(self) -> None:
        """Let go of the index; the next reader builds it."""
        self.lens, self.index, self.partial, self.newest = None, None, False, 0

    async def search(
        self, rows: Vectors, k: int, among: Sequence[int] | None = None
    ) -> Sequence[Sequence[tuple[int, float]]]:
        """Return, per row, up to `k` (phrase id, cosine), nearest first, among those phrases or all."""
        if self.index is None:
            return [[] for _ in rows]
        if len(self.index) * len(rows) <= _INLINE_ROWS:
            return self.index.search(rows, k, among)
        return await asyncio.to_thread(self.index.search, rows, k, among)

    def add(self, lens: Lens, vectors: Mapping[int, Vector]) -> None:
        """Add a few phrases, if there is an index; one of another space is dropped."""
        if self.index is not None and self.space != lens.space:
            self.clear()
        if self.index is not None and vectors:
            self.index.add(list(vectors), lens.project(np.stack(list(vectors.values()))))

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
        store: MemoryStore,
        new_index: Callable[[int], VectorIndex],
        *,
        max_owners: int = 256,
        max_vectors: int = 1_000_000,
    ) -> None:
        self._store = store
        self._new_index = new_index
        self._max_owners = max_owners
        self._max_vectors = max_vectors
        self._shelves: OrderedDict[UserKey, Shelf] = OrderedDict()

    @asynccontextmanager
    async def changing(self, owner: UserKey) -> AsyncIterator[Shelf]:
        """Hold the owner's lock and give the shelf: what is not built, or lacks another's additions, is not changed."""
        shelf = self._shelves.get(owner)
        if shelf is None:
            shelf = self._shelves[owner] = Shelf()
        self._shelves.move_to_end(owner)
        shelf.users += 1
        try:
            async with shelf.lock:
                try:
                    await self._follow_others(owner, shelf)
                    if shelf.index is not None and await self._store.newest_phrase(owner) > shelf.newest:
                        shelf.clear()
                    yield shelf
                except BaseException:
                    shelf.clear()
                    raise
        finally:
            shelf.users -= 1
            if len(self._shelves) > self._max_owners:
                self._evict()

    @asynccontextmanager
    async def reading(self, owner: UserKey, lens: Lens) -> AsyncIterator[Shelf]:
        """Hold the owner's lock and give the shelf with its index, built now if there is none of that space."""
        async with self.changing(owner) as shelf:
            if shelf.index is None or shelf.space != lens.space:
                shelf.clear()
                newest = await self._store.newest_phrase(owner)
                shelf.index, shelf.newest = await self._build(owner, lens), newest
                shelf.lens = lens
                shelf.partial = bool(await self._store.unembedded(owner, lens.space, 1))
                self._evict()
            yield shelf

    @asynccontextmanager
    async def joining(self, owner: UserKey, other: UserKey) -> AsyncIterator[None]:
        """Hold the locks of both, and let go of their indexes, while memories go from one to the other."""
        first, second = sorted(
            (owner, other), key=str
        )  # always in one order: two who link crosswise never wait forever
        async with self.changing(first) as one, self.changing(second) as two:
            one.clear()
            two.clear()
            yield

    @property
    def loaded(self) -> int:
        """How many people's indexes are in RAM."""
        return sum(shelf.index is not None for shelf in self._shelves.values())

    async def _follow_others(self, owner: UserKey, shelf: Shelf) -> None:
        """Bring the index to what the store holds, if somebody else changed that since."""
        foreign = await self._store.foreign_version()
        if shelf.index is not None and shelf.lens is not None and foreign != shelf.foreign:
            newest = await self._store.newest_phrase(owner)
            held, there = shelf.index.ids(), await self._store.embedded(owner, shelf.space)
            await shelf.remove(list(held - there))
            shelf.add(shelf.lens, await self._store.vectors(owner, shelf.space, there - held))
            shelf.partial = bool(await self._store.unembedded(owner, shelf.space, 1))
            shelf.newest = newest
        shelf.foreign = foreign

    async def _build(self, owner: UserKey, lens: Lens) -> VectorIndex:
        ids, vectors = await self._store.phrase_vectors(owner, lens.space)
        index = self._new_index(lens.dims)

        def move(start: int) -> None:
            """Move the rows from there to the end: what goes into the index is given back, so the peak is one copy."""
            seen = lens.project(vectors[start:])
            if vectors.flags.owndata:
                vectors.resize((start, vectors.shape[1]), refcheck=False)
            index.add(ids[start : start + len(seen)], seen)

        for end in range(len(ids), 0, -_CHUNK_ROWS):
            await asyncio.to_thread(move, max(end - _CHUNK_ROWS, 0))
        return index

    def _evict(self) -> None:
        """Let go of the least recently used that nobody is using, until both limits hold."""
        held = sum(len(shelf.index) for shelf in self._shelves.values() if shelf.index is not None)
        for owner, shelf in list(self._shelves.items()):
            if len(self._shelves) <= self._max_owners and held <= self._max_vectors:
                break
            if shelf.users == 0:
                held -= len(shelf.index) if shelf.index is not None else 0
                del self._shelves[owner]
