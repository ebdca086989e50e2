"""Find the stretch of time that words name: "last week", "em maio", "entre el 3 y el 10 de mayo".

The words are those of `core.times.tokens`. Stretches are counted on the wall: whole days, months, years, or hours of a
day; weeks begin on Monday.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Final

from dateutil.relativedelta import relativedelta

from core.times.days import WHERE, day_at
from core.times.meaning import Meaning
from core.times.reading import Day, NotUnderstood, Parts
from core.times.rules import WEEKDAYS
from core.times.tokens import Tokens, number_of, table

FIRST: Final = datetime(1970, 1, 1)  # noqa: DTZ001  # wall times here have no zone
LAST: Final = datetime(9000, 1, 1)  # noqa: DTZ001  # the same

_DAY: Final = timedelta(days=1)
_WEEK: Final = timedelta(days=7)
_SATURDAY, _SUNDAY = 5, 6
_YEARS: Final = range(1900, 2200)
_MONTH_DAYS: Final = 31
_SHORT: Final = 3
"""Abbreviated names of days and months are other words, too: "mar", "set", "sun"."""

_PARTS: Final = {"dawn": (0, 6), "morning": (4, 12), "afternoon": (12, 19), "evening": (18, 28), "night": (18, 28)}
"""From which hour to which a part of the day lasts; the evening ends early the next day."""

_TIMELY: Final = frozenset("nrTWMdpuIEVkgJZX")
"""Kinds of which each stretch has one."""

_OTHER: Final = frozenset("w,&")
"""Kinds that no stretch begins with."""

_POINT: Final = "(?:[nr]o{0,2}M|M[nr]|[nrM])"
_RANGE: Final = re.compile(f"[loSi]{{0,2}}(?P<first>{_POINT})[&tUa,]o{{0,2}}(?P<last>{_POINT})(?:o{{0,2}}(?P<year>n))?")
_LATELY: Final = re.compile("[oi]{0,2}[rk+](?P<count>n)?(?P<unit>u)(?!o{0,2}[uM])")  # "the last 3 days"
_AGO: Final = re.compile("g~*(?P<n>n)(?P<u>u)|~*(?P<n2>n)(?P<u2>u)g")  # "há 2 dias", "a week ago"
_GONE: Final = re.compile(f"{WHERE}(?:k(?P<a>[uE])|(?P<b>[uE])k|r(?P<c>E))")  # "last week", "el finde pasado"
_MONTH_GONE: Final = re.compile(f"{WHERE}(?:[kr](?P<a>M)|(?P<b>M)k)")  # "maio passado"
_THIS: Final = re.compile("[oi]?(?P<this>[so])(?P<unit>[uE])(?!k)")  # "neste mês"
_NEXT: Final = re.compile(f"{WHERE}(?:x(?P<a>[uE])|(?P<b>[uE])x|(?P<j>J))")  # "next month"
_YEAR: Final = re.compile("(?P<lead>[oi]{0,2}u?o?)(?P<year>n)(?!u)")  # "in 2024"
_MONTH: Final = re.compile("(?P<lead>[ois]{0,2})(?P<month>M)(?![nr])(?:[o,]{0,2}(?P<year>n))?|(?P<m>M)(?P<y>n)")
_PART: Final = re.compile("[oaFsi]{0,2}(?P<part>p)|[oa]?(?P<tonight>I)")  # "de manhã"
_THIS_PART: Final = re.compile("[oi]?(?P<this>[so])(?P<part>p)|(?P<tonight>I)")  # "this morning"


@dataclass(frozen=True, slots=True)
class Stretch:
    """The time on the wall from `begin` up to, and without, `end`, named by the tokens from `at` up to `stop`.

    `is_open`: its words may name another one, before or after: "friday", "in may".
    """

    begin: datetime
    end: datetime
    at: int
    stop: int
    is_open: bool = False

    @property
    def is_month(self) -> bool:
        """Whether it is one month of the calendar."""
        return self.begin.day == 1 and self.end == self.begin + relativedelta(months=1)


def names_any(words: Tokens) -> bool:
    """Return whether words may name a stretch."""
    return not _TIMELY.isdisjoint(words.kinds)


class Stretches:
    """The stretches that the words of a text name, seen from a moment on the wall."""

    def __init__(self, words: Tokens, now: datetime, *, back: bool) -> None:
        """`back`: what may be before or after now is before, as in a question about the past."""
        self._words = words
        self._kinds = words.kinds
        self._now = now
        self._today = now.date()
        self._back = back
        self._cues = table(words.tag).cues
        self._read: Sequence[Callable[[int], Stretch | None]] = (
            self._range, self._lately, self._ago, self._gone, self._month_gone, self._this, self._next, self._this_part,
            self._month, self._year, self._day,
        )  # fmt: skip

    def first(self) -> Stretch | None:
        """Return the first stretch that is named; None if there is none."""
        for at, kind in enumerate(self._kinds):
            if found := self._bounded(at) or (self.at(at) if kind not in _OTHER else None):
                return found
        return None

    def at(self, at: int) -> Stretch | None:
        """Return the stretch whose words begin at a token; None if none does."""
        for read in self._read:
            try:
                if found := read(at):
                    return found
            except (NotUnderstood, ValueError, OverflowError):  # no such day
                continue
        return None

    def _bounded(self, at: int) -> Stretch | None:
        """Return what lies before or after a stretch: "before christmas", "desde março"."""
        kind = self._kinds[at]
        is_after = kind in "iLvw" and self._is("after", at)
        is_bound = is_after or (kind in "bSU" and not _RANGE.match(self._kinds, at))
        if not is_bound or not (named := self.at(at + 1)):
            return None
        if kind in "bU":
            return Stretch(FIRST, named.begin if kind == "b" else named.end, at, named.stop)
        return Stretch(named.end if is_after else named.begin, LAST, at, named.stop)

    def _is(self, cue: str, at: int) -> bool:
        return self._cues[cue].fullmatch(self._words.written(self._words.items[at])) is not None

    # Each of these returns the stretch of one kind of words that begin at a token.

    def _range(self, at: int) -> Stretch | None:
        found = _RANGE.match(self._kinds, at)
        if not found:
            return None
        joint = self._words.written(self._words.items[found.end("first")])
        first, last = self._point(*found.span("first")), self._point(*found.span("last"))
        year = number_of(self._words.items[found.start("year")]) if found["year"] else 0
        if joint in {",", ";", ":"} or not last[0] or (not first[0] and not first[1]):
            return None
        months = (first[0] or last[0], last[0])
        begin = self._placed(months[0], first[1] or 1, year, is_month=not first[1])
        if not self._back and not year and begin > self._today:  # today may lie in it
            began = begin - relativedelta(years=1)
            begin = began if self._end(began, months, last[1]) > self._today else begin
        return self._days(begin, self._end(begin, months, last[1]), at, found.end(), is_open=not year)

    def _end(self, begin: date, months: tuple[int, int], day: int) -> date:
        """Return the day after the last of a range."""
        year = begin.year + (months[1] < months[0])
        last = date(year, months[1], day) if day else date(year, months[1], 1) + relativedelta(day=_MONTH_DAYS)
        return last + _DAY

    def _point(self, start: int, stop: int) -> tuple[int, int]:
        """Return the month and the day that some tokens name; 0 for one that they do not."""
        items = self._words.items[start:stop]
        days = [abs(number_of(token)) for token in items if token.kind in "nr"]
        return next((number_of(token) for token in items if token.kind == "M"), 0), next(iter(days), 0)

    def _lately(self, at: int) -> Stretch | None:
        found = _LATELY.match(self._kinds, at)
        lead = found and self._words.items[found.end() - (2 if found["count"] else 1) - 1]
        if not found or (lead and lead.kind == "r" and number_of(lead) != -1):
            return None
        unit = self._words.value(found.start("unit"))
        if not found["count"] and (unit == "day" or (lead and lead.kind != "r")):
            return None
        count = number_of(self._words.items[found.start("count")]) if found["count"] else 1
        return self._days(self._today - _length(unit, count), self._today + _DAY, at, found.end())

    def _ago(self, at: int) -> Stretch | None:
        found = _AGO.match(self._kinds, at)
        if not found:
            return None
        count = number_of(self._words.items[found.start("n" if found["n"] else "n2")])
        unit = self._words.value(found.start("u" if found["u"] else "u2"))
        if unit in {"second", "minute", "hour"}:
            long = timedelta(**{f"{unit}s": count + 1})
            return Stretch(self._now - long, self._now, at, found.end())
        return self._whole(unit, self._today - _length(unit, count), at, found.end())

    def _gone(self, at: int) -> Stretch | None:
        found = _GONE.match(self._kinds, at)
        if not found or (found["c"] and number_of(self._words.items[found.start("c") - 1]) != -1):
            return None
        name = next(name for name in "abc" if found[name])
        if found[name] == "E":
            saturday = self._today - timedelta(days=(self._today.weekday() - _SATURDAY) % 7 or 7)
            saturday -= _WEEK * (self._today.weekday() == _SUNDAY)
            return self._days(saturday, saturday + 2 * _DAY, at, found.end())
        unit = self._words.value(found.start(name))
        gone = self._words.between(at, found.end()).casefold()
        week = self._whole(unit, self._today - _length(unit, 2 if "retrasad" in gone else 1), at, found.end())
        if week and unit == "week" and self._today.weekday() == _SUNDAY and "retrasad" not in gone:
            # To those whose week begins on Sunday, last week ended yesterday.
            return Stretch(week.begin, _wall(self._today), at, found.end())
        return week

    def _month_gone(self, at: int) -> Stretch | None:
        found = _MONTH_GONE.match(self._kinds, at)
        if not found:
            return None
        month = found.start("a" if found["a"] else "b")
        if found["a"] and self._kinds[month - 1] == "r" and number_of(self._words.items[month - 1]) != -1:
            return None
        number = number_of(self._words.items[month])
        year = self._today.year - (number >= self._today.month)
        return self._whole("month", date(year, number, 1), at, found.end())

    def _this(self, at: int) -> Stretch | None:
        found = _THIS.match(self._kinds, at)
        if not found or not self._is("this", found.start("this")):
            return None
        if found["unit"] == "E":
            return self._weekend(at, found.end())
        return self._whole(self._words.value(found.start("unit")), self._today, at, found.end())

    def _weekend(self, at: int, stop: int) -> Stretch:
        """Return the present weekend, or the nearest one."""
        ahead = _SATURDAY - self._today.weekday()  # -1 on a Sunday
        ahead -= 7 * (self._back and ahead > 0)
        saturday = self._today + timedelta(days=ahead)
        return self._days(saturday, saturday + 2 * _DAY, at, stop, is_open=True)

    def _next(self, at: int) -> Stretch | None:
        found = _NEXT.match(self._kinds, at)
        if not found:
            return None
        name = next(name for name in "abj" if found[name])
        if found[name] == "E":
            saturday = self._today + timedelta(days=(_SATURDAY - self._today.weekday() - 1) % 7 + 1)
            return self._days(saturday, saturday + 2 * _DAY, at, found.end())
        unit = "week" if found["j"] else self._words.value(found.start(name))
        return self._whole(unit, self._today + _length(unit, 1), at, found.end()) if unit != "day" else None

    def _this_part(self, at: int) -> Stretch | None:
        found = _THIS_PART.match(self._kinds, at)
        if not found or (found["this"] and not self._is("this", found.start("this"))):
            return None
        part = "night" if found["tonight"] else self._words.value(found.start("part"))
        return self._part_of(self._today, part, at, found.end())

    def _month(self, at: int) -> Stretch | None:
        found = _MONTH.match(self._kinds, at)
        if not found:
            return None
        month, year = (found.start(name) for name in (("m", "y") if found["m"] else ("month", "year")))
        number = number_of(self._words.items[month])
        if year >= 0 and number_of(self._words.items[year]) in _YEARS:
            return self._whole("month", date(number_of(self._words.items[year]), number, 1), at, found.end())
        bounds = self._kinds[max(at - 1, 0) : at] in {"b", "S", "U"}
        is_short = self._words.tag != "en" and len(self._words.written(self._words.items[month])) <= _SHORT
        if found["m"] or ("i" not in found["lead"] and (is_short or not (found["lead"] or bounds))):
            return None
        return self._whole("month", self._placed(number, 1, 0, is_month=True), at, month + 1, is_open=True)

    def _year(self, at: int) -> Stretch | None:
        found = _YEAR.match(self._kinds, at)
        bounds = self._kinds[max(at - 1, 0) : at] in {"b", "S", "U"}
        if not found or not (found["lead"] or bounds):
            return None
        year = number_of(self._words.items[found.start("year")])
        if "u" in found["lead"] and "year" not in {token.value for token in self._words.said(found, "u")}:
            return None
        return self._whole("year", date(year, 1, 1), at, found.end()) if year in _YEARS else None

    def _day(self, at: int) -> Stretch | None:
        named = day_at(self._words, at)
        if named is None:
            return None
        stop, day = named
        said = self._words.items[stop - 1]
        if self._kinds[at:stop][-1:] in {"W", "M"} and len(self._words.written(said)) <= _SHORT and day.day <= 0:
            return None  # "ter", "sex", "sun" are other words
        if day.whole == "weekend":
            return self._weekend(at, stop)
        if day.whole:
            return None
        on = self._past(day) if self._back else Meaning(Parts(), self._now, {}).day_of(day)
        is_open = day.ahead is None and not day.year and day.weeks >= 0
        if found := _PART.match(self._kinds, stop):
            part = "night" if found["tonight"] else self._words.value(found.start("part"))
            return self._part_of(on, part, at, found.end(), is_open=is_open)
        return self._days(on, on + _DAY, at, stop, is_open=is_open)

    def _past(self, named: Day) -> date:
        """Return the last day before today of that name, or today where a date names it."""
        today = self._today
        if named.nth or named.months or named.day < 0:
            raise NotUnderstood
        if named.ahead is not None:
            return today + timedelta(days=named.ahead + named.plus)
        if named.month:
            return self._placed(named.month, named.day, named.year)
        if named.day:
            months = (today + relativedelta(months=-back, day=1) for back in range(3))
            fitting = (day for day in (_date_or_none(each, named.day) for each in months) if day and day <= today)
            return next(fitting)
        return today - timedelta(days=(today.weekday() - WEEKDAYS.index(named.weekday) - 1) % 7 + 1)

    def _placed(self, month: int, day: int, year: int, *, is_month: bool = False) -> date:
        """Return that day of the year named, or else of the nearest year: before or after now, whichever is meant.

        A month counts as ahead until it is over.
        """
        if year:
            return date(year, month, day)
        today = self._today.replace(day=1) if is_month and not self._back else self._today
        years = range(today.year, today.year - 9, -1) if self._back else range(today.year, today.year + 9)
        for each in years:
            found = _date_or_none(date(each, month, 1), day)
            if found and (found <= today if self._back else found >= today):
                return found
        raise NotUnderstood

    # --- what they are made of ---

    def _part_of(self, day: date, part: str, at: int, stop: int, *, is_open: bool = False) -> Stretch:
        first, last = _PARTS.get(part, (0, 24))
        begin = _wall(day)
        return Stretch(begin + timedelta(hours=first), begin + timedelta(hours=last), at, stop, is_open)

    def _whole(self, unit: str, day: date, at: int, stop: int, *, is_open: bool = False) -> Stretch | None:
        """Return the day, week, month or year that a day lies in."""
        begins = {
            "day": day,
            "week": day - timedelta(days=day.weekday()),
            "month": day.replace(day=1),
            "year": day.replace(month=1, day=1),
        }
        if unit not in begins:
            return None
        return self._days(begins[unit], begins[unit] + _length(unit, 1), at, stop, is_open=is_open)

    def _days(self, begin: date, end: date, at: int, stop: int, *, is_open: bool = False) -> Stretch:
        return Stretch(_wall(begin), _wall(end), at, stop, is_open)


def _length(unit: str, count: int) -> relativedelta:
    """Return an amount of days, weeks, months or years. Raises NotUnderstood for other units."""
    if unit not in {"day", "week", "month", "year"}:
        raise NotUnderstood
    return relativedelta(**{f"{unit}s": count})  # type: ignore[arg-type]  # whole numbers


def _wall(day: date) -> datetime:
    return datetime.combine(day, time())


def _date_or_none(month: date, day: int) -> date | None:
    try:
        return month.replace(day=day)
    except ValueError:
        return None
