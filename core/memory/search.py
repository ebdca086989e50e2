"""Search a person's memories: by words and vectors, by what two of them tell together, none of another subject.

A memory's score is the share of the question's IDF that its words cover, plus three quarters of the cosine of its
nearest phrase, plus half of the mean cosine of the question's parts, each with the phrase nearest to that part, plus
half of the share that it covers together with the memory that was told just before it, which may say what it is about.
It depends on the question and these two alone, so the order does not depend on how many are asked for.
Sources: a convex combination as in Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval"
(2022); parts against their nearest phrases as in Khattab and Zaharia, "ColBERT" (2020), with pairs of words for tokens.
The weights were chosen on tests/data/recall_tune.json and tests/data/memory_candidates.json.
"""

from __future__ import annotations

import io
import itertools
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import resources
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from core.memory.embedding import EmbeddingNormalizer
from core.memory.relation import in_time
from core.stores import AskedVectors, Candidate, Neighbours, SearchRequest
from core.text.senses import named_by, silent, told_in, words
from core.text.subject import AskedWord, asked_words, held_words, is_parallel, other_subject
from core.text.words import FUNCTION_WORDS, folded_words
from core.types import NEAR, SURE, MemoryHit, MemoryItem, Span, Vector, Vectors

if TYPE_CHECKING:
    from core.memory.user_memory import MemoryReading

# How likely a memory answers: a logistic model.

WEIGHTS: Final = "acceptance.npz"

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
        with np.load(io.BytesIO(resources.files(__package__).joinpath(WEIGHTS).read_bytes())) as stored:
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


# What is about another subject than the question: the bank's password, the wifi's.

_OTHER: Final = 0.4
"""The most that the chance of a memory about another subject is: it comes near."""


def of_subject(queries: Sequence[str], hits: Sequence[MemoryHit]) -> Sequence[MemoryHit]:
    """Return the hits; none is sure that is about another subject than every query."""
    asked = [asked_words(query) for query in queries] if any(hit.chance >= SURE for hit in hits) else []
    found = list(hits)
    for at, hit in enumerate(hits):
        if hit.chance >= SURE:
            said = " ".join((hit.item.content, *(passage.text for passage in hit.passages)))
            others = [other_subject(words, said, hit.item.bindings) for words in asked]
            if all(others) and others[0] is not None:
                found[at] = replace(hit, chance=_OTHER, other=others[0].text)
            elif all(is_parallel(words, said, hit.item.bindings) for words in asked):
                # What is less like the question is no surer.
                found[at:] = [replace(each, chance=min(each.chance, _OTHER)) for each in found[at:]]
    return found


# What two memories tell together: "my landlord is Tunde" and "Tunde's account is 0112233445".

_FIRST: Final = 3
"""How many of the best memories may lead to another."""

_LIKELY: Final = 0.5
"""The least chance of two memories that tell together all that a question names: it comes near."""

_MIN_NAME_CHARS: Final = 3
_MAX_NAMES: Final = 6


@dataclass(frozen=True, slots=True)
class Link:
    """A memory that tells a part of what is asked for, the names in it by which it goes on, and the words it lacks."""

    hit: MemoryHit
    names: frozenset[str]
    missing: tuple[AskedWord, ...]


def links(question: str, hits: Sequence[MemoryHit]) -> Sequence[Link]:
    """Return those of the best hits that name somebody or something by which another memory may tell the rest."""
    named = [(hit, names) for hit in hits[:_FIRST] if (names := _names(hit.item.content))]
    if not named:
        return []
    asked, said = asked_words(question), set(folded_words(question))
    naming, found = [word for word in asked if word.names], list[Link]()
    for hit, names in named:
        held = held_words(asked, told_in(hit.item.content, hit.item.bindings))
        missing = tuple(word for word in naming if word not in held)
        is_begun = held and missing and not names <= said
        found += [Link(hit, names - said, missing)] if is_begun else []
    return found


def linked_query(question: str, found: Sequence[Link]) -> str:
    """Return what to search for of the links: the question, and their names."""
    names = list(dict.fromkeys(name for link in found for name in sorted(link.names)))
    return " ".join((question, *names[:_MAX_NAMES]))


