"""Times in words for people, in every language of `core/locales`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from typing import Final
from zoneinfo import ZoneInfo

from core.text.catalogue import Counted, cldr, forms, text
from core.times.rules import Frequency, Rule, next_after, read, skipping
from core.times.zones import exemplar
from core.types import Locale, Localized

_MOST_TIMES: Final = 8
_FEWEST_STEPS: Final = 4
_SHOWN: Final = 3
_PAIR: Final = 2
_LAST: Final = -1
_NTHS: Final = (1, 2, 3, 4, 5, _LAST)
_WORKDAYS: Final = ((0, 0), (0, 1), (0, 2), (0, 3), (0, 4))
_END_OF_MONTHS: Final = (28, 29, 30, 31)
_LATE_DAYS: Final = {(28, 29), (28, 29, 30)}
"""With BYSETPOS=-1 the 29th and the 30th, in a month that is too short its last day."""
_END_OF_DAY: Final = (23, 59)


def told(at: datetime, now: datetime, zone: str, locale: Locale) -> str:
    """Return an instant as people say it: "sexta-feira, 27 de novembro, às 8:00"; with the year if it is another one.

    Today and tomorrow are named so, with the date.
    """
    locale, local = _spoken(locale), at.astimezone(ZoneInfo(zone))
    today = now.astimezone(ZoneInfo(zone)).date()
    if (named := {today: TODAY, today + timedelta(days=1): TOMORROW}.get(local.date())) is not None:
        return named[locale].format(day=_form(local, DAY, locale), at=_hour(local, locale))
    return _day_and_hour(local, today.year, locale)


def zone_told(zone: str, at: datetime, locale: Locale) -> str:
    """Return a zone in words for the person: "horário de São Paulo (UTC−3)"; a fixed one by its offset, "UTC−3"."""
    locale, away = _spoken(locale), offset(zone, at)
    if zone.startswith("Etc/") or "/" not in zone:
        return away
    return ZONE[locale].format(place=exemplar(zone, locale), offset=away)


def day_told(at: datetime, locale: Locale, now: datetime | None = None) -> str:
    """Return a day: "sexta-feira, 27 de novembro"; with its year only if that of `now` is given and another one."""
    return _date(at, (now or at).year, _spoken(locale))


def hour_told(at: datetime, locale: Locale) -> str:
    """Return what the clock shows: "8:00", "8:00 AM"."""
    locale = _spoken(locale)
    return _form(at, HOUR, locale)


def offset(zone: str, at: datetime) -> str:
    """Return the offset of a zone at an instant: "UTC−3", "UTC+5:30"."""
    away = at.astimezone(ZoneInfo(zone)).utcoffset() or timedelta()
    hours, minutes = divmod(abs(away) // timedelta(minutes=1), 60)
    return f"UTC{'−' if away < timedelta() else '+'}{hours}{f':{minutes:02}' if minutes else ''}" if away else "UTC"


def rule_told(rule: str, wall: datetime, locale: Locale, zone: str = "UTC") -> str:
    """Return a recurrence in words with its hour: "toda sexta às 8:00", "every weekday at 7:00 AM".

    A rule that has no words is told by its next days. `zone` is that of `wall`, for an UNTIL that is written in UTC.

    Raises:
        ValueError: the rule has a `problem`.
    """
    locale = _spoken(locale)
    if not rule:
        return _day_and_hour(wall, wall.year, locale)
    found = read(rule)
    if found.skips:
        words = _rule(replace(found, skips=()), skipping(rule, (), date.max), wall, locale, zone)
        return EXCEPT[locale].format(rule=words, days=_ranges(found.skips, locale))
    return _rule(found, rule, wall, locale, zone)


def _rule(found: Rule, rule: str, wall: datetime, locale: Locale, zone: str) -> str:
    if found.frequency is Frequency.DAILY and found.count and found.count == _left(found, wall):
        return DAY_AND_HOUR[locale].format(day=_date(wall, wall.year, locale), at=_hours(found, wall, locale))
    if found.is_sub_daily:
        unit = HOURS if found.frequency is Frequency.HOURLY else MINUTES
        return _ended(_every(unit, found.interval, locale), found, wall, zone, locale)
    days, times = _days(found, wall, locale), len(found.hours or (0,)) * len(found.minutes or (0,))
    if days and (between := _between(found, wall, locale)):
        return _ended(f"{days}, {between}", found, wall, zone, locale)
    if days and times <= _MOST_TIMES:
        return _ended(AT_HOURS[locale].format(rule=days, at=_hours(found, wall, locale)), found, wall, zone, locale)
    return _ended(_next_days(rule, wall, locale), found, wall, zone, locale)


def _ranges(days: Sequence[date], locale: Locale) -> str:
    """Return days as a list: "November 26 and from December 1 to December 3"."""
    runs: list[list[date]] = []
    for day in days:
        if runs and day - runs[-1][-1] == timedelta(days=1):
            runs[-1].append(day)
        else:
            runs.append([day])
    told_days = [
        [_form(datetime.combine(each, time()), MONTH_DAY, locale) for each in (run[0], run[-1])] for run in runs
    ]
    pieces = [first if first == last else RANGE[locale].format(first=first, last=last) for first, last in told_days]
    return _format_list(pieces, locale)


def _ended(words: str, rule: Rule, wall: datetime, zone: str, locale: Locale) -> str:
    """Return the words for a rule with its end."""
    if rule.count:
        return _form_for(TIMES, rule.count, locale).format(rule=words, count=rule.count)
    if (ends := rule.ends(zone)) is None:
        return words
    last = ends.astimezone(ZoneInfo(zone))
    if rule.is_sub_daily and (last.hour, last.minute) != _END_OF_DAY:
        return UNTIL[locale].format(rule=words, day=_day_and_hour(last, wall.year, locale))
    return UNTIL[locale].format(rule=words, day=_date(last, wall.year, locale))


def _days(rule: Rule, wall: datetime, locale: Locale) -> str:
    """Return the words for the days of a rule, without their hours; "" if there are none."""
    if rule.frequency is Frequency.DAILY:
        is_plain = not (rule.months or rule.month_days or rule.days or (rule.positions and not rule.picks_hours))
        return _every(DAYS, rule.interval, locale) if is_plain else ""
    if rule.frequency is Frequency.WEEKLY:
        return "" if rule.months or (rule.positions and not rule.picks_hours) else _weekly(rule, wall, locale)
    if rule.frequency is Frequency.MONTHLY:
        return "" if rule.months else _monthly(rule, wall, locale)
    return _yearly(rule, wall, locale)


def _weekly(rule: Rule, wall: datetime, locale: Locale) -> str:
    days = [weekday for _, weekday in rule.days] or [wall.weekday()]
    if rule.interval == 1 and rule.days == _WORKDAYS:
        return WORKDAYS[locale]
    if rule.interval == 1:
        return _listed([_words(EVERY_WEEKDAY, locale)[day] for day in days], locale)
    on = _listed([_words(ON_WEEKDAY, locale)[day] for day in days], locale)
    return EVERY_ON[locale].format(every=_every(WEEKS, rule.interval, locale), on=on)


def _monthly(rule: Rule, wall: datetime, locale: Locale) -> str:
    """Return "todo dia 5", "na primeira segunda de cada mês", "a cada dois meses, no dia 5"."""
    days = _month_days(rule, wall)
    on = _on(rule, wall, locale)
    if not on:
        return ""
    if rule.interval > 1:
        return EVERY_ON[locale].format(every=_every(MONTHS, rule.interval, locale), on=on)
    if days:
        return _form_for(ON_DAYS_OF_MONTHS, len(days), locale).format(days=_ordinals(days, locale))
    return OF_EVERY_MONTH[locale].format(on=on)


def _yearly(rule: Rule, wall: datetime, locale: Locale) -> str:
    """Return "todo dia 24 de dezembro", "todo ano, na quarta quinta de novembro"."""
    days, months = _month_days(rule, wall), rule.months or (() if rule.month_days or rule.days else (wall.month,))
    if len(months) != 1 or rule.month_days[1:]:
        return ""
    if days:
        date = _form(datetime(2024, months[0], days[0]), MONTH_DAY, locale)  # noqa: DTZ001  # a leap year's day
        if rule.interval == 1:
            return EVERY_YEAR_ON[locale].format(date=date)
        return EVERY_ON[locale].format(every=_every(YEARS, rule.interval, locale), on=ON_DATE[locale].format(date=date))
    if not (on := _on(rule, wall, locale)):
        return ""
    month = _form(datetime(2024, months[0], 1), MONTH, locale)  # noqa: DTZ001  # the same
    on = OF_MONTH[locale].format(on=on, month=month)
    return EVERY_ON[locale].format(every=_every(YEARS, rule.interval, locale), on=on)


def _month_days(rule: Rule, wall: datetime) -> Sequence[int]:
    """Return the days of the month that a rule names by number from its beginning; none if it names others."""
    if rule.positions == (_LAST,) and rule.month_days in _LATE_DAYS:
        return rule.month_days[-1:]
    days = rule.month_days or (() if rule.days else (wall.day,))
    return () if rule.days or rule.positions or min(days, default=0) < 0 else days


def _on(rule: Rule, wall: datetime, locale: Locale) -> str:
    """Return the days within a month: "no dia 5", "no último dia", "na primeira segunda"; "" if there are no words."""
    if days := _month_days(rule, wall):
        return _form_for(ON_DAYS, len(days), locale).format(days=_ordinals(days, locale))
    if not rule.days:
        last = (rule.month_days, rule.positions) in {((_LAST,), ()), (_END_OF_MONTHS, (_LAST,))}
        return ON_LAST_DAY[locale] if last else ""
    return "" if rule.month_days else _on_numbered(rule, locale)


def _on_numbered(rule: Rule, locale: Locale) -> str:
    """Return the numbered weekdays within a month: "na primeira e terceira segunda", "no último dia útil"."""
    n, *others = rule.positions or (0,)
    is_of_workdays = bool(n) and rule.days == _WORKDAYS
    if others or (n and not is_of_workdays and (len(rule.days) > 1 or rule.days[0][0])):
        return ""
    numbered = sorted({(n or each, weekday) for each, weekday in rule.days}, key=lambda each: (each[0] < 0, each))
    if any(each not in _NTHS for each, _ in numbered):
        return ""
    if is_of_workdays:
        return ON_WORKDAY[locale].format(nth=_words(NTH_MASCULINE, locale)[_NTHS.index(n)])
    if len({weekday for _, weekday in numbered}) == 1:
        nths, day = [_nth(each, weekday, locale) for each, weekday in numbered], numbered[0][1]
        return f"{_listed(nths, locale)} {_words(WEEKDAY, locale)[day]}"
    return _listed([f"{_nth(each, day, locale)} {_words(WEEKDAY, locale)[day]}" for each, day in numbered], locale)


def _nth(n: int, weekday: int, locale: Locale) -> str:
    """Return "na primeira", as it is said before that weekday."""
    by_gender = NTH_FEMININE if _words(GENDERS, locale)[weekday] == "f" else NTH_MASCULINE
    return _words(by_gender, locale)[_NTHS.index(n)]


def _next_days(rule: str, wall: datetime, locale: Locale) -> str:
    """Return the first few days of a rule, as the clock on the wall shows them."""
    days: list[datetime] = []
    after = wall.replace(tzinfo=ZoneInfo("UTC")) - timedelta(microseconds=1)
    while len(days) < _SHOWN and (at := next_after(wall.replace(tzinfo=None), "UTC", rule, after)) is not None:
        days.append(at)
        after = at
    return NEXT_DAYS[locale].format(days="; ".join(_day_and_hour(day, wall.year, locale) for day in days))


# --- words -----------------------------------------------------------------------------------------------------------


def _day_and_hour(at: datetime, year: int, locale: Locale) -> str:
    return DAY_AND_HOUR[locale].format(day=_date(at, year, locale), at=_hour(at, locale))


def _date(at: datetime, year: int, locale: Locale) -> str:
    """Return the weekday and the date; with the year, if it is not that one."""
    return _form(at, DATE if at.year == year else DATE_WITH_YEAR, locale)


def _hour(at: datetime, locale: Locale) -> str:
    """Return "às 8:00"."""
    return _form_for(AT, at.hour, locale).format(time=_form(at, HOUR, locale))


def _hours(rule: Rule, wall: datetime, locale: Locale) -> str:
    """Return the hours of a rule of days: "às 8:00 e 20:00"."""
    every = rule.times or tuple((wall.hour, minute) for minute in rule.minutes or (wall.minute,))
    begun = wall if rule.count and rule.count == _left(rule, wall) else None
    times = [
        wall.replace(hour=hour, minute=minute)
        for hour, minute in every
        if begun is None or (hour, minute) >= (begun.hour, begun.minute)
    ]
    sentences = {_form_for(AT, at.hour, locale) for at in times}
    if len(sentences) > 1:  # "à 1:00 e às 13:00"
        return _listed([_hour(at, locale) for at in times], locale)
    return sentences.pop().format(time=_format_list([_form(at, HOUR, locale) for at in times], locale))


def _left(rule: Rule, wall: datetime) -> int:
    """Return how many hours of a rule are not before the first, on its day."""
    return sum(each >= (wall.hour, wall.minute) for each in rule.times)


def _between(rule: Rule, wall: datetime, locale: Locale) -> str:
    """Return "de hora em hora, das 9:00 às 17:00" of hours at equal intervals; "" of others."""
    steps = {later - earlier for earlier, later in pairwise(rule.hours)}
    if len(rule.hours) < _FEWEST_STEPS or len(steps) != 1 or len(rule.minutes) > 1:
        return ""
    first, last = (
        _form(wall.replace(hour=hour, minute=(rule.minutes or (wall.minute,))[0]), HOUR, locale)
        for hour in (rule.hours[0], rule.hours[-1])
    )
    return BETWEEN[locale].format(every=_every(HOURS, steps.pop(), locale), first=first, last=last)


def _form(at: datetime, pattern: Localized, locale: Locale) -> str:
    from babel.dates import format_datetime

    return str(format_datetime(at.replace(tzinfo=None), pattern[locale], locale=cldr(locale.value)))


def _every(unit: Counted, count: int, locale: Locale) -> str:
    """Return "todo dia", "a cada dois dias", "a cada 3 dias"."""
    own = unit[locale]
    return own["two"] if count == _PAIR and "two" in own else _form_for(unit, count, locale).format(count=count)


def _form_for(sentence: Counted, count: int, locale: Locale) -> str:
    own = sentence[locale]
    return own.get(cldr(locale.value).plural_form(count), own["other"])


def _ordinals(numbers: Sequence[int], locale: Locale) -> str:
    """Return days of the month as the language counts them: "the 5th and 20th"."""
    own = ORDINAL[locale]
    named = [own.get(cldr(locale.value).ordinal_form(each), own["other"]).format(count=each) for each in numbers]
    return _listed(named, locale)


def _listed(pieces: Sequence[str], locale: Locale) -> str:
    """Return the pieces as a list; what all but the last word of one say is left out where the one before says it."""
    begun = [piece.rpartition(" ") for piece in pieces]
    shown = [piece if at == 0 or begun[at][0] != begun[at - 1][0] else begun[at][2] for at, piece in enumerate(pieces)]
    return _format_list(shown, locale)


def _format_list(pieces: Sequence[str], locale: Locale) -> str:
    from babel.lists import format_list

    return str(format_list(pieces, locale=cldr(locale.value)))


def _words(list_of: Localized, locale: Locale) -> Sequence[str]:
    """Return the words of a list, which stands in the catalogue as one sentence."""
    return list_of[locale].split(", ")


def _spoken(locale: Locale) -> Locale:
    """Return the language, or English for one that has no words for times yet."""
    return Locale.EN if HOUR[locale] is HOUR[Locale.EN] else locale


HOUR = text("times.patterns.hour")
DAY = text("times.patterns.day")
DATE = text("times.patterns.date")
DATE_WITH_YEAR = text("times.patterns.date_with_year")
MONTH = text("times.patterns.month")
MONTH_DAY = text("times.patterns.month_day")
AT = forms("times.at")
DAY_AND_HOUR = text("times.day_and_hour")
TODAY = text("times.today")
TOMORROW = text("times.tomorrow")
ZONE = text("times.zone")
MINUTES = forms("times.every.minutes")
HOURS = forms("times.every.hours")
DAYS = forms("times.every.days")
WEEKS = forms("times.every.weeks")
MONTHS = forms("times.every.months")
YEARS = forms("times.every.years")
EVERY_WEEKDAY = text("times.every.weekday")
WORKDAYS = text("times.every.workday")
EVERY_YEAR_ON = text("times.every.year_on")
OF_EVERY_MONTH = text("times.every.of_month")
ON_DAYS_OF_MONTHS = forms("times.every.days_of_month")
EVERY_ON = text("times.every.on")
BETWEEN = text("times.every.between")
AT_HOURS = text("times.every.at")
EXCEPT = text("times.every.except")
RANGE = text("times.every.range")
UNTIL = text("times.every.until")
TIMES = forms("times.every.times")
NEXT_DAYS = text("times.every.next_days")
ON_WEEKDAY = text("times.on.weekday")
ON_DAYS = forms("times.on.days")
ON_LAST_DAY = text("times.on.last_day")
ON_WORKDAY = text("times.on.workday")
ON_DATE = text("times.on.date")
OF_MONTH = text("times.on.of_month")
NTH_MASCULINE = text("times.on.nth_masculine")
NTH_FEMININE = text("times.on.nth_feminine")
WEEKDAY = text("times.names.weekday")
GENDERS = text("times.names.genders")
ORDINAL = forms("times.names.ordinal")
