"""Times as data in memories: the day that one means, until when it is true, and what is found that was true then."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo

from core.memory.user_memory import MemoryReading
from core.ports import TimeReader
from core.text.days import day_phrase, phrases_of, without_day
from core.types import AskedTime, Locale, MemoryDraft, MemoryHit, MemoryItem, MemoryKind, Span, Vector


def timed(draft: MemoryDraft, times: TimeReader, at: datetime, locale: Locale) -> MemoryDraft:
    """Return the draft with the times that its words mean, and the day among the phrases it is found by.

    `at` is when it was said, in the person's zone. An end that the draft has already stays, if it is ahead; the phrase
    of a day that its words meant before goes.
    """
    if draft.kind is not MemoryKind.TEXT:
        return draft
    known = draft.until if draft.until is not None and draft.until > at else None
    until = times.until(draft.content, at, locale) or known
    meant = "" if until else times.meant(draft.content, at, locale)
    bindings = without_day(draft.bindings, draft.meant)
    phrases = (*bindings, day_phrase(meant, locale)) if meant else bindings
    return replace(draft, bindings=phrases or draft.bindings, until=until, meant=meant)


def timed_anew(draft: MemoryDraft, item: MemoryItem, times: TimeReader, at: datetime, locale: Locale) -> MemoryDraft:
    """Return what a memory is to say with its times: those of the new words if they are others, else those it has."""
    if (draft.kind, draft.content) == (item.kind, item.content):
        return replace(draft, until=item.until, meant=item.meant)
    return timed(replace(draft, meant=item.meant), times, at, locale)


def end_of(day: str, zone: tzinfo) -> datetime | None:
    """Return when a date, or a date with an hour, in ISO 8601 is over; None for any other text."""
    try:
        ends = datetime.fromisoformat(day)
        if "T" not in day and " " not in day:
            ends += timedelta(days=1)
    except (ValueError, OverflowError):
        return None
    return ends if ends.tzinfo else ends.replace(tzinfo=zone)


def true_then(current: MemoryItem, earlier: Sequence[MemoryItem], then: Span) -> MemoryItem:
    """Return the version of a memory that was true at a time: of several, the one that was so for most of it.

    `earlier` are its other versions, each true until its `until`; the first was so at any time before.
    """
    versions = [*sorted((item for item in earlier if item.until), key=_until), current]
    begins = [then.start, *(_until(item) for item in versions[:-1])]
    ends = [*begins[1:], max(then.end, begins[-1])]
    shares = [min(end, then.end) - max(begin, then.start) for begin, end in zip(begins, ends, strict=True)]
    return versions[shares.index(max(shares))]


def _until(item: MemoryItem) -> datetime:
    return item.until or datetime.max.replace(tzinfo=item.created_at.tzinfo)


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
