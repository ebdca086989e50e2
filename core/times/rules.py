"""Instants of recurrences (RRULE of RFC 5545), as people expect them when clocks change.

Periods are numbered from DTSTART and expanded one at a time, so that the work is bounded for any rule and an old
schedule is entered near its next instant. (dateutil walks from DTSTART, and to the year 9999 if a rule never comes.)
"""

from __future__ import annotations

import re
from calendar import isleap, monthrange
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import MAXYEAR, UTC, date, datetime, time, timedelta
from enum import IntEnum
from functools import lru_cache
from itertools import islice, pairwise, takewhile
from typing import Final
from zoneinfo import ZoneInfo

_HORIZON: Final = timedelta(days=366 * 40)
"""The longest wait between two instants: 29 February on a given weekday may take 40 years."""

_CENTURY: Final = timedelta(days=36_525)
_DECADE: Final = timedelta(days=3_653)
_YEARS: Final = range(1900, 9000)
_MAX_RULE_CHARS: Final = 500
_MAX_COUNT: Final = 10_000
_SHIFT: Final = timedelta(days=1, hours=1)
"""Clocks were never set forward by more than a day (Samoa in 2011 left out one)."""

_SEEN: Final = 64
"""How many instants show the shortest interval, where a day has few."""


class Frequency(IntEnum):
    """The FREQ of a rule."""

    YEARLY = 0
    MONTHLY = 1
    WEEKLY = 2
    DAILY = 3
    HOURLY = 4
    MINUTELY = 5


_DAYS: Final = {Frequency.YEARLY: 366, Frequency.MONTHLY: 31, Frequency.WEEKLY: 7, Frequency.DAILY: 1}
_STEPS: Final = {Frequency.HOURLY: timedelta(hours=1), Frequency.MINUTELY: timedelta(minutes=1)}
_FORMS: Final = {8: "%Y%m%d", 15: "%Y%m%dT%H%M%S", 16: "%Y%m%dT%H%M%SZ"}
"""Of UNTIL, by its length."""

