"""Decide what becomes of a statement that is to be saved: it is new, known, or takes the place of what was known.

A language model may say which memory it is about (`Hint`). Without its word, only what is beyond doubt is the same, or
takes the place of another (`core.memory.relation`): nothing is lost by that, as the old words stay as an earlier
version.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from core.memory.relation import Relation, relation
from core.memory.statement import Statement, read
from core.types import MemoryDraft, MemoryItem, MemoryKind

NEIGHBOURS: Final = 8
"""How many of the memories nearest to a statement are compared with it."""

Cosine: TypeAlias = Callable[[str], Awaitable[float]]
"""Returns the cosine of a known content and the statement; -1 where there is none."""


@dataclass(frozen=True, slots=True)
class Hint:
    """What a model said of a statement: which memory it repeats or changes ("": none of those that it was `shown`)."""

    memory_id: str = ""
    shown: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Compared:
    """A draft, and what it is to what is known: unless it is NEW, `known` is the memory that it repeats or replaces."""

    draft: MemoryDraft
    relation: Relation = Relation.NEW
    known: MemoryItem | None = None


@dataclass(frozen=True, slots=True)
class Resolved:
    """What became of a statement: the memory that holds it now, and if it took the place of another, that one's words.

    `before` is that memory as it was.
    """

    item: MemoryItem
    relation: Relation = Relation.NEW
    before: MemoryItem | None = None


async def related(
    draft: MemoryDraft, items: Sequence[MemoryItem], cosine: Cosine, hint: Hint | None
) -> Resolved | None:
    """Return which of the memories a draft repeats, or else takes the place of; None if it is new.

    A model that was shown a memory, and named none, is right in that both are true; it is not if both say the same.
    What was said before a memory was does not take its place.
    """
    found: Resolved | None = None
    statement = read(draft.content)
    for item in (item for item in items if item.kind is MemoryKind.TEXT):
        is_older = draft.said_at is not None and draft.said_at < item.updated_at
        match await compared(item.content, statement, cosine):
            case Relation.SAME:
                return Resolved(item, Relation.SAME)
            case Relation.REPLACES if found is None and not is_older and not (hint and item.id in hint.shown):
                found = Resolved(item, Relation.REPLACES, item)
    return found


async def compared(known: str, statement: Statement, cosine: Cosine) -> Relation:
    """Return what a statement is to a known content."""
    found, needed = relation(read(known), statement)
    return found if needed <= -1 or await cosine(known) >= needed else Relation.NEW
