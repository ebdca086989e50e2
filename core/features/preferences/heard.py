"""Offer to go by the clock of where a person says that they are: "moro em Manaus", "aqui são 13:15"."""

from __future__ import annotations

import asyncio
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from core.answering.turn import Additions, Heard, Turn
from core.features.preferences.timezone import NOW, local_now, option
from core.outgoing import Button
from core.text.catalogue import counted, text
from core.times import wording
from core.times.heard import HeardZone, heard_zone, sounds_like_place
from core.times.zones import Zone, zone_key


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
