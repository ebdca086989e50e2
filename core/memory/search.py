"""Find which memories answer a question, and in which order: by words, by vectors, by both.

Scores are a convex combination of min-max scaled scores, with the minima and maxima that each kind of evidence has.
Source: Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval" (2022), theoretical min-max.
The constants were chosen on tests/data/memory_tuning.json; tests/data/memory_reporting.json was not looked at.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from core.memory.indexes import OwnerIndex
from core.stores import PhraseStore
from core.text.words import FUNCTION_WORDS, folded_words
from core.types import MemoryHit, MemoryItem, UserKey, Vectors

_MIN_PREFIX_CHARS: Final = 4
_COMMON_WEIGHT: Final = 0.5


def words(text: str) -> Sequence[str]:
    """Return the different words of a text that are no function words, folded, in order."""
    found = dict.fromkeys(folded_words(text))
    return [word for word in found if word not in FUNCTION_WORDS and (len(word) > 1 or word.isdigit())]


def same(one: str, other: str) -> bool:
    """Tell whether two folded words are one with different endings: `senha` and `senhas`, not `casa` and `caso`."""
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    needed = max(_MIN_PREFIX_CHARS, -(-len(long) * 7 // 10))
    return len(short) >= needed and short[:needed] == long[:needed]


class Held:
    """The words of some text, ready to be asked for."""

    def __init__(self, text: str) -> None:
        """Lay the words out in one string: a search in it is much cheaper than comparing words one by one."""
        self._line = f" {' '.join(folded_words(text))} "

    def __contains__(self, word: str) -> bool:
        """Tell whether a folded word is among them, whatever its ending."""
        if f" {word} " in self._line:
            return True
        if len(word) < _MIN_PREFIX_CHARS or f" {word[:_MIN_PREFIX_CHARS]}" not in self._line:
            return False
        return any(same(word, other) for other in self._line.split())


class Asked:
    """The words of a question, each with its rarity."""

    def __init__(self, question: str, common: Container[str]) -> None:
        """Words that anybody's question may hold (`common`) count half of the others."""
        self._weights = {word: _COMMON_WEIGHT if word in common else 1.0 for word in words(question)}
        self._total = sum(self._weights.values())

    def coverage(self, held: Held) -> float:
        """Return how much of what is asked the held words cover, in 0..1."""
        if not self._weights:
            return 0.0
        return sum(weight for word, weight in self._weights.items() if word in held) / self._total


def common_words(sentences: Iterable[str]) -> frozenset[str]:
    """Return the words of sentences that are nobody's in particular."""
    return frozenset(word for sentence in sentences for word in words(sentence))


LEXICAL_WEIGHT: Final = 0.4
NEAR: Final = 0.8
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


@dataclass(frozen=True, slots=True)
class Reach:
    """How many memories are looked for, over which score, and among which phrases: all, or those that are audible."""

    limit: int
    floor: float = FLOOR
    among: Sequence[int] | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """The phrase of a memory that is nearest to a query, and its cosine."""

    phrase: str
    cosine: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for memories on behalf of one query.

    `near` maps memory ids to their nearest phrases; None where the query has no vector. `worded` are the memories that
    words found.
    """

    asked: Asked
    near: Mapping[str, Match] | None
    worded: frozenset[str]

    def candidates(self, floor: float) -> Sequence[str]:
        """Return the memories that may be worth reading: words found them, or the vectors alone suffice."""
        near = self.near or {}
        alone = [key for key, match in near.items() if fuse(dense_score(match.cosine), 0.0) >= floor]
        return [*alone, *sorted(self.worded.difference(alone))]


def rank(
    items: Sequence[MemoryItem], evidence: Sequence[Evidence], reach: Reach, *, partial: bool
) -> Sequence[MemoryHit]:
    """Return the best `reach.limit` of the memories over the floor, each with its best score over all queries.

    With `partial`, some memories have no vectors yet: those without evidence of that kind are judged by words alone.
    """
    hits = []
    for item in items:
        held = Held("\n".join((*item.bindings, item.content)))
        best = max((_hit(item, held, each, partial=partial) for each in evidence), key=lambda hit: hit.score)
        if best.score >= reach.floor:
            hits.append(best)
    hits.sort(key=lambda hit: (-hit.score, -hit.dense, -hit.item.created_at.timestamp(), hit.item.id))
    return hits[: reach.limit]


def _hit(item: MemoryItem, held: Held, evidence: Evidence, *, partial: bool) -> MemoryHit:
    lexical = lexical_score(evidence.asked.coverage(held))
    match = None if evidence.near is None else evidence.near.get(item.id)
    dense = 0.0 if match is None else dense_score(match.cosine)
    unseen = evidence.near is None or (match is None and partial)
    score = fuse(None if unseen else dense, lexical)
    if match is not None and dense > 0:
        matched = match.phrase
    elif not lexical:
        matched = ""
    else:
        matched = max((*item.bindings, item.content), key=lambda phrase: evidence.asked.coverage(Held(phrase)))
    return MemoryHit(item, matched, score, dense, lexical)


_PHRASES_A_MEMORY: Final = 4
_MIN_DEPTH: Final = 24
_DEEPER: Final = 4


async def nearest(
    store: PhraseStore,
    owner: UserKey,
    owner_index: OwnerIndex,
    rows: Vectors,
    reach: Reach,
    *,
    worded: Sequence[frozenset[str]],
) -> Sequence[Mapping[str, Match]]:
    """Map, per row, memory ids to their nearest phrase: the nearest memories, and those that words found for the row.

    More and more phrases are looked at until each row has `limit` memories, or no more that are near enough: a memory
    with many bindings never hides the others.
    """
    matches = await _nearest(store, owner, owner_index, rows, reach)
    far = sorted({key for keys, match in zip(worded, matches, strict=True) for key in keys.difference(match)})
    if not far:
        return matches
    phrases = await store.phrases(owner, memory_ids=far)
    found = await owner_index.search(rows, len(phrases), list(phrases))
    return [{**_matches(hits, phrases), **match} for hits, match in zip(found, matches, strict=True)]


async def _nearest(
    store: PhraseStore, owner: UserKey, owner_index: OwnerIndex, rows: Vectors, reach: Reach
) -> Sequence[Mapping[str, Match]]:
    depth = max(_MIN_DEPTH, reach.limit * _PHRASES_A_MEMORY)
    while True:
        found = await owner_index.search(rows, depth, reach.among)
        phrase_ids = sorted({phrase_id for hits in found for phrase_id, _ in hits})
        phrases = await store.phrases(owner, phrase_ids) if phrase_ids else {}
        matches = [_matches(hits, phrases) for hits in found]
        if all(
            len(each) >= reach.limit or _exhausted(hits, depth, reach.floor)
            for each, hits in zip(matches, found, strict=True)
        ):
            return matches
        depth *= _DEEPER


def _matches(hits: Sequence[tuple[int, float]], phrases: Mapping[int, tuple[str, str]]) -> Mapping[str, Match]:
    """Return the nearest phrase of each memory; hits come nearest first."""
    found: dict[str, Match] = {}
    for phrase_id, cosine in hits:
        if phrase_id in phrases:
            key, text = phrases[phrase_id]
            found.setdefault(key, Match(text, cosine))
    return found


def _exhausted(hits: Sequence[tuple[int, float]], depth: int, floor: float) -> bool:
    """Tell whether deeper there is nothing, or nothing that vectors alone would bring over the floor."""
    return len(hits) < depth or fuse(dense_score(hits[-1][1]), 0.0) < floor
