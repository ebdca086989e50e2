"""What words for a time mean: the result of `core.times.grammar`.

Every `datetime` here is aware, in the zone of the `now` that the words were read at.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Once:
    """One instant. `has_hour` is False if only a day was named, and the hour is the usual one for it.

    `has_day` is False if only an hour was named, of which this is the next.
    """

    at: datetime
    has_hour: bool = True
    has_day: bool = field(default=True, compare=False)


@dataclass(frozen=True, slots=True)
class Repeated:
    """A recurrence: an RRULE without DTSTART (RFC 5545, section 3.3.10), and its first instant, which is DTSTART.

    Rules of days and longer keep the wall clock; those of hours and minutes count in UTC (`core.times.rules`).
    """

    rule: str
    first: datetime
    has_hour: bool = True


@dataclass(frozen=True, slots=True)
class Unclear:
    """Words that mean one of several times, the likeliest first: the person is to be asked which."""

    options: tuple[Once | Repeated, ...]


@dataclass(frozen=True, slots=True)
class Past:
    """An instant that has passed, where the words mean no other."""

    at: datetime


@dataclass(frozen=True, slots=True)
class Beside:
    """A time beside an event that is not in the words: "an hour before my flight" is -1 h and "my flight"."""

    offset: timedelta
    event: str


Time: TypeAlias = Once | Repeated | Unclear | Past | Beside


@dataclass(frozen=True, slots=True)
class Found:
    """A time in a text: what it means, and where its words stand, as (start, end) of the text in order.

    Without these words, and prepositions that belong to them, the rest of the text is whole.
    """

    time: Time
    spans: tuple[tuple[int, int], ...]

    def without(self, text: str) -> str:
        """Return the text without the words for the time, with single spaces, and no punctuation around it."""
        kept, end = [], 0
        for start, stop in self.spans:
            kept.append(text[end:start])
            end = stop
        return " ".join(" ".join((*kept, text[end:])).split()).strip(" ,.;:!?-–—")
