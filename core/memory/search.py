"""Order memories by how well they fit a question.

A memory's score is the share of the question's IDF that its words cover, plus three quarters of the cosine of its
nearest phrase, plus half of the mean cosine of the question's parts, each with the phrase nearest to that part, plus
half of the share that it covers together with the memory that was told just before it, which may say what it is about.
It depends on the question and these two alone, so the order does not depend on how many are asked for.
Sources: a convex combination as in Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval"
(2022); parts against their nearest phrases as in Khattab and Zaharia, "ColBERT" (2020), with pairs of words for tokens.
The weights were chosen on tests/data/recall_tune.json and tests/data/memory_candidates.json.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from core.memory.acceptance import Acceptance
from core.stores import Candidate, Neighbours
from core.text.words import FUNCTION_WORDS, folded_words
from core.types import Vector, Vectors

COSINE_WEIGHT: Final = 0.75
PARTS_WEIGHT: Final = 0.5
CONTEXT_WEIGHT: Final = 0.5
MAX_PARTS: Final = 8

MAX_FOUND_PASSAGES: Final = 3
"""So many passages of one document are found."""

_SCORE_DECIMALS: Final = 5
"""Scores that differ less are equal: a product of matrices rounds the same row differently, by where it lies."""

_WORD: Final = re.compile(r"[^\W_]+")


def parts(query: str) -> Sequence[str]:
    """Return each two neighbours of a query's words that carry meaning, the first MAX_PARTS; its only such word."""
    words = [word for word in _WORD.findall(query.lower()) if not FUNCTION_WORDS.issuperset(folded_words(word))]
    pairs = [" ".join(pair) for pair in itertools.pairwise(words)] or words
    return list(dict.fromkeys(pairs))[:MAX_PARTS]


@dataclass(frozen=True, slots=True)
class MemoryQuery:
    """A question as it is searched: the normalized vectors of it and of its parts; no rows where it has no vector."""

    rows: Vectors
    space: str = ""


@dataclass(frozen=True, slots=True)
class Fit:
    """How well a memory fits the best of the queries; see `MemoryHit`."""

    score: float
    chance: float
    dense: float
    lexical: float


class Ranking:
    """The `Order` of one search: the best `limit` memories with a chance of at least `floor`, or any chance, if they
    are among the `first`.

    `chosen` tells how each of these fits; `near`, how many candidates have one of the nearest phrases.
    """

    def __init__(self, queries: Sequence[MemoryQuery], *, limit: int, floor: float, first: int = 0) -> None:
        self._queries = queries
        self._first = first
        self._limit = limit
        self._floor = floor
        self._acceptance = Acceptance.shipped()
        self.chosen: Sequence[Fit] = ()
        self.near = 0

    def __call__(
        self,
        candidates: Sequence[Candidate],
        count: int,  # noqa: ARG002  (an `Order`)
        neighbours: Neighbours,
    ) -> Sequence[int]:
        """Return the numbers of the best candidates, best first; of equals the newest first."""
        self.near = sum(not neighbours.nearest.isdisjoint(each.phrases) for each in candidates)
        self.chosen = ()
        if not candidates:
            return []
        starts = [0, *itertools.accumulate(len(each.phrases) for each in candidates[:-1])]
        ids = [phrase for each in candidates for phrase in each.phrases]
        covered = np.array([each.words for each in candidates], np.float32)
        rows = np.concatenate([query.rows for query in self._queries])
        cosines = neighbours.cosines(ids, rows) if len(rows) else np.empty((len(ids), 0), np.float32)
        of_queries = np.split(cosines, np.cumsum([len(query.rows) for query in self._queries])[:-1], axis=1)
        found = [
            self._judged(query, covered[:, place], own, starts)
            for place, (query, own) in enumerate(zip(self._queries, of_queries, strict=True))
        ]
        scores, chances, dense = (np.stack(columns, axis=1) for columns in zip(*found, strict=True))
        numbers = np.array([each.number for each in candidates])
        scores += CONTEXT_WEIGHT * np.array([each.context for each in candidates], np.float32)
        best, likely = scores.max(axis=1), chances.max(axis=1)
        ranked = np.lexsort((-numbers, -best.round(_SCORE_DECIMALS)))
        order = self._best(ranked.tolist(), likely, candidates)
        queries = scores.argmax(axis=1)
        self.chosen = [
            Fit(float(best[place]), float(likely[place]), float(dense[at]), float(covered[at]))
            for place in order
            for at in [(place, queries[place])]
        ]
        return [int(numbers[place]) for place in order]

    def _best(self, ranked: Sequence[int], likely: Vector, candidates: Sequence[Candidate]) -> Sequence[int]:
        """Return the places of the best `limit` memories, with the best passages of a document that is among them.

        Of a document that is found by its own words ("my contract"), passages need no chance of their own.
        """
        enough = {each.number for place, each in enumerate(candidates) if likely[place] >= self._floor}
        enough |= {candidates[place].number for place in ranked[: self._first]}
        limit = max(self._limit, self._first)
        if not any(each.document for each in candidates):
            return [place for place in ranked if candidates[place].number in enough][:limit]
        order: list[int] = []
        memories: set[int] = set()
        passages: Counter[int] = Counter()
        for place in ranked:
            each = candidates[place]
            memory = each.document or each.number
            if enough.isdisjoint((each.number, each.document)) or (memory not in memories and len(memories) == limit):
                continue
            memories.add(memory)
            passages[each.document] += 1
            if not each.document or passages[each.document] <= MAX_FOUND_PASSAGES:
                order.append(place)
        return order

    def _judged(
        self, query: MemoryQuery, covered: Vector, cosines: Vectors, starts: Sequence[int]
    ) -> tuple[Vector, Vector, Vector]:
        """Return the scores, the chances and the cosines of all candidates for one query, by those of their phrases.

        Where there is no vector, of the query or of a memory, the words it covers stand in for the cosines.
        """
        if not len(query.rows):
            scores = covered * (1 + COSINE_WEIGHT + PARTS_WEIGHT)
            return scores, self._acceptance.chances(scores, covered), np.zeros_like(scores)
        nearest = np.fmax.reduceat(cosines, starts, axis=0)
        dense = nearest[:, 0]
        partly = nearest[:, 1:].mean(axis=1) if len(query.rows) > 1 else dense
        near, partly = (np.where(np.isnan(each), covered, each).astype(np.float32) for each in (dense, partly))
        scores = covered + np.float32(COSINE_WEIGHT) * near + np.float32(PARTS_WEIGHT) * partly
        chances = self._acceptance.chances(
            scores, covered, np.float32(0.5) * (near + partly), vector=query.rows[0], space=query.space
        )
        return scores, chances, np.nan_to_num(dense)
