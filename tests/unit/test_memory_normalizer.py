from __future__ import annotations

import numpy as np
import pytest

from core.memory.embedding import EmbeddingNormalizer
from core.types import Vectors

DIMS = 48


def _unit(rows: Vectors) -> Vectors:
    unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _crowded(seed: int, n: int = 60) -> tuple[list[Vectors], Vectors]:
    """Return the same topics in three languages, as a sentence embedder would crowd them, and the bare topics."""
    rng = np.random.default_rng(seed)
    common, topics = rng.standard_normal(DIMS) * 3, rng.standard_normal((n, DIMS)).astype(np.float32) * 0.4
    languages = rng.standard_normal((3, DIMS))
    return [_unit(common + language + topics) for language in languages], topics


def test_one_topic_in_two_languages_is_nearer_than_two_topics_in_one_language() -> None:
    samples, _ = _crowded(1)
    normalizer = EmbeddingNormalizer.of("x@48", samples)
    raw_same = float((samples[0] * samples[1]).sum(axis=1).mean())
    raw_other = float((samples[0] * np.roll(samples[0], 1, axis=0)).sum(axis=1).mean())
    assert raw_same < raw_other, "the raw cosines prefer the language to the topic"
    seen = [normalizer.project(sample) for sample in samples]
    same = (seen[0] * seen[1]).sum(axis=1)
    other = (seen[0] * np.roll(seen[0], 1, axis=0)).sum(axis=1)
    assert same.min() > other.max()


def test_rows_come_out_with_norm_one_and_the_rows_given_stay_as_they_were() -> None:
    samples, _ = _crowded(2)
    before = samples[0].copy()
    seen = EmbeddingNormalizer.of("x@48", samples).project(samples[0])
    assert np.linalg.norm(seen, axis=1) == pytest.approx(np.ones(len(seen)), abs=1e-5)
    assert seen.dtype == np.float32
    assert np.array_equal(samples[0], before)


def test_a_row_with_nothing_of_its_own_becomes_zeros() -> None:
    samples, _ = _crowded(3)
    normalizer = EmbeddingNormalizer.of("x@48", samples)
    assert np.array_equal(normalizer.project(normalizer.mean[None]), np.zeros((1, DIMS), np.float32))


def test_projecting_rows_together_or_one_by_one_is_the_same() -> None:
    samples, _ = _crowded(4)
    normalizer = EmbeddingNormalizer.of("x@48", samples)
    together = normalizer.project(samples[1])
    alone = np.concatenate([normalizer.project(row[None]) for row in samples[1]])
    assert together == pytest.approx(alone, abs=1e-6)


def test_a_small_space_keeps_its_few_directions() -> None:
    samples, _ = _crowded(5)
    normalizer = EmbeddingNormalizer.of("x@6", [_unit(sample[:, :6]) for sample in samples])
    assert normalizer.directions.shape == (0, 6)
    assert normalizer.dims == 6


def test_languages_that_do_not_differ_cost_no_direction() -> None:
    samples, _ = _crowded(6)
    assert len(EmbeddingNormalizer.of("x@48", [samples[0]] * 3).directions) == 0
