"""What a sentence is for, by the examples that it is nearest to in meaning.

Knows labelled examples and their vectors. Does not know our cues: it is asked when they tell nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources

import numpy as np
import numpy.typing as npt

from core.mind.cues import Intent
from core.ports import Embedder
from core.types import Vector, Vectors

NEIGHBOURS = 7
SHARPNESS = 25.0
"""Softmax weight of a neighbour is exp(SHARPNESS * cosine): centred cosines differ by hundredths."""

_BATCH = 64


@dataclass(frozen=True, slots=True)
class Examples:
    """Labelled sentences, in a fixed order."""

    texts: tuple[str, ...]
    labels: tuple[Intent, ...]

    @classmethod
    def load(cls) -> Examples:
        """Read the examples that ship with this package: one a line, under the heading of what they are for."""
        pairs: list[tuple[str, Intent]] = []
        folder = resources.files(__package__).joinpath("examples")
        for name in ("en.txt", "es.txt", "pt.txt"):
            label = Intent.UNSURE
            for line in folder.joinpath(name).read_text("utf-8").splitlines():
                if line.startswith("["):
                    label = Intent(line.strip("[]"))
                elif line:
                    pairs.append((line, label))
        texts, labels = zip(*pairs, strict=True)
        return cls(texts, labels)

    def digest(self, space: str) -> str:
        """Return what stored vectors must be marked with to belong to these examples in that space."""
        return hashlib.sha256("\n".join((space, *self.texts)).encode()).hexdigest()

    def shipped(self, space: str) -> Vectors | None:
        """Return the vectors that ship with this package, shape (n, dims), or None if they are of other examples."""
        file = resources.files(__package__).joinpath("examples", "vectors.npz")
        if not file.is_file():
            return None
        with np.load(io.BytesIO(file.read_bytes())) as stored:
            if str(stored["digest"]) != self.digest(space):
                return None
            rows: npt.NDArray[np.float16] = stored["vectors"]
        vectors = rows.astype(np.float32)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


@dataclass(slots=True)
class Nearest:
    """A softmax-weighted vote of the nearest examples, on vectors centred on the examples' mean."""

    embedder: Embedder
    examples: Examples
    _space: str = ""
    _mean: Vector = field(default_factory=lambda: np.zeros(0, np.float32))
    _centred: Vectors = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def vote(self, text: str) -> dict[Intent, float]:
        """Return the share of the vote for each intent, best first; the shares sum to 1.

        Raises:
            ProviderError: the embedder cannot answer.
        """
        await self._ready()
        asked = _unit(np.asarray(await self.embedder.embed([text])) - self._mean)[0]
        cosines = self._centred @ asked
        nearest = np.argsort(-cosines)[:NEIGHBOURS]
        weights = np.exp(SHARPNESS * (cosines[nearest] - cosines[nearest[0]]))
        shares: dict[Intent, float] = {}
        for index, weight in zip(nearest, weights / weights.sum(), strict=True):
            label = self.examples.labels[index]
            shares[label] = shares.get(label, 0.0) + float(weight)
        return dict(sorted(shares.items(), key=lambda item: -item[1]))

    async def _ready(self) -> None:
        """Have the examples' vectors of the embedder's space: as shipped, else embedded once."""
        async with self._lock:
            if self._space == self.embedder.space:
                return
            vectors = self.examples.shipped(self.embedder.space)
            if vectors is None:
                vectors = await self._embedded(self.examples.texts)
            self._mean = vectors.mean(axis=0)
            self._centred = _unit(vectors - self._mean)
            self._space = self.embedder.space

    async def _embedded(self, texts: Sequence[str]) -> Vectors:
        batches = [await self.embedder.embed(texts[start : start + _BATCH]) for start in range(0, len(texts), _BATCH)]
        return np.concatenate(batches)


def _unit(rows: Vectors) -> Vectors:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(norms, 1e-9), np.float32)
