from __future__ import annotations

import numpy as np
import pytest

from core.memory.embedding import EmbeddingNormalizer
from core.types import Vectors

DIMS = 48


def _crowded(seed: int, n: int = 60) -> tuple[EmbeddingNormalizer, Vectors]:
    """Return rows of norm 1 that share a direction, as those of a sentence embedder do, and their normalizer."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal(DIMS) * 3 + rng.standard_normal((n, DIMS))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return EmbeddingNormalizer("x@48", rows.mean(axis=0)), rows


def test_rows_that_share_only_a_direction_have_nothing_to_do_with_each_other() -> None:
    normalizer, rows = _crowded(1)
    seen = normalizer.project(rows)
    others = ~np.eye(len(rows), dtype=bool)
    assert (rows @ rows.T)[others].mean() > 0.8
    assert abs((seen @ seen.T)[others].mean()) < 0.05


def test_rows_come_out_with_norm_one_and_the_rows_given_stay_as_they_were() -> None:
    normalizer, rows = _crowded(2)
    before = rows.copy()
    seen = normalizer.project(rows)
    assert np.linalg.norm(seen, axis=1) == pytest.approx(np.ones(len(seen)), abs=1e-5)
    assert seen.dtype == np.float32
    assert np.array_equal(rows, before)


def test_a_row_with_nothing_of_its_own_becomes_zeros() -> None:
    normalizer, _ = _crowded(3)
    assert np.array_equal(normalizer.project(normalizer.mean[None]), np.zeros((1, DIMS), np.float32))


def test_projecting_rows_together_or_one_by_one_is_the_same() -> None:
    normalizer, rows = _crowded(4, n=600)
    together = normalizer.project(rows)
    alone = np.concatenate([normalizer.project(row[None]) for row in rows])
    assert together == pytest.approx(alone, abs=1e-6)