def joined(hits: Sequence[MemoryHit], found: Sequence[Link], then: Sequence[MemoryHit]) -> Sequence[MemoryHit]:
    """Return the hits and, behind the first link that leads on, those of what was found `then` that tell the rest."""
    before = {hit.item.id: hit for hit in hits}
    for link in found:
        others = [before.get(hit.item.id, hit) for hit in then if hit.item.id != link.hit.item.id]
        told = [(_tells(link, hit), hit) for hit in others]
        if not (most := max((count for count, _ in told), default=0)):
            continue
        least = _LIKELY if most == len(link.missing) else NEAR
        start, *ends = (
            replace(hit, chance=max(hit.chance, least), via="" if hit is link.hit else link.hit.item.id)
            for hit in (link.hit, *(hit for count, hit in told if count == most))
        )
        known = {hit.item.id: hit for hit in (start, *ends[:_FIRST])}
        shown: dict[str, MemoryHit] = {}
        for hit in hits:
            new = known.get(hit.item.id, hit)
            for each in known.values() if new is start else (new,):
                shown.setdefault(each.item.id, each)
        return list(shown.values())
    return hits


def _tells(link: Link, hit: MemoryHit) -> int:
    """Return how many of the words that a link lacks a memory tells of whom that names."""
    if link.names.isdisjoint(folded_words(hit.item.content)):
        return 0
    return len(held_words(link.missing, told_in(hit.item.content, hit.item.bindings)))


def _names(content: str) -> frozenset[str]:
    """Return the words of names, as they are compared; none of a text in capitals."""
    found = [] if content.upper() == content else words(content)
    names = (word for word in found if word[0].isupper() and len(word) >= _MIN_NAME_CHARS)
    folded = {part for word in names if not silent(word) and not named_by(word) for part in folded_words(word)}
    return frozenset(folded - FUNCTION_WORDS)


_DEPTH: Final = 32
"""How many of the nearest phrases are looked at first."""

_WORDED: Final = 16
"""How many memories are looked at that words find. Twice as many of both change nothing on LoCoMo's questions."""

_LINKED: Final = 8
"""How many memories are looked at that may tell the rest of what the first ones begin."""

_QUICK_PHRASES: Final = 4_096
"""How many phrases are looked at for what a statement repeats or replaces; words find older ones."""

_QUICK_DEPTH: Final = 16
"""How many of these are nearest."""

_QUICK_WORDED: Final = 4
"""How many memories are looked at then that words find."""

_DEEPER: Final = 8
_ENOUGH: Final = 8
"""How many memories of the nearest phrases must count; the others are past, or not audible."""


async def search_memories(
    memory: MemoryReading,
    queries: Sequence[str],
    vectors: Mapping[str, Vector],
    *,
    limit: int,
    floor: float,
    past: bool,
    said: Span | None,
) -> Sequence[MemoryHit]:
    """Return what `MemoryReading.search` does: what the queries find, and what that leads to by a name in it."""
    asked = tuple(dict.fromkeys(query for query in queries if query.strip()))
    if not asked or limit <= 0:
        return []
    start = RunningSearch(memory, asked, limit, floor, past=past, said=said, first=_FIRST)
    hits = await start.run(vectors)
    if found := links(asked[0], hits):
        linked = linked_query(asked[0], found)
        more = RunningSearch(memory, (linked,), _LINKED, 0.0, past=past, said=said)
        known = {linked: vectors[asked[0]]} if asked[0] in vectors else {}
        hits = joined(hits, found, await more.run({**vectors, **known}))
    return [hit for hit in hits if hit.chance >= floor or hit.item.id in start.likely][:limit]


