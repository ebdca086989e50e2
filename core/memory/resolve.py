"""Decide what becomes of a statement that is to be saved: it is new, known, or takes the place of what was known.

A language model may say which memory it is about (`Hint`). Without its word, only what is beyond doubt is the same, or
takes the place of another (`core.memory.relation`): nothing is lost by that, as the old words stay as an earlier
version.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from core.memory.relation import Relation, relation
from core.types import MemoryHit, MemoryItem, MemoryKind

NEAR: Final = 8
"""How many of the memories nearest to a statement are compared with it."""

Cosine = Callable[[str], Awaitable[float]]
"""Returns the cosine of a known content and the statement; -1 where there is none."""


@dataclass(frozen=True, slots=True)
class Hint:
    """What a model said of a statement: which memory it repeats or changes ("": none of those that it was `shown`)."""

    memory_id: str = ""
    shown: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Resolved:
    """What became of a statement: the memory that holds it now, and if it took the place of another, that one's words.

    `before` is that memory as it was.
    """

    item: MemoryItem
    relation: Relation = Relation.NEW
    before: MemoryItem | None = None


async def related(content: str, hits: Sequence[MemoryHit], cosine: Cosine, hint: Hint | None) -> Resolved | None:
    """Return the memory among the hits that a statement repeats, or else takes the place of; None if it is new.

    A model that was shown a memory, and named none, is right in that both are true; it is not if both say the same.
    """
    found: Resolved | None = None
    for item in (hit.item for hit in hits if hit.item.kind is MemoryKind.TEXT):
        match await compared(item.content, content, cosine):
            case Relation.SAME:
                return Resolved(item, Relation.SAME)
            case Relation.REPLACES if found is None and not (hint and item.id in hint.shown):
                found = Resolved(item, Relation.REPLACES, item)
    return found


async def compared(known: str, content: str, cosine: Cosine) -> Relation:
    """Return what a statement is to a known content; the cosine is asked for only where it decides."""
    at_most, at_least = relation(known, content, 1.0), relation(known, content, -1.0)
    return at_most if at_most is at_least else relation(known, content, await cosine(known))
