"""How near a memory is to a question, from two kinds of evidence.

A convex combination of min-max scaled scores. The minima and maxima are those that the kinds of evidence can have, not
those of one list of results: so one memory is judged alone exactly as among ten thousand, and the floor has a meaning.

Source: Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval" (2022), theoretical min-max.
The constants were chosen on tests/data/memory_tuning.json; tests/data/memory_reporting.json was not looked at.
"""

from __future__ import annotations

from typing import Final

LEXICAL_WEIGHT: Final = 0.4
NEAR: Final = 0.7
"""A cosine of normalized vectors, above which phrases say the same."""

FAR: Final = 0.2
"""A cosine below which they have nothing to do with each other."""

FLOOR: Final = 0.2
"""The score under which a memory is no answer."""


def dense_score(cosine: float) -> float:
    """Return the cosine between FAR and NEAR as a number in 0..1."""
    return min(max((cosine - FAR) / (NEAR - FAR), 0.0), 1.0)


def lexical_score(coverage: float) -> float:
    """Return 0..1: half of the words are less than half of a match."""
    return coverage * coverage


def fuse(dense: float | None, lexical: float) -> float:
    """Return one score in 0..1 of two, or the lexical one where nothing can be said about the other."""
    return lexical if dense is None else (1 - LEXICAL_WEIGHT) * dense + LEXICAL_WEIGHT * lexical
