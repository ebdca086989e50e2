"""The days that memories mean, in words for people: in brackets behind their text, and as a phrase to find them by."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Final

from core.text.catalogue import cldr, text
from core.text.unicode import fold
from core.types import Locale, Localized, MemoryItem, MemoryNote

_PLAIN: Final = "d MMM y"
"""Of CLDR: "28 Nov 2026", "28 nov. 2026"."""

_DAY: Final = timedelta(days=1)
_WEEK: Final = timedelta(days=7)


def dated(item: MemoryItem, zone: tzinfo, locale: Locale) -> str:
    """Return what the words of a memory leave open: " (seg., 23 nov. 2026)", " (until Fri 27 Nov 2026)"; or ""."""
    if item.until is not None:
        end = item.until.astimezone(zone)
        # What ends with a day ends at the first moment of the next one.
        ends = _told(end - _DAY, SHORT, locale) if end.time() == time() else f"{_told(end, SHORT, locale)}, {end:%H:%M}"
        return f" ({UNTIL[locale].format(day=ends)})"
    if not item.meant:
        return ""
    told, hour = _told(datetime.fromisoformat(item.meant), SHORT, locale), item.meant.partition("T")[2]
    return f" ({told}, {hour})" if hour else f" ({told})"


def short_day(day: date, locale: Locale) -> str:
    """Return a day as people read it everywhere: "28 Nov 2026"."""
    return _format(day, _PLAIN, locale)


def short_minute(at: datetime, locale: Locale) -> str:
    """Return a moment as people read it everywhere: "28 Nov 2026, 14:05"."""
    return f"{short_day(at, locale)}, {at:%H:%M}"


def noted(item: MemoryItem, zone: tzinfo, locale: Locale) -> MemoryNote:
    """Return a memory as people read it in a line: its days behind its words, its last change in their zone."""
    changed = short_day(item.updated_at.astimezone(zone), locale)
    return MemoryNote(item.bindings[0], item.content + dated(item, zone, locale), changed, item.id)


def day_phrase(meant: str, locale: Locale) -> str:
    """Return the phrase by which a memory of that day is found: "segunda-feira, 23 de novembro de 2026"."""
    return _told(datetime.fromisoformat(meant), LONG, locale)


def phrases_of(first: date, last: date, locale: Locale) -> Sequence[str]:
    """Return phrases that find the memories of some days: of each day of a week, of a longer time its first month."""
    if last - first < _WEEK:
        days = (first + timedelta(days=number) for number in range((last - first).days + 1))
        return [day_phrase(day.isoformat(), locale) for day in days]
    return [f"{_told(first, MONTH, locale)} {first.year}"]


def without_day(bindings: tuple[str, ...], meant: str) -> tuple[str, ...]:
    """Return the bindings without the phrase of that day ("": none), in whatever language it was made."""
    phrases = {fold(day_phrase(meant, locale)) for locale in Locale} if meant else set()
    return tuple(phrase for phrase in bindings if fold(phrase) not in phrases)


def _told(day: date, pattern: Localized, locale: Locale) -> str:
    return _format(day, pattern[locale], locale)


def _format(day: date, pattern: str, locale: Locale) -> str:
    from babel.dates import format_date  # loaded by the first day that is told, not by the start

    return str(format_date(day, pattern, locale=cldr(locale.value)))


SHORT = text("memories.days.pattern")
UNTIL = text("memories.days.until")
MONTH = text("times.patterns.month")
LONG = text("times.patterns.date_with_year")
