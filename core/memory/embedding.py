"""Vectors of texts as memory uses them: embedded, normalized, and indexed in RAM.

Cosines of sentence embedders crowd together, as all texts share a direction. With that taken away, cosines of different
embedders are alike, and more questions find their memory first.
Source: Mu and Viswanath, "All-but-the-Top" (2018), the mean alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from core.errors import ProviderError
from core.ports import Embedder, VectorIndex
from core.stores import AskedVectors, Neighbours, PhraseStore, SearchRequest, SearchResult, VectorSearch
from core.types import UserKey, Vector, Vectors

_MIN_NORM = 1e-6
_CACHED_ROWS = 256
"""Rows that stay in the processor's cache between the steps: 2.5 times faster than all at once."""


@dataclass(frozen=True, slots=True)
class EmbeddingNormalizer:
    """The mean of a space, shape (dims,)."""

    space: str
    mean: Vector

    @property
    def dims(self) -> int:
        """The length of every vector of the space."""
        return int(self.mean.size)

    def project(self, vectors: Vectors) -> Vectors:
        """Return new rows of norm 1, without the mean; a row with nothing else becomes zeros."""
        seen: Vectors = np.empty(vectors.shape, np.float32)
        for start in range(0, len(vectors), _CACHED_ROWS):
            rows = np.subtract(vectors[start : start + _CACHED_ROWS], self.mean, out=seen[start : start + _CACHED_ROWS])
            norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
            norms[norms < _MIN_NORM] = np.inf
            rows /= norms[:, None]
        return seen


_log = logging.getLogger(__name__)

MAX_CHARS = 1000
"""How much of a text is embedded: a vector of more says less."""


@cache
def background() -> Sequence[str]:
    """Return sentences whose mean is that of a space: the same subjects in each language.

    None is a question: their mean would take from a question what makes it differ from another.
    """
    lines = resources.files(__package__).joinpath("background.txt").read_text("utf-8").splitlines()
    return [line for line in lines if not line.startswith("[")]


class Embedding:
    """Vectors for texts, and the normalizer of the embedder's space, which is made once from the first answer."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._normalizer: EmbeddingNormalizer | None = None

    @property
    def space(self) -> str:
        """The space of the vectors to come."""
        return self._embedder.space

    async def vectors(self, texts: Sequence[str]) -> Mapping[str, Vector]:
        """Map the texts to their vectors by one call of the embedder; an empty mapping while it is down."""
        distinct = list(dict.fromkeys(texts))
        if not distinct:
            return {}
        try:
            return dict(zip(distinct, await self._embed(distinct), strict=True))
        except ProviderError as error:
            _log.warning("embedder failed, words answer alone", extra={"error": str(error)})
            return {}

    async def normalizer(self) -> EmbeddingNormalizer | None:
        """Return the normalizer of the space as it is now; None while the embedder is down and it was never up."""
        try:
            await self.prepare()
        except ProviderError as error:
            _log.warning("embedder failed, words answer alone", extra={"error": str(error)})
            return None
        return self._normalizer

    async def prepare(self) -> None:
        """Make the normalizer of the space as it is now, unless it is made.

        Raises:
            ProviderError: the embedder cannot answer.
        """
        if self._normalizer is None or self._normalizer.space != self._embedder.space:
            await self._embed([])

    async def _embed(self, texts: Sequence[str]) -> Vectors:
        """Embed the texts, and in the same call the background sentences of a space that was not seen before."""
        space, asked = self._embedder.space, [text[:MAX_CHARS] for text in texts]
        if self._normalizer is not None and self._normalizer.space == space:
            return await self._embedder.embed(asked)
        vectors = await self._embedder.embed([*asked, *background()])
        self._normalizer = EmbeddingNormalizer(space, vectors[len(asked) :].mean(axis=0))
        return vectors[: len(asked)]


# Vector indexes in RAM, one a person: built at the first use, dropped when many are held.
#
# The store is the truth, an index is a copy of one person's vectors, as of a version of the store. A search by another
# version finds nothing, and the index is brought to the present one first: what is new is added, what is gone removed,
# whoever changed it. A user of an index holds its owner's lock; any exception inside, cancellation included, may have
# left it half changed, so it is dropped and built again by its next use.

_CHUNK_ROWS = 4096
"""As many as fill a block of the FAISS index at once; a block that grows step by step leaves holes behind."""

_INLINE_ROWS = 8192
"""Up to here a search takes about a millisecond: less than it is worth leaving the event loop for."""


@dataclass(slots=True)
class OwnerIndex:
    """One person's index, of which space and version, and whether phrases of the store have no vector.

    `newest` is the greatest phrase id that was ever in it, `removed` what the store told at that version.
    """

    normalizer: EmbeddingNormalizer
    index: VectorIndex
    version: int = -1
    newest: int = 0
    removed: int = 0
    partial: bool = False

    async def follow(self, store: PhraseStore, owner: UserKey) -> None:
        """Bring the index to what the store holds now."""
        space = self.normalizer.space
        fresh = await store.fresh(owner, space, self.newest, None if self.version == -1 else self.removed)
        await self._add(fresh.ids, fresh.vectors)
        self.partial = self.partial or fresh.partial
        if fresh.embedded is not None:
            held = self.index.ids()
            await self._remove(held - fresh.embedded)
            if missing := fresh.embedded - held:
                await self._add(*await store.vectors(owner, space, missing))
            self.partial = fresh.partial
        self.version, self.removed = fresh.version, fresh.removed

    async def nearest(self, rows: Vectors, k: int, most: int = 0) -> frozenset[int]:
        """Return the `k` phrases that are nearest to each row, of all or of `most`."""
        if min(most or len(self.index), len(self.index)) * len(rows) <= _INLINE_ROWS:
            found = self.index.search(rows, k, most)
        else:
            found = await asyncio.to_thread(self.index.search, rows, k, most)
        return frozenset(phrase for hits in found for phrase, _ in hits)

    async def _add(self, ids: Sequence[int], vectors: Vectors) -> None:
        def move(start: int) -> None:
            """Move the rows from there to the end: what goes into the index is given back, so the peak is one copy."""
            seen = self.normalizer.project(vectors[start:])
            if vectors.flags.owndata:
                vectors.resize((start, vectors.shape[1]), refcheck=False)
            self.index.add(ids[start : start + len(seen)], seen)

        self.newest = max((self.newest, *ids))
        if len(ids) <= _CHUNK_ROWS // 16:
            if ids:
                move(0)
            return
        for end in range(len(ids), 0, -_CHUNK_ROWS):
            await asyncio.to_thread(move, max(end - _CHUNK_ROWS, 0))

    async def _remove(self, ids: frozenset[int]) -> None:
        if len(self.index) <= _INLINE_ROWS:
            self.index.remove(list(ids))
        else:
            await asyncio.to_thread(self.index.remove, list(ids))


class _Slot:
    """Where the index of a person is, if there is one, and how many use it or wait for it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.users = 0
        self.held: OwnerIndex | None = None

    def __len__(self) -> int:
        """Return how many vectors it holds."""
        return len(self.held.index) if self.held is not None else 0


