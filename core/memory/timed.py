"""Times as data in memories: the day that one means, until when it is true, and which version was true then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo

from core.ports import TimeReader
from core.text.days import day_phrase, without_day
from core.types import Locale, MemoryDraft, MemoryItem, MemoryKind, Span


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
