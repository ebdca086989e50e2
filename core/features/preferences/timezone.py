"""/timezone: the zone in which a person is told times, by a city, a country, an offset, or what their clock shows.

It is offered, too, where they say in passing where they are: "moro em Manaus", "aqui são 13:15".
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo

from core.answering.turn import Additions, Heard, Turn
from core.commands.command import CompletionRequest, Request, offered
from core.features.preferences.storage import PreferenceStore
from core.outgoing import Button, Suggestion
from core.ports import Clock
from core.text.catalogue import Sentences, counted, forms, text
from core.text.unicode import flat
from core.times import wording, zones
from core.times.grammar import find_time
from core.times.reading import Once
from core.times.said import until
from core.times.zones import Zone, zone_key
from core.types import Locale, Localized

HEARD = Sentences("preferences.heard")
TIMEZONE = Sentences("preferences.timezone")

AUTO: Final = "auto"
"""What /language and /timezone are told to go by what the person writes again."""

_NONE: Final = frozenset({AUTO, "off"})
_UNTIL: Final = re.compile(r"(.+) until (\d{4}-\d\d-\d\d)")


@dataclass(frozen=True, slots=True)
class ZoneChange:
    """The zone that a person chose in place of that of `home`; `until` is the day from which they may be back there."""

    zone: str
    home: str
    until: date | None = None


class TimezoneCommand:
    """Offer /timezone. `moves` let what hangs on the zone follow, and return what to tell of it."""

    def __init__(
        self,
        preferences: PreferenceStore,
        clock: Clock,
        moves: Sequence[Callable[[Request, ZoneChange], Awaitable[Sequence[str]]]] = (),
    ) -> None:
        self._preferences = preferences
        self._clock = clock
        self._moves = moves

    async def places(self, request: CompletionRequest) -> Sequence[Suggestion]:
        """Return the zones that the typed words can mean; without any, only that none is chosen."""
        now, locale = self._clock.now(), request.locale
        if not request.typed:
            return [Suggestion(AS_GUESSED[locale], AUTO)]
        found = await asyncio.to_thread(zones.begun, request.typed, now, locale)
        return offered("", [Suggestion(option(each, now, locale), each.name) for each in found])

    async def run(self, request: Request, argument: str) -> None:
        """Show the person's zone, or set it, if the words can mean only one; else ask which."""
        turn, locale = request.turn, request.locale
        if not argument:
            holds = TIMEZONE.guessed if turn.person.own_zone is None else TIMEZONE.holds
            other = Button(TIMEZONE.another[locale], "/timezone", asks=TIMEZONE.asked[locale])
            await turn.answer.tell(f"{_shown(request, holds)}\n\n{TIMEZONE.how[locale]}", choices=(other,))
        elif argument.casefold() in _NONE:
            await self._put(request, "")
            await turn.answer.tell(_shown(request, TIMEZONE.removed))
        else:
            now, until = turn.services.clock.now(), None
            if (given := _UNTIL.fullmatch(argument)) is not None:
                argument, until = given[1], _date(given[2])
            found = await asyncio.to_thread(zones.find_zones, argument, now, locale)
            if len(found) == 1:
                await self._set(request, found[0].name, until)
            elif found:
                choices = [Button(option(each, now, locale), f"/timezone {each.name}", in_place=True) for each in found]
                await turn.answer.tell(TIMEZONE.which[locale], choices=choices)
            else:
                await request.tell(TIMEZONE.not_found)

    async def _set(self, request: Request, zone: str, until: date | None) -> None:
        """Store the zone, and say what became of what hangs on it."""
        change = ZoneChange(zone, zones.zone_key(local_now(request.turn)[0]), until)
        moved = [said for move in self._moves for said in await move(request, change)]  # by the zone that holds still
        await self._put(request, zone)
        await request.answer.tell("\n\n".join([_shown(request, TIMEZONE.chosen), *moved]))

    async def _put(self, request: Request, zone: str) -> None:
        user = request.incoming.user
        await self._preferences.put(user, replace(await self._preferences.of(user), zone=zone))
        request.person.own_zone = ZoneInfo(zone) if zone else None
        await request.turn.services.confirmations.drop_offers(request.incoming.conversation, "/timezone")


def local_now(turn: Turn) -> tuple[datetime, bool]:
    """Return the present in the person's zone, and whether that is a guess."""
    person, now = turn.person, turn.services.clock.now()
    tag = person.tag or person.locale.value
    zone = person.own_zone or zones.likely_zone(now, person.usual_zone, tag, person.locale)
    return now.astimezone(zone), person.own_zone is None


def _shown(request: Request, sentence: Localized) -> str:
    """Return a sentence on the zone that holds, and what the clock there shows."""
    (now, _), locale = local_now(request.turn), request.locale
    clock = counted(NOW, locale, now.hour, time=wording.hour_told(now, locale))
    return sentence[locale].format(zone=wording.zone_told(zones.zone_key(now), now, locale), now=clock)


def _date(written: str) -> date | None:
    try:
        return date.fromisoformat(written)
    except ValueError:
        return None


def option(zone: zones.Zone, now: datetime, locale: Locale) -> str:
    """Return the label of a zone to choose: its place, the country, and what the clock there shows."""
    hour = wording.hour_told(now.astimezone(ZoneInfo(zone.name)), locale)
    country = zones.country_name(zone.country, locale)
    return f"{zone.place} ({country}) · {hour}" if country else f"{zone.place} · {hour}"


AS_GUESSED = text("menus.place.auto")
NOW = forms("preferences.timezone.now")


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
        return Heard(
            HEARD.same[locale].format(zone=wording.zone_told(zone_key(now), now, locale), now=hour), is_all=True
        )


def _offered(turn: Turn, found: HeardZone, now: datetime) -> Heard:
    """Return the question whether to go by one of the zones, with a button for each."""
    locale, first = turn.person.locale, found.zones[0]
    there = now.astimezone(ZoneInfo(first.name))
    zone = wording.zone_told(first.name, now, locale)
    hour = counted(NOW, locale, there.hour, time=wording.hour_told(there, locale))
    if found.until is not None:
        last = datetime.combine(found.until - timedelta(days=1), time(), there.tzinfo)
        words = HEARD.offer_until[locale].format(zone=zone, now=hour, day=wording.day_told(last, locale))
    else:
        words = HEARD.offer[locale].format(zone=zone, now=hour)
    labels = [HEARD.yes[locale]] if len(found.zones) == 1 else [option(each, now, locale) for each in found.zones]
    buttons = [
        Button(label, _command(each, found.until), in_place=True)
        for label, each in zip(labels, found.zones, strict=True)
    ]
    other = Button(TIMEZONE.another[locale], "/timezone", asks=TIMEZONE.asked[locale])
    return Heard(words, (*buttons, *([other] if found.by_clock else [])), buttons[0], is_all=found.is_all)


def _command(zone: Zone, until: date | None) -> str:
    return f"/timezone {zone.name}" if until is None else f"/timezone {zone.name} until {until.isoformat()}"


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
