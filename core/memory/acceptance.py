"""Tell how likely a memory answers a question: a logistic model of four numbers.

They are the lead of the memory's score over the third best (one that merely is the nearest of many leads by little, and
two may answer alike), how like the question is to it, how much of the question its words cover (a lead by words alone
is worth less), and whether the question is of a kind that only its asker's own life answers: a linear classifier over
the vector, learned from labelled questions (tests/data/own_questions.txt). How many memories there are does not count:
it moves all scores together, and no lead.

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

_THIRD: Final = 3
_LEAST_THIRD: Final = 0.2
"""What the third best scores at least: the median where somebody has ten memories."""

_MOST_THIRD: Final = 1.2
"""What the third best counts for at most: where three memories fit so well, they answer alike (three appointments)."""


_STEPS: Final = 30
_RIDGE: Final = 0.01


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Weights of (lead, likeness, coverage, own, 1), without `own` for other spaces, of (lead, coverage, 1) for words.

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

    def chances(
        self,
        scores: Vector,
        covered: Vector,
        likeness: Vector | None = None,
        *,
        vector: Vector | None = None,
        space: str = "",
    ) -> Vector:
        """Return the chance, 0..1, of each of the memories that one question found.

        `covered` is how much of the question their words cover. `likeness`, the mean of the cosines of the question and
        of its parts, and the question's normalized `vector` in that space are None where words alone found them.
        """
        if likeness is None or vector is None:
            return _logistic(self.by_words, leads(scores), covered)
        if space != self.space:
            return _logistic(self.by_vectors, leads(scores), likeness, covered)
        return _logistic(self.by_all, leads(scores), likeness, covered, np.full_like(scores, self.owned(vector)))

    def owned(self, vector: Vector) -> float:
        """Return how much a question is about the asker's own life, -1..1, by its normalized vector in `space`."""
        return float(np.clip(vector @ self.own[:-1] + self.own[-1], -1, 1))


def leads(scores: Vector) -> Vector:
    """Return how far each score lies above the third best, within bounds."""
    third = float(np.partition(scores, -_THIRD)[-_THIRD]) if len(scores) >= _THIRD else _LEAST_THIRD
    return scores - np.float32(min(max(third, _LEAST_THIRD), _MOST_THIRD))


def _logistic(weights: Vector, *columns: Vector) -> Vector:
    sums = np.stack([*columns, np.ones_like(columns[0])], axis=1) @ weights
    chances: Vector = (1 / (1 + np.exp(-sums))).astype(np.float32)
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
