"""Decide what becomes of a statement that is to be saved: it is new, known, or takes the place of what was known.

A language model may name the memory that it is about, which helps and is not believed: only what is beyond doubt is
the same, or takes the place of another (`core.memory.relation`). Nothing is lost by that, as the old words stay as an
earlier version. What is in doubt is kept beside the other, and the person is asked.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from core.memory.fact import states_fact
from core.memory.relation import Relation, dropped, ends_debt, is_about, relation
from core.memory.statement import Statement, read
from core.types import NEAR, MemoryDraft, MemoryHit, MemoryItem, MemoryKind

NEIGHBOURS: Final = 8
"""How many of the memories nearest to a statement are compared with it."""

Cosine: TypeAlias = Callable[[str], Awaitable[float]]
"""Returns the cosine of a known content and the statement; -1 where there is none."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A draft, and what it is to what is known: unless it is NEW, to the memory that is `known`."""

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
    draft: MemoryDraft, items: Sequence[MemoryItem], cosine: Cosine, named: MemoryItem | None = None
) -> Compared:
    """Return what a draft is to the memories: the one it repeats, or else takes the place of, or else doubts.

    `named` is the one that a model names: it counts where they speak of one thing. What was said before a memory was
    does not take its place, nor does what states no fact.
    """
    found: dict[Relation, MemoryItem] = {}
    statement = read(draft.content)
    may_replace = states_fact(draft.content, statement)
    for item in (item for item in items if item.kind is MemoryKind.TEXT):
        is_older = draft.said_at is not None and draft.said_at < item.updated_at
        meant = await compared(item.content, statement, cosine)
        if meant is Relation.REPLACES:
            known = read(item.content)
            is_fact = (may_replace or ends_debt(known, statement)) and states_fact(item.content, known)
            if is_older or not is_fact:
                continue
            if dropped(item.content, draft.content):
                meant = Relation.DOUBTS
        found.setdefault(meant, item)
    if named is not None and Relation.SAME not in found:
        is_one = is_about(named.content, draft.content) and not dropped(named.content, draft.content)
        found |= {Relation.REPLACES: named} if is_one else {Relation.DOUBTS: named}
    for meant in (Relation.SAME, Relation.REPLACES, Relation.DOUBTS):
        if meant in found:
            return Compared(draft, meant, found[meant])
    return Compared(draft)


async def compared(known: str, statement: Statement, cosine: Cosine) -> Relation:
    """Return what a statement is to a known content."""
    found, needed = relation(read(known), statement)
    return found if needed <= -1 or await cosine(known) >= needed else Relation.NEW


_COMPARED: Final = 4
"""How many of the likeliest hits are compared with one another: it takes 0.3 ms."""


def in_time(hits: Sequence[MemoryHit]) -> Sequence[MemoryHit]:
    """Return what a search found, each that a later one may be true in place of right behind that, and marked (`over`).

    A memory was kept beside the one that it may replace, or its words say so.
    What was said at one moment, or said then to be so still, is both true.
    """
    now = [hit for hit in hits if _is_now(hit.item)]
    compared = [hit for hit in now if hit.chance >= NEAR][:_COMPARED]
    likely = {hit.item.id for hit in compared}
    compared += [hit for hit in now if hit.item.may_replace in likely and hit.item.id not in likely]
    if len(compared) < 2:  # noqa: PLR2004 - nothing to compare
        return hits
    told = {hit.item.id: read(hit.item.content) for hit in compared}
    over: dict[str, MemoryHit] = {}
    for older in compared:
        later = [hit for hit in compared if hit.item.updated_at > older.item.updated_at]
        for newer in sorted(later, key=lambda hit: hit.item.updated_at, reverse=True):
            is_beside = newer.item.may_replace == older.item.id
            if is_beside or relation(told[older.item.id], told[newer.item.id])[0] is Relation.REPLACES:
                over.setdefault(older.item.id, newer)
    if not over:
        return hits
    found: dict[str, MemoryHit] = {}
    for hit in hits:
        newest = over.get(hit.item.id)
        if newest is not None:
            found.setdefault(newest.item.id, replace(newest, score=max(newest.score, hit.score)))
            found.setdefault(hit.item.id, replace(hit, item=replace(hit.item, over=newest.item.id)))
        found.setdefault(hit.item.id, hit)
    return list(found.values())


def _is_now(item: MemoryItem) -> bool:
    return item.kind is MemoryKind.TEXT and not item.current
