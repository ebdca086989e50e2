"""Word what a day has in store for a person, when a briefing is due."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from core.features.reminders.agenda import lines_of
from core.features.reminders.days import Days
from core.features.reminders.planned import planned
from core.features.reminders.reminders import Reminder
from core.features.reminders.service import ReminderPlace, Reminders
from core.memory.memories import Memories
from core.ports import Clock
from core.stores import ChangeContext
from core.text.catalogue import text
from core.times import wording
from core.types import room_name


class Briefings:
    """Words what a day has in store."""

    def __init__(self, reminders: Reminders, memories: Memories, clock: Clock) -> None:
        self._reminders = reminders
        self._memories = memories
        self._clock = clock

    async def told(self, briefing: Reminder) -> str:
        """Return the text of a briefing for today, as Markdown: a line for each thing, those with an hour first.

        In a room it tells only what was said there.
        """
        locale, now = briefing.locale, self._clock.now().astimezone(ZoneInfo(briefing.schedule.zone))
        place = ReminderPlace(briefing.user, briefing.chat, briefing.private, locale, briefing.name)
        room = "" if place.private else room_name(place.chat)
        memory = self._memories.of(await self._memories.owner(place.user), ChangeContext("", room, place.user))
        things = await planned(self._reminders, place, memory, now, Days.of(now.date()))
        day = wording.day_told(now, locale)
        if not things:
            return NOTHING[locale].format(day=day)
        return "\n".join((TODAY[locale].format(day=day), *lines_of(things, locale)))


TODAY = text("reminders.briefing.today")
NOTHING = text("reminders.briefing.nothing")
