"""Find the time zone that words for a time name beside the hour: "9 Tokyo time", "horário de Brasília", "15:00 UTC"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Final

from core.text.unicode import flat
from core.text.words import FUNCTION_WORDS
from core.times import zones
from core.types import Locale

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
