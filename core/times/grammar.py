"""Read the words for a time in Portuguese, English and Spanish.

The words of a text become letters (`core.times.tokens`); patterns over the letters find the parts of a time: a
recurrence, a day, an hour, a duration, an end. Words for times that no part took mean that the text was not understood.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from dateutil import rrule
from dateutil.relativedelta import relativedelta

from core.locales import TAGS
from core.times.reading import Beside, Found, Once, Past, Repeated, Time, Unclear
from core.text.unicode import flat
from core.times.tokens import TIMELY, Token, table, tokens
from core.types import Locale

MAX_CHARS: Final = 2_000
_DAYS: Final = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_WORKDAYS: Final = _DAYS[:5]
_USUAL_HOUR: Final = 9
_HALF, _QUARTER = 30, 15
_SMALL_HOURS: Final = range(1, 7)
"""Hours that are asked about even on a day that was named: nobody knows which half of the day is meant."""

_SHORT: Final = 3
"""Abbreviated names of days and months are other words, too, where no number stands beside them: "out", "mar"."""

_FREQUENCY: Final = {
    "minute": "MINUTELY",
    "hour": "HOURLY",
    "day": "DAILY",
    "week": "WEEKLY",
    "month": "MONTHLY",
    "year": "YEARLY",
}
_LENGTH_S: Final = {"second": 1, "minute": 60, "hour": 3600}


class _NotUnderstood(Exception):  # noqa: N818  (it leaves the reading of one text)
    """The words contradict each other, or name a day that is not in the calendar."""


def find_time(text: str, now: datetime, locale: Locale, *, bare: bool = False) -> Found | None:
    """Return the time that a text names; None if it names none, or in words that are not understood to the last.

    `now` is aware, in the person's zone; `locale` is the language that is tried first, and decides whether 03/05 is a
    day in May. `bare`: an amount of time alone counts from now on, as for a timer. Takes time linear in the text, of which
    the first 2,000 characters are read.
    """
    read = [_Reading(text[:MAX_CHARS], now, code, bare=bare) for code in _languages(locale)]
    found = [(each.found(), each.weight) for each in read]
    most = max(weight for _, weight in found)
    # Another language may know fewer of the words, and so find a part of the time only.
    return next(result for result, weight in found if weight == most)


def _languages(locale: Locale) -> Sequence[str]:
    codes = [locale.code, *(tag.partition("-")[0] for tag in TAGS)]
    return [code for code in dict.fromkeys(codes) if code in _TABLES]


_TABLES: Final = ("pt", "en", "es")


# --- the parts of a time ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Clock:
    """An hour of the day. `halves`: it may be before or after noon, and nothing says which."""

    hour: int
    minute: int = 0
    halves: bool = False


@dataclass(frozen=True, slots=True)
class _Day:
    """A day as it was named; what was not named is 0 or ""."""

    ahead: int | None = None
    year: int = 0
    month: int = 0
    day: int = 0
    weekday: str = ""
    nth: int = 0
    weeks: int = 0
    months: int = 0
    plus: int = 0  # days further
    swapped: bool = False  # day and month may be meant the other way round


@dataclass(slots=True)
class _Parts:
    """The parts of a time, as far as they were found."""

    days: list[_Day] = field(default_factory=list)
    clocks: list[_Clock] = field(default_factory=list)
    part: str = ""
    real: timedelta = timedelta()
    calendar: relativedelta = field(default_factory=relativedelta)
    is_ahead: bool = False
    event: str = ""
    rule: dict[str, str] = field(default_factory=dict)
    until: _Day | None = None
    lasts: relativedelta | None = None
    start: _Day | None = None
    window: tuple[_Clock, _Clock] | None = None


_AMOUNT: Final = "(?:n&n?hu|n?hn?u|n?qo*n?u|nu(?:[&,]?n(?:u|(?![uAPcoMhq])))?(?:&n?[hq])?|u&n?h)"
_HOUR: Final = (
    "(?:(?P<past>[hqn]u?)\\+(?P<past_h>n)|(?P<to>[qn]u?)t(?P<to_h>n)|(?P<clock>C)|(?P<noon>N)(?:&(?P<noon_half>h))?|(?P<midnight>G)"
    "|(?P<h>n)c?u?(?:&(?P<more>[hqn])(?!u)|-(?P<less>[qn])|(?P<m>n)(?![uoM/]))?)"
)
_HALF_DAY: Final = "(?:(?P<am>A)|(?P<pm>P))?c?(?:,?[oaFsit]{0,2}(?P<part>p)|(?P<tonight>I)|o{1,2}(?P<at_noon>N))?"
_MARKED: Final = re.compile(f"(?:(?P<at>[oFsU]?a[oa]?|t(?=[nC])|S)?{_HOUR}{_HALF_DAY})")
_WHERE: Final = "[oiastF]{0,3}"
_LIST: Final = "(?:[,&]{1,2}[oae]{0,3}"


class _Reading:
    """One text read in one language."""

    def __init__(self, text: str, now: datetime, tag: str, *, bare: bool = False) -> None:
        """`bare`: an amount of time alone is one from now on, as for a timer."""
        self._source = text
        self._now = now
        self._tag = tag
        self._hours = table(tag).hours
        self._bare = bare
        tokenized = tokens(text, tag)
        self._items, self._kinds = tokenized.items, tokenized.kinds
        self._used: list[tuple[int, int]] = []
        self._parts = _Parts()
        self._has_time = False

    @property
    def weight(self) -> int:
        """How many letters of the text the language takes for words of times; known when it was read."""
        used = {at for start, stop in self._used for at in range(start, stop)}
        return sum(
            token.end - token.start for at, token in enumerate(self._items) if token.kind in TIMELY or at in used
        )

    def found(self) -> Found | None:
        """Return the time and where it stands, or None."""
        try:
            self._scan()
            if not self._has_time:
                return None
            result = _Meaning(self._parts, self._now, self._hours).time()
        except (_NotUnderstood, ValueError, OverflowError):
            return None
        return Found(result, tuple(self._spans())) if result is not None else None

    def _spans(self) -> list[tuple[int, int]]:
        spans: list[tuple[int, int]] = []
        for start, stop in self._used:
            begin, end = self._items[start].start, self._items[stop - 1].end
            if spans and spans[-1][1] >= begin - 1:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((begin, end))
        return spans

    def _scan(self) -> None:
        """Take the parts of a time from left to right. Raises _NotUnderstood for words of times that are left over."""
        at = 0
        while at < len(self._kinds):
            stop = 0 if _FILLER.match(self._kinds, at) else next((end for rule in _RULES if (end := rule(self, at))), 0)
            if stop:
                self._used.append((at, stop))
                self._has_time = True
                at = stop
                continue
            if self._kinds[at] in TIMELY and not self._is_other_word(at):
                raise _NotUnderstood
            at += 1

    def _is_other_word(self, at: int) -> bool:
        """Whether a word of times that no part took is another word: an abbreviation, a month that is a name."""
        if (self._kinds[at] == "p" and self._parts.clocks) or (self._kinds[at] == "V" and self._parts.days):
            return True
        is_name = self._kinds[at] == "M" and self._kinds[at - 1 : at] not in {"o", "i", "s", "x"}
        return is_name or len(self.text_of(self._items[at])) <= _SHORT

    # Each rule returns where its words end, and stores what they mean; 0 if they do not stand there.

    def _beside(self, at: int) -> int:
        found = self._match(rf"(?:{_WHERE}~*(?P<amount>{_AMOUNT})|[oie]{{0,2}}(?P<day>u))(?P<side>[bv])", at)
        if not found or self._parts.event:
            return 0
        if found["day"] is not None and self._value(found.start("day")) != "day":
            return 0
        stop = begin = found.end()
        while stop < len(self._kinds) and self._kinds[stop] != "," and not self._begins_deed(stop):
            stop += 1
        if stop == begin:
            return 0
        self._parts.event = self._text(begin, stop)
        if found["day"] is not None:
            self._parts.calendar = relativedelta(days=-1)
        else:
            real, days = self._amount(found.start("amount"), found.end("amount"))
            self._parts.real, self._parts.calendar = -real, -days
        if found["side"] == "v":
            self._parts.real, self._parts.calendar = -self._parts.real, -self._parts.calendar
        return stop

    def _begins_deed(self, at: int) -> bool:
        """Whether what is to be done begins there: "to take", "de pegar", "para salir"."""
        token = self._items[at]
        if token.kind == "w" and at and self._kinds[at - 1] == "w" and _INFINITIVE.fullmatch(token.value):
            return True
        following = self._items[at + 1] if at + 1 < len(self._items) else None
        if token.kind == "t" or (token.kind == "w" and token.value in _THAT):
            return True
        return token.kind == "o" and following is not None and _INFINITIVE.fullmatch(following.value) is not None

    def _until(self, at: int) -> int:
        if not (found := self._match("U[oiat]{0,3}", at)):
            return 0
        day = self._day_at(found.end())
        if day is None:
            return 0
        self._parts.until = day[1]
        return day[0]

    def _starting(self, at: int) -> int:
        if not (found := self._match("S[oiats]{0,3}", at)):
            return 0
        day = self._day_at(found.end())
        if day is None:
            return 0
        self._parts.start = day[1]
        return day[0]

    def _lasting(self, at: int) -> int:
        found = self._match("F[ox]{0,3}n?x?(?P<u>u)(?<!Fu)", at)
        if not found or not self._parts.rule and "e" not in self._kinds and not self._match_anywhere("[DO]|F[ox]*nu"):
            return 0
        numbers = [token for token in self._items[at : found.end()] if token.kind == "n"]
        count = int(numbers[0].value) if numbers else 1
        unit = self._value(found.start("u"))
        if unit in _LENGTH_S:
            return 0
        self._parts.lasts = _calendar(unit, count)
        self._parts.rule.setdefault("FREQ", "DAILY")
        return found.end()

    def _window(self, at: int) -> int:
        first = "(?:[oaS]{0,2}(?P<first>C[AP]?|nc?[AP])|(?:S|o?a)(?P<bare>n))"
        found = self._match(f"{first}[atU]o?a?(?P<last>C[AP]?|n[AP]|n)(?!u)", at)
        if not found or not self._match_anywhere("[eH]"):
            return 0
        last = self._clock_at(found.start("last"))
        begin = self._clock_at(found.start("first") if found["first"] else at)
        if last is None or begin is None:
            return 0
        self._parts.window = begin[1], last[1]
        return found.end()

    def _recurrence(self, at: int) -> int:
        for pattern, make in _RECURRENCES:
            found = self._match(pattern, at)
            if found and (rule := make(self, found)):
                if any(self._parts.rule.get(name, value) != value for name, value in rule.items()):
                    raise _NotUnderstood
                self._parts.rule |= rule
                return found.end()
        return 0

    def _duration(self, at: int) -> int:
        ahead = self._match(rf"[oat]?i~*(?P<amount>{_AMOUNT}|C)L?", at) or self._match(rf"~*(?P<amount>{_AMOUNT})L", at)
        if ahead is None and self._bare:
            ahead = self._match(rf"[oatF]{{0,2}}~*(?P<amount>{_AMOUNT}|C)", at)
        if not ahead:
            return 0
        start, stop = ahead.span("amount")
        if self._kinds[start] == "C":
            said = self._items[start].value
            hours, _, minutes = said.replace(" ", "").partition("h")
            if "h" not in said or ":" in said:
                return 0
            real, days = timedelta(hours=int(hours), minutes=int(re.sub(r"\D", "", minutes) or 0)), relativedelta()
        else:
            real, days = self._amount(start, stop)
        self._parts.real += real
        self._parts.calendar += days
        self._parts.is_ahead = True
        return ahead.end()

    def _day(self, at: int) -> int:
        is_further = self._kinds[at] == "&" and bool(self._parts.days) and self._used[-1][1] == at
        day = self._day_at(at + 1 if is_further else at)
        if day is None or ("V" in self._kinds[at : day[0]] and self._parts.days):  # a feast may be what is to be done
            return 0
        self._parts.days.append(day[1])
        return day[0]

    def _clock(self, at: int) -> int:
        is_further = self._kinds[at] in "&," and self._used and self._used[-1][1] == at and self._parts.clocks
        found = self._clock_at(at + 1 if is_further else at)
        if found is None:
            return 0
        self._parts.clocks.append(found[1])
        return found[0]

    def _part(self, at: int) -> int:
        late = "" if self._parts.clocks else "t"
        found = self._match(f"(?:[oaFsi{late}]{{0,2}}e?(?P<part>p)|[oa]?(?P<tonight>I))", at)
        if not found or self._is_aside(found, at):
            return 0
        if found["tonight"] is not None:
            self._parts.days.append(_Day(ahead=0))
        part = "evening" if found["tonight"] is not None else self._value(found.start("part"))
        if self._parts.part not in {"", part} and not self._parts.clocks:
            raise _NotUnderstood
        self._parts.part = part
        return found.end()

    def _is_aside(self, found: re.Match[str], at: int) -> bool:
        """Whether a part of the day is a part of the deed: "the night shift", where the hour was said elsewhere."""
        is_joined = bool(self._used) and self._used[-1][1] == at
        return found[0] == "p" and not is_joined and bool(self._parts.clocks)

    def _day_at(self, at: int) -> tuple[int, _Day] | None:
        """Return where the words for a day end, and the day, if one is named there."""
        for pattern, make in _DAYS_NAMED:
            found = self._match(pattern, at)
            if found and (day := make(self, found)) is not None:
                return found.end(), day
        return None

    def _clock_at(self, at: int) -> tuple[int, _Clock] | None:
        """Return where the words for an hour end, and the hour, if one is named there."""
        found = _MARKED.match(self._kinds, at)
        if not found or found.end() == at:
            return None
        groups = {name: found.start(name) for name, value in found.groupdict().items() if value is not None}
        part = self._value(groups["part"]) if "part" in groups else "evening" if "tonight" in groups else ""
        stop = found.end()
        if "h" in groups:
            plain = not ({"at", "am", "pm", "part", "tonight", "more", "less"} & groups.keys() or "c" in found[0])
            if "at" not in groups and "part" in groups and self._kinds[groups["part"] - 1] == "a":
                plain = True  # "1 à noite" is one of something in the evening, "1 da noite" an hour
            if plain and not self._follows_day(at):
                return None
        if "u" in found[0] and self._value(at + found[0].index("u")) not in {"hour", "minute"}:
            return None
        if "tonight" in groups and not self._parts.days:
            self._parts.days.append(_Day(ahead=0))
        hour, minute, exact = self._hour(groups)
        if hour > 24 or minute > 59:  # a number of something else
            return None
        return stop, _half_of_day(hour, minute, part, is_am="am" in groups, is_pm="pm" in groups, exact=exact)

    def _follows_day(self, at: int) -> bool:
        """Whether a number that stands there follows the words for a day, as in "friday 8" or "hoje oito"."""
        return False if not self._used or self._used[-1][1] < at - 1 else self._kinds[at - 1] in "dW,Mp"

    def _hour(self, groups: Mapping[str, int]) -> tuple[int, int, bool]:
        """Return the hour and minute, and whether they say themselves which half of the day they are in."""
        if "noon" in groups:
            return 12, _HALF if "noon_half" in groups else 0, True
        if "midnight" in groups:
            return 24, 0, True
        if "clock" in groups:
            said = re.findall(r"\d+", self._items[groups["clock"]].value)
            hour, minute = int(said[0]), int(said[1]) if len(said) > 1 else 0
            return hour, minute, len(said[0]) > 1 or hour == 0
        if "past_h" in groups:
            return self._number(groups["past_h"]), self._minutes(groups["past"]), False
        if "to_h" in groups:
            return _earlier(self._number(groups["to_h"]), self._minutes(groups["to"]))
        hour = self._number(groups["h"])
        exact = self._items[groups["h"]].value.startswith("0")
        if "less" in groups:
            return _earlier(hour, self._minutes(groups["less"]))
        minute = (
            self._minutes(groups["more"]) if "more" in groups else self._number(groups["m"]) if "m" in groups else 0
        )
        return hour, minute, exact

    def _minutes(self, at: int) -> int:
        return {"h": _HALF, "q": _QUARTER}.get(self._kinds[at]) or self._number(at)

    def _amount(self, start: int, stop: int) -> tuple[timedelta, relativedelta]:
        """Return an amount of time: its hours and minutes, and its days, weeks, months and years."""
        real, days, count, half, unit = 0.0, relativedelta(), 0.0, 0.0, ""
        for token in self._items[start:stop]:
            if token.kind == "n":
                count = 0.0 if half and not count else float(token.value)
            elif token.kind in "hq":
                half = 0.5 if token.kind == "h" else 0.25 * (count if not unit and count else 1)
                count = 0.0 if unit or token.kind == "q" else count
            elif token.kind == "u":
                unit = token.value
                count = (count or (0.0 if half else 1.0)) + half
                real, days = _added(real, days, unit, count)
                count = half = 0.0
        if count and unit == "hour":
            real += count * _LENGTH_S["minute"]
        elif count:
            raise _NotUnderstood
        real, days = _added(real, days, unit, half) if half else (real, days)
        return timedelta(seconds=round(real)), days

    def _match(self, pattern: str, at: int) -> re.Match[str] | None:
        return _compiled(pattern).match(self._kinds, at)

    def _match_anywhere(self, pattern: str) -> bool:
        return _compiled(pattern).search(self._kinds) is not None

    def _value(self, at: int) -> str:
        return self._items[at].value

    def _number(self, at: int) -> int:
        return int(re.sub(r"\D", "", self._items[at].value) or 0)

    def _text(self, start: int, stop: int) -> str:
        return self._source[self._items[start].start : self._items[stop - 1].end]

    @property
    def is_month_first(self) -> bool:
        """Whether 3/5 may be the fifth of March."""
        return self._tag == "en"

    def text_of(self, token: Token) -> str:
        """Return a token as it was written, in lower case without accents."""
        return flat(self._source[token.start : token.end])

    def is_plural(self, said: Sequence[Token]) -> bool:
        """Whether weekdays are named in the plural: "tuesdays", "segundas"."""
        return (
            self._tag != "es"
            and any(self.text_of(token).endswith("s") for token in said if token.kind == "W")
            and not any(self.text_of(token) in _SHORT_WITH_S for token in said)
        )

    def is_date(self, token: Token) -> bool:
        """Whether a number is plainly a day of the month: "5th", "1º", "el 24"."""
        return (token.kind == "r" and self.text_of(token)[0].isdigit() and self._tag == "en") or self._is_el(token)

    def _is_el(self, token: Token) -> bool:
        before = self._items[: self._items.index(token)][-1:]
        return self._tag == "es" and token.kind == "n" and bool(before) and self.text_of(before[0]) == "el"

    def noted_part(self, found: re.Match[str]) -> dict[str, str]:
        """Store the part of the day of "every morning", and return what it adds to the rule: nothing."""
        self._parts.part = self.said(found, "p")[0].value
        return {}

    def said(self, found: re.Match[str], kind: str) -> list[Token]:
        """Return the tokens of a kind among those of a match."""
        return [token for token in self._items[found.start() : found.end()] if token.kind in kind]


_FILLER: Final = re.compile("[w,](?!&)|[aoitsx~,w]{4}")
"""Words that no part of a time begins with, for speed."""

_COMPILED: Final[dict[str, re.Pattern[str]]] = {}
_INFINITIVE: Final = re.compile(r"\w{2,}(?:ar|er|ir|arme|erme|irme|arlo|arla|erlo|irlo|arle|erle|irle)")
_SHORT_WITH_S: Final = frozenset({"tues", "thurs", "segs"})
_THAT: Final = frozenset({"que", "that", "pra", "me", "remind", "lembra", "avisa", "recuerdame", "avisame"})


def _compiled(pattern: str) -> re.Pattern[str]:
    return _COMPILED.get(pattern) or _COMPILED.setdefault(pattern, re.compile(pattern))


def _calendar(unit: str, count: float) -> relativedelta:
    if count != int(count):
        raise _NotUnderstood
    return relativedelta(**{f"{unit}s": int(count)})  # type: ignore[arg-type]


def _added(real: float, days: relativedelta, unit: str, count: float) -> tuple[float, relativedelta]:
    if unit in _LENGTH_S:
        return real + count * _LENGTH_S[unit], days
    return real, days + _calendar(unit, count)


def _earlier(hour: int, minutes: int) -> tuple[int, int, bool]:
    """Return the time of day that many minutes before an hour."""
    whole = hour * 60 - minutes
    return whole // 60 % 24, whole % 60, False


def _half_of_day(hour: int, minute: int, part: str, *, is_am: bool, is_pm: bool, exact: bool) -> _Clock:
    """Return the hour on the clock of 24 hours, by the half or part of the day that was said with it."""
    noon, late = 12, 5
    if hour > 24 or minute > 59 or (hour == 24 and minute):
        raise _NotUnderstood
    if hour > noon or (exact and not (is_am or is_pm or part)):
        return _Clock(hour % 24, minute)
    if is_am or part == "dawn":
        return _Clock(hour % noon, minute)
    if part == "morning":
        return _Clock(hour, minute)
    if is_pm or part == "afternoon":
        return _Clock(hour % noon + noon, minute)
    if part:  # of the night: 2 at night is after midnight
        return _Clock(hour + noon if late <= hour < noon else hour % noon, minute)
    return _Clock(hour, minute, halves=hour != noon and hour > 0)


# --- recurrences: a pattern, and what makes its rule; None or nothing where it is none -------------------------------


def _every_unit(reading: _Reading, found: re.Match[str]) -> dict[str, str] | None:
    numbers, unit = reading.said(found, "nr"), reading.said(found, "u")[-1].value
    if unit not in _FREQUENCY:
        return None
    count = int(re.sub(r"\D", "", numbers[0].value) or 1) if numbers else 1
    return {"FREQ": _FREQUENCY[unit], **({"INTERVAL": str(count)} if count > 1 else {})}


def _weekdays(reading: _Reading, found: re.Match[str]) -> dict[str, str] | None:
    said = reading.said(found, "W")
    named = reading.said(found, "o")
    is_plural = any(reading.text_of(token) == "los" for token in named) or reading.is_plural(said)
    if "e" not in found[0] and not is_plural:
        return None
    days = sorted({token.value for token in said}, key=_DAYS.index)
    return {"FREQ": "WEEKLY", "BYDAY": ",".join(days)}


def _every_other(reading: _Reading, found: re.Match[str]) -> dict[str, str]:
    numbers = reading.said(found, "n")
    interval = numbers[0].value if numbers else "2"
    return {"FREQ": "WEEKLY", "INTERVAL": interval, "BYDAY": reading.said(found, "W")[0].value}


def _from_to(reading: _Reading, found: re.Match[str]) -> dict[str, str]:
    first, last = (_DAYS.index(token.value) for token in reading.said(found, "W"))
    days = [_DAYS[at % 7] for at in range(first, last + 1 if last >= first else last + 8)]
    return {"FREQ": "WEEKLY", "BYDAY": ",".join(sorted(days, key=_DAYS.index))}


def _weekend(reading: _Reading, found: re.Match[str]) -> dict[str, str] | None:
    said = reading.text_of(reading.said(found, "E")[0])
    if "e" not in found[0] and not said.startswith(("fins", "fines", "finais", "weekends", "findes")):
        return None
    return {"FREQ": "WEEKLY", "BYDAY": "SA,SU"}


def _nth_weekday(reading: _Reading, found: re.Match[str]) -> dict[str, str]:
    nth = reading.said(found, "r")[0].value
    day = reading.said(found, "W")[0].value
    return {"FREQ": "MONTHLY", "BYDAY": f"{int(re.sub('[^-0-9]', '', nth))}{day}"}


def _last_day(reading: _Reading, found: re.Match[str]) -> dict[str, str] | None:
    if reading.said(found, "r")[0].value != "-1" or reading.said(found, "u")[0].value != "day":
        return None
    return {"FREQ": "MONTHLY", "BYMONTHDAY": "-1"}


def _month_days(reading: _Reading, found: re.Match[str]) -> dict[str, str] | None:
    units = [token.value for token in reading.said(found, "u")]
    days = [int(re.sub(r"\D", "", token.value) or 0) for token in reading.said(found, "nr")]
    if any(not 1 <= day <= 31 for day in days) or ("u" in found[0] and units[-1] not in {"month", "day"}):
        return None
    return {"FREQ": "MONTHLY", "BYMONTHDAY": ",".join(map(str, sorted(set(days))))}


def _of(rule: Mapping[str, str]) -> Callable[[_Reading, re.Match[str]], dict[str, str]]:
    return lambda _reading, _found: dict(rule)


_RECURRENCES: Final[Sequence[tuple[str, Callable[[_Reading, re.Match[str]], dict[str, str] | None]]]] = (
    ("[oi]?e?[oa]?O", _of({"FREQ": "DAILY", "INTERVAL": "2"})),
    ("e?f", _of({"FREQ": "WEEKLY", "INTERVAL": "2"})),
    ("D", _of({"FREQ": "DAILY"})),
    ("H", _of({"FREQ": "HOURLY"})),
    ("K", _of({"FREQ": "WEEKLY"})),
    ("Q", _of({"FREQ": "MONTHLY"})),
    ("Y", _of({"FREQ": "YEARLY"})),
    ("[oia]{0,2}e?o?W[atU]o?W", _from_to),
    ("[oia]{0,2}e?[oa]?B", _of({"FREQ": "WEEKLY", "BYDAY": ",".join(_WORKDAYS)})),
    ("[oia]{0,2}e?[oa]?E", _weekend),
    ("[oia]{0,2}e[oa]?rWo{0,2}u", _nth_weekday),
    ("[oia]{0,2}e[oa]?rW", _nth_weekday),
    ("[oia]{0,2}rWo{0,2}eo?u", _nth_weekday),
    ("[oia]{1,2}rWo{1,2}u(?!x)", _nth_weekday),
    ("[oia]{0,2}e[oa]?ruo{0,2}u", _last_day),
    ("[oia]{0,2}ruo{0,2}eo?u", _last_day),
    ("[oia]{0,2}[rn](?:(?:&|,|,&)[oia]?[rn])*o{0,2}eo?u", _month_days),
    ("[oia]{0,2}eo?u[nr](?:(?:&|,|,&)(?:o?u)?[nr])*(?:o{0,2}eo?u)?(?![uc])", _month_days),
    ("[oia]{0,2}u(?:[nr](?:(?:&|,|,&)(?:o?u)?[nr])*)o{0,2}eo?u", _month_days),
    ("o?nino?u", _every_unit),
    ("[oia]{0,2}zW|[oia]{0,2}enW", _every_other),
    ("[oi]?e~*o?n?r?u", _every_unit),
    ("ep", lambda reading, found: {"FREQ": "DAILY", **reading.noted_part(found)}),
    ("[oia]{0,2}(?:e[oa]?)?W(?:(?:[,&]|,&)[oia]{0,2}(?:e[oa]?)?W)*", _weekdays),
)


# --- days: a pattern, and what makes the day --------------------------------------------------------------------------


def _numeric(reading: _Reading, found: re.Match[str]) -> _Day | None:
    said = [int(part) for part in re.findall(r"\d+", reading.said(found, "T")[0].value)]
    if said[0] > 31:
        return _Day(year=said[0], month=said[1], day=said[2])
    day, month = said[:2]
    year = said[2] + (2000 if said[2] < 100 else 0) if len(said) > 2 else 0
    swapped = False
    if reading.is_month_first:
        swapped = day <= 12 and month <= 12 and day != month
        if not swapped and day <= 12:
            day, month = month, day
    return _Day(year=year, month=month, day=day, swapped=swapped)


def _named_date(reading: _Reading, found: re.Match[str]) -> _Day | None:
    numbers = [int(re.sub(r"\D", "", token.value) or 1) for token in reading.said(found, "nr")]
    years = [number for number in numbers if number > 1900]
    days = [number for number in numbers if number <= 31]
    if len(days) != 1:
        return None
    weekdays = reading.said(found, "W")
    return _Day(
        year=years[0] if years else 0,
        month=int(reading.said(found, "M")[0].value),
        day=days[0],
        weekday=weekdays[0].value if weekdays else "",
    )


def _nth_in_month(reading: _Reading, found: re.Match[str]) -> _Day | None:
    nth = int(re.sub("[^-0-9]", "", reading.said(found, "r")[0].value))
    months = reading.said(found, "M")
    units = [token.value for token in reading.said(found, "u")]
    if units and units[-1] != "month":
        return None
    return _Day(
        weekday=reading.said(found, "W")[0].value,
        nth=nth,
        month=int(months[0].value) if months else 0,
        months=1 if "x" in found[0] else 0,
    )


def _end_of_month(reading: _Reading, found: re.Match[str]) -> _Day | None:
    if "u" in found[0]:
        units = [token.value for token in reading.said(found, "u")]
        if reading.said(found, "r")[0].value != "-1" or units[0] != "day" or units[-1] not in {"day", "month"}:
            return None
    return _Day(day=-1, months=1 if "x" in found[0] else 0)


def _day_of_month(reading: _Reading, found: re.Match[str]) -> _Day | None:
    if "u" in found[0] and reading.said(found, "u")[0].value != "day":
        return None
    said = reading.said(found, "nr")[0]
    digits = re.sub("[^0-9]", "", said.value)
    if (
        not digits
        or not 1 <= int(digits) <= 31
        or ("u" not in found[0] and "W" not in found[0] and not reading.is_date(said))
    ):
        return None
    weekdays = reading.said(found, "W")
    return _Day(day=int(digits), weekday=weekdays[0].value if weekdays else "", months=1 if "x" in found[0] else 0)


def _feast(reading: _Reading, found: re.Match[str]) -> _Day:
    month, _, day = reading.said(found, "V")[0].value.partition("-")
    return _Day(month=int(month), day=int(day))


def _weeks_from(reading: _Reading, found: re.Match[str]) -> _Day | None:
    count, unit = int(reading.said(found, "n")[0].value), reading.said(found, "u")[0].value
    days, weekdays = reading.said(found, "d"), reading.said(found, "W")
    plus = {"week": 7, "day": 1}.get(unit, 0) * count
    if not plus:
        return None
    return _Day(ahead=int(days[0].value), plus=plus) if days else _Day(weekday=weekdays[0].value, plus=plus)


def _relative(reading: _Reading, found: re.Match[str]) -> _Day:
    return _Day(ahead=int(reading.said(found, "d")[0].value))


def _weekday(reading: _Reading, found: re.Match[str]) -> _Day | None:
    units = [token.value for token in reading.said(found, "u")]
    if units and units != ["week"]:
        return None
    return _Day(weekday=reading.said(found, "W")[0].value, weeks=1 if units else 0)


def _next_unit(reading: _Reading, found: re.Match[str]) -> _Day | None:
    unit = reading.said(found, "u")[0].value
    return {"week": _Day(weeks=1), "month": _Day(day=1, months=1)}.get(unit)


_DAYS_NAMED: Final[Sequence[tuple[str, Callable[[_Reading, re.Match[str]], _Day | None]]]] = (
    (f"{_WHERE}(?:W,?o*)?u?T", _numeric),
    (f"{_WHERE}(?:W,?o*)?V", _feast),
    (f"{_WHERE}nuS(?:o?W|d)", _weeks_from),
    (f"{_WHERE}J", lambda _reading, _found: _Day(weeks=1)),
    (f"{_WHERE}(?:W,?)?o{{0,2}}u?[nr]o*M(?:(?:,|o)?(?:n(?![uAPc])))?", _named_date),
    (f"{_WHERE}(?:W,?o*)?Mo*[nr](?![uAP])(?:,?n(?![uAPc]))?", _named_date),
    (f"{_WHERE}rW(?:o*(?:x?ux?|M))?", _nth_in_month),
    (f"{_WHERE}x?u,?{_WHERE}rW", _nth_in_month),
    (f"{_WHERE}ru(?:o*x?ux?)?", _end_of_month),
    (f"{_WHERE}Zx?", _end_of_month),
    (f"{_WHERE}X", lambda _reading, _found: _Day(day=1, months=1)),
    (f"{_WHERE}W,?o{{0,2}}u?[nr](?![uAPc&+t-])", _day_of_month),
    (f"{_WHERE}u[nr](?![uAPc])(?:o*x?ux|o*xu)?", _day_of_month),
    (f"{_WHERE}[rn](?:o*xu|o*ux)?(?![uAPc&+W-])", _day_of_month),
    (f"{_WHERE}d", _relative),
    (f"{_WHERE}x?Wx?(?:o*s?(?:xu|ux))?", _weekday),
    (f"{_WHERE}(?:xu|ux),?{_WHERE}W", _weekday),
    (f"{_WHERE}[sx]{{0,2}}E", lambda _reading, _found: _Day(weekday="SA")),
    (f"{_WHERE}(?:xu|ux)", _next_unit),
)

_RULES: Final[Sequence[Callable[[_Reading, int], int]]] = (
    _Reading._beside, _Reading._until, _Reading._starting, _Reading._window, _Reading._recurrence, _Reading._lasting,
    _Reading._duration, _Reading._day, _Reading._clock, _Reading._part,
)  # fmt: skip  # noqa: SLF001


# --- what the parts mean ----------------------------------------------------------------------------------------------


class _Meaning:
    """What the parts of a time mean at a moment."""

    def __init__(self, parts: _Parts, now: datetime, hours: Mapping[str, int]) -> None:
        self._parts = parts
        self._now = now
        self._wall = now.replace(tzinfo=None)
        self._today = now.date()
        self._hours = hours

    def time(self) -> Time | None:
        """Return the time. Raises _NotUnderstood if the parts contradict each other, ValueError for no day."""
        parts = self._parts
        if parts.event:
            return Beside(parts.real + self._length(parts.calendar), parts.event)
        if parts.rule or parts.window:
            return self._repeated()
        if parts.until or parts.start and (parts.days or parts.is_ahead):
            raise _NotUnderstood
        if parts.start:
            parts.days.append(parts.start)
        if parts.is_ahead:
            return self._ahead()
        if len(parts.clocks) > 1 or len(parts.days) > 2:
            raise _NotUnderstood
        return self._once()

    def _length(self, calendar: relativedelta) -> timedelta:
        return (self._wall + calendar) - self._wall

    def _aware(self, wall: datetime) -> datetime:
        """Return the instant of a wall time; of one that a change of clocks skips, the moment after the gap."""
        return wall.replace(tzinfo=self._now.tzinfo).astimezone(UTC).astimezone(self._now.tzinfo)

    def _ahead(self) -> Time:
        parts = self._parts
        if len(parts.clocks) > 1:
            raise _NotUnderstood
        if parts.days:
            return self._on(self._in_that_week(parts.days))
        wall, has_hour = self._wall + parts.calendar, True
        if parts.clocks or parts.part:
            if parts.real:
                raise _NotUnderstood
            return self._on(wall.date())
        if not parts.real:
            has_hour = False
        at = (self._aware(wall).astimezone(UTC) + parts.real).astimezone(self._now.tzinfo)
        return Once(at, has_hour)

    def _in_that_week(self, days: Sequence[_Day]) -> date:
        """Return the weekday of the week that is some weeks ahead: "in two weeks, on tuesday"."""
        [named] = days
        if self._parts.real or not named.weekday or named.day or named.nth or self._parts.calendar.days % 7:
            raise _NotUnderstood
        day = self._today + self._parts.calendar
        return day + timedelta(days=_DAYS.index(named.weekday) - day.weekday())

    def _once(self) -> Time | None:
        parts = self._parts
        if not parts.days:
            return self._today_or_tomorrow()
        named = parts.days[0] if len(parts.days) == 1 else self._joined(parts.days)
        if named.swapped:
            other = _Day(year=named.year, month=named.day, day=named.month)
            options = [
                self._on(self._date(each)) for each in (_Day(year=named.year, month=named.month, day=named.day), other)
            ]
            ahead = sorted((each for each in options if isinstance(each, Once)), key=lambda each: each.at)
            return Unclear(tuple(ahead)) if len(ahead) > 1 else ahead[0] if ahead else options[0]
        day = self._date(named)
        if day == self._today and not (parts.clocks or parts.part):
            return self._some_time_today()
        return self._on(day)

    def _joined(self, days: Sequence[_Day]) -> _Day:
        """Return one day of two that name it together: "friday, 27 november", "next week on monday"."""
        first, second = days
        if second.weekday and not second.day and not second.nth and first.day:
            first, second = second, first
        if first.weekday and not first.day and not first.nth and second.day > 0:
            return _Day(second.ahead, second.year, second.month, second.day, first.weekday)
        if first.ahead is not None and (second.day > 0 or second.weekday):
            date_ahead = self._today + timedelta(days=first.ahead)
            if (second.day in {0, date_ahead.day}) and second.weekday in {"", _DAYS[date_ahead.weekday()]}:
                return first
        raise _NotUnderstood

    def _date(self, named: _Day) -> date:
        """Return the date of a day that was named: the next one, where no month or year was."""
        today = self._today
        if named.plus:
            return self._date(replace(named, plus=0)) + timedelta(days=named.plus)
        if named.ahead is not None:
            return today + timedelta(days=named.ahead)
        if named.nth:
            return self._nth(named)
        if named.day:
            found = self._numbered(named)
            if named.weekday and _DAYS[found.weekday()] != named.weekday:
                if named.month:
                    raise _NotUnderstood
                found = self._numbered_on(named, found)
            return found
        if named.weekday:
            ahead = (_DAYS.index(named.weekday) - today.weekday() - 1) % 7 + 1
            if named.weeks:
                monday = today + timedelta(days=7 - today.weekday())
                return monday + timedelta(days=_DAYS.index(named.weekday))
            return today + timedelta(days=ahead)
        if named.weeks:
            return today + timedelta(days=7 - today.weekday())
        raise _NotUnderstood

    def _numbered(self, named: _Day) -> date:
        today = self._today
        if named.day < 0:
            last = relativedelta(months=named.months, day=31)
            found = today + last
            return found if found > today or named.months else today + relativedelta(months=1, day=31)
        if named.year:
            return date(named.year, named.month, named.day)
        if named.month:
            for year in range(today.year, today.year + 9):  # 29 February may be eight years ahead
                if (found := _date_or_none(year, named.month, named.day)) and found >= today:
                    return found
            raise _NotUnderstood
        for months in range(named.months, 13):
            first = today + relativedelta(months=months, day=1)
            if (found := _date_or_none(first.year, first.month, named.day)) and (found > today or named.months):
                return found
        raise _NotUnderstood

    def _numbered_on(self, named: _Day, first: date) -> date:
        """Return the next day of that number that is that weekday, within a year."""
        for months in range(13):
            month = first + relativedelta(months=months, day=1)
            found = _date_or_none(month.year, month.month, named.day)
            if found and found > self._today and _DAYS[found.weekday()] == named.weekday:
                return found
        raise _NotUnderstood

    def _nth(self, named: _Day) -> date:
        for months in range(named.months, 14):
            month = self._today + relativedelta(months=months, day=1)
            if named.month and month.month != named.month:
                continue
            days = [month + timedelta(days=at) for at in range(31)]
            days = [day for day in days if day.month == month.month and _DAYS[day.weekday()] == named.weekday]
            if named.nth > len(days):
                continue
            found = days[named.nth - 1 if named.nth > 0 else -1]
            if found > self._today or named.months:
                return found
        raise _NotUnderstood

    def _clocks(self) -> list[_Clock]:
        """Return the hours that were said, each before or after noon by a part of the day said apart."""
        parts = self._parts
        return [
            _half_of_day(clock.hour, clock.minute, parts.part, is_am=False, is_pm=False, exact=False)
            if clock.halves and parts.part
            else clock
            for clock in parts.clocks
        ]

    def _usual(self) -> _Clock:
        return _Clock(self._hours.get(self._parts.part, _USUAL_HOUR))

    def _at(self, day: date, clock: _Clock) -> datetime:
        return self._aware(datetime.combine(day, time(clock.hour, clock.minute)))  # noqa: DTZ001  (the wall clock)

    def _on(self, day: date) -> Time:
        """Return the time on a day: at the hour that was said, or the usual one."""
        clocks = self._clocks()
        if not clocks:
            at = self._at(day, self._usual())
            if day == self._today and at <= self._now and self._parts.part:
                return self._later_today(day)
            return Once(at, has_hour=False) if at > self._now else Past(at)
        [clock] = clocks
        late = self._at(day, _Clock((clock.hour + 12) % 24, clock.minute)) if clock.halves else None
        at = self._at(day, clock)
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

    def _is_night(self, clock: _Clock, day: date) -> bool:
        """Whether an hour after midnight was said with the evening before it: "tonight at 1"."""
        evening = self._parts.part in {"evening", "night"} or clock.hour == 0
        return (
            evening and not clock.halves and clock.hour < 5 and (self._at(day, clock) <= self._now or clock.hour == 0)
        )

    def _later_today(self, day: date) -> Time:
        """Return a time for the rest of a part of today that has begun: in an hour, if it is still that day."""
        later = self._now + timedelta(hours=1)
        same = later.date() == day and self._parts.part in {"evening", "night", "afternoon"} and later.hour >= 12
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
        halves = [clock, _Clock((clock.hour + 12) % 24, clock.minute)] if clock.halves else [clock]
        times = [self._at(self._today, each) for each in halves]
        times = [at if at > self._now else self._at(tomorrow, each) for at, each in zip(times, halves, strict=True)]
        return Once(times[0]) if len(times) == 1 else _options(sorted(times))

    def _some_time_today(self) -> Time:
        """Return what "today" may mean, with no hour: the options that are left of the day."""
        soon = (self._now + timedelta(hours=1)).replace(second=0, microsecond=0)
        usual = [self._at(self._today, _Clock(hour)) for hour in (12, 15, 18, 20)]
        options = [at for at in (soon, *usual) if at.date() == self._today and at > self._now][:3]
        return _options(options) if len(options) > 1 else Once(soon, has_hour=False)

    # --- again and again ---

    def _repeated(self) -> Time:
        parts, rule = self._parts, dict(self._parts.rule)
        rule.setdefault("FREQ", "DAILY")
        if parts.is_ahead:
            raise _NotUnderstood
        self._name_days(rule)
        if rule["FREQ"] in {"HOURLY", "MINUTELY"} and parts.window is None:
            return self._every_hours(rule)
        if parts.window is not None:
            first, last = parts.window
            hours = range(first.hour, last.hour + 1 if last.hour >= first.hour else last.hour + 13)
            if rule["FREQ"] not in {"HOURLY", "DAILY"} or last.minute or first.minute:
                raise _NotUnderstood
            step = int(rule.pop("INTERVAL", "1"))
            rule |= {"FREQ": "DAILY", "BYHOUR": ",".join(str(hour % 24) for hour in hours[::step]), "BYMINUTE": "0"}
            clocks, has_hour = [_Clock(first.hour)], True
        else:
            clocks, has_hour = self._clocks() or [self._usual()], bool(parts.clocks)
        if len(clocks) > 1:
            if len({clock.minute for clock in clocks}) > 1:
                raise _NotUnderstood
            hours_said = ",".join(str(clock.hour) for clock in sorted(clocks, key=lambda each: each.hour))
            rule |= {"BYHOUR": hours_said, "BYMINUTE": str(clocks[0].minute)}
        return self._counted(rule, clocks, has_hour=has_hour)

    def _counted(self, rule: dict[str, str], clocks: Sequence[_Clock], *, has_hour: bool) -> Time:
        begin = self._date(self._parts.start) if self._parts.start else self._today
        times = {(clock.hour, clock.minute) for clock in clocks}
        start = datetime.combine(begin, time(*min(times)))  # noqa: DTZ001  (the wall clock)
        after = max(self._wall, start - timedelta(seconds=1))
        steady = {name: value for name, value in rule.items() if name != "INTERVAL" or "BYDAY" not in rule}
        if steady.get("FREQ") == "WEEKLY" and "BYDAY" not in steady:
            steady["BYDAY"] = _DAYS[begin.weekday()]
            rule["BYDAY"] = steady["BYDAY"]
        first = rrule.rrulestr(_text(steady), dtstart=start).after(after)
        if first is None:
            raise _NotUnderstood
        if self._parts.lasts is not None:
            end = first + self._parts.lasts - timedelta(seconds=1)
            rule["UNTIL"] = self._utc(end)
        if self._parts.until is not None:
            end = datetime.combine(self._date(self._parts.until), time(23, 59, 59))  # noqa: DTZ001
            if end < first:
                raise _NotUnderstood
            rule["UNTIL"] = self._utc(end)
        return Repeated(_text(rule), self._aware(first), has_hour)

    def _name_days(self, rule: dict[str, str]) -> None:
        """Add the days that were named beside the recurrence: "every two weeks, on friday", "every year on 3 March"."""
        for day in self._parts.days:
            if rule["FREQ"] == "MONTHLY" and day.nth:
                rule["BYDAY"] = f"{day.nth}{day.weekday}"
            elif rule["FREQ"] in {"WEEKLY", "DAILY"} and day.weekday and not day.day:
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
                raise _NotUnderstood
        if (
            rule["FREQ"] in {"YEARLY", "MONTHLY"}
            and not {"BYMONTHDAY", "BYDAY"} & rule.keys()
            and not self._parts.start
        ):
            raise _NotUnderstood

    def _every_hours(self, rule: dict[str, str]) -> Time:
        """Return a recurrence of hours or minutes, which begins one interval from now, or at the hour that was said."""
        unit = timedelta(hours=1) if rule["FREQ"] == "HOURLY" else timedelta(minutes=1)
        first = (self._now.astimezone(UTC) + int(rule.get("INTERVAL", "1")) * unit).astimezone(self._now.tzinfo)
        if self._parts.clocks or self._parts.part or self._parts.start:
            if self._parts.start:
                self._parts.days.append(self._parts.start)
            began = self._once()
            if not isinstance(began, Once):
                raise _NotUnderstood
            first = began.at
        if self._parts.until is not None:
            end = datetime.combine(self._date(self._parts.until), time(23, 59, 59))  # noqa: DTZ001
            rule["UNTIL"] = self._utc(end)
        if self._parts.lasts is not None:
            rule["UNTIL"] = self._utc(first.replace(tzinfo=None) + self._parts.lasts - timedelta(seconds=1))
        return Repeated(_text(rule), first)

    def _utc(self, wall: datetime) -> str:
        return f"{self._aware(wall).astimezone(UTC):%Y%m%dT%H%M%SZ}"


def _text(rule: Mapping[str, str]) -> str:
    return ";".join(f"{name}={value}" for name, value in rule.items())


def _options(times: Sequence[datetime]) -> Unclear:
    return Unclear(tuple(Once(at) for at in times))


def _date_or_none(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
