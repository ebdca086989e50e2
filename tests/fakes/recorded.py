"""Vectors of the embedded embedder, made once for many tests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from core.memory.embedding import background
from core.memory.search import parts
from core.ports import Embedder
from core.providers.usem3 import DIMS, Usem3Embedder
from core.types import Vector, Vectors


class RecordedEmbedder(Embedder):
    """Answers with vectors that it was given."""

    def __init__(self, space: str, vectors: Mapping[str, Vector]) -> None:
        self._space = space
        self._vectors = vectors

    @classmethod
    def of(cls, phrases: Iterable[str], queries: Iterable[str]) -> RecordedEmbedder:
        """Return one that knows these phrases, queries and their parts, and what a normalizer is made of."""

        async def embed() -> RecordedEmbedder:
            wanted = list(
                dict.fromkeys([*background(), *phrases, *(t for query in queries for t in (query, *parts(query)))])
            )
            real = Usem3Embedder()
            try:
                return cls(real.space, dict(zip(wanted, await real.embed(wanted), strict=True)))
            finally:
                await real.close()

        return asyncio.run(embed())

    @property
    def space(self) -> str:
        return self._space

    @property
    def dims(self) -> int:
        return DIMS

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._vectors[text] for text in texts])

    async def close(self) -> None:
        """Nothing to let go of."""
