"""The hours and the amounts of time that words name: "às 8 da noite", "half past six", "2 hours and a half"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from dateutil.relativedelta import relativedelta

from core.times.reading import ClockTime, NotUnderstood
from core.times.tokens import Tokens, number_of

LENGTH_S: Final = {"second": 1, "minute": 60, "hour": 3600}
"""Seconds of the units that the calendar does not matter for."""

AMOUNT: Final = (
    "(?:n&n?hu"  # "2 e meia horas", "two and a half hours"
    "|mu"  # "1.5 hours"
    "|n?hn?u"  # "meia hora", "half an hour"
    "|n?qo{0,3}n?u"  # "um quarto de hora", "three quarters of an hour"
    "|nu(?:[&,]?n(?:u|(?![uAPcoMhq])))?(?:&n?[hq])?"  # "1 hora e 20 minutos", "2 horas y media"
    "|u&n?h)"  # "hora e meia"
)
_HOUR: Final = (
    "(?:(?P<past>[hqn]u?)\\+(?P<past_h>n)"  # "half past six"
    "|(?P<to>[qn]u?)ta?(?P<to_h>n)"  # "quarter to nine", "15 para as 8"
    "|(?P<clock>C)"  # "8:30", "18h"
    "|(?P<dotted>:)"  # "15.30", where an hour is plainly meant
    "|(?P<half_to>h)(?P<half_h>n)(?!u)"  # "half seven", in Britain and Ireland half past
    "|(?P<noon>N)(?:&(?P<noon_half>h))?"  # "meio-dia e meia"
    "|(?P<midnight>G)"
    "|(?P<h>n)c?u?(?:&(?P<more>[hqn])(?!u)|-(?P<less>[qn])|(?P<m>n)(?![uoM/]))?)"  # "8 e meia", "9 menos cuarto"
)
_HALF_DAY: Final = (
    "(?:(?P<am>A)|(?P<pm>P))?c?"
    "(?:,?[oaFsit]{0,2}(?P<part>p)|(?P<tonight>I)|o{1,2}(?P<at_noon>N))?"  # "da noite", "de la mañana", "tonight"
)
_MARKED: Final = re.compile(f"(?:(?P<at>S?[oFsUt]?a[oa]?|t(?=[nC])|S|o?[oi](?=[NG]))?{_HOUR}{_HALF_DAY})")
_MARKS: Final = frozenset({"at", "am", "pm", "part", "tonight", "more", "less"})
"""Groups of which one at least shows that a number is an hour."""

_HALF, _QUARTER = 30, 15
_NOON, _MIDNIGHT, _MAX_MINUTE = 12, 24, 59
_DAY_MINUTES: Final = 1440
_EARLIEST_EVENING: Final = 5


@dataclass(frozen=True, slots=True)
class SaidHour:
    """An hour that was said, where its words end, and whether it was said to be of tonight."""

    clock: ClockTime
    stop: int
    tonight: bool = False


def clock_at(words: Tokens, at: int, *, follows_day: bool) -> SaidHour | None:
    """Return the hour whose words begin at a token; None if none does.

    `follows_day`: the words for a day end there, and a number alone is an hour ("friday 8"). Raises NotUnderstood.
    """
    found = _MARKED.match(words.kinds, at)
    if not found:
        return None
    groups = {name: found.start(name) for name, value in found.groupdict().items() if value is not None}
    if "h" in groups and not follows_day:
        # "1 à noite" is one of something in the evening, "1 da noite" is an hour.
        is_apart = "at" not in groups and "part" in groups and words.kinds[groups["part"] - 1] == "a"
        if is_apart or not (_MARKS & groups.keys() or "c" in found[0]):
            return None
    is_bare = "dotted" in groups and not (follows_day or _MARKS & groups.keys())
    if is_bare or ("half_to" in groups and words.tag != "en"):
        return None
    if "u" in found[0] and words.value(at + found[0].index("u")) not in {"hour", "minute"}:
        return None
    hour, minute, exact = _hour(words, groups)
    if hour > _MIDNIGHT or minute > _MAX_MINUTE:  # a number of something else
        return None
    if (
        "more" in groups
        and words.kinds[groups["more"]] == "n"
        and _may_be_hours(words, number_of(words.items[groups["more"]]))
    ):
        raise NotUnderstood
    is_tonight = "tonight" in groups
    part = words.value(groups["part"]) if "part" in groups else "evening" if is_tonight else ""
    half = "am" if "am" in groups else "pm" if "pm" in groups else part
    return SaidHour(of_day(ClockTime(hour, minute), half, exact=exact), found.end(), is_tonight)


def _may_be_hours(words: Tokens, more: int) -> bool:
    """Whether the number behind "and" is an hour of its own: "every day at 9 and 21"."""
    return words.tag == "en" or ("e" in words.kinds and more <= _MIDNIGHT)


def of_day(clock: ClockTime, half: str, *, exact: bool = False) -> ClockTime:
    """Return an hour on the clock of 24 hours, by the half ("am") or the part ("evening") of the day said with it.

    `exact`: it says itself which half it is in. Raises NotUnderstood for 25:00.
    """
    hour, minute = clock.hour, clock.minute
    if hour > _MIDNIGHT or (hour == _MIDNIGHT and minute):
        raise NotUnderstood
    if hour > _NOON or (exact and not half):
        return ClockTime(hour % _MIDNIGHT, minute)
    if not half:
        return ClockTime(hour, minute, halves=hour not in {0, _NOON})
    if half in {"am", "dawn", "early"}:
        return ClockTime(hour % _NOON, minute)
    if half in {"pm", "afternoon", "lunch"}:
        return ClockTime(hour % _NOON + _NOON, minute)
    if half in {"morning", "forenoon"}:
        return ClockTime(hour, minute)
    # Of the night: two at night is after midnight.
    return ClockTime(hour + _NOON if _EARLIEST_EVENING <= hour < _NOON else hour % _NOON, minute)


def _hour(words: Tokens, groups: Mapping[str, int]) -> tuple[int, int, bool]:
    """Return the hour and minute, and whether they say themselves which half of the day they are in."""
    if "half_h" in groups:
        return number_of(words.items[groups["half_h"]]), _HALF, False
    if whole := next((name for name in ("past_h", "to_h", "h") if name in groups), ""):
        hour, exact = number_of(words.items[groups[whole]]), words.value(groups[whole]).startswith("0")
        if (less := groups.get("to", groups.get("less"))) is not None:
            return *divmod((hour * 60 - _minutes(words, less)) % _DAY_MINUTES, 60), False
        more = groups.get("past", groups.get("more", groups.get("m")))
        return hour, _minutes(words, more) if more is not None else 0, exact and whole == "h"
    if (clock := groups.get("clock", groups.get("dotted"))) is not None:
        said = re.findall(r"\d+", words.value(clock))
        if len(said[0]) > 2:  # "at 1830"  # noqa: PLR2004
            said = [said[0][:2], said[0][2:]]
        hour, minute = int(said[0]), int(said[1]) if len(said) > 1 else 0
        return hour, minute, len(said[0]) > 1 or hour == 0
    return (_NOON, _HALF if "noon_half" in groups else 0, True) if "noon" in groups else (_MIDNIGHT, 0, True)


def _minutes(words: Tokens, at: int) -> int:
    return {"h": _HALF, "q": _QUARTER}.get(words.kinds[at]) or number_of(words.items[at])


def amount(words: Tokens, start: int, stop: int) -> tuple[timedelta, relativedelta]:
    """Return the amount of time that tokens are: its hours and minutes, and its days, weeks, months and years.

    Raises NotUnderstood for half a month.
    """
    real, days, count, half, unit = 0.0, relativedelta(), 0.0, 0.0, ""
    for at, token in enumerate(words.items[start:stop], start):
        if token.kind == "n" and count and words.kinds[at + 1] == "h":
            continue  # "two and a half hours"
        if token.kind in "nm":
            count = 0.0 if half and not count else float(token.value.replace(",", "."))
        elif token.kind in "hq":
            half = 0.5 if token.kind == "h" else 0.25 * (count if not unit and count else 1)
            count = 0.0 if unit or token.kind == "q" else count
        elif token.kind == "u":
            unit = token.value
            count = (count or (0.0 if half else 1.0)) + half
            real, days = _added(real, days, unit, count)
            count = half = 0.0
    if count and unit == "hour":
        real += count * LENGTH_S["minute"]
    elif count:
        raise NotUnderstood
    real, days = _added(real, days, unit, half) if half else (real, days)
    return timedelta(seconds=round(real)), days


def _added(real: float, days: relativedelta, unit: str, count: float) -> tuple[float, relativedelta]:
    if unit in LENGTH_S:
        return real + count * LENGTH_S[unit], days
    return real, days + calendar(unit, count)


def calendar(unit: str, count: float) -> relativedelta:
    """Return a number of days, weeks, months or years. Raises NotUnderstood for parts of one."""
    if count != int(count):
        raise NotUnderstood
    return relativedelta(**{f"{unit}s": int(count)})  # type: ignore[arg-type]
