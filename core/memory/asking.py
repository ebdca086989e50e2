"""Search for what a question asks for, at the time that it names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from core.memory.timed import true_then
from core.memory.user_memory import MemoryReading
from core.text.days import phrases_of
from core.types import AskedTime, MemoryHit, MemoryItem, Span, Vector


def wordings(text: str, named: AskedTime | None, *, said: bool) -> Sequence[str]:
    """Return what to search for of a text that names a time: what it says besides, and all of it.

    When something was `said` is not among its words.
    """
    if named is None or not named.rest:
        return (text,)
    return (named.rest,) if said else (text, named.rest)


async def search_asked(
    memory: MemoryReading,
    queries: Sequence[str],
    vectors: Mapping[str, Vector],
    asked: AskedTime | None,
    *,
    limit: int,
    floor: float,
    past: bool,
) -> Sequence[MemoryHit]:
    """Return what `memory.search` finds, at the time that was `asked` for.

    If it is when something was said, only what was said then. Else memories that mean one of its days come first, of
    one that has changed its version of then is returned, and nothing is left out.
    """
    if asked is None:
        return await memory.search(queries, vectors, limit=limit, floor=floor, past=past)
    if asked.said:
        floor = 0.0 if asked.alone else floor
        return await memory.search(queries, vectors, limit=limit, floor=floor, past=True, said=asked.span)
    is_over = asked.span.end <= memory.clock.now()
    named = phrases_of(asked.first, asked.last, asked.locale) if asked.alone else ()
    hits = await memory.search([*queries, *named], vectors, limit=limit, floor=floor, past=past or is_over)
    if is_over:
        hits = await _of_then(memory, hits, asked.span)
    return sorted(hits, key=lambda hit: not _is_of(hit.item, asked))


async def _of_then(memory: MemoryReading, hits: Sequence[MemoryHit], then: Span) -> Sequence[MemoryHit]:
    """Return the hits, each memory once: the version that was true then."""
    ids = list(dict.fromkeys(hit.item.current or hit.item.id for hit in hits))
    earlier: defaultdict[str, list[MemoryItem]] = defaultdict(list)
    for item in await memory.earlier(ids):
        earlier[item.current].append(item)
    current = {item.id: item for item in await memory.get(list(earlier))}
    found: dict[str, MemoryHit] = {}
    for hit in hits:
        family = hit.item.current or hit.item.id
        item = true_then(current[family], earlier[family], then) if family in current else hit.item
        found.setdefault(family, replace(hit, item=item))
    return list(found.values())


def _is_of(item: MemoryItem, asked: AskedTime) -> bool:
    """Whether a memory means one of the days that are asked for."""
    return item.meant != "" and asked.first <= datetime.fromisoformat(item.meant).date() <= asked.last
