"""Which memories answer, and in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.memory.fusion import FLOOR, dense_score, fuse, lexical_score
from core.memory.wording import Asked, Held
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
    words found.
    """

    asked: Asked
    near: Mapping[str, Match] | None
    worded: frozenset[str]

    def candidates(self) -> Sequence[str]:
        """Return the memories that may be worth reading: words found them, or the vectors alone suffice."""
        near = self.near or {}
        alone = [key for key, match in near.items() if fuse(dense_score(match.cosine), 0.0) >= FLOOR]
        return [*alone, *sorted(self.worded.difference(alone))]


def rank(
    items: Sequence[MemoryItem], evidence: Sequence[Evidence], *, limit: int, partial: bool
) -> Sequence[MemoryHit]:
    """Return the best `limit` of the memories, each with its best score over all queries, best first.

    With `partial`, some memories have no vectors yet: those without evidence of that kind are judged by words alone.
    """
    hits = []
    for item in items:
        held = Held("\n".join((*item.bindings, item.content)))
        best = max((_hit(item, held, each, partial=partial) for each in evidence), key=lambda hit: hit.score)
        if best.score >= FLOOR:
            hits.append(best)
    hits.sort(key=lambda hit: (-hit.score, -hit.dense, -hit.item.created_at.timestamp(), hit.item.id))
    return hits[:limit]


def _hit(item: MemoryItem, held: Held, evidence: Evidence, *, partial: bool) -> MemoryHit:
    lexical = lexical_score(evidence.asked.coverage(held))
    match = None if evidence.near is None else evidence.near.get(item.id)
    dense = 0.0 if match is None else dense_score(match.cosine)
    unseen = evidence.near is None or (match is None and partial)
    score = fuse(None if unseen else dense, lexical)
    if match is not None and dense > 0:
        matched = match.phrase
    elif score < FLOOR:
        matched = ""
    else:
        matched = max((*item.bindings, item.content), key=lambda phrase: evidence.asked.coverage(Held(phrase)))
    return MemoryHit(item, matched, score, dense, lexical)
