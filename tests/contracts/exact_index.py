"""Nearest neighbours by computing every cosine: the reference that other indexes are held to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from core.ports import VectorIndex
from core.types import Vectors


class ExactIndex(VectorIndex):
    """All vectors in one array of `dims` columns, in the order they were added."""

    def __init__(self, dims: int) -> None:
        self._ids: npt.NDArray[np.int64] = np.empty(0, np.int64)
        self._vectors: Vectors = np.empty((0, dims), np.float32)

    def ids(self) -> frozenset[int]:
        """Return what it holds."""
        return frozenset(self._ids.tolist())

    def __len__(self) -> int:
        """Return how many vectors it holds."""
        return len(self._ids)

    def add(self, ids: Sequence[int], vectors: Vectors) -> None:
        """Add rows. Raises ValueError for an id that is present, or twice in `ids`; then nothing is added."""
        fresh = np.asarray(ids, np.int64)
        if len(np.unique(fresh)) < len(fresh) or np.isin(fresh, self._ids).any():
            raise ValueError("an id is present already")
        if vectors.shape != (len(fresh), self._vectors.shape[1]):
            raise ValueError("one row of the index's length for each id")
        self._ids = np.concatenate([self._ids, fresh])
        self._vectors = np.concatenate([self._vectors, vectors.astype(np.float32, copy=False)])

    def remove(self, ids: Sequence[int]) -> None:
        """Remove those of the ids that are present."""
        kept = ~np.isin(self._ids, np.asarray(ids, np.int64))
        self._ids, self._vectors = self._ids[kept], self._vectors[kept]

    def search(self, queries: Vectors, k: int, most: int = 0) -> Sequence[Sequence[tuple[int, float]]]:
        """Return, per query row, up to `k` (id, cosine), nearest first; of equal cosines the lower id first."""
        found = []
        ids, vectors = self._ids[-most:], self._vectors[-most:]
        for row in queries @ vectors.T:
            order = np.lexsort((ids, -row))[: max(k, 0)]
            found.append(list(zip(ids[order].tolist(), row[order].tolist(), strict=True)))
        return found

    def cosines(self, ids: Sequence[int], queries: Vectors) -> Vectors:
        """Return the cosines of vectors with queries, shape (len(ids), len(queries)); NaN for what is not held."""
        found: Vectors = np.full((len(ids), len(queries)), np.nan, np.float32)
        places = {i: place for place, i in enumerate(self._ids.tolist())}
        for row, i in enumerate(ids):
            if i in places:
                found[row] = queries @ self._vectors[places[i]]
        return found
