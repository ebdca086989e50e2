"""The parts of a time as they were said: hours, days, an amount, a recurrence (`core.times.meaning` makes the time)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from dateutil.relativedelta import relativedelta


class NotUnderstood(Exception):
    """Leave a text whose words contradict each other, or name a day that is not in the calendar."""


@dataclass(frozen=True, slots=True)
class Clock:
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
    `shift` moves the time ("the 3pm meeting, 10 minutes before").
    """

    days: list[Day] = field(default_factory=list)
    clocks: list[Clock] = field(default_factory=list)
    part: str = ""
    real: timedelta = timedelta()
    calendar: relativedelta = field(default_factory=relativedelta)
    is_ahead: bool = False
    event: str = ""
    shift: timedelta = timedelta()
    rule: dict[str, str] = field(default_factory=dict)
    is_rule_unsure: bool = False
    until: Day | None = None
    until_hour: Clock | None = None
    lasts: relativedelta | None = None
    start: Day | None = None
    window: tuple[Clock, Clock] | None = None