class Indexes(VectorSearch):
    """Least-recently-used indexes of at most `max_owners` people, and of `max_vectors` in all."""

    def __init__(
        self,
        phrases: PhraseStore,
        new_index: Callable[[int], VectorIndex],
        *,
        max_owners: int = 256,
        max_vectors: int = 1_000_000,
    ) -> None:
        self._phrases = phrases
        self._new_index = new_index
        self._max_owners = max_owners
        self._max_vectors = max_vectors
        self._places: OrderedDict[UserKey, _Slot] = OrderedDict()

    @property
    def phrases(self) -> PhraseStore:
        """The store that is searched."""
        return self._phrases

    async def search(self, owner: UserKey, search: SearchRequest, asked: AskedVectors) -> SearchResult:
        """Search the store with the neighbours in the owner's index, brought to the version of the store first."""
        async with self.reading(owner, EmbeddingNormalizer(asked.space, asked.mean)) as held:
            while True:
                nearest = await held.nearest(asked.rows, asked.nearest, asked.most)
                neighbours = Neighbours(nearest, held.index.cosines)
                items = await self._phrases.search(owner, search, neighbours, version=held.version)
                if items is not None:
                    return SearchResult(items, held.partial, whole=asked.nearest >= len(held.index))
                await held.follow(self._phrases, owner)

    @asynccontextmanager
    async def reading(self, owner: UserKey, normalizer: EmbeddingNormalizer) -> AsyncIterator[OwnerIndex]:
        """Hold the owner's lock and give their index, built now if there is none of that space."""
        place = self._places.setdefault(owner, _Slot())
        self._places.move_to_end(owner)
        place.users += 1
        try:
            async with place.lock:
                try:
                    if place.held is None or place.held.normalizer.space != normalizer.space:
                        place.held = OwnerIndex(normalizer, self._new_index(normalizer.dims))
                        await place.held.follow(self._phrases, owner)
                        self._evict()
                    yield place.held
                except BaseException:
                    place.held = None
                    raise
        finally:
            place.users -= 1
            if len(self._places) > self._max_owners:
                self._evict()

    def drop(self, owner: UserKey) -> None:
        """Drop the index of a person, unless somebody is using it: then it follows the store by its next use."""
        place = self._places.get(owner)
        if place is not None and place.users == 0:
            del self._places[owner]

    @property
    def loaded(self) -> int:
        """How many people's indexes are in RAM."""
        return sum(place.held is not None for place in self._places.values())

    def _evict(self) -> None:
        """Drop the least recently used that nobody is using, until both limits hold."""
        held = sum(map(len, self._places.values()))
        for owner, place in list(self._places.items()):
            if len(self._places) <= self._max_owners and held <= self._max_vectors:
                break
            if place.users == 0:
                held -= len(place)
                del self._places[owner]
