"""The index in RAM finds what computing every cosine finds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.storage.faiss_index import FaissIndex
from core.types import Vectors

DIMS = 8
HALF_PRECISION = 1e-3
"""How far a cosine may be off where rows are kept in half precision."""


def _rows(n: int, seed: int = 0) -> Vectors:
    rows = np.random.default_rng(seed).standard_normal((n, DIMS)).astype(np.float32)
    unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


ROWS = _rows(31)
STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "remove", "search"]), st.sets(st.integers(0, 30), max_size=9)), max_size=25
)


def _nearest(query: Vectors, held: set[int], k: int) -> list[int]:
    return sorted(held, key=lambda i: (-float(ROWS[i] @ query), i))[:k]


@given(
    steps=STEPS,
    k=st.integers(0, 40),
    asked=st.lists(st.integers(0, 35), max_size=40, unique=True),
    block_rows=st.integers(1, 12),
)
def test_it_agrees_with_exact_search_whatever_is_added_and_removed(
    steps: list[tuple[str, set[int]]], k: int, asked: Sequence[int], block_rows: int
) -> None:
    """Ids come nearest first, what was removed is not found and may come back, and nothing foreign is ever named."""
    index, held = FaissIndex(DIMS, block_rows=block_rows), set[int]()
    for step, ids in steps:
        if step == "add":
            fresh = sorted(ids - held)
            index.add(fresh, ROWS[fresh])
            held |= ids
        elif step == "remove":
            index.remove([*sorted(ids), 999])
            held -= ids
        queries = ROWS[sorted(ids)]
        for query, found in zip(queries, index.search(queries, k), strict=True):
            assert [i for i, _ in found] == _nearest(query, held, k)
            assert [s for _, s in found] == pytest.approx([ROWS[i] @ query for i, _ in found], abs=HALF_PRECISION)
        assert index.ids() == held
    assert len(index) == len(held)
    cosines = index.cosines(asked, ROWS[:2])
    assert cosines.shape == (len(asked), 2)
    for i, row in zip(asked, cosines, strict=True):
        assert row == pytest.approx(ROWS[i] @ ROWS[:2].T, abs=HALF_PRECISION) if i in held else np.isnan(row).all()


def test_results_are_plain_numbers() -> None:
    index = FaissIndex(DIMS)
    index.add([1], _rows(1))
    phrase_id, cosine = index.search(_rows(1), 1)[0][0]
    assert type(phrase_id) is int
    assert type(cosine) is float


@pytest.mark.parametrize(
    ("ids", "rows", "said"),
    [
        ([2, 1], _rows(2, seed=1), "present"),
        ([3, 3], _rows(2, seed=1), "present"),
        ([4, 5], _rows(1), "row"),
        ([4], _rows(1)[:, :3], "row"),
    ],
)
def test_ids_that_are_present_and_rows_of_another_shape_are_refused_and_nothing_is_added(
    ids: list[int], rows: Vectors, said: str
) -> None:
    index = FaissIndex(DIMS)
    index.add([1], _rows(1))
    with pytest.raises(ValueError, match=said):
        index.add(ids, rows)
    assert index.ids() == {1}
    assert [i for i, _ in index.search(_rows(1), 9)[0]] == [1]


@given(st.integers(1, 60), st.integers(1, 40), st.integers(1, 12))
def test_a_bounded_search_looks_at_least_at_what_was_added_last(held: int, most: int, block_rows: int) -> None:
    index = FaissIndex(4, block_rows=block_rows)
    vectors = np.random.default_rng(held).standard_normal((held, 4)).astype(np.float32)
    index.add(range(held), vectors)
    [found] = index.search(vectors[:1], held, most)
    ids = {i for i, _ in found}
    assert ids >= set(range(max(held - most, 0), held))
    assert len(ids) < most + 2 * block_rows
