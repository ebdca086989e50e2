"""The recurrences that words name: patterns over the letters of tokens, and what makes the rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from core.times.reading import NotUnderstood
from core.times.rules import WEEKDAYS
from core.times.tokens import Tokens, number_of

Rule: TypeAlias = Mapping[str, str]
"""An RRULE by its parts: {"FREQ": "WEEKLY", "BYDAY": "MO"}."""

_FREQUENCIES: Final = {
    "minute": "MINUTELY",
    "hour": "HOURLY",
    "day": "DAILY",
    "week": "WEEKLY",
    "month": "MONTHLY",
    "year": "YEARLY",
}
_MONTH_DAYS: Final = 31
_LATE_DAYS: Final = frozenset({29, 30, 31})
_PLURAL_WEEKENDS: Final = ("fins", "fines", "finais", "weekends", "findes")
_NO_PLURALS: Final = frozenset({"tues", "weds", "thurs", "segs"})

_WEEKDAYS_AS_ORDINALS: Final = {"MO": 2, "WE": 4, "TH": 5}
"""Portuguese names of weekdays that are ordinals, too: "segunda", "quarta", "quinta"."""

_Make: TypeAlias = Callable[[Tokens, re.Match[str]], Rule | None]


def rule_at(words: Tokens, at: int) -> tuple[re.Match[str], Rule] | None:
    """Return the words for a recurrence that begin at a token, and its rule; None if none is named there."""
    if _ANY.match(words.kinds, at):
        for pattern, make in _PATTERNS:
            found = pattern.match(words.kinds, at)
            if found and (rule := make(words, found)):
                return found, rule
    return None


def _every_unit(words: Tokens, found: re.Match[str]) -> Rule | None:
    numbers, unit = words.said(found, "nr"), words.said_units(found)[-1]
    if unit not in _FREQUENCIES:
        return None
    count = abs(number_of(numbers[0])) if numbers else 1
    return {"FREQ": _FREQUENCIES[unit], **({"INTERVAL": str(count)} if count > 1 else {})}


def _weekdays(words: Tokens, found: re.Match[str]) -> Rule | None:
    said = words.said(found, "W")
    if "e" not in found[0] and len(said) == 1 and not _is_plural(words, found):
        return None
    return {"FREQ": "WEEKLY", "BYDAY": _days(WEEKDAYS.index(token.value) for token in said)}


def is_unsure(words: Tokens, found: re.Match[str]) -> bool:
    """Whether what repeats may be meant once: "monday and friday", "no último dia útil"."""
    is_list = len(words.said(found, "W")) > 1 and not {"t", "U"} & set(found[0]) and "Wa" not in found[0]
    return "e" not in found[0] and (("rB" in found[0]) or (is_list and not _is_plural(words, found)))


def _is_plural(words: Tokens, found: re.Match[str]) -> bool:
    """Whether weekdays are named in the plural: "tuesdays", "segundas", "los martes"."""
    if any(words.written(token) == "los" for token in words.said(found, "o")):
        return True
    written = {words.written(token) for token in words.said(found, "W")}
    return words.tag != "es" and not written & _NO_PLURALS and any(day.endswith("s") for day in written)


def _every_year(words: Tokens, found: re.Match[str]) -> Rule | None:
    [number], [month] = words.said(found, "nr"), words.said(found, "M")
    day = abs(number_of(number))
    if not 1 <= day <= _MONTH_DAYS:
        return None
    return {"FREQ": "YEARLY", "BYMONTH": month.value, "BYMONTHDAY": str(day)}


def _every_hours(words: Tokens, found: re.Match[str]) -> Rule | None:
    """Return the rule of "a cada 6h" and "cada 1h30"."""
    hours, is_amount, minutes = words.said(found, "C")[0].value.partition("h")
    if not is_amount or not hours.strip().isdecimal():
        return None
    if more := re.sub(r"\D", "", minutes):
        return {"FREQ": "MINUTELY", "INTERVAL": str(60 * int(hours) + int(more))}
    return {"FREQ": "HOURLY", "INTERVAL": str(int(hours))} if int(hours) else None


def _hours_of_hours(words: Tokens, found: re.Match[str]) -> Rule | None:
    """Return the rule of "de 8/8h"."""
    first, _, second = words.said(found, "T")[0].value.partition("/")
    is_every = first == second and words.said_units(found) == ["hour"]
    return {"FREQ": "HOURLY", "INTERVAL": str(int(first))} if is_every else None


def _every_other(words: Tokens, found: re.Match[str]) -> Rule:
    numbers = words.said(found, "n")
    interval = numbers[0].value if numbers else "2"
    return {"FREQ": "WEEKLY", "INTERVAL": interval, "BYDAY": words.said(found, "W")[0].value}


def _from_to(words: Tokens, found: re.Match[str]) -> Rule:
    first, last = (WEEKDAYS.index(token.value) for token in words.said(found, "W"))
    return {"FREQ": "WEEKLY", "BYDAY": _days(at % 7 for at in range(first, last + 1 if last >= first else last + 8))}


def _days(numbers: Iterable[int]) -> str:
    return ",".join(WEEKDAYS[number] for number in sorted(set(numbers)))


def _weekend(words: Tokens, found: re.Match[str]) -> Rule | None:
    if "e" not in found[0] and not words.written(words.said(found, "E")[0]).startswith(_PLURAL_WEEKENDS):
        return None
    return {"FREQ": "WEEKLY", "BYDAY": "SA,SU"}


def _nth_weekday(words: Tokens, found: re.Match[str]) -> Rule:
    nth, day = number_of(words.said(found, "r")[0]), words.said(found, "W")[0].value
    return {"FREQ": "MONTHLY", "BYDAY": f"{nth}{day}"}


def _second_weekday(words: Tokens, found: re.Match[str]) -> Rule | None:
    """Return the rule of "every second tuesday of the month", and of "toda segunda terça do mês"."""
    first, *others = words.said(found, "zW")
    nth = (
        2
        if first.kind == "z" and words.written(first).endswith("second")
        else _WEEKDAYS_AS_ORDINALS.get(first.value, 0)
    )
    is_of_month = words.said_units(found) == ["month"] and (first.kind == "z" or words.tag == "pt")
    return {"FREQ": "MONTHLY", "BYDAY": f"{nth}{others[-1].value}"} if nth and is_of_month else None


def _nth_day(words: Tokens, found: re.Match[str]) -> Rule | None:
    if words.said_units(found)[0] != "day" or words.said_units(found)[-1] != "month":
        return None
    return {"FREQ": "MONTHLY", "BYMONTHDAY": words.said(found, "r")[0].value}


def _nth_workday(words: Tokens, found: re.Match[str]) -> Rule:
    nth = str(number_of(words.said(found, "r")[0]))
    return {"FREQ": "MONTHLY", "BYDAY": ",".join(WEEKDAYS[:5]), "BYSETPOS": nth}


def _month_days(words: Tokens, found: re.Match[str]) -> Rule | None:
    units = words.said_units(found)
    if "e" in found[0].partition("n")[2] and units[-1] != "month":  # "at 8 and 20 every day"
        return None
    days = {abs(number_of(token)) for token in words.said(found, "nr")}
    if not all(1 <= day <= _MONTH_DAYS for day in days) or (units and units[-1] not in {"month", "day"}):
        return None
    if days <= _LATE_DAYS and len(days) == 1:  # the last day of a month that is too short
        last = max(days)
        return {"FREQ": "MONTHLY"} | (
            {"BYMONTHDAY": "-1"}
            if last == _MONTH_DAYS
            else {"BYMONTHDAY": ",".join(map(str, range(28, last + 1))), "BYSETPOS": "-1"}
        )
    return {"FREQ": "MONTHLY", "BYMONTHDAY": ",".join(map(str, sorted(days)))}


def _listed_days(words: Tokens, found: re.Match[str]) -> Rule | None:
    """Return the rule of "los días 1 y 15". Raises NotUnderstood for "nos dias 1 e 15", which may be of one month."""
    if not words.written(words.said(found, "u")[0]).endswith("s"):
        return None
    if not any(words.written(token) == "los" for token in words.said(found, "o")):
        raise NotUnderstood
    return _month_days(words, found)


def _often(words: Tokens, found: re.Match[str]) -> Rule | None:
    times = words.said(found, "j")[0].value
    if times == "0":  # a week, on days that are to be named
        return {"FREQ": "WEEKLY"} if "W" in words.kinds else None
    hours = {"2": "8,20", "3": "8,14,20", "4": "8,12,16,20"}[times]
    return {"FREQ": "DAILY", "BYHOUR": hours, "BYMINUTE": "0"}


def _every_half(words: Tokens, found: re.Match[str]) -> Rule | None:
    return {"FREQ": "MINUTELY", "INTERVAL": "30"} if words.said_units(found) == ["hour"] else None


def _is(frequency: str, **parts: str) -> _Make:
    return lambda _words, _found: {"FREQ": frequency, **parts}


_LIST: Final = "(?:(?:&|,|,&)(?:o?u)?[oia]?[nr]){0,11}"
_READ: Final[Sequence[tuple[str, _Make]]] = (
    ("[oi]?e?[oa]?O", _is("DAILY", INTERVAL="2")),  # "dia sim, dia não", "every other day"
    ("e?f", _is("WEEKLY", INTERVAL="2")),  # "every other week", "quinzenalmente"
    ("D", _is("DAILY")),  # "daily"
    ("j", _often),  # "three times a day"
    ("[oia]{0,2}e[oa]?Z", _is("MONTHLY", BYMONTHDAY="-1")),  # "todo fim de mês"
    ("[oia]{0,2}e[oa]?X", _is("MONTHLY", BYMONTHDAY="1")),  # "todo começo de mês"
    ("H", _is("HOURLY")),  # "de hora em hora"
    ("K", _is("WEEKLY")),  # "semanalmente"
    ("Q", _is("MONTHLY")),  # "monthly"
    ("Y", _is("YEARLY")),  # "una vez al año"
    ("[oia]{0,2}e?o?W[atU]o?W", _from_to),  # "de segunda a sexta"
    ("[oia]{0,2}(?:e[oa]?)?rB(?:o{0,2}e?o?u)?", _nth_workday),  # "todo quinto dia útil"
    ("[oia]{0,2}e?[oa]?B", _is("WEEKLY", BYDAY=",".join(WEEKDAYS[:5]))),  # "every weekday", "nos dias úteis"
    ("[oia]{0,2}e?[oa]?E", _weekend),  # "every weekend", "nos fins de semana"
    ("[oia]{0,2}e[oa]?rWo{0,2}u", _nth_weekday),  # "toda primeira segunda do mês"
    ("[oia]{0,2}(?:z|e[oa]?W|[oi]W)Wo{1,2}u(?!x)", _second_weekday),  # "every second tuesday of the month"
    ("[oia]{0,2}e[oa]?rW", _nth_weekday),  # "every first monday"
    ("[oia]{0,2}rWo{0,2}eo?u", _nth_weekday),  # "the first monday of every month"
    ("[oia]{1,2}rWo{1,2}u(?!x)", _nth_weekday),  # "on the first monday of the month"
    ("[oia]{0,2}e[oa]?ruo{0,2}u", _nth_day),  # "todo último dia do mês"
    ("[oia]{0,2}ruo{0,2}eo?u", _nth_day),  # "the last day of every month"
    ("[oia]{0,2}eo?u?[nr]o{0,2}M", _every_year),  # "cada 20 de enero", "todo dia 12 de junho"
    ("[oia]{0,2}eMo?[nr](?![uAP])", _every_year),  # "every march 3rd"
    ("[oia]{0,2}e~?C", _every_hours),  # "a cada 6h"
    ("o?Tu", _hours_of_hours),  # "de 8/8h"
    (f"[oia]{{0,2}}[rn]{_LIST}o{{0,2}}eo?u", _month_days),  # "the 1st and 15th of every month"
    (f"[oia]{{0,2}}eo?u[nr]{_LIST}(?:o{{0,2}}eo?u)?(?![uc])", _month_days),  # "todo dia 5 e 20"
    (f"[oia]{{0,2}}e[oa]?[rn]{_LIST}o{{1,2}}u", _month_days),  # "every 1st of the month"
    (f"[oia]{{0,2}}u[nr]{_LIST}o{{0,2}}eo?u", _month_days),  # "los días 1 y 15 de cada mes"
    ("[oia]{0,2}u[nr](?:,[nr]){0,9},?&o?[nr](?![uAPc])", _listed_days),  # "los días 1 y 15"
    ("o?nino?u", _every_unit),  # "de 8 em 8 horas"
    ("[oia]{0,2}Wz", _every_other),  # "viernes por medio"
    ("[oia]{0,2}zW|[oia]{0,2}enW", _every_other),  # "every other friday", "a cada duas sextas"
    ("[oia]?e[oa]?n?hn?u", _every_half),  # "every half hour"
    ("[oia]{0,2}eno{1,2}u", _month_days),  # "cada 15 de mes"
    ("[oi]?e~*o?n?r?u", _every_unit),  # "every 3 days", "a cada 2 horas"
    ("ep", _is("DAILY")),  # "every morning"
    (
        "[oia]{0,2}(?:e[oa]?)?W(?:(?:(?:[,&]|,&)[oia]{0,2}(?:e[oa]?)?)?W){0,6}",
        _weekdays,
    ),  # "toda segunda e quarta", "tuesdays"
)
_PATTERNS: Final = tuple((re.compile(pattern), make) for pattern, make in _READ)
_ANY: Final = re.compile("|".join(pattern for pattern, _ in _READ))
"""Whether any of them matches: one attempt for all."""
