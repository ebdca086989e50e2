"""Instants of recurrences (RRULE of RFC 5545, read by dateutil), as people expect them when clocks change.

dateutil walks from DTSTART, and on to the year 9999 while nothing comes, whatever its `until` is. So it gets the start
of the period next to the moment that is asked about, 400 years (after which the calendar repeats) at a time nearer to
that end: any rule ends within 440 years.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import MAXYEAR, UTC, date, datetime, time, timedelta
from enum import IntEnum
from functools import lru_cache
from itertools import dropwhile, islice, pairwise, takewhile
from typing import Final
from zoneinfo import ZoneInfo

from dateutil import rrule

_CYCLE: Final = 400
_LATEST: Final = MAXYEAR - 39
"""The last year that dateutil starts in: 29 February on a given weekday may take 40 years."""

_DECADE: Final = timedelta(days=3_653)
_YEARS: Final = range(1900, 9000)
MAX_RULE_CHARS: Final = 500
_SHIFT: Final = timedelta(days=1, hours=1)
"""Clocks were never set forward by more than a day (Samoa in 2011 left out one)."""

_SEEN: Final = 64
"""How many instants show the shortest interval, where a day has few."""


class Frequency(IntEnum):
    """The FREQ of a rule, numbered as dateutil does."""

    YEARLY = rrule.YEARLY
    MONTHLY = rrule.MONTHLY
    WEEKLY = rrule.WEEKLY
    DAILY = rrule.DAILY
    HOURLY = rrule.HOURLY
    MINUTELY = rrule.MINUTELY


_DAYS: Final = {Frequency.YEARLY: 366, Frequency.MONTHLY: 31, Frequency.WEEKLY: 7, Frequency.DAILY: 1}
_STEPS: Final = {Frequency.HOURLY: timedelta(hours=1), Frequency.MINUTELY: timedelta(minutes=1)}
WEEKDAYS: Final = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_RANGES: Final = {
    "INTERVAL": (1, 10_000), "COUNT": (1, 10_000), "BYMONTH": (1, 12), "BYMONTHDAY": (-31, 31), "BYHOUR": (0, 23),
    "BYMINUTE": (0, 59), "BYSETPOS": (-366, 366),
}  # fmt: skip
_WEEKDAY: Final = f"(?:{'|'.join(WEEKDAYS)})"
_FORMS: Final = dict.fromkeys(_RANGES, r"[+-]?\d{1,5}(?:,[+-]?\d{1,5})*") | {
    "FREQ": "|".join(Frequency.__members__),
    "UNTIL": r"\d{8}(?:T\d{6}Z?)?",
    "EXDATE": r"\d{8}(?:,\d{8}){0,30}",
    "WKST": _WEEKDAY,
    "BYDAY": rf"(?:(?:^|,)(?:[+-]?\d{{1,2}})?{_WEEKDAY})+",
}


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
    skips: tuple[date, ...] = ()
    """Days on which it does not come, in its zone: EXDATE, which RFC 5545 has beside a rule, and not in it."""

    @property
    def times(self) -> tuple[tuple[int, int], ...]:
        """The hours and minutes of a rule that names any, but those that BYSETPOS leaves out of a day or week."""
        every = tuple((hour, minute) for hour in self.hours for minute in self.minutes or (0,))
        if not self.picks_hours:
            return every
        return tuple(each for at, each in enumerate(every) if any((n - 1) % len(every) == at for n in self.positions))

    @property
    def picks_hours(self) -> bool:
        """Whether BYSETPOS chooses of the hours of each day: "at 18:30 and at 20:00"."""
        is_of_days = self.frequency in {Frequency.DAILY, Frequency.WEEKLY}
        return is_of_days and len(self.hours) * len(self.minutes) > 1 and min(self.positions, default=0) > 0

    @property
    def is_sub_daily(self) -> bool:
        """Whether it repeats by hours or minutes, which count in UTC."""
        return self.frequency in _STEPS

    def ends(self, zone: str) -> datetime | None:
        """Return UNTIL, the last moment that an instant may have, aware UTC; a day counts to its end in the zone."""
        if not self.until:
            return None
        until = datetime.fromisoformat(self.until)
        if until.tzinfo or "T" in self.until:
            return until if until.tzinfo else instant(until, zone)
        return instant(until + timedelta(days=1), zone) - timedelta(microseconds=1)


@lru_cache(maxsize=1024)
def read(rule: str) -> Rule:
    """Return the rule in parts.

    Raises:
        ValueError: it is no RRULE, or has parts that are not supported here, or values that are out of range.
    """
    if len(rule) > MAX_RULE_CHARS:
        raise ValueError("the rule is too long")
    parts: dict[str, str] = {}
    numbers: dict[str, tuple[int, ...]] = dict.fromkeys(_RANGES, ())
    for part in rule.upper().split(";"):
        name, _, value = part.partition("=")
        if name in parts or name not in _FORMS or not re.fullmatch(_FORMS[name], value, re.ASCII):
            raise ValueError(f"{part[:30]!r} is wrong, not supported, or there twice")
        parts[name] = value
        if name in _RANGES:
            least, most = _RANGES[name]
            numbers[name] = tuple(sorted({int(each) for each in value.split(",")}))
            if not all(least <= each <= most and (each or not least) for each in numbers[name]):
                raise ValueError(f"{part[:30]!r} is out of range")
    if "FREQ" not in parts or len(numbers["INTERVAL"]) > 1 or len(numbers["COUNT"]) > 1:
        raise ValueError("a rule has one FREQ, and INTERVAL and COUNT are one number each")
    days = {(int(each[:-2] or 0), WEEKDAYS.index(each[-2:])) for each in parts.get("BYDAY", "").split(",") if each}
    found = Rule(
        Frequency[parts["FREQ"]],
        interval=(numbers["INTERVAL"] or (1,))[0],
        count=(numbers["COUNT"] or (0,))[0],
        until=parts.get("UNTIL", ""),
        months=numbers["BYMONTH"],
        month_days=numbers["BYMONTHDAY"],
        days=tuple(sorted(days, key=lambda day: (day[1], day[0]))),
        hours=numbers["BYHOUR"],
        minutes=numbers["BYMINUTE"],
        positions=numbers["BYSETPOS"],
        week_start=WEEKDAYS.index(parts.get("WKST", "MO")),
        skips=tuple(sorted(date.fromisoformat(each) for each in parts.get("EXDATE", "").split(",") if each)),
    )
    _check(found)
    return found


def _check(rule: Rule) -> None:
    """Refuse parts that RFC 5545 does not allow together, or that mean nothing here."""
    by_day = (rule.months, rule.month_days, rule.days, rule.hours, rule.minutes, rule.positions)
    most = {Frequency.YEARLY: 5 if rule.months else 53, Frequency.MONTHLY: 5}.get(rule.frequency, 0)
    if rule.until and datetime.fromisoformat(rule.until).year not in _YEARS:
        raise ValueError("UNTIL is out of range")
    if rule.is_sub_daily and any(by_day):
        raise ValueError("hours and minutes count in UTC: with days or hours, repeat by days")
    if rule.count and rule.until:
        raise ValueError("COUNT and UNTIL are not said together")
    if rule.frequency is Frequency.WEEKLY and rule.month_days:
        raise ValueError("BYMONTHDAY is not said of weeks")
    if any(abs(n) > most for n, _ in rule.days):
        raise ValueError("weekdays are numbered within months (to 5) and years only")
    if len({n == 0 for n, _ in rule.days}) > 1:
        raise ValueError("a weekday with a number and one without are not said together")  # dateutil wants both at once
    if rule.positions and not any(by_day[1:-1]):
        raise ValueError("BYSETPOS needs a set to choose from")


def instant(wall: datetime, zone: str) -> datetime:
    """Return the instant, aware UTC, of a wall time; the moment after the gap for one that a change of clocks skips."""
    return wall.replace(tzinfo=ZoneInfo(zone), fold=0).astimezone(UTC)


def skipped(wall: datetime, zone: str, rule: str, due: datetime) -> time | None:
    """Return the hour that an instant of a schedule stands for, where a change of clocks skips that hour; else None."""
    found, local = read(rule) if rule else Rule(Frequency.DAILY), due.astimezone(ZoneInfo(zone))
    if found.is_sub_daily:
        return None
    times = [time(hour, minute) for hour in found.hours or (wall.hour,) for minute in found.minutes or (wall.minute,)]
    if local.time() in times:
        return None
    return next((each for each in times if instant(datetime.combine(local.date(), each), zone) == due), None)


def next_after(wall: datetime, zone: str, rule: str, after: datetime) -> datetime | None:
    """Return the first instant of the schedule later than `after`, aware UTC; None if there is none.

    `wall` is DTSTART, naive, in `zone`; `rule` an RRULE without DTSTART, or "" for that one instant. Days and longer
    keep the wall clock, hours and minutes count in UTC.

    Raises:
        ValueError: the rule has a `problem`.
    """
    found = read(rule) if rule else Rule(Frequency.HOURLY, count=1)
    due = _next_of(wall, zone, found, after)
    while due is not None and found.skips and (day := due.astimezone(ZoneInfo(zone)).date()) in found.skips:
        ends = instant(datetime.combine(day, time()) + timedelta(days=1), zone) - timedelta(microseconds=1)
        due = _next_of(wall, zone, found, max(ends, due))
    return due


def skipping(rule: str, days: Collection[date], today: date) -> str:
    """Return the rule without the days, and what it skipped before of those that have not passed."""
    parts = [part for part in rule.split(";") if not part.upper().startswith("EXDATE=")]
    skips = sorted(each for each in {*read(rule).skips, *days} if each >= today)
    return ";".join([*parts, *([f"EXDATE={','.join(f'{each:%Y%m%d}' for each in skips)}"] if skips else [])])


def by_hours(times: Collection[tuple[int, int]], days: int = 1) -> dict[str, str]:
    """Return the parts of a rule of days for these hours and minutes, on that many days of each period."""
    hours, minutes = (sorted({each[at] for each in times}) for at in (0, 1))
    every = [(hour, minute) for hour in hours for minute in minutes]
    chosen = [at for at, each in enumerate(every, 1) if each in times]
    parts = {"BYHOUR": ",".join(map(str, hours)), "BYMINUTE": ",".join(map(str, minutes))}
    if len(chosen) == len(every):
        return parts
    positions = (str(day * len(every) + at) for day in range(days) for at in chosen)
    return {**parts, "BYSETPOS": ",".join(positions)}


def at_times(rule: str, times: Collection[tuple[int, int]]) -> str:
    """Return a rule of days with these hours and minutes in place of its own."""
    found = read(rule)
    parts = dict(part.split("=") for part in rule.split(";") if not part.startswith(("BYSETPOS=", "BYMINUTE=")))
    if found.count:
        parts["COUNT"] = str(found.count * len(times) // len(found.times))
    days = len(found.days) if found.frequency is Frequency.WEEKLY and found.days else 1
    return ";".join(f"{name}={value}" for name, value in {**parts, **by_hours(times, days)}.items())


def _next_of(wall: datetime, zone: str, found: Rule, after: datetime) -> datetime | None:
    """Return what `next_after` does, without regard to days that are skipped."""
    if wall.year not in _YEARS:
        return None
    first = instant(wall, zone)
    if found.is_sub_daily:
        number = max((after - first) // (step := _STEPS[found.frequency] * found.interval) + 1, 0)
        due = first + number * step if number < (found.count or number + 1) else None
    else:
        due = _by_wall(wall, zone, found, after)
    ends = found.ends(zone)
    return due if due and (ends is None or due <= ends) and due.year in _YEARS else None


def problem(rule: str) -> str:
    """Return what is wrong with a rule, for a log; "" if nothing. One that never comes is wrong."""
    try:
        found = read(rule)
    except ValueError as error:
        return str(error)
    return "" if found.is_sub_daily or _comes(found) else "it never comes, or not in our lifetime"


def shortest_interval(wall: datetime, zone: str, rule: str) -> timedelta | None:
    """Return the shortest time between two of its next instants; None if there are not two.

    For days and longer it is that of the wall clock: a day is 24 hours, also when clocks change.

    Raises:
        ValueError: the rule has a `problem`.
    """
    if not rule or wall.year not in _YEARS:
        return None
    found = read(rule)
    if found.is_sub_daily:
        second = next_after(wall, zone, rule, instant(wall, zone))
        return second - instant(wall, zone) if second else None
    ends = found.ends(zone)
    most = max(_SEEN, 2 * len(found.hours or (0,)) * len(found.minutes or (0,)) + 1)
    walls = takewhile(lambda each: each - wall < _DECADE, islice(_walls(found, wall, wall), most))
    kept = (each for each in walls if ends is None or instant(each, zone) <= ends)
    return min((later - earlier for earlier, later in pairwise(kept)), default=None)


def _by_wall(wall: datetime, zone: str, rule: Rule, after: datetime) -> datetime | None:
    """Return the next instant of a rule of days or longer.

    A wall time in a gap comes later than it says, and may do so after the wall times that follow it.
    """
    local, due = ZoneInfo(zone), None
    for each in _walls(rule, wall, after.astimezone(local).replace(tzinfo=None, fold=0) - _SHIFT):
        if due and each > due.astimezone(local).replace(tzinfo=None):
            break
        if (at := instant(each, zone)) > after:
            due = min(due or at, at)
    return due


def _walls(rule: Rule, wall: datetime, start: datetime) -> Iterator[datetime]:
    """Return the wall times of a rule of days or longer from `start`, in order; UNTIL is not looked at."""
    if not _comes(rule):
        return iter(())
    found = dropwhile(lambda each: each < wall, _endless(rule, wall, wall if rule.count else max(wall, start)))
    return dropwhile(lambda each: each < start, islice(found, rule.count or None))


@lru_cache(maxsize=1024)
def _comes(rule: Rule) -> bool:
    """Return whether a rule of days or longer ever comes, from some start."""
    begin = datetime(_LATEST, 1, 1)  # noqa: DTZ001  # a wall time
    is_soon = _DAYS[rule.frequency] * rule.interval <= (MAXYEAR - _LATEST + 1) * 366
    return is_soon and any(True for _ in _endless(replace(rule, interval=1), begin, begin))


def _endless(rule: Rule, wall: datetime, start: datetime) -> Iterator[datetime]:
    """Yield the wall times from the period of `start`, which is not before `wall`, without COUNT and UNTIL."""
    years = (_LATEST - start.year) // _CYCLE * _CYCLE
    wall, start = wall.replace(year=wall.year + years), start.replace(year=start.year + years)
    is_day_named = bool(rule.month_days or rule.days)
    is_in_months = rule.frequency <= Frequency.MONTHLY and not is_day_named
    found = rrule.rrule(
        rule.frequency,  # type: ignore[arg-type]  # theirs, by its number
        dtstart=_period(rule, wall, start),
        interval=rule.interval,
        wkst=rule.week_start,
        until=datetime(MAXYEAR, 12, 1),  # noqa: DTZ001  # dateutil fails in the last week of 9999
        bysetpos=rule.positions or None,
        bymonth=rule.months or (wall.month if rule.frequency is Frequency.YEARLY and not is_day_named else None),
        bymonthday=rule.month_days or (wall.day if is_in_months else None),
        byweekday=[rrule.weekday(day, n or None) for n, day in rule.days]
        or (wall.weekday() if rule.frequency is Frequency.WEEKLY else None),
        byhour=rule.hours or wall.hour,
        byminute=rule.minutes or wall.minute,
        bysecond=wall.second,
    )
    return (each.replace(year=each.year - years, microsecond=wall.microsecond) for each in found)


def _period(rule: Rule, wall: datetime, start: datetime) -> datetime:
    """Return the first day of the last period of the rule, counted from that of `wall`, that began by `start`."""
    if rule.frequency <= Frequency.MONTHLY:
        unit = 12 if rule.frequency is Frequency.YEARLY else 1
        months = (start.year * 12 + start.month - 1) // unit * unit
        months -= (months - (wall.year * 12 + wall.month - 1) // unit * unit) % (unit * rule.interval)
        return datetime(months // 12, months % 12 + 1, 1)  # noqa: DTZ001  # a wall time
    first = datetime.combine(wall, time())
    if rule.frequency is Frequency.WEEKLY:
        first -= timedelta(days=(wall.weekday() - rule.week_start) % 7)
    return start - (start - first) % (_DAYS[rule.frequency] * rule.interval * timedelta(days=1))
