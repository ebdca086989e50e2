"""Tell how likely a memory answers a question: a logistic model of very few numbers.

They are the memory's score, its lead over the third best (one that merely is the nearest of many leads by little, and
two may answer alike), and whether the question is of a kind that only its asker's own life answers: a linear classifier
over the vector, learned from labelled questions (tests/data/own_questions.txt). How many memories there are does not
count: it moves all scores together, and no lead.

`python -m bench.acceptance` makes the weights again.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final, Self

import numpy as np

from core.types import Vector, Vectors

FILE: Final = "acceptance.npz"

SURE: Final = 0.85
"""The chance over which a memory may be told as the answer: of lives not seen, 2 % of what is told so is wrong."""

NEAR: Final = 0.3
"""The chance over which the best memory may be told as the nearest known: for 12 % of unrelated questions it is."""

_THIRD: Final = 3
_LEAST_THIRD: Final = 0.2
"""What the third best scores at least: the median where somebody has ten memories."""


_STEPS: Final = 30
_RIDGE: Final = 0.01


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Weights of (score, lead, own, 1), of (score, lead, 1) for vectors of other spaces, and of the same for words.

    `own`, shape (dims + 1,), tells in `space` whether a question is about the asker's own life, 1, or not, -1.
    """

    space: str
    own: Vector
    by_all: Vector
    by_vectors: Vector
    by_words: Vector

    @classmethod
    @cache
    def shipped(cls) -> Self:
        """Return the weights that ship with this package."""
        with np.load(io.BytesIO(resources.files(__package__).joinpath(FILE).read_bytes())) as stored:
            own, by_all, by_vectors, by_words = (stored[name] for name in ("own", "by_all", "by_vectors", "by_words"))
            return cls(str(stored["space"]), own, by_all, by_vectors, by_words)

    def chances(self, scores: Vector, vector: Vector | None = None, space: str = "") -> Vector:
        """Return the chance, 0..1, of each of the memories that one question found, from the scores of all of them.

        `vector` is the question's, normalized, in that space; None where words alone found them.
        """
        if vector is None:
            return _logistic(self.by_words, scores, leads(scores))
        if space != self.space:
            return _logistic(self.by_vectors, scores, leads(scores))
        own = np.full(len(scores), vector @ self.own[:-1] + self.own[-1])
        return _logistic(self.by_all, scores, leads(scores), own)


def leads(scores: Vector) -> Vector:
    """Return how far each score lies above the third best."""
    third = np.partition(scores, -_THIRD)[-_THIRD] if len(scores) >= _THIRD else _LEAST_THIRD
    lead: Vector = scores - max(third, _LEAST_THIRD)
    return lead


def _logistic(weights: Vector, *columns: Vector) -> Vector:
    sums = np.stack([*columns, np.ones(len(columns[0]))], axis=1) @ weights
    chances: Vector = 1 / (1 + np.exp(-sums))
    return chances


def fitted(columns: Vectors, answers: Vector) -> Vector:
    """Return the logistic weights of columns, shape (n, m), and of 1, for answers that are 0 or 1 (Newton's method)."""
    rows = np.column_stack([columns, np.ones(len(columns))]).astype(np.float64)
    weights = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        chances = 1 / (1 + np.exp(-rows @ weights))
        slopes = rows.T @ (answers - chances) - _RIDGE * weights
        curves = (rows * (chances * (1 - chances))[:, np.newaxis]).T @ rows + _RIDGE * np.eye(rows.shape[1])
        weights += np.linalg.solve(curves, slopes)
    return weights.astype(np.float32)
