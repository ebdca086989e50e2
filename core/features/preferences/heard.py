"""Offer to go by the clock of where a person says that they are: "moro em Manaus", "aqui são 13:15"."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo

from core.answering.turn import Additions, Heard, Turn
from core.features.preferences.timezone import NOW, local_now, option
from core.outgoing import Button
from core.text.catalogue import counted, text
from core.text.unicode import flat
from core.times import wording, zones
from core.times.grammar import find_time
from core.times.reading import Once
from core.times.said import until
from core.times.zones import Zone, zone_key
from core.types import Locale


class ZoneAdditions(Additions):
    """Offers a zone that is heard; a plain yes takes the likeliest."""

    async def heard(self, turn: Turn) -> Heard | None:
        """Return the offer to go by the clock of where the person says that they are, if it is another than theirs."""
        if not sounds_like_place(turn.asked.text):  # the cities of the world are not read for a greeting
            return None
        now, is_guess = local_now(turn)
        found = await asyncio.to_thread(heard_zone, turn.asked.text, now, turn.person.locale)
        if found is None:
            return None
        own = next(
            (each for each in found.zones if now.astimezone(ZoneInfo(each.name)).utcoffset() == now.utcoffset()), None
        )
        if own is None or (is_guess and found.is_all):
            return _offered(turn, found, now)
        if not found.is_all:
            return None
        locale = turn.person.locale
        hour = counted(NOW, locale, now.hour, time=wording.hour_told(now, locale))
        return Heard(SAME[locale].format(zone=wording.zone_told(zone_key(now), now, locale), now=hour), is_all=True)


def _offered(turn: Turn, found: HeardZone, now: datetime) -> Heard:
    """Return the question whether to go by one of the zones, with a button for each."""
    locale, first = turn.person.locale, found.zones[0]
    there = now.astimezone(ZoneInfo(first.name))
    zone = wording.zone_told(first.name, now, locale)
    hour = counted(NOW, locale, there.hour, time=wording.hour_told(there, locale))
    if found.until is not None:
        last = datetime.combine(found.until - timedelta(days=1), time(), there.tzinfo)
        words = OFFER_UNTIL[locale].format(zone=zone, now=hour, day=wording.day_told(last, locale))
    else:
        words = OFFER[locale].format(zone=zone, now=hour)
    labels = [YES[locale]] if len(found.zones) == 1 else [option(each, now, locale) for each in found.zones]
    buttons = [
        Button(label, _command(each, found.until), in_place=True)
        for label, each in zip(labels, found.zones, strict=True)
    ]
    other = Button(OTHER[locale], "/timezone", asks=OTHER_ASKED[locale])
    return Heard(words, (*buttons, *([other] if found.by_clock else [])), buttons[0], is_all=found.is_all)


def _command(zone: Zone, until: date | None) -> str:
    return f"/timezone {zone.name}" if until is None else f"/timezone {zone.name} until {until.isoformat()}"


OFFER = text("preferences.heard.offer")
OFFER_UNTIL = text("preferences.heard.offer_until")
SAME = text("preferences.heard.same")
YES = text("preferences.heard.yes")
OTHER = text("preferences.timezone.another")
OTHER_ASKED = text("preferences.timezone.asked")


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