WEEKDAYS: Final = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule in parts; empty ones are not in it.

    `days` are BYDAY as (n, weekday): n is 0 for every one, weekday 0 for Monday. `until` is UNTIL as written; `count`
    is 0 if there is none.
    """

    frequency: Frequency
    interval: int = 1
    count: int = 0
    until: str = ""
    months: tuple[int, ...] = ()
    month_days: tuple[int, ...] = ()
    days: tuple[tuple[int, int], ...] = ()
    hours: tuple[int, ...] = ()
    minutes: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()
    week_start: int = 0

    @property
    def is_sub_daily(self) -> bool:
        """Whether it repeats by hours or minutes, which count in UTC."""
        return self.frequency in _STEPS

    def ends(self, zone: str) -> datetime | None:
        """Return UNTIL, the last moment that an instant may have, aware UTC; a day counts to its end in the zone."""
        if not self.until:
            return None
        until = datetime.strptime(self.until, _FORMS[len(self.until)])  # noqa: DTZ007  # a wall time, or UTC
        if self.until.endswith("Z"):
            return until.replace(tzinfo=UTC)
        if "T" in self.until:
            return instant(until, zone)
        return instant(until + timedelta(days=1), zone) - timedelta(microseconds=1)


@lru_cache(maxsize=1024)
def read(rule: str) -> Rule:
    """Return the rule in parts.

    Raises:
        ValueError: it is no RRULE, or has parts that are not supported here, or values that are out of range.
    """
    if len(rule) > _MAX_RULE_CHARS:
        raise ValueError("the rule is too long")
    parts: dict[str, str] = {}
    for part in rule.upper().split(";"):
        name, is_part, value = part.partition("=")
        if not is_part or name in parts:
            raise ValueError(f"{name[:20]!r} is no part, or is there twice")
        parts[name] = value
    frequency = parts.pop("FREQ", "")
    if frequency not in Frequency.__members__:
        raise ValueError(f"FREQ={frequency[:20]} is none of {', '.join(Frequency.__members__)}")
    found = Rule(
        Frequency[frequency],
        interval=(_numbers(parts, "INTERVAL", 1, _MAX_COUNT) or (1,))[0],
        count=(_numbers(parts, "COUNT", 1, _MAX_COUNT) or (0,))[0],
        until=_until(parts.pop("UNTIL", "")),
        months=_numbers(parts, "BYMONTH", 1, 12),
        month_days=_numbers(parts, "BYMONTHDAY", -31, 31),
        days=_weekdays(parts.pop("BYDAY", "")),
        hours=_numbers(parts, "BYHOUR", 0, 23, zero=True),
        minutes=_numbers(parts, "BYMINUTE", 0, 59, zero=True),
        positions=_numbers(parts, "BYSETPOS", -366, 366),
        week_start=_week_start(parts.pop("WKST", "MO")),
    )
    if parts:
        raise ValueError(f"{', '.join(sorted(parts))[:50]} is not supported")
    _check(found)
    return found


def _check(rule: Rule) -> None:
    """Refuse parts that RFC 5545 does not allow together, or that mean nothing here."""
    by_day = (rule.months, rule.month_days, rule.days, rule.hours, rule.minutes, rule.positions)
    if rule.is_sub_daily and any(by_day):
        raise ValueError("hours and minutes count in UTC: with days or hours, repeat by days")
    if rule.count and rule.until:
        raise ValueError("COUNT and UNTIL are not said together")
    if rule.frequency is Frequency.WEEKLY and rule.month_days:
        raise ValueError("BYMONTHDAY is not said of weeks")
    if rule.frequency >= Frequency.WEEKLY and any(n for n, _ in rule.days):
        raise ValueError("weekdays are numbered within months and years only")
    if rule.positions and not any(by_day[1:-1]):
        raise ValueError("BYSETPOS needs a set to choose from")


def instant(wall: datetime, zone: str) -> datetime:
    """Return the instant, aware UTC, of a wall time; the moment after the gap for one that a change of clocks skips."""
    return wall.replace(tzinfo=ZoneInfo(zone), fold=0).astimezone(UTC)


def next_after(wall: datetime, zone: str, rule: str, after: datetime) -> datetime | None:
    """Return the first instant of the schedule later than `after`, aware UTC; None if there is none.

    `wall` is DTSTART, naive, in `zone`; `rule` an RRULE without DTSTART, or "" for that one instant. Days and longer
    keep the wall clock, hours and minutes count in UTC.

    Raises:
        ValueError: the rule has a `problem`.
    """
    if wall.year not in _YEARS:
        return None
    if not rule:
        once = instant(wall, zone)
        return once if once > after else None
    return next(_instants(wall, zone, read(rule), after), None)


def problem(rule: str) -> str:
    """Return what is wrong with a rule, for a log; "" if nothing. One that burns time or never comes is wrong."""
    try:
        found = read(rule)
    except ValueError as error:
        return str(error)
    if found.is_sub_daily:
        return ""
    ever = replace(found, interval=1, count=0, until="")  # any start of an interval is as good as another
    too_long = _DAYS[found.frequency] * found.interval > _HORIZON.days
    comes = not too_long and next(_walls(ever, datetime(2024, 1, 1), datetime(2024, 1, 1)), None)  # noqa: DTZ001
    return "" if comes else "it never comes, or not in our lifetime"


def shortest_interval(wall: datetime, zone: str, rule: str) -> timedelta | None:
    """Return the shortest time between two of its next instants; None if there are not two.

    For days and longer it is that of the wall clock: a day is 24 hours, also when clocks change.

    Raises:
        ValueError: the rule has a `problem`.
    """
    if not rule or wall.year not in _YEARS:
        return None
    found = read(rule)
    zone = zone if found.is_sub_daily else "UTC"
    most = max(_SEEN, 2 * len(_times(found, wall)) + 1)
    first = instant(wall, zone)
    ahead = islice(_instants(wall, zone, found, first - timedelta(microseconds=1)), most)
    instants = takewhile(lambda each: each - first < _DECADE, ahead)
    return min((later - earlier for earlier, later in pairwise(instants)), default=None)


def _instants(wall: datetime, zone: str, rule: Rule, after: datetime) -> Iterator[datetime]:
    """Yield the instants later than `after` in order; one that two wall times name comes twice."""
    ends = rule.ends(zone)
    found = _steps(wall, zone, rule, after) if rule.is_sub_daily else _by_wall(wall, zone, rule, after)
    return takewhile(lambda each: (ends is None or each <= ends) and each.year in _YEARS, found)


def _steps(wall: datetime, zone: str, rule: Rule, after: datetime) -> Iterator[datetime]:
    """Yield the instants of a rule of hours or minutes."""
    first, step = instant(wall, zone), _STEPS[rule.frequency] * rule.interval
    number = max((after - first) // step + 1, 0)
    while not rule.count or number < rule.count:
        yield first + number * step
        number += 1


def _by_wall(wall: datetime, zone: str, rule: Rule, after: datetime) -> Iterator[datetime]:
    """Yield the instants of a rule of days or longer.

    Wall times in a gap come later than they say, and may meet those after it: these are held until they are in order.
    """
    local = max(after.astimezone(ZoneInfo(zone)).replace(tzinfo=None, fold=0) - _SHIFT, wall)
    last = _last_wall(wall, rule) if rule.count else None
    held: list[datetime] = []
    for each in _walls(rule, wall, local):
        if last is not None and each > last:
            break
        ready = [at for at in held if each > at.astimezone(ZoneInfo(zone)).replace(tzinfo=None)]
        yield from ready
        held = held[len(ready) :]
        at = instant(each, zone)
        if at > after:
            held = sorted((*held, at))
    yield from held


@lru_cache(maxsize=1024)
def _last_wall(wall: datetime, rule: Rule) -> datetime:
    """Return the wall time of the last instant of a rule with COUNT, as far as it is in the first hundred years."""
    counted = takewhile(lambda each: each - wall < _CENTURY, islice(_walls(rule, wall, wall), rule.count))
    return max(counted, default=wall)


def _walls(rule: Rule, wall: datetime, start: datetime) -> Iterator[datetime]:
    """Yield the wall times from `start`, which is not before `wall`, in order; COUNT and UNTIL are not looked at."""
    times = _times(rule, wall)
    number, latest = _number(rule, wall, start), start
    while True:
        first, days = _period(rule, wall, number)
        if first - latest.date() > _HORIZON or first.year not in _YEARS:
            return
        number += 1
        chosen = [day for day in days if _is_in(rule, day)]
        if rule.positions:
            size = len(chosen) * len(times)
            indexes = sorted({at - 1 if at > 0 else size + at for at in rule.positions})
            picked = (divmod(at, len(times)) for at in indexes if 0 <= at < size)
            found = (datetime.combine(chosen[day], times[at]) for day, at in picked)
        else:
            found = (datetime.combine(day, at) for day in chosen for at in times)
        for each in found:
            if each >= start:
                latest = each
                yield each


def _times(rule: Rule, wall: datetime) -> Sequence[time]:
    """Return the times of a day, in order."""
    minutes = rule.minutes or (wall.minute,)
    return [
        time(hour, minute, wall.second, wall.microsecond) for hour in rule.hours or (wall.hour,) for minute in minutes
    ]


def _number(rule: Rule, wall: datetime, start: datetime) -> int:
    """Return the number of the last period that begins at or before `start`; that of `wall` is 0."""
    match rule.frequency:
        case Frequency.YEARLY:
            passed = start.year - wall.year
        case Frequency.MONTHLY:
            passed = (start.year - wall.year) * 12 + start.month - wall.month
        case Frequency.WEEKLY:
            passed = (start.date() - _week(rule, wall)).days // 7
        case _:
            passed = (start.date() - wall.date()).days
    return passed // rule.interval


def _period(rule: Rule, wall: datetime, number: int) -> tuple[date, Sequence[date]]:
    """Return the first day of a period, and those of its days that BYMONTH and BYMONTHDAY may leave, in order.

    A rule that names no days has those of `wall`.
    """
    passed = number * rule.interval
    if rule.frequency is Frequency.DAILY:
        day = wall.date() + timedelta(days=passed)
        return day, [day]
    if rule.frequency is Frequency.WEEKLY:
        first = _week(rule, wall) + timedelta(weeks=passed)
        days = [first + timedelta(days=day) for day in range(7)]
        return first, days if rule.days else [day for day in days if day.weekday() == wall.weekday()]
    months: Sequence[int] = rule.months or range(1, 13)
    if rule.frequency is Frequency.MONTHLY:
        year, month = divmod(wall.year * 12 + wall.month - 1 + passed, 12)
        months = [month + 1]
    else:
        year = wall.year + passed
        if not (rule.months or rule.month_days or rule.days):
            months = [wall.month]
    first = date(min(year, MAXYEAR), months[0], 1)
    wanted = rule.month_days or (() if rule.days else (wall.day,))
    return first, [day for month in months for day in _month(first.year, month, wanted)]


def _month(year: int, month: int, wanted: Sequence[int]) -> Sequence[date]:
    """Return the days of a month, or the wanted ones, which may count from its end."""
    length = monthrange(year, month)[1]
    numbers = sorted({day if day > 0 else length + 1 + day for day in wanted}) if wanted else range(1, length + 1)
    return [date(year, month, day) for day in numbers if 0 < day <= length]


def _week(rule: Rule, wall: datetime) -> date:
    return wall.date() - timedelta(days=(wall.weekday() - rule.week_start) % 7)


def _is_in(rule: Rule, day: date) -> bool:
    """Return whether a day of a period is one of the rule's."""
    if rule.months and day.month not in rule.months:
        return False
    length = monthrange(day.year, day.month)[1]
    if rule.month_days and day.day not in rule.month_days and day.day - length - 1 not in rule.month_days:
        return False
    if not rule.days:
        return True
    number = day.day
    if rule.frequency is Frequency.YEARLY and not rule.months:
        number, length = day.timetuple().tm_yday, 366 if isleap(day.year) else 365
    places = {0, (number - 1) // 7 + 1, -((length - number) // 7 + 1)}
    return any(weekday == day.weekday() and n in places for n, weekday in rule.days)


def _numbers(parts: dict[str, str], name: str, least: int, most: int, *, zero: bool = False) -> tuple[int, ...]:
    """Take the whole numbers of a part out of `parts`, in order, each once; () if it is not there."""
    if (value := parts.pop(name, None)) is None:
        return ()
    if not re.fullmatch(r"[+-]?\d{1,5}(?:,[+-]?\d{1,5})*", value, re.ASCII):
        raise ValueError(f"{name}={value[:20]} is no number")
    numbers = sorted({int(each) for each in value.split(",")})
    if not all(least <= each <= most and (each or zero) for each in numbers):
        raise ValueError(f"{name}={value[:20]} is out of range")
    if name in {"INTERVAL", "COUNT"} and len(numbers) > 1:
        raise ValueError(f"{name} is one number")
    return tuple(numbers)


def _weekdays(value: str) -> tuple[tuple[int, int], ...]:
    found = set()
    for each in value.split(",") if value else ():
        match = re.fullmatch(r"([+-]?\d{1,2})?([A-Z]{2})", each, re.ASCII)
        if match is None or match[2] not in WEEKDAYS or (match[1] and not 1 <= abs(int(match[1])) <= 53):  # noqa: PLR2004  # weeks of a year
            raise ValueError(f"BYDAY={value[:20]} is no weekday")
        found.add((int(match[1] or 0), WEEKDAYS.index(match[2])))
    return tuple(sorted(found, key=lambda day: (day[1], day[0])))


def _week_start(value: str) -> int:
    if value not in WEEKDAYS:
        raise ValueError(f"WKST={value[:20]} is no weekday")
    return WEEKDAYS.index(value)


def _until(value: str) -> str:
    if value and (len(value) not in _FORMS or datetime.strptime(value, _FORMS[len(value)]).year not in _YEARS):  # noqa: DTZ007
        raise ValueError(f"UNTIL={value[:20]} is out of range")
    return value
