"""What words for a time mean: the result of `core.times.grammar`.

Every `datetime` here is aware, in the zone of the `now` that the words were read at.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from dateutil.relativedelta import relativedelta


class NotUnderstood(Exception):
    """Leave a text whose words contradict each other, or name a day that is not in the calendar."""


@dataclass(frozen=True, slots=True)
class ClockTime:
    """An hour of the day. `halves`: it may be before or after noon, and nothing says which."""

    hour: int
    minute: int = 0
    halves: bool = False


@dataclass(frozen=True, slots=True)
class Day:
    """A day as it was named; what was not named is 0, "" or None.

    "tomorrow" is `ahead` 1; "27 November" has `day` and `month`; "the last friday of next month" `weekday`, `nth` (-1)
    and `months` (1); "friday of next week" `weekday` and `weeks`. `plus` are days further ("a week from friday");
    `swapped`: day and month may be meant the other way round. `whole` is what the words name of which this is the usual
    day: "week" for "next week", "month" for "in march", "year", "weekend".
    """

    ahead: int | None = None
    year: int = 0
    month: int = 0
    day: int = 0
    weekday: str = ""
    nth: int = 0
    weeks: int = 0
    months: int = 0
    plus: int = 0
    swapped: bool = False
    whole: str = ""


@dataclass(slots=True)
class Parts:
    """The parts of a time, as far as they were found.

    `part` is a part of the day ("evening"); `real` and `calendar` are an amount of time, from now on if `is_ahead`, or
    beside `event`; `rule` is an RRULE by its parts, which `until`, `lasts` or `start` bound, at hours of `window`;
    `is_rule_unsure`: it may be said of once ("monday and friday"); `until_hour` is when one of hours or minutes ends.
    `shift` moves the time ("the 3pm meeting, 10 minutes before"); `has_holidays`: it leaves out holidays; `has_apart`:
    hours stand apart from each other.
    """

    days: list[Day] = field(default_factory=list)
    clocks: list[ClockTime] = field(default_factory=list)
    part: str = ""
    real: timedelta = timedelta()
    calendar: relativedelta = field(default_factory=relativedelta)
    is_ahead: bool = False
    event: str = ""
    shift: timedelta = timedelta()
    rule: dict[str, str] = field(default_factory=dict)
    is_rule_unsure: bool = False
    until: Day | None = None
    until_hour: ClockTime | None = None
    lasts: relativedelta | None = None
    start: Day | None = None
    window: tuple[ClockTime, ClockTime] | None = None
    has_holidays: bool = False
    has_apart: bool = False


@dataclass(frozen=True, slots=True)
class Once:
    """One instant. `has_hour` is False if only a day was named, and the hour is the usual one for it.

    `has_day` is False if only an hour was named, of which this is the next; `is_relative`: the day was named by how far
    it is from today.
    """

    at: datetime
    has_hour: bool = True
    has_day: bool = field(default=True, compare=False)
    is_relative: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A recurrence: an RRULE without DTSTART (RFC 5545, section 3.3.10), and its first instant, which is DTSTART.

    Rules of days and longer keep the wall clock; those of hours and minutes count in UTC (`core.times.rules`).
    """

    rule: str
    first: datetime
    has_hour: bool = True


@dataclass(frozen=True, slots=True)
class Unclear:
    """Words that mean one of several times, the likeliest first: the person is to be asked which.

    `why` they are asked, if that is not because of several: "holidays", which are not known, or "zone", if that is not.
    """

    options: tuple[Once | Recurrence, ...]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Past:
    """An instant that has passed, where the words mean no other."""

    at: datetime


@dataclass(frozen=True, slots=True)
class Beside:
    """A time beside an event that is not in the words: "an hour before my flight" is -1 h and "my flight".

    `hour` is the hour on that day, if one was named: "the day before my flight at 8".
    """

    offset: timedelta
    event: str
    hour: ClockTime | None = None


TOLD_LAST: Final = "it"
"""The event that is meant where none is named: what was told last."""


Time: TypeAlias = Once | Recurrence | Unclear | Past | Beside


@dataclass(frozen=True, slots=True)
class Found:
    """What words in a text mean; where they stand, as (start, end) of the text in order.

    Without these words, and prepositions that belong to them, the rest of the text is whole.
    """

    spans: tuple[tuple[int, int], ...]

    def without(self, text: str) -> str:
        """Return the text without the words for the time, with single spaces, and no punctuation around it."""
        kept, end = [], 0
        for start, stop in self.spans:
            kept.append(text[end:start])
            end = stop
        return " ".join(" ".join((*kept, text[end:])).split()).strip(" ,.;:!?-–—")


@dataclass(frozen=True, slots=True)
class FoundTime(Found):
    """A time in a text."""

    time: Time
