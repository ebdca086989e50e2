"""What the parts of a time mean at a moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from dateutil import rrule
from dateutil.relativedelta import relativedelta

from core.times.clocks import of_day
from core.times.reading import (
    TOLD_LAST,
    Beside,
    ClockTime,
    Day,
    NotUnderstood,
    Once,
    Parts,
    Past,
    Recurrence,
    Time,
    Unclear,
)
from core.times.rules import WEEKDAYS, by_hours

_USUAL_HOUR: Final = 9
_EARLY: Final = 6
"""Before this hour of the morning few things come again and again."""

_NOON: Final = 12
_DAWN_ENDS: Final = 5
_EVENING: Final = 20
_MOST_DAYS: Final = 2
_SMALL_HOURS: Final = range(1, 7)
"""Hours that are asked about even on a day that was named: nobody knows which half of the day is meant."""


class Meaning:
    """What the parts of a time mean at a moment."""

    def __init__(self, parts: Parts, now: datetime, hours: Mapping[str, int]) -> None:
        self._parts = parts
        self._now = now
        self._wall = now.replace(tzinfo=None)
        self._today = now.date()
        self._hours = hours

    def time(self) -> Time | None:
        """Return the time. Raises NotUnderstood if the parts contradict each other, ValueError for no day."""
        found = self._time()
        if not self._parts.has_holidays or found is None:
            return found
        if not isinstance(found, Once | Recurrence | Unclear):
            raise NotUnderstood
        return Unclear(found.options if isinstance(found, Unclear) else (found,), "holidays")

    def _time(self) -> Time | None:
        parts = self._parts
        if parts.event:
            hour = parts.clocks[0] if len(parts.clocks) == 1 else None
            return Beside(parts.real + self._length(parts.calendar), parts.event, hour)
        if parts.shift and (parts.rule or parts.window or parts.is_ahead):
            raise NotUnderstood
        if parts.shift and not (parts.clocks or parts.days or parts.part):  # "an hour before"
            return Beside(parts.shift, TOLD_LAST)
        if parts.rule or parts.window:
            return self._maybe_repeated() if parts.is_rule_unsure else self._repeated()
        if parts.until or (parts.start and (parts.days or parts.is_ahead)):
            raise NotUnderstood
        if parts.start:
            parts.days.append(parts.start)
        if parts.is_ahead:
            return self._ahead()
        if len(parts.days) > _MOST_DAYS:
            raise NotUnderstood
        return self._several() if len(parts.clocks) > 1 else self._one()

    def _one(self) -> Time | None:
        """Return one time of a day, moved by what was said to lie before or after it."""
        parts, found = self._parts, self._once()
        if isinstance(found, Once) and parts.days and parts.days[0].ahead is not None:
            found = replace(found, is_relative=True)
        if not parts.shift:
            return found
        if not isinstance(found, Once) or not found.has_hour:
            raise NotUnderstood
        at = (found.at.astimezone(UTC) + parts.shift).astimezone(self._now.tzinfo)
        return Once(at) if at > self._now else Past(at)

    def _length(self, calendar: relativedelta) -> timedelta:
        return (self._wall + calendar) - self._wall

    def _aware(self, wall: datetime) -> datetime:
        """Return the instant of a wall time; of one that a change of clocks skips, the moment after the gap."""
        return wall.replace(tzinfo=self._now.tzinfo).astimezone(UTC).astimezone(self._now.tzinfo)

    def _ahead(self) -> Time:
        parts = self._parts
        if len(parts.clocks) > 1:
            raise NotUnderstood
        if parts.days:
            return self._on(self._in_that_week(parts.days))
        wall, has_hour = self._wall + parts.calendar, True
        if parts.clocks or parts.part:
            if parts.real:
                raise NotUnderstood
            return self._on(wall.date())
        if not parts.real:
            has_hour = False
        at = (self._aware(wall).astimezone(UTC) + parts.real).astimezone(self._now.tzinfo)
        return Once(at, has_hour) if at > self._now else Past(at)

    def _in_that_week(self, days: Sequence[Day]) -> date:
        """Return the weekday of the week that is some weeks ahead: "in two weeks, on tuesday"."""
        [named] = days
        if self._parts.real or not named.weekday or named.day or named.nth or self._parts.calendar.days % 7:
            raise NotUnderstood
        day = self._today + self._parts.calendar
        return day + timedelta(days=WEEKDAYS.index(named.weekday) - day.weekday())

    def _once(self) -> Time | None:
        parts = self._parts
        if not parts.days:
            return self._today_or_tomorrow()
        named = parts.days[0] if len(parts.days) == 1 else self._joined(parts.days)
        if named.swapped:
            other = Day(year=named.year, month=named.day, day=named.month)
            options = [
                self._on(self.day_of(each)) for each in (Day(year=named.year, month=named.month, day=named.day), other)
            ]
            ahead = sorted((each for each in options if isinstance(each, Once)), key=lambda each: each.at)
            return Unclear(tuple(ahead)) if len(ahead) > 1 else ahead[0] if ahead else options[0]
        day = self.day_of(named)
        if another := self._other_date(named, day):
            times = [self._on(each) for each in sorted((another, day))]
            if all(isinstance(each, Once) for each in times):
                return Unclear(tuple(each for each in times if isinstance(each, Once)))
        if day == self._today and not (parts.clocks or parts.part):
            return self._some_time_today()
        return self._on(day)

    def _other_date(self, named: Day, day: date) -> date | None:
        """Return another date that a day of the month may mean.

        Said on the 31st, "dia 31 às 18h" may be today; "friday the 13th" may be the next 13th, which is no friday.
        """
        if named.day <= 0 or named.month or named.months or named.plus:
            return None
        if named.weekday:
            nearest = self.day_of(Day(day=named.day))
            return nearest if nearest != day else None
        is_ahead = any(self._at(self._today, clock) > self._now for clock in self._clocks())
        return self._today if named.day == self._today.day and is_ahead else None

    def _joined(self, days: Sequence[Day]) -> Day:
        """Return one day of two that name it together: "friday, 27 november", "next week on monday"."""
        first, second = days
        if second.weekday and not second.day and not second.nth and first.day:
            first, second = second, first
        if first.weekday and not first.day and not first.nth and second.day > 0 and not second.weekday:
            return Day(second.ahead, second.year, second.month, second.day, first.weekday)
        if first.ahead is not None and (second.day > 0 or second.weekday):
            date_ahead = self._today + timedelta(days=first.ahead)
            if (second.day in {0, date_ahead.day}) and second.weekday in {"", WEEKDAYS[date_ahead.weekday()]}:
                return first
        raise NotUnderstood

    def day_of(self, named: Day) -> date:
        """Return the date of a day that was named: the next one, where no month or year was."""
        today = self._today
        if named.plus:
            return self.day_of(replace(named, plus=0)) + timedelta(days=named.plus)
        if named.ahead is not None:
            return today + timedelta(days=named.ahead)
        if named.nth or named.day:
            return self._nth(named) if named.nth else self._numbered(named)
        if named.weeks < 0:
            return today - timedelta(days=(today.weekday() - WEEKDAYS.index(named.weekday) - 1) % 7 + 1)
        if named.weeks:  # of weeks that begin on Monday
            weekday = WEEKDAYS.index(named.weekday or "MO")
            return today + timedelta(days=7 - today.weekday() + weekday)
        if not named.weekday:
            raise NotUnderstood
        return today + timedelta(days=(WEEKDAYS.index(named.weekday) - today.weekday() - 1) % 7 + 1)

    def _numbered(self, named: Day) -> date:
        """Return the next day of that number, in the month and year and on the weekday if they were named."""
        today = self._today
        if named.day < 0:
            last = today + relativedelta(months=named.months, day=31)
            return last if last > today or named.months else today + relativedelta(months=1, day=31)
        dates: Sequence[date | None]
        if named.year:
            dates = [_date_or_none(named.year, named.month, named.day)]
        elif named.month:  # 29 February may be eight years ahead
            dates = [_date_or_none(year, named.month, named.day) for year in range(today.year, today.year + 9)]
            dates = [found for found in dates if found and found >= today][:1]
        else:
            months = [today + relativedelta(months=ahead, day=1) for ahead in range(named.months, 13)]
            dates = [_date_or_none(month.year, month.month, named.day) for month in months]
            dates = [found for found in dates if found and (found > today or named.months)]
        for found in dates:
            if found and named.weekday in {"", WEEKDAYS[found.weekday()]}:
                return found
        raise NotUnderstood

    def _nth(self, named: Day) -> date:
        for months in range(named.months, 14):
            month = self._today + relativedelta(months=months, day=1)
            if named.month and month.month != named.month:
                continue
            days = [month + timedelta(days=at) for at in range(31)]
            days = [day for day in days if day.month == month.month and WEEKDAYS[day.weekday()] == named.weekday]
            if named.nth > len(days):
                continue
            found = days[named.nth - 1 if named.nth > 0 else -1]
            if found > self._today or named.months:
                return found
        raise NotUnderstood

    def _clocks(self) -> list[ClockTime]:
        """Return the hours that were said, each before or after noon by a part of the day said apart."""
        parts = self._parts
        said = (clock.halves or clock.hour == _NOON for clock in parts.clocks)  # "tonight at 12" is midnight
        clocks = zip(parts.clocks, said, strict=True)
        return [of_day(clock, parts.part) if parts.part and is_open else clock for clock, is_open in clocks]

    def _usual(self) -> ClockTime:
        return ClockTime(self._hours.get(self._parts.part, _USUAL_HOUR))

    def _at(self, day: date, clock: ClockTime) -> datetime:
        return self._aware(datetime.combine(day, time(clock.hour, clock.minute)))

    def _on(self, day: date) -> Time:
        """Return the time on a day: at the hour that was said, or the usual one."""
        clocks = self._clocks()
        if not clocks:
            return self._usual_on(day)
        [clock] = clocks
        late = self._at(day, _other_half(clock)) if clock.halves else None
        at = self._at(day, clock)
        if clock.hour == 0 and day > self._today:
            return _options([at, self._at(day + timedelta(days=1), clock)])
        if self._is_night(clock, day):
            at = self._at(day + timedelta(days=1), clock)
        if late is None:
            return Once(at) if at > self._now else Past(at)
        if day == self._today:
            ahead = [each for each in (at, late) if each > self._now]
            return Past(late) if not ahead else Once(ahead[0]) if len(ahead) == 1 else _options(ahead)
        if day < self._today:
            return Past(at)
        return _options([late, at]) if clock.hour in _SMALL_HOURS else Once(at)

    def _usual_on(self, day: date) -> Time:
        at = self._at(day, self._usual())
        if day == self._today and at <= self._now and self._parts.part:
            return self._later_today(day)
        return Once(at, has_hour=False) if at > self._now else Past(at)

    def _is_night(self, clock: ClockTime, day: date) -> bool:
        """Whether an hour after midnight was said with the evening before it: "tonight at 1"."""
        is_late = self._parts.part in {"evening", "night"} and self._at(day, clock) <= self._now
        return not clock.halves and (clock.hour == 0 or (clock.hour < _DAWN_ENDS and is_late))

    def _later_today(self, day: date) -> Time:
        """Return a time for the rest of a part of today that has begun: in an hour, if it is still that day."""
        later = self._now + timedelta(hours=1)
        ends = _EVENING if self._parts.part == "afternoon" else 24
        same = later.date() == day and self._parts.part in {"evening", "night", "afternoon"}
        same = same and _NOON <= later.hour < ends
        return (
            Once(later.replace(second=0, microsecond=0), has_hour=False) if same else Past(self._at(day, self._usual()))
        )

    def _today_or_tomorrow(self) -> Time | None:
        """Return the next time of an hour, or part of the day, for which no day was named."""
        clocks = self._clocks()
        tomorrow = self._today + timedelta(days=1)
        if not clocks:
            if not self._parts.part:
                return None
            today = self._on(self._today)
            return today if isinstance(today, Once) else self._on(tomorrow)
        [clock] = clocks
        halves = [clock, _other_half(clock)] if clock.halves else [clock]
        times = [self._at(self._today, each) for each in halves]
        times = [at if at > self._now else self._at(tomorrow, each) for at, each in zip(times, halves, strict=True)]
        return Once(times[0], has_day=False) if len(times) == 1 else _options(sorted(times), has_day=False)

    def _some_time_today(self) -> Time:
        """Return what "today" may mean, with no hour: the options that are left of the day."""
        soon = (self._now + timedelta(hours=1)).replace(second=0, microsecond=0)
        usual = [self._at(self._today, ClockTime(hour)) for hour in (12, 15, 18, 20)]
        options = [at for at in (soon, *usual) if at.date() == self._today and at > self._now][:3]
        return _options(options) if len(options) > 1 else Once(soon, has_hour=False)

    def _several(self) -> Time:
        """Return several hours of one day, or the next of each where no day was named: a rule that ends with them."""
        parts, clocks = self._parts, self._clocks()
        are_plain = any(clock.hour > _NOON for clock in clocks)
        if (
            parts.shift
            or parts.has_apart
            or (not are_plain and any(each.halves and each.hour in _SMALL_HOURS for each in clocks))
        ):
            raise NotUnderstood
        days = parts.days
        day = self._today if not days else self.day_of(days[0] if len(days) == 1 else self._joined(days))
        at = [self._at(day, clock) for clock in clocks]
        ahead = sorted(each for each in at if each > self._now)
        if not ahead and days:
            return Past(max(at))
        if len(ahead) == 1 and days:
            return Once(ahead[0])
        first = ahead[0] if ahead else self._at(day + timedelta(days=1), min(clocks, key=lambda each: each.hour))
        count = len(ahead) if days else len(at)
        rule = {"FREQ": "DAILY", "COUNT": str(count), **by_hours({(each.hour, each.minute) for each in clocks})}
        return Recurrence(_text(rule), first)

    # --- again and again ---

    def _maybe_repeated(self) -> Time:
        found = self._repeated()
        return Unclear((found, Once(found.first, found.has_hour))) if isinstance(found, Recurrence) else found

    def _repeated(self) -> Time:
        parts, rule = self._parts, dict(self._parts.rule)
        rule.setdefault("FREQ", "DAILY")
        if parts.until_hour is not None and rule["FREQ"] not in {"HOURLY", "MINUTELY"}:
            raise NotUnderstood
        if parts.is_ahead:
            raise NotUnderstood
        self._name_days(rule)
        if rule["FREQ"] in {"HOURLY", "MINUTELY"} and parts.window is None:
            return self._every_hours(rule)
        if parts.window is not None:
            first, last = parts.window
            hours = range(first.hour, last.hour + 1 if last.hour >= first.hour else last.hour + 13)
            if rule["FREQ"] not in {"HOURLY", "DAILY"} or last.minute or first.minute:
                raise NotUnderstood
            step = int(rule.pop("INTERVAL", "1"))
            rule |= {"FREQ": "DAILY", "BYHOUR": ",".join(str(hour % 24) for hour in hours[::step]), "BYMINUTE": "0"}
            clocks, has_hour = [ClockTime(first.hour)], True
        else:
            clocks, has_hour = self._clocks() or [self._usual()], bool(parts.clocks)
            clocks = self._named_hours(rule, clocks) if "BYHOUR" in rule else clocks
        if len(clocks) > 1:
            hours_of_day = by_hours(
                {(clock.hour, clock.minute) for clock in clocks}, days=len(rule.get("BYDAY", "").split(","))
            )
            if "BYSETPOS" in rule or ("BYSETPOS" in hours_of_day and rule["FREQ"] not in {"DAILY", "WEEKLY"}):
                raise NotUnderstood
            rule |= hours_of_day
        clock = clocks[0]
        if has_hour and len(clocks) == 1 and clock.halves and 0 < clock.hour < _EARLY:
            return self._by_half(rule, clock)
        return self._counted(rule, clocks, has_hour=has_hour)

    def _named_hours(self, rule: Mapping[str, str], clocks: list[ClockTime]) -> list[ClockTime]:
        """Return the hours of "three times a day": those that were named, else the usual ones."""
        if len(clocks) == 1 and self._parts.clocks:
            raise NotUnderstood
        return clocks if self._parts.clocks else [ClockTime(int(hour)) for hour in rule["BYHOUR"].split(",")]

    def _by_half(self, rule: dict[str, str], clock: ClockTime) -> Time:
        """Return both times of day that an early hour may mean: "every friday at 4" is hardly at night."""
        halves = [self._counted(dict(rule), [each], has_hour=True) for each in (_other_half(clock), clock)]
        return Unclear(tuple(each for each in halves if isinstance(each, Recurrence)))

    def _counted(self, rule: dict[str, str], clocks: Sequence[ClockTime], *, has_hour: bool) -> Time:
        if len(clocks) > 1 and self._parts.days and "BYDAY" in self._parts.rule:  # "every mon at 9 and wed at 10"
            raise NotUnderstood
        begin = self.day_of(self._parts.start) if self._parts.start else self._today
        times = {(clock.hour, clock.minute) for clock in clocks}
        start = datetime.combine(begin, time(*min(times)))
        after = max(self._wall, start - timedelta(seconds=1))
        steady = {name: value for name, value in rule.items() if name != "INTERVAL" or "BYDAY" not in rule}
        if steady.get("FREQ") == "WEEKLY" and "BYDAY" not in steady:
            steady["BYDAY"] = WEEKDAYS[begin.weekday()]
            rule["BYDAY"] = steady["BYDAY"]
        first = rrule.rrulestr(_text(steady), dtstart=start).after(after)
        if first is None:
            raise NotUnderstood
        if self._parts.lasts is not None:
            end = first + self._parts.lasts - timedelta(seconds=1)
            rule["UNTIL"] = self._utc(end)
        if self._parts.until is not None:
            end = datetime.combine(self.day_of(self._parts.until), time(23, 59, 59))
            if end < first:
                raise NotUnderstood
            rule["UNTIL"] = self._utc(end)
        # An hour that a change of clocks skips on the first day is the hour of all others.
        return Recurrence(_text(rule), first.replace(tzinfo=self._now.tzinfo), has_hour)

    def _name_days(self, rule: dict[str, str]) -> None:
        """Add the days that were named beside the recurrence: "every two weeks, on friday", "every year on 3 March"."""
        for day in self._parts.days:
            if rule["FREQ"] == "MONTHLY" and day.nth:
                rule["BYDAY"] = f"{day.nth}{day.weekday}"
            elif rule["FREQ"] in {"WEEKLY", "DAILY"} and day.weekday and not day.day:
                if rule["FREQ"] == "DAILY" and "INTERVAL" in rule:
                    rule["INTERVAL"] = _weeks(rule["INTERVAL"])
                rule |= {"FREQ": "WEEKLY", "BYDAY": ",".join(filter(None, (rule.get("BYDAY"), day.weekday)))}
            elif rule["FREQ"] == "MONTHLY" and day.day and not day.month and "BYDAY" not in rule:
                rule["BYMONTHDAY"] = str(day.day)
            elif rule["FREQ"] == "YEARLY" and day.month and day.day > 0 and not day.year:
                rule |= {"BYMONTH": str(day.month), "BYMONTHDAY": str(day.day)}
            elif rule["FREQ"] == "MONTHLY" and "BYDAY" in rule and day.months and not day.day:
                continue
            elif day.ahead is not None and day.ahead >= 0 and self._parts.start is None:
                self._parts.start = day
            else:
                raise NotUnderstood
        if (
            rule["FREQ"] in {"YEARLY", "MONTHLY"}
            and not {"BYMONTHDAY", "BYDAY"} & rule.keys()
            and not self._parts.start
        ):
            raise NotUnderstood

    def _every_hours(self, rule: dict[str, str]) -> Time:
        """Return a recurrence of hours or minutes, which begins one interval from now, or at the hour that was said."""
        unit = timedelta(hours=1) if rule["FREQ"] == "HOURLY" else timedelta(minutes=1)
        first = (self._now.astimezone(UTC) + int(rule.get("INTERVAL", "1")) * unit).astimezone(self._now.tzinfo)
        if self._parts.clocks or self._parts.part or self._parts.start:
            if self._parts.start:
                self._parts.days.append(self._parts.start)
            began = self._once()
            if not isinstance(began, Once):
                raise NotUnderstood
            first = began.at
        if self._parts.until is not None:
            end = datetime.combine(self.day_of(self._parts.until), time(23, 59, 59))
            rule["UNTIL"] = self._utc(end)
        if self._parts.until_hour is not None:
            rule["UNTIL"] = self._utc(self._next_of(self._parts.until_hour, first))
        if self._parts.lasts is not None:
            rule["UNTIL"] = self._utc(first.replace(tzinfo=None) + self._parts.lasts - timedelta(seconds=1))
        return Recurrence(_text(rule), first)

    def _next_of(self, clock: ClockTime, after: datetime) -> datetime:
        """Return when a clock on the wall next shows that hour, in either half of the day if none was said."""
        halves = [clock, ClockTime((clock.hour + 12) % 24, clock.minute)] if clock.halves else [clock]
        walls = [datetime.combine(after.date(), time(each.hour, each.minute)) for each in halves]
        return min(wall if wall >= after.replace(tzinfo=None) else wall + timedelta(days=1) for wall in walls)

    def _utc(self, wall: datetime) -> str:
        return f"{self._aware(wall).astimezone(UTC):%Y%m%dT%H%M%SZ}"


def _weeks(days: str) -> str:
    """Return days as weeks: fifteen are two weeks to people. Raises NotUnderstood for ten."""
    weeks = {"7": "1", "8": "1", "14": "2", "15": "2", "21": "3", "28": "4"}.get(days)
    if weeks is None:
        raise NotUnderstood
    return weeks


def _text(rule: Mapping[str, str]) -> str:
    return ";".join(f"{name}={value}" for name, value in rule.items())


def _options(times: Sequence[datetime], *, has_day: bool = True) -> Unclear:
    return Unclear(tuple(Once(at, has_day=has_day) for at in times))


def _date_or_none(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _other_half(clock: ClockTime) -> ClockTime:
    return ClockTime((clock.hour + _NOON) % 24, clock.minute)
