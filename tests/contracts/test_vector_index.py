"""The promises of VectorIndex, held by every implementation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.ports import VectorIndex
from core.storage.faiss_index import FaissIndex
from core.types import Vectors
from tests.contracts.exact_index import ExactIndex

DIMS = 8
HALF_PRECISION = 1e-3
"""How far a cosine may be off where rows are kept in half precision."""


def _small_blocks(dims: int) -> VectorIndex:
    return FaissIndex(dims, block_rows=3)


@pytest.fixture(params=[ExactIndex, FaissIndex, _small_blocks], ids=["exact", "faiss", "faiss-small-blocks"])
def new_index(request: pytest.FixtureRequest) -> Callable[[int], VectorIndex]:
    implementation: Callable[[int], VectorIndex] = request.param
    return implementation


def _rows(n: int, seed: int = 0) -> Vectors:
    rows = np.random.default_rng(seed).standard_normal((n, DIMS)).astype(np.float32)
    unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def test_an_empty_index_finds_nothing(new_index: Callable[[int], VectorIndex]) -> None:
    index = new_index(DIMS)
    assert len(index) == 0
    assert index.search(_rows(2), 5) == [[], []]


def test_an_index_names_what_it_holds(new_index: Callable[[int], VectorIndex]) -> None:
    index = new_index(DIMS)
    assert index.ids() == frozenset()
    index.add(range(10), _rows(10))
    index.remove([3, 7, 99])
    index.add([20], _rows(1))
    assert index.ids() == {0, 1, 2, 4, 5, 6, 8, 9, 20}
    index.remove(list(index.ids()))
    assert index.ids() == frozenset()


def test_a_vector_finds_itself_first(new_index: Callable[[int], VectorIndex]) -> None:
    index = new_index(DIMS)
    rows = _rows(20)
    index.add(range(100, 120), rows)
    assert [found[0][0] for found in index.search(rows, 3)] == list(range(100, 120))
    assert index.search(rows[:1], 1)[0][0][1] == pytest.approx(1, abs=HALF_PRECISION)


def test_a_search_answers_with_no_more_than_is_held_and_never_with_a_foreign_id(
    new_index: Callable[[int], VectorIndex],
) -> None:
    index = new_index(DIMS)
    index.add([7, 3], _rows(2))
    assert {i for i, _ in index.search(_rows(1), 50)[0]} == {3, 7}
    assert index.search(_rows(1), 0) == [[]]


def test_cosines_are_those_of_the_ids_asked_for_and_nan_for_what_is_not_held(
    new_index: Callable[[int], VectorIndex],
) -> None:
    index = new_index(DIMS)
    rows = _rows(50)
    index.add(range(50), rows)
    index.remove([41])
    found = index.cosines([40, 999, 3, 41], rows[:2])
    assert found.shape == (4, 2)
    assert found[[0, 2]] == pytest.approx(rows[[40, 3]] @ rows[:2].T, abs=HALF_PRECISION)
    assert np.isnan(found[[1, 3]]).all()
    assert index.cosines([], rows[:2]).shape == (0, 2)


def test_an_id_that_is_present_is_refused_and_nothing_is_added(new_index: Callable[[int], VectorIndex]) -> None:
    index = new_index(DIMS)
    index.add([1], _rows(1))
    for ids in ([2, 1], [3, 3]):
        with pytest.raises(ValueError, match="present"):
            index.add(ids, _rows(2, seed=1))
    assert len(index) == 1
    assert [i for i, _ in index.search(_rows(1), 9)[0]] == [1]


def test_rows_of_another_shape_are_refused(new_index: Callable[[int], VectorIndex]) -> None:
    index = new_index(DIMS)
    with pytest.raises(ValueError, match="row"):
        index.add([1, 2], _rows(1))
    with pytest.raises(ValueError, match="row"):
        index.add([1], _rows(1)[:, :3])
    assert len(index) == 0


def test_what_was_removed_is_not_found_and_may_come_back(new_index: Callable[[int], VectorIndex]) -> None:
    index = new_index(DIMS)
    rows = _rows(10)
    index.add(range(10), rows)
    index.remove([4, 999])
    assert len(index) == 9
    assert 4 not in {i for i, _ in index.search(rows[4:5], 10)[0]}
    index.add([4], rows[4:5])
    assert index.search(rows[4:5], 1)[0][0][0] == 4
    index.remove(range(10))
    assert len(index) == 0
    assert index.search(rows[:1], 3) == [[]]


def test_results_are_plain_numbers(new_index: Callable[[int], VectorIndex]) -> None:
    index = new_index(DIMS)
    index.add([1], _rows(1))
    phrase_id, cosine = index.search(_rows(1), 1)[0][0]
    assert type(phrase_id) is int
    assert type(cosine) is float


_steps = st.lists(
    st.tuples(st.sampled_from(["add", "remove", "search"]), st.sets(st.integers(0, 30), max_size=9)), max_size=25
)


@given(steps=_steps, k=st.integers(1, 40), asked=st.lists(st.integers(0, 35), max_size=40, unique=True))
def test_faiss_agrees_with_exact_search(steps: list[tuple[str, set[int]]], k: int, asked: list[int]) -> None:
    """Whatever is added and removed in whatever order, both find the same ids, with cosines equal to half precision."""
    exact, fast = ExactIndex(DIMS), FaissIndex(DIMS, block_rows=4)
    held: set[int] = set()
    rows = _rows(31)
    for step, ids in steps:
        if step == "add":
            fresh = sorted(ids - held)
            for index in (exact, fast):
                index.add(fresh, rows[fresh])
            held.update(fresh)
        elif step == "remove":
            for index in (exact, fast):
                index.remove(sorted(ids))
            held -= ids
        queries = rows[sorted(ids)]
        for wanted, found in zip(exact.search(queries, k), fast.search(queries, k), strict=True):
            assert {i for i, _ in found} <= held
            assert [i for i, _ in found] == [i for i, _ in wanted]
            assert [s for _, s in found] == pytest.approx([s for _, s in wanted], abs=HALF_PRECISION)
    assert len(fast) == len(exact) == len(held)


@given(st.integers(1, 60), st.integers(1, 40), st.integers(1, 12))
def test_a_bounded_search_looks_at_least_at_what_was_added_last(held: int, most: int, block_rows: int) -> None:
    index = FaissIndex(4, block_rows=block_rows)
    vectors = np.random.default_rng(held).standard_normal((held, 4)).astype(np.float32)
    index.add(range(held), vectors)
    [found] = index.search(vectors[:1], held, most)
    ids = {i for i, _ in found}
    assert ids >= set(range(max(held - most, 0), held))
    assert len(ids) < most + 2 * block_rows
