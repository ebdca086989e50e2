"""Read the words for a time in Portuguese, English and Spanish.

The words of a text become letters (`core.times.tokens`); patterns over the letters find the parts of a time
(`core.times.scan`): a recurrence, a day, an hour, a duration, an end. `core.times.meaning` makes the time of them.
Words for times that no part took mean that the text was not understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from dateutil.relativedelta import relativedelta

from core.locales import TAGS
from core.text.unicode import flat
from core.text.words import FUNCTION_WORDS
from core.times import zones
from core.times.meaning import Meaning
from core.times.reading import Found, FoundTime, NotUnderstood, Once, Past, Recurrence, Time, Unclear
from core.times.scan import Scan
from core.times.tokens import KINDS, TIMELY, Tokens, table, tokens
from core.types import Locale

MAX_CHARS: Final = 1_000
_FOLDER: Final = Path(__file__).parent
_CODES: Final = tuple(code for tag in TAGS if (_FOLDER / f"{(code := tag.partition('-')[0])}.toml").is_file())


def find_time(text: str, now: datetime, locale: Locale, *, bare: bool = False) -> FoundTime | None:
    """Return the time that a text names; None if it names none, or in words that are not understood to the last.

    "dentist tomorrow at 8", read on a Sunday, is Once(Monday 08:00) at (8, 21). `now` is aware, in the person's zone;
    `locale` is the language that is tried first. `bare`: an amount of time alone counts from now on, as for a timer.
    An hour may be of another zone, which is named beside it ("9 Tokyo time"): then what is returned is in that zone.
    Takes time linear in the text, of which the first 1,000 characters are read.
    """
    text = text[:MAX_CHARS]
    named = zone_in(text, now, locale)
    elsewhere = _found_elsewhere(text, named, now, locale) if named is not None else None
    return elsewhere or _found(text, now, locale, bare=bare)


@dataclass(frozen=True, slots=True)
class FoundAmount(Found):
    """An amount of time in a text, without words for when: "an hour", "2 dias"."""

    real: timedelta
    calendar: relativedelta

    def after(self, at: datetime) -> datetime:
        """Return when that long is over: days by the clock on the wall, hours as they pass."""
        wall = at + self.calendar
        return (wall.astimezone(UTC) + self.real).astimezone(at.tzinfo)


def find_amount(text: str, locale: Locale) -> FoundAmount | None:
    """Return the amount of time that a text names, if it names no other time."""
    words = tokens(text[:MAX_CHARS], languages(locale)[0])
    kept = [each for each in words.items if each.kind != KINDS["for"]]  # "for a day" is no end of something
    scan = Scan(replace(words, items=kept, kinds="".join(each.kind for each in kept)), bare=True)
    try:
        scan.run()
    except NotUnderstood:
        return None
    parts = scan.parts
    is_else = parts.days or parts.clocks or parts.part or parts.rule or parts.event
    return FoundAmount(tuple(scan.spans()), parts.real, parts.calendar) if parts.is_ahead and not is_else else None


def _found(text: str, now: datetime, locale: Locale, *, bare: bool = False) -> FoundTime | None:
    found = [read(tokens(text, code), now, bare=bare) for code in languages(locale)]
    # Another language may know fewer of the words, and so find a part of the time only.
    time, scan = max(found, key=lambda each: each[1].weight())
    return FoundTime(tuple(scan.spans()), time) if time is not None else None


def _found_elsewhere(text: str, named: NamedZone, now: datetime, locale: Locale) -> FoundTime | None:
    """Return the time of an hour beside which a zone is named; None if no hour stands beside it.

    Of several zones each is an option. By one that is not known the person's own clock is, to be asked about.
    """
    masked = f"{text[: named.start]}{' ' * (named.end - named.start)}{text[named.end :]}"
    moments = [now.astimezone(ZoneInfo(zone)) for zone in named.zones] or [now]
    read_at = [_found(masked, moment, locale) for moment in moments]
    found = [each for each in read_at if each is not None and _has_hour(each.time)]
    if len(found) < len(read_at) or not _is_beside(text, found[0], named):
        return None
    times = [time for each, moment in zip(found, moments, strict=True) for time in _by_day(each.time, now, moment)]
    spans = tuple(sorted((*found[0].spans, (named.start, named.end))))
    if len(times) == 1 and named.zones:
        return FoundTime(spans, times[0])
    options = [each for time in times for each in (time.options if isinstance(time, Unclear) else (time,))]
    ahead = tuple(each for each in options if isinstance(each, Once | Recurrence))
    return FoundTime(spans, Unclear(ahead, "" if named.zones else "zone") if ahead else times[0])


def _has_hour(time: Time) -> bool:
    times = time.options if isinstance(time, Unclear) else (time,)
    return all(isinstance(each, Past) or (isinstance(each, Once | Recurrence) and each.has_hour) for each in times)


def _is_beside(text: str, found: FoundTime, named: NamedZone) -> bool:
    """Whether words for the time end, or begin, where those for the zone begin, or end."""
    between = (text[end : named.start] for _, end in found.spans if end <= named.start)
    behind = (text[named.end : start] for start, _ in found.spans if start >= named.end)
    return any(not each.strip(" ,()") for each in (*between, *behind))


def _by_day(time: Time, now: datetime, moment: datetime) -> Sequence[Time]:
    """Return what a time means that was read by another clock, on which it may be another day.

    "Tomorrow" is the person's, or that of those there: where these differ it is either.
    """
    days = (moment.date() - now.date()).days
    if not days or not isinstance(time, Once) or not time.is_relative:
        return [time]
    other = Once(time.at - timedelta(days=days))
    return [time, other] if other.at > now else [time]


def names_time(text: str, locale: Locale) -> bool:
    """Return whether words for times stand in a text of that language, understood or not."""
    return any(token.kind in TIMELY for token in tokens(text[:MAX_CHARS], languages(locale)[0]).items)


def read(words: Tokens, now: datetime, *, bare: bool = False) -> tuple[Time | None, Scan]:
    """Return the time that words mean, None if they are not understood, and its parts: see `find_time`."""
    scan = Scan(words, bare=bare)
    result: Time | None = None
    try:
        scan.run()
        if scan.used:
            result = Meaning(scan.parts, now, table(words.tag).hours).time()
    except (NotUnderstood, ValueError, OverflowError):
        pass
    return result, scan


def languages(locale: Locale) -> Sequence[str]:
    """Return the languages that are known, that of `locale` first."""
    own = locale.code
    return [*[code for code in _CODES if code == own], *[code for code in _CODES if code != own]]


# The time zone that stands beside an hour: "9 Tokyo time", "horário de Brasília", "15:00 UTC".

_MOST_WORDS: Final = 4
_PLACE: Final = re.compile(r"[^\W\d_][\w'-]*(?: [^\W\d_][\w'-]*){0,3}")


@dataclass(frozen=True, slots=True)
class NamedZone:
    """A zone in a text: where its words stand, and the zones that they can mean; none: it is not known."""

    start: int
    end: int
    zones: Sequence[str]


def zone_in(text: str, now: datetime, locale: Locale) -> NamedZone | None:
    """Return the zone that a text names, known or plainly called a time zone; None if it names none."""
    said = flat(text)
    found = [*_by_letters(said, now, locale)]
    if _patterns()["cue"].search(said):
        found += [*_before_place(said, now, locale), *_after_place(said, now, locale)]
    return max(found, key=lambda each: (bool(each.zones), each.end - each.start), default=None)


def _by_letters(said: str, now: datetime, locale: Locale) -> Iterator[NamedZone]:
    """Yield what is named behind an hour by letters: "15:00 UTC", "9am PST", "18h GMT+2"."""
    for match in _patterns()["offset"].finditer(said):
        known = zones.find_zones("".join(match["zone"].split()), now, locale) if match["away"] else ()
        yield NamedZone(match.start(), match.end(), [each.name for each in known] if match["away"] else ["UTC"])
    for match in _patterns()["letters"].finditer(said):
        yield NamedZone(match.start(), match.end(), [zones.ABBREVIATIONS[match["zone"]]])


def _before_place(said: str, now: datetime, locale: Locale) -> Iterator[NamedZone]:
    """Yield what is named as "horário de Lisboa", "hora de Madrid", "time in Tokyo"."""
    for name in ("marked", "plain", "behind_hour"):
        for match in _patterns()[name].finditer(said):
            whole = _PLACE.match(said, match.end())
            words = whole[0].split() if whole else []
            words = [] if words[:1] and words[0] in FUNCTION_WORDS else words
            for count in range(min(len(words), _MOST_WORDS), 0, -1):
                place = " ".join(words[:count])
                if known := zones.of_place(place, now, locale, whole=said[match.start("name") : match.end()] + place):
                    yield NamedZone(match.start(), match.end() + len(place), [each.name for each in known])
                    break
            else:
                if name == "marked" and words:  # nothing else is called a time zone
                    yield NamedZone(match.start(), match.end() + len(words[0]), ())


def _after_place(said: str, now: datetime, locale: Locale) -> Iterator[NamedZone]:
    """Yield what is named as "Tokyo time", "eastern time zone"."""
    for match in _patterns()["after"].finditer(said):
        words = match["words"].split()
        for skipped in range(len(words)):
            place = " ".join(words[skipped:])
            if known := zones.of_place(place, now, locale, whole=f"{place} time"):
                yield NamedZone(match.end("words") - len(place), match.end(), [each.name for each in known])
                break


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    letters = "|".join(sorted(zones.ABBREVIATIONS, key=len, reverse=True))
    hour = r"(?:(?<=\d)|(?<=[\dhm.])\s+|(?<=[\dhm.]) ?\()"
    return {
        "cue": re.compile(r"\b(?:hora|horario|[fh]uso|time ?(?:zone)?)\b|[\dh] d[aeo] "),
        "offset": re.compile(
            hour + r"\s*(?:horario |hora )?(?P<zone>(?:utc|gmt)\s*(?P<away>[+\-−–]\s*\d{1,2}(?::?\d{2})?)?)(?!\w)\)?"
        ),
        "letters": re.compile(hour + rf"(?P<zone>{letters})(?!\w)\)?"),
        **{name: re.compile(pattern) for name, pattern in zones.spoken().items()},
    }
