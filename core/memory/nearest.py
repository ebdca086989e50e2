"""From nearest phrases to nearest memories: several phrases lead to one memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from core.memory.fusion import FLOOR, dense_score, fuse
from core.memory.indexes import OwnerIndex
from core.memory.ranking import Match
from core.stores import PhraseStore
from core.types import UserKey, Vectors

_PHRASES_A_MEMORY: Final = 4
_MIN_DEPTH: Final = 24
_DEEPER: Final = 4


@dataclass(frozen=True, slots=True)
class Reach:
    """How many memories are looked for, and among which phrases: all, or those that may be spoken of."""

    limit: int
    among: Sequence[int] | None = None


async def nearest(
    store: PhraseStore, owner: UserKey, owner_index: OwnerIndex, rows: Vectors, reach: Reach
) -> Sequence[Mapping[str, Match]]:
    """Map, per row, memory ids to their nearest phrase.

    More and more phrases are looked at until each row has `limit` memories, or no more that are near enough: a memory
    with many bindings never hides the others.
    """
    depth = max(_MIN_DEPTH, reach.limit * _PHRASES_A_MEMORY)
    while True:
        found = await owner_index.search(rows, depth, reach.among)
        phrase_ids = sorted({phrase_id for hits in found for phrase_id, _ in hits})
        phrases = await store.phrases(owner, phrase_ids) if phrase_ids else {}
        matches = [_matches(hits, phrases) for hits in found]
        if all(len(each) >= reach.limit or _exhausted(hits, depth) for each, hits in zip(matches, found, strict=True)):
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


def _exhausted(hits: Sequence[tuple[int, float]], depth: int) -> bool:
    """Tell whether deeper there is nothing, or nothing that vectors alone would bring over the floor."""
    return len(hits) < depth or fuse(dense_score(hits[-1][1]), 0.0) < FLOOR
