"""The days that words name: patterns over the letters of tokens, and what makes the day."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from core.times.reading import Day
from core.times.tokens import Tokens, number_of

WHERE: Final = "[oiastF]{0,3}"
"""Prepositions and articles in front of a day: "on the", "no", "para el"."""

_MONTH_DAYS: Final = 31
_MONTHS: Final = 12
_CENTURY: Final = 100
_FIRST_YEAR: Final = 1900

_Make: TypeAlias = Callable[[Tokens, re.Match[str]], Day | None]


def day_at(words: Tokens, at: int) -> tuple[int, Day] | None:
    """Return where the words for a day end that begin at a token, and the day; None if none is named there."""
    if _ANY.match(words.kinds, at):
        for pattern, make in _PATTERNS:
            found = pattern.match(words.kinds, at)
            if found and (day := make(words, found)) is not None:
                return found.end(), day
    return None


def _numeric(words: Tokens, found: re.Match[str]) -> Day | None:
    said = [int(part) for part in re.findall(r"\d+", words.said(found, "T")[0].value)]
    if said[0] > _MONTH_DAYS:
        return Day(year=said[0], month=said[1], day=said[2])
    day, month, year = (*said, 0)[:3]
    if 0 < year < _CENTURY:
        year += 2000
    swapped = words.tag == "en" and max(day, month) <= _MONTHS and day != month
    if words.tag == "en" and not swapped and day <= _MONTHS:
        day, month = month, day
    return Day(year=year, month=month, day=day, swapped=swapped)


def _named_date(words: Tokens, found: re.Match[str]) -> Day | None:
    numbers = [abs(number_of(token)) for token in words.said(found, "nr")]
    years = [number for number in numbers if number > _FIRST_YEAR]
    days = [number for number in numbers if number <= _MONTH_DAYS]
    if len(days) != 1:
        return None
    month = number_of(words.said(found, "M")[0])
    return Day(year=years[0] if years else 0, month=month, day=days[0] or 1, weekday=_weekday_of(words, found))


def _nth_weekday(words: Tokens, found: re.Match[str]) -> Day | None:
    months, units = words.said(found, "M"), words.said_units(found)
    if units and units[-1] != "month":
        return None
    return Day(
        weekday=_weekday_of(words, found),
        nth=number_of(words.said(found, "r")[0]),
        month=number_of(months[0]) if months else 0,
        months=_is_next(found),
    )


def _last_day(words: Tokens, found: re.Match[str]) -> Day | None:
    units = words.said_units(found)
    if number_of(words.said(found, "r")[0]) != -1 or units[0] != "day" or units[-1] not in {"day", "month"}:
        return None
    return _end_of_month(words, found)


def _end_of_month(words: Tokens, found: re.Match[str]) -> Day:
    is_next = any(token.value == "1" for token in words.said(found, "Z"))  # "the end of next month"
    return Day(day=-1, months=int(is_next or "x" in found[0]))


def _weekday_gone(words: Tokens, found: re.Match[str]) -> Day:
    return Day(weekday=_weekday_of(words, found), weeks=-1)


def _unit_gone(words: Tokens, found: re.Match[str]) -> Day | None:
    unit = words.said_units(found)[0]
    days = {"week": 7, "month": 31, "year": 366}.get(unit, 0)
    return Day(ahead=-days, whole=unit) if days else None


def _numbered(words: Tokens, found: re.Match[str]) -> Day | None:
    units, said, weekday = words.said_units(found), words.said(found, "nr")[0], _weekday_of(words, found)
    day = abs(number_of(said))
    if not 1 <= day <= _MONTH_DAYS or (units and units[0] != "day" and "u" in found[0].partition(said.kind)[0]):
        return None
    if not units and not weekday and not _is_plain(words, found.start() + found[0].index(said.kind)):
        return None
    return Day(day=day, weekday=weekday, months=_is_next(found))


def _is_plain(words: Tokens, at: int) -> bool:
    """Whether a number is plainly a day of the month: "5th", "el 24"."""
    token = words.items[at]
    if token.kind == "r" and words.tag == "en" and not words.written(token)[0].isdigit():  # "on the fifth"
        before = [words.written(each) for each in words.items[max(at - 2, 0) : at]]
        return before == ["on", "the"] and words.kinds[at + 1 : at + 2] != "w"
    if token.kind == "r":  # "12A" is a seat
        return words.tag == "en" and words.written(token)[-1] not in "ao"
    return words.tag == "es" and at > 0 and words.written(words.items[at - 1]) == "el"


def _feast(words: Tokens, found: re.Match[str]) -> Day:
    month, _, day = words.said(found, "V")[0].value.partition("-")
    return Day(month=int(month), day=int(day))


def _further(words: Tokens, found: re.Match[str]) -> Day | None:
    plus = {"week": 7, "day": 1}.get(words.said_units(found)[0], 0) * number_of(words.said(found, "n")[0])
    days = words.said(found, "d")
    if not plus:
        return None
    return Day(ahead=number_of(days[0]), plus=plus) if days else Day(weekday=_weekday_of(words, found), plus=plus)


def _relative(words: Tokens, found: re.Match[str]) -> Day:
    return Day(ahead=number_of(words.said(found, "d")[0]))


def _weekday(words: Tokens, found: re.Match[str]) -> Day | None:
    units = words.said_units(found)
    return None if units and units != ["week"] else Day(weekday=_weekday_of(words, found), weeks=len(units))


def _in_next_month(words: Tokens, found: re.Match[str]) -> Day | None:
    units, day = words.said_units(found), number_of(words.said(found, "nr")[0])
    is_day = units[0] == "month" and units[1:] in ([], ["day"]) and 1 <= day <= _MONTH_DAYS
    return Day(day=day, months=1) if is_day else None


def _week_after(words: Tokens, found: re.Match[str]) -> Day | None:
    return Day(weekday=_weekday_of(words, found), plus=7) if words.said_units(found) == ["week"] else None


def _next_unit(words: Tokens, found: re.Match[str]) -> Day | None:
    unit = words.said_units(found)[0]
    units = {"week": Day(weeks=1), "month": Day(day=1, months=1), "year": Day(month=12, day=31, plus=1)}
    return replace(units[unit], whole=unit) if unit in units else None


def _month_alone(words: Tokens, found: re.Match[str]) -> Day | None:
    month = found.end() - 1
    is_named = words.kinds[month - 1 : month] == "i"
    return Day(month=number_of(words.items[month]), day=1, whole="month") if is_named else None


def _in_figures(words: Tokens, found: re.Match[str]) -> Day | None:
    """Return the day of "el 3 del 5" and "dia 3 do 5"."""
    day, month = (number_of(token) for token in words.said(found, "nr"))
    is_date = words.written(words.items[found.end() - 2]) in {"do", "del"} and {"u", "o"} & set(found[0][:-3])
    return Day(month=month, day=day) if is_date and 1 <= day <= _MONTH_DAYS and 1 <= month <= _MONTHS else None


def _weekday_of(words: Tokens, found: re.Match[str]) -> str:
    return next((token.value for token in words.said(found, "W")), "")


def _is_next(found: re.Match[str]) -> int:
    return int("x" in found[0])


def _is(day: Day) -> _Make:
    return lambda _words, _found: day


_READ: Final[Sequence[tuple[str, _Make]]] = (
    ("(?:W,?o{0,3})?u?T", _numeric),  # "sexta, dia 27/11", "2026-12-01"
    ("(?:W,?o{0,3})?V", _feast),  # "en navidad", "on new year's eve"
    ("nu(?:So?|o)(?:W|d)", _further),  # "a week from friday", "a week on friday", "two days from tomorrow"
    ("J", _is(Day(weeks=1, whole="week"))),  # "pra semana"
    ("(?:W,?)?o{0,2}u?[nr]o{0,3}M(?:(?:,|o)?(?:n(?![uAPc])))?", _named_date),  # "sexta, dia 5 de março de 2027"
    ("(?:W,?o{0,3})?Mo{0,3}[nr](?![uAP])(?:,?n(?![uAPc]))?", _named_date),  # "friday, march 5th, 2027"
    ("M(?!n)", _month_alone),  # "in march"
    ("u?[nr]on(?![uAPc])", _in_figures),  # "el 3 del 5"
    ("rW(?:o{0,3}(?:x?ux?|M))?", _nth_weekday),  # "the last friday of next month", "primer lunes de marzo"
    (f"x?u,?{WHERE}rW", _nth_weekday),  # "next month on the first monday"
    ("ru(?:o{0,3}x?ux?)?", _last_day),  # "the last day of the month"
    ("kW|Wk", _weekday_gone),  # "last friday", "sexta passada"
    ("ku|uk", _unit_gone),  # "last week", "el mes pasado"
    ("Zx?", _end_of_month),  # "no fim do mês"
    ("X", _is(Day(day=1, months=1))),  # "no começo do mês"
    ("Wu(?!x)", _week_after),  # "friday week"
    ("W,?o{0,2}u?[nr](?![uAPc&+t-])", _numbered),  # "sexta dia 13", "friday the 13th"
    ("u[nr](?![uAPc])(?:o{0,3}x?ux|o{0,3}xu)?", _numbered),  # "dia 5", "dia 5 do mês que vem"
    ("[rn](?:o{0,3}xu|o{0,3}ux)?(?![uAPc&+W-])", _numbered),  # "the 5th of next month", "el 24"
    ("d", _relative),  # "tomorrow", "depois de amanhã"
    ("x?Wx?(?:o{0,3}s?(?:xu|ux))?", _weekday),  # "next friday", "sexta da semana que vem"
    (f"(?:xu|ux),?{WHERE}u?[nr](?![uAPc])", _in_next_month),  # "next month on the 3rd"
    (f"(?:xu|ux),?{WHERE}W", _weekday),  # "next week on monday", "semana que vem na terça"
    ("[sx]{0,2}E", _is(Day(weekday="SA", whole="weekend"))),  # "no fim de semana", "this weekend"
    ("(?:xu|ux)", _next_unit),  # "next month", "la semana que viene"
)
_PATTERNS: Final = tuple((re.compile(f"{WHERE}(?:{pattern})"), make) for pattern, make in _READ)
_ANY: Final = re.compile(f"{WHERE}(?:{'|'.join(pattern for pattern, _ in _READ)})")
"""Whether any of them matches: one attempt for all."""
