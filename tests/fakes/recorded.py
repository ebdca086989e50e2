"""Vectors of the embedded embedder, made once for many tests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from core.memory.embedding import LANGUAGES
from core.ports import Embedder
from core.providers.usem3 import DIMS, Usem3Embedder
from core.types import Vector, Vectors


class RecordedEmbedder(Embedder):
    """Answers with vectors that it was given."""

    def __init__(self, vectors: Mapping[str, Vector]) -> None:
        self._vectors = vectors

    @classmethod
    def of(cls, texts: Iterable[str]) -> RecordedEmbedder:
        """Return one that knows these texts, and the sentences that a normalizer is made of."""

        async def embed() -> Mapping[str, Vector]:
            wanted = list(dict.fromkeys([*(text for language in LANGUAGES for text in language), *texts]))
            real = Usem3Embedder()
            try:
                return dict(zip(wanted, await real.embed(wanted), strict=True))
            finally:
                await real.close()

        return cls(asyncio.run(embed()))

    @property
    def space(self) -> str:
        return f"recorded@{DIMS}"

    @property
    def dims(self) -> int:
        return DIMS

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._vectors[text] for text in texts])

    async def close(self) -> None:
        """Nothing to let go of."""
