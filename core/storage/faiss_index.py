"""Nearest neighbours by FAISS, in RAM only.

The index is a list of blocks of a fixed number of rows: it grows without ever copying what it holds, where one
block that doubles would need twice its own memory for a moment, and a removal rewrites only the blocks it concerns.

Rows are kept in half precision: half the memory, and less than half the time where memory is read at its own speed. A
cosine is off by less than 0.001, which is less than two ways to say the same thing differ (bench/memory.py). The store
keeps every vector whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import faiss
import numpy as np

from core.ports import VectorIndex
from core.types import Vectors

BLOCK_ROWS: Final = 4096


class FaissIndex(VectorIndex):
    """Inner products with all rows of `dims` half floats, `block_rows` to a block."""

    def __init__(self, dims: int, *, block_rows: int = BLOCK_ROWS) -> None:
        self._dims = dims
        self._block_rows = block_rows
        self._blocks: list[faiss.IndexIDMap2] = []
        self._homes: dict[int, faiss.IndexIDMap2] = {}
        """The block of each id: FAISS itself takes the same id twice in silence."""

    def ids(self) -> frozenset[int]:
        """Return what it holds."""
        return frozenset(self._homes)

    def __len__(self) -> int:
        """Return how many vectors it holds."""
        return len(self._homes)

    def add(self, ids: Sequence[int], vectors: Vectors) -> None:
        """Add rows. Raises ValueError for an id that is present, or twice in `ids`; then nothing is added."""
        fresh = np.ascontiguousarray(ids, np.int64)
        wanted = set(fresh.tolist())
        if len(wanted) < len(fresh) or not wanted.isdisjoint(self._homes):
            raise ValueError("an id is present already")
        if vectors.shape != (len(fresh), self._dims):
            raise ValueError("one row of the index's length for each id")
        rows = np.ascontiguousarray(vectors, np.float32)
        start = 0
        while start < len(fresh):
            block = self._open_block()
            end = start + self._block_rows - block.ntotal
            block.add_with_ids(rows[start:end], fresh[start:end])
            self._homes.update(dict.fromkeys(fresh[start:end].tolist(), block))
            start = end

    def remove(self, ids: Sequence[int]) -> None:
        """Remove those of the ids that are present."""
        for block, gone in self._by_block(ids):
            block.remove_ids(faiss.IDSelectorBatch(np.array(gone, np.int64)))
            for i in gone:
                del self._homes[i]
        self._blocks = [block for block in self._blocks if block.ntotal]

    def search(self, queries: Vectors, k: int) -> Sequence[Sequence[tuple[int, float]]]:
        """Return, per query row, up to `k` (id, cosine), nearest first; of equal cosines the lower id first."""
        asked = np.ascontiguousarray(queries, np.float32)
        faiss.omp_set_num_threads(1)  # counts for the calling thread; a second one only spins, at 50 times the price
        if k <= 0 or not self._blocks:
            return [[] for _ in queries]
        # A block is never asked for more than it has: FAISS would answer -1.
        answers = [block.search(asked, min(k, block.ntotal)) for block in self._blocks]
        scores = np.concatenate([scores for scores, _ in answers], axis=1)
        ids = np.concatenate([ids for _, ids in answers], axis=1)
        order = np.lexsort((ids, -scores))[:, :k]
        return [
            list(zip(i[o].tolist(), s[o].tolist(), strict=True)) for i, s, o in zip(ids, scores, order, strict=True)
        ]

    def cosines(self, ids: Sequence[int], queries: Vectors) -> Vectors:
        """Return the cosines of vectors with queries, shape (len(ids), len(queries)); NaN for what is not held."""
        rows: Vectors = np.full((len(ids), self._dims), np.nan, np.float32)
        places = {i: place for place, i in enumerate(ids)}
        for block, held in self._by_block(list(places)):
            rows[[places[i] for i in held]] = block.reconstruct_batch(np.array(held, np.int64))
        found: Vectors = rows @ queries.T
        return found

    def _by_block(self, ids: Sequence[int]) -> Sequence[tuple[faiss.IndexIDMap2, Sequence[int]]]:
        """Return those of the ids that are present, by the block that they are in."""
        found: dict[int, tuple[faiss.IndexIDMap2, list[int]]] = {}
        for i in dict.fromkeys(ids):
            if i in self._homes:
                block = self._homes[i]
                found.setdefault(id(block), (block, []))[1].append(i)
        return list(found.values())

    def _open_block(self) -> faiss.IndexIDMap2:
        """Return the first block with room, or a new one."""
        for block in self._blocks:
            if block.ntotal < self._block_rows:
                return block
        halves = faiss.IndexScalarQuantizer(self._dims, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
        self._blocks.append(faiss.IndexIDMap2(halves))
        return self._blocks[-1]