class RunningSearch:
    """One search of a person's memories.

    `likely` are the ids of those found whose words and vectors are likely enough, whatever their subject.
    """

    def __init__(
        self,
        memory: MemoryReading,
        queries: tuple[str, ...],
        limit: int,
        floor: float,
        *,
        past: bool,
        said: Span | None,
        is_quick: bool = False,
        first: int = 0,
    ) -> None:
        self._memory = memory
        self._is_quick = is_quick
        self._queries = queries
        self._limit = limit
        self._floor = floor
        self._first = first
        self.likely: frozenset[str] = frozenset()
        self._asked = partial(
            SearchRequest,
            queries=queries,
            at=memory.clock.now(),
            depth=_QUICK_WORDED if is_quick else _WORDED,
            room=memory.context.room,
            past=past,
            said=said,
        )

    async def run(self, vectors: Mapping[str, Vector]) -> Sequence[MemoryHit]:
        """Return what is found by words and, as far as the queries have any, by vectors."""
        is_known = any(query in vectors for query in self._queries)
        normalizer = await self._memory.embedding.normalizer() if is_known else None
        return await (self.by_words() if normalizer is None else self.by_all(normalizer, vectors))

    async def by_words(self) -> Sequence[MemoryHit]:
        """Return what words alone find."""
        blank = [MemoryQuery(np.empty((0, 0), np.float32))] * len(self._queries)
        ranking = Ranking(blank, limit=self._limit, floor=self._floor, first=self._first)
        items = await self._memory.indexes.phrases.search(self._memory.owner, self._asked(order=ranking))
        return self._hits(ranking, items or ())

    async def by_all(self, normalizer: EmbeddingNormalizer, vectors: Mapping[str, Vector]) -> Sequence[MemoryHit]:
        """Return what words and vectors find."""
        rows = [self._rows(query, normalizer, vectors) for query in self._queries]
        queries = [MemoryQuery(each, normalizer.space) for each in rows]
        ranking = Ranking(queries, limit=self._limit, floor=self._floor, first=self._first)
        owner, search = self._memory.owner, self._asked(order=ranking)
        wholes = np.stack([each[0] for each in rows if len(each)])
        depth, most = (_QUICK_DEPTH, _QUICK_PHRASES) if self._is_quick else (_DEPTH, 0)
        asked = AskedVectors(normalizer.space, normalizer.mean, wholes, depth, most)
        found = await self._memory.indexes.search(owner, search, asked)
        while not self._is_quick and ranking.near < _ENOUGH and not found.whole:
            asked = replace(asked, nearest=_DEEPER * asked.nearest)
            found = await self._memory.indexes.search(owner, search, asked)
        if found.partial:
            self._memory.on_partial(owner)
        return self._hits(ranking, found.items)

    def _rows(self, query: str, normalizer: EmbeddingNormalizer, vectors: Mapping[str, Vector]) -> Vectors:
        """Return the normalized vectors of a query and of its parts; no rows if it has no vector."""
        if query not in vectors:
            return np.empty((0, normalizer.dims), np.float32)
        known = [vectors[text] for text in (query, *parts(query)) if text in vectors]
        return normalizer.project(np.stack(known))

    def _hits(self, ranking: Ranking, items: Sequence[MemoryItem]) -> Sequence[MemoryHit]:
        words = set(folded_words(" ".join(self._queries)))
        best: dict[str, MemoryHit] = {}
        for item, fit in zip(items, ranking.chosen, strict=False):
            hit = MemoryHit(item, _matched(item, words), fit.score, fit.dense, fit.lexical, fit.chance)
            first = best.setdefault(item.id, hit)
            passages = (*first.passages, *([] if item.found_in is None else [item.found_in]))
            best[item.id] = replace(first, chance=max(first.chance, hit.chance), passages=passages)
        likely = {hit.item.id for hit in best.values() if hit.chance >= self._floor}
        self.likely = frozenset(likely.union(item.id for item in items if item.may_replace in likely))
        hits = list(of_subject(self._queries, list(best.values())))
        found = {hit.item.id: hit for hit in hits}
        # What may take the place of a memory is as likely as that, though it names nobody: "she moved to York".
        hits = [_at_least(hit, found.get(hit.item.may_replace)) for hit in hits]
        hits += [
            replace(found[item.may_replace], item=item, matched=item.content, passages=())
            for item in items[len(ranking.chosen) :]
        ]
        return in_time(hits)[: max(self._limit, self._first)]


def _at_least(hit: MemoryHit, other: MemoryHit | None) -> MemoryHit:
    """Return a hit that is at least as likely as another one, if there is one."""
    return hit if other is None else replace(hit, chance=max(hit.chance, other.chance))


def _matched(item: MemoryItem, words: Collection[str]) -> str:
    """Return the phrase of a memory that has most of the words, the first binding if none has any, or the passage."""
    if item.found_in is not None:
        return item.found_in.text
    return max((*item.bindings, item.content), key=lambda phrase: len(set(folded_words(phrase)).intersection(words)))
