"""/timezone: the zone in which a person is told times, by a city, a country, an offset, or what their clock shows."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Final
from zoneinfo import ZoneInfo

from core.answering.turn import Turn
from core.commands.command import CompletionRequest, Request, offered
from core.features.preferences.language import AUTO
from core.features.preferences.storage import PreferenceStore
from core.outgoing import Button, Suggestion
from core.ports import Clock
from core.text.catalogue import counted, forms, text
from core.times import wording, zones
from core.types import Locale, Localized

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
            holds = GUESSED if turn.person.own_zone is None else HOLDS
            other = Button(OTHER[locale], "/timezone", asks=ASKED[locale])
            await turn.answer.tell(f"{_shown(request, holds)}\n\n{HOW[locale]}", choices=(other,))
        elif argument.casefold() in _NONE:
            await self._put(request, "")
            await turn.answer.tell(_shown(request, REMOVED))
        else:
            now, until = turn.services.clock.now(), None
            if (given := _UNTIL.fullmatch(argument)) is not None:
                argument, until = given[1], _date(given[2])
            found = await asyncio.to_thread(zones.find_zones, argument, now, locale)
            if len(found) == 1:
                await self._set(request, found[0].name, until)
            elif found:
                choices = [Button(option(each, now, locale), f"/timezone {each.name}", in_place=True) for each in found]
                await turn.answer.tell(WHICH[locale], choices=choices)
            else:
                await request.tell(NOT_FOUND)

    async def _set(self, request: Request, zone: str, until: date | None) -> None:
        """Store the zone, and say what became of what hangs on it."""
        change = ZoneChange(zone, zones.zone_key(local_now(request.turn)[0]), until)
        moved = [said for move in self._moves for said in await move(request, change)]  # by the zone that holds still
        await self._put(request, zone)
        await request.answer.tell("\n\n".join([_shown(request, CHOSEN), *moved]))

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
HOLDS = text("preferences.timezone.holds")
GUESSED = text("preferences.timezone.guessed")
HOW = text("preferences.timezone.how")
OTHER = text("preferences.timezone.another")
ASKED = text("preferences.timezone.asked")
CHOSEN = text("preferences.timezone.chosen")
REMOVED = text("preferences.timezone.removed")
WHICH = text("preferences.timezone.which")
NOT_FOUND = text("preferences.timezone.not_found")
NOW = forms("preferences.timezone.now")
