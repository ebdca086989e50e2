"""Nearest neighbours by FAISS, in RAM only.

The index is a list of blocks of a fixed number of rows: it grows without ever copying what it holds, where one
block that doubles would need twice its own memory for a moment, and a removal rewrites only the blocks it concerns.

Rows are kept in half precision: half the memory, and less than half the time where memory is read at its own speed. A
cosine is off by less than 0.001, which is less than two ways to say the same thing differ (bench/memory.py). The store
keeps every vector whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import faiss
import numpy as np
import numpy.typing as npt

from core.ports import VectorIndex
from core.types import Vectors

BLOCK_ROWS: Final = 4096


@dataclass(slots=True)
class _Block:
    """Some rows, and their ids: FAISS itself takes the same id twice in silence."""

    rows: faiss.IndexIDMap2
    ids: set[int] = field(default_factory=set)


class FaissIndex(VectorIndex):
    """Inner products with all rows of `dims` half floats, `block_rows` to a block."""

    def __init__(self, dims: int, *, block_rows: int = BLOCK_ROWS) -> None:
        self._dims = dims
        self._block_rows = block_rows
        self._blocks: list[_Block] = []

    def ids(self) -> frozenset[int]:
        """Return what it holds."""
        return frozenset().union(*(block.ids for block in self._blocks))

    def __len__(self) -> int:
        """Return how many vectors it holds."""
        return sum(len(block.ids) for block in self._blocks)

    def add(self, ids: Sequence[int], vectors: Vectors) -> None:
        """Add rows. Raises ValueError for an id that is present, or twice in `ids`; then nothing is added."""
        fresh = np.ascontiguousarray(ids, np.int64)
        wanted = set(fresh.tolist())
        if len(wanted) < len(fresh) or any(not wanted.isdisjoint(block.ids) for block in self._blocks):
            raise ValueError("an id is present already")
        if vectors.shape != (len(fresh), self._dims):
            raise ValueError("one row of the index's length for each id")
        rows = np.ascontiguousarray(vectors, np.float32)
        start = 0
        while start < len(fresh):
            block = self._open_block()
            end = start + self._block_rows - len(block.ids)
            block.rows.add_with_ids(rows[start:end], fresh[start:end])
            block.ids.update(fresh[start:end].tolist())
            start = end

    def remove(self, ids: Sequence[int]) -> None:
        """Remove those of the ids that are present."""
        for block in self._blocks:
            gone = block.ids.intersection(ids)
            if gone:
                block.rows.remove_ids(faiss.IDSelectorBatch(np.fromiter(gone, np.int64, len(gone))))
                block.ids -= gone
        self._blocks = [block for block in self._blocks if block.ids]

    def search(
        self, queries: Vectors, k: int, among: Sequence[int] | None = None
    ) -> Sequence[Sequence[tuple[int, float]]]:
        """Return, per query row, up to `k` (id, cosine), nearest first; of equal cosines the lower id first."""
        asked = np.ascontiguousarray(queries, np.float32)
        faiss.omp_set_num_threads(1)  # counts for the calling thread; a second one only spins, at 50 times the price
        chosen = None if among is None else set(among)
        answers = [_search(block, asked, k, chosen) for block in self._blocks]
        if k <= 0 or not answers:
            return [[] for _ in queries]
        scores = np.concatenate([scores for scores, _ in answers], axis=1)
        ids = np.concatenate([ids for _, ids in answers], axis=1)
        order = np.lexsort((ids, -scores))[:, :k]
        return [
            list(zip(i[o].tolist(), s[o].tolist(), strict=True)) for i, s, o in zip(ids, scores, order, strict=True)
        ]

    def _open_block(self) -> _Block:
        """Return the first block with room, or a new one."""
        for block in self._blocks:
            if len(block.ids) < self._block_rows:
                return block
        halves = faiss.IndexScalarQuantizer(self._dims, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
        self._blocks.append(_Block(faiss.IndexIDMap2(halves)))
        return self._blocks[-1]


def _search(block: _Block, asked: Vectors, k: int, chosen: set[int] | None) -> tuple[Vectors, npt.NDArray[np.int64]]:
    """Search one block, among the chosen ids or all. It is never asked for more than it has: FAISS would answer -1."""
    held = block.ids if chosen is None else block.ids & chosen
    if not held or k <= 0:
        return np.empty((len(asked), 0), np.float32), np.empty((len(asked), 0), np.int64)
    parameters = None
    if len(held) < len(block.ids):
        parameters = faiss.SearchParameters()
        parameters.sel = faiss.IDSelectorBatch(np.fromiter(held, np.int64, len(held)))
    scores, ids = block.rows.search(asked, min(k, len(held)), params=parameters)
    return scores, ids
