"""Which memories answer, and in which order. Pure: evidence in, hits out; it asks no store and no index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.memory.fusion import FLOOR, dense_score, fuse, lexical_score
from core.memory.wording import Wording, words
from core.types import MemoryHit, MemoryItem


@dataclass(frozen=True, slots=True)
class Match:
    """The phrase of a memory that is nearest to a query, and its cosine."""

    phrase: str
    cosine: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for memories on behalf of one query.

    `near` maps memory ids to their nearest phrases; None where the query has no vector. `worded` are the memories that
    full text found.
    """

    query: str
    near: Mapping[str, Match] | None
    worded: frozenset[str]

    def candidates(self) -> Sequence[str]:
        """Return the memories that may be worth reading: full text found them, or the vectors alone suffice."""
        near = self.near or {}
        alone = [key for key, match in near.items() if fuse(dense_score(match.cosine), 0.0) >= FLOOR]
        return [*alone, *sorted(self.worded.difference(alone))]


def rank(
    items: Sequence[MemoryItem], evidence: Sequence[Evidence], wording: Wording, *, limit: int, partial: bool
) -> Sequence[MemoryHit]:
    """Return the best `limit` of the memories, each with its best score over all queries, best first.

    With `partial`, some memories have no vectors yet: those without evidence of that kind are judged by words alone.
    """
    asked = [words(each.query) for each in evidence]
    hits = []
    for item in items:
        phrases = {phrase: words(phrase) for phrase in dict.fromkeys((*item.bindings, item.content))}
        scored = [
            _hit(item, phrases, each, asked_words, wording, partial=partial)
            for each, asked_words in zip(evidence, asked, strict=True)
        ]
        best = max(scored, key=lambda hit: hit.score)
        if best.score >= FLOOR:
            hits.append(best)
    hits.sort(key=lambda hit: (-hit.score, -hit.dense, -hit.item.created_at.timestamp(), hit.item.id))
    return hits[:limit]


def _hit(
    item: MemoryItem,
    phrases: Mapping[str, Sequence[str]],
    evidence: Evidence,
    asked: Sequence[str],
    wording: Wording,
    *,
    partial: bool,
) -> MemoryHit:
    held = {word for phrase in phrases.values() for word in phrase}
    lexical = lexical_score(wording.coverage(asked, held))
    match = None if evidence.near is None else evidence.near.get(item.id)
    dense = 0.0 if match is None else dense_score(match.cosine)
    unseen = evidence.near is None or (match is None and partial)
    if match is not None and dense > 0:
        matched = match.phrase
    else:
        matched = max(phrases, key=lambda phrase: wording.coverage(asked, phrases[phrase]))
    return MemoryHit(item, matched, fuse(None if unseen else dense, lexical), dense, lexical)
