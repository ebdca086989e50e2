"""Hear in what a person says where they are: "moro em Manaus", "I'm in Tokyo this week", "aqui são 13:15"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from typing import Final

from core.text.unicode import flat
from core.times import zones
from core.times.grammar import find_time
from core.times.reading import Once
from core.times.said import until
from core.times.zones import Zone
from core.types import Locale

_MAX_CHARS: Final = 120
_PLACE: Final = re.compile(r"[^\W\d_][\w'.-]*(?: [^\W\d_][\w'-]*){0,4}")


@dataclass(frozen=True, slots=True)
class HeardZone:
    """The zones that a person may be in, the likeliest first; `until` is the first day on which they no longer are.

    `is_all`: they told that, and nothing else that could be kept; `by_clock`: by what their clock shows.
    """

    zones: tuple[Zone, ...]
    until: date | None = None
    is_all: bool = False
    by_clock: bool = False


def sounds_like_place(message: str) -> bool:
    """Return whether a message begins as one does that says where somebody is: soon, for most do not."""
    text = message.strip()
    if len(text) > _MAX_CHARS or text.endswith("?"):
        return False
    said = flat(text)
    return any(pattern.match(said) for pattern in _patterns().values())


def heard_zone(message: str, now: datetime, locale: Locale) -> HeardZone | None:
    """Return where a person says that they are now; None if they do not say so, or ask. `now` is in their zone."""
    if not sounds_like_place(message):
        return None
    text = message.strip()
    said, patterns = flat(text), _patterns()
    if patterns["clock"].fullmatch(said):
        found = zones.find_zones(text, now, locale)
        return HeardZone(tuple(found), is_all=True, by_clock=True) if found else None
    if (match := patterns["zone"].match(said)) is not None:
        found = zones.find_zones(text[match.end() :].strip(" .!"), now, locale)
        return HeardZone(tuple(found), is_all=True) if found else None
    for name in ("lives", "visits"):
        if (match := patterns[name].match(said)) is not None and (found := _place(said[match.end() :], now, locale)):
            ends = until(text, now, locale) if name == "visits" else None
            if ends is None and name == "visits" and _is_ahead(text, now, locale):
                return None
            return HeardZone(tuple(found), None if ends is None else ends.astimezone(now.tzinfo).date())
    return None


def _is_ahead(text: str, now: datetime, locale: Locale) -> bool:
    """Whether a message names a day ahead, and is about that: "I'm in Tokyo on friday"."""
    found = find_time(text, now, locale)
    return found is not None and isinstance(found.time, Once) and found.time.at.date() > now.date()


def _place(said: str, now: datetime, locale: Locale) -> Sequence[Zone]:
    """Return the zones of the place that a text begins with."""
    named = _PLACE.match(said)
    words = named[0].split() if named else []
    for count in range(len(words), 0, -1):
        if found := zones.of_place(" ".join(words[:count]), now, locale):
            return found
    return ()


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {name: re.compile("|".join(f"(?:{each})" for each in patterns)) for name, patterns in zones.heard().items()}
