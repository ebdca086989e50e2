"""Nearest neighbours by FAISS, in RAM only.

The index is a list of blocks of a fixed number of rows: it grows without ever copying what it holds, where one
block that doubles would need twice its own memory for a moment, and a removal rewrites only the blocks it concerns.

Rows are kept in half precision: half the memory, and less than half the time where memory is read at its own speed. A
cosine is off by less than 0.001, which is less than two ways to say the same thing differ (bench/memory.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import faiss
import numpy as np
import numpy.typing as npt

from core.ports import VectorIndex
from core.types import Vectors

BLOCK_ROWS: Final = 4096


def _take_one_thread() -> None:
    """Keep FAISS from a second thread for what the calling one asks of it: that only spins, at 50 times the price."""
    faiss.omp_set_num_threads(1)


class _Block:
    """Some rows, and the id of each."""

    def __init__(self, dims: int) -> None:
        self.rows = faiss.IndexScalarQuantizer(dims, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
        self.ids = np.empty(0, np.int64)

    def __len__(self) -> int:
        """Return how many rows it holds."""
        return len(self.ids)

    def codes(self) -> npt.NDArray[np.uint8]:
        """Return the rows as they are kept, shape (rows, bytes of one), to be read until the next change."""
        codes: npt.NDArray[np.uint8] = faiss.rev_swig_ptr(self.rows.codes.data(), self.rows.codes.size())
        return codes.reshape(len(self), self.rows.code_size)


class FaissIndex(VectorIndex):
    """Inner products with all rows of `dims` half floats, `block_rows` to a block."""

    def __init__(self, dims: int, *, block_rows: int = BLOCK_ROWS) -> None:
        self._dims = dims
        self._block_rows = block_rows
        self._blocks: list[_Block] = []
        self._slots: dict[int, int] = {}
        """Where the row of each id is: the number of the block, times `block_rows`, plus its place there."""

    def ids(self) -> frozenset[int]:
        """Return what it holds."""
        return frozenset(self._slots)

    def __len__(self) -> int:
        """Return how many vectors it holds."""
        return len(self._slots)

    def add(self, ids: Sequence[int], vectors: Vectors) -> None:
        """Add rows. Raises ValueError for an id that is present, or twice in `ids`; then nothing is added."""
        fresh = np.ascontiguousarray(ids, np.int64)
        wanted = set(fresh.tolist())
        if len(wanted) < len(fresh) or not self._slots.keys().isdisjoint(wanted):
            raise ValueError("an id is present already")
        if vectors.shape != (len(fresh), self._dims):
            raise ValueError("one row of the index's length for each id")
        rows = np.ascontiguousarray(vectors, np.float32)
        start = 0
        while start < len(fresh):
            number = self._open_block()
            block = self._blocks[number]
            known = len(block)
            end = start + self._block_rows - known
            block.rows.add(rows[start:end])
            block.ids = np.concatenate([block.ids, fresh[start:end]])
            self._place(number, known)
            start = end

    def remove(self, ids: Sequence[int]) -> None:
        """Remove those of the ids that are present."""
        slots = np.array([self._slots.pop(i) for i in dict.fromkeys(ids) if i in self._slots], np.int64)
        for number in np.unique(slots // self._block_rows).tolist():
            block = self._blocks[number]
            gone = slots[slots // self._block_rows == number] % self._block_rows
            block.rows.remove_ids(faiss.IDSelectorBatch(gone))
            block.ids = np.delete(block.ids, gone)
            self._place(number)

    def search(self, queries: Vectors, k: int, most: int = 0) -> Sequence[Sequence[tuple[int, float]]]:
        """Return, per query row, up to `k` (id, cosine), nearest first; of equal cosines the lower id first.

        With `most`, the last blocks that hold so many rows are looked at.
        """
        asked = np.ascontiguousarray(queries, np.float32)
        _take_one_thread()
        held = [block for block in self._last(most) if len(block)]
        if k <= 0 or not held:
            return [[] for _ in queries]
        # A block is never asked for more than it has: FAISS would answer -1.
        answers = [(block, *block.rows.search(asked, min(k, len(block)))) for block in held]
        scores = np.concatenate([scores for _, scores, _ in answers], axis=1)
        ids = np.concatenate([block.ids[places] for block, _, places in answers], axis=1)
        order = np.lexsort((ids, -scores))[:, :k]
        return [
            list(zip(i[o].tolist(), s[o].tolist(), strict=True)) for i, s, o in zip(ids, scores, order, strict=True)
        ]

    def cosines(self, ids: Sequence[int], queries: Vectors) -> Vectors:
        """Return the cosines of vectors with queries, shape (len(ids), len(queries)); NaN for what is not held."""
        slots = np.array([self._slots.get(i, -1) for i in ids], np.int64)
        found: Vectors = np.full((len(ids), len(queries)), np.nan, np.float32)
        held = np.flatnonzero(slots >= 0)
        if len(held):
            numbers, places = np.divmod(slots[held], self._block_rows)
            codes = np.empty((len(held), self._blocks[0].rows.code_size), np.uint8)
            for number in np.unique(numbers).tolist():
                codes[numbers == number] = self._blocks[number].codes()[places[numbers == number]]
            _take_one_thread()
            found[held] = self._blocks[0].rows.sa_decode(codes) @ queries.T
        return found

    def _last(self, most: int) -> Sequence[_Block]:
        """Return as many of the last blocks as hold `most` rows; all for 0."""
        start, rows = len(self._blocks), 0
        while start and (not most or rows < most):
            start -= 1
            rows += len(self._blocks[start])
        return self._blocks[start:]

    def _place(self, number: int, start: int = 0) -> None:
        """Note where the rows of a block are, from one on."""
        first = number * self._block_rows + start
        ids = self._blocks[number].ids[start:].tolist()
        self._slots.update(zip(ids, range(first, first + len(ids)), strict=True))

    def _open_block(self) -> int:
        """Return the number of the first block with room, or of a new one."""
        for number, block in enumerate(self._blocks):
            if len(block) < self._block_rows:
                return number
        self._blocks.append(_Block(self._dims))
        return len(self._blocks) - 1
