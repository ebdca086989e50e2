"""/timezone: the zone in which a person is told times, by a city, a country, an offset, or what their clock shows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo

from core.commands.command import Command, CompletionRequest, Request
from core.commands.completion import offered
from core.commands.menu import completed_field
from core.features.preferences.language import AUTO
from core.features.preferences.store import PreferenceStore
from core.features.reminders.reminders import Reminder
from core.features.reminders.service import is_heard, zone_key
from core.features.reminders.telling import heading, local_now, place_of
from core.outgoing import Button, Choice
from core.ports import Clock
from core.text.catalogue import counted, forms, text
from core.times import wording, zones
from core.types import Locale, Localized, UserKey

MoveZone: TypeAlias = Callable[[UserKey, str], Awaitable[tuple[Sequence[Reminder], Sequence[Reminder]]]]
"""Lets a person's reminders follow them to a zone; returns those that moved, and those that kept their moment."""

_NONE: Final = frozenset({AUTO, "off"})
_MAX_LISTED: Final = 5


class TimezoneCommand:
    """Offer /timezone."""

    def __init__(self, preferences: PreferenceStore, move: MoveZone, clock: Clock) -> None:
        self._preferences = preferences
        self._move = move
        self._clock = clock

    @property
    def command(self) -> Command:
        """The command."""
        return Command(
            "timezone",
            text("commands.timezone"),
            self._timezone,
            usage=f" … | {AUTO}",
            fields=(completed_field("place", text("menus.fields.place")),),
            complete=self._places,
        )

    async def _places(self, request: CompletionRequest) -> Sequence[Choice]:
        """Return the zones that the typed words can mean; without any, only that none is chosen."""
        now, locale = self._clock.now(), request.locale
        if not request.typed:
            return [Choice(AS_GUESSED[locale], AUTO)]
        found = await asyncio.to_thread(zones.find_zones, request.typed, now, locale)
        return offered("", [Choice(_option(each, now, locale), each.name) for each in found])

    async def _timezone(self, request: Request, argument: str) -> None:
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
            now = turn.services.clock.now()
            found = await asyncio.to_thread(zones.find_zones, argument, now, locale)
            if len(found) == 1:
                await self._set(request, found[0].name)
            elif found:
                choices = [
                    Button(_option(each, now, locale), f"/timezone {each.name}", in_place=True) for each in found
                ]
                await turn.answer.tell(WHICH[locale], choices=choices)
            else:
                await request.tell(NOT_FOUND)

    async def _set(self, request: Request, zone: str) -> None:
        """Store the zone, and say what became of reminders; in a room, of those that were said there."""
        await self._put(request, zone)
        moved, stayed = await self._move(request.incoming.user, zone)
        parts = [_shown(request, CHOSEN)]
        place = place_of(request.turn)
        for sentence, reminders in ((MOVED, moved), (STAYED, stayed)):
            heard = [each for each in reminders if is_heard(each, place)]
            if heard:
                lines = [_line(each, zone, request) for each in heard[:_MAX_LISTED]]
                rest = len(heard) - len(lines)
                more = [counted(MORE, request.locale, rest)] if rest else []
                parts.append("\n".join((counted(sentence, request.locale, len(heard)), *lines, *more)))
        await request.answer.tell("\n\n".join(parts))

    async def _put(self, request: Request, zone: str) -> None:
        user = request.incoming.user
        await self._preferences.put(user, replace(await self._preferences.of(user), zone=zone))
        request.person.own_zone = ZoneInfo(zone) if zone else None


def _shown(request: Request, sentence: Localized) -> str:
    """Return a sentence on the zone that holds, and what the clock there shows."""
    (now, _), locale = local_now(request.turn), request.locale
    clock = counted(NOW, locale, now.hour, time=wording.hour_told(now, locale))
    return sentence[locale].format(zone=wording.zone_told(zone_key(now), now, locale), now=clock)


def _option(zone: zones.Zone, now: datetime, locale: Locale) -> str:
    """Return the label of a zone to choose: its place, the country, and what the clock there shows."""
    hour = wording.hour_told(now.astimezone(ZoneInfo(zone.name)), locale)
    country = zones.country_name(zone.country, locale)
    return f"{zone.place} ({country}) · {hour}" if country else f"{zone.place} · {hour}"


def _line(reminder: Reminder, zone: str, request: Request) -> str:
    """Return a reminder with when it is due by the new clock."""
    schedule, locale = reminder.schedule, request.locale
    when = ""
    if schedule.rule:
        when = wording.rule_told(schedule.rule, schedule.wall, locale, schedule.zone)
    elif reminder.due is not None:
        when = wording.told(reminder.due, request.turn.services.clock.now(), zone, locale)
    return f"- {heading(reminder, locale)} · {when}"


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
MOVED = forms("preferences.timezone.moved")
STAYED = forms("preferences.timezone.stayed")
MORE = forms("preferences.timezone.more")
