"""Gather what a day has in store for a person: reminders due then, and memories that name it. No model is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from core.features.reminders.reminders import OPEN, Kind, Reminder, ReminderState
from core.features.reminders.service import ReminderPlace, Reminders
from core.memory.memories import Memories
from core.memory.user_memory import UserMemory
from core.ports import Clock
from core.stores import ChangeContext
from core.text.catalogue import counted, forms, text
from core.text.markdown import time_link, verbatim
from core.text.unicode import fold, one_line
from core.times import rules, wording
from core.times.grammar import find_time
from core.times.reading import Once, Past, Recurrence, Time, Unclear
from core.times.said import is_yearly
from core.types import Locale, MemoryItem, MemoryKind, room_name

_NEWEST: Final = 300
_MAX_FOUND: Final = 50
_MAX_LINES: Final = 20
_MAX_READ_CHARS: Final = 500
_MAX_SHOWN_CHARS: Final = 160
_READ_AT_ONCE: Final = 20
"""Memories that are read before others may use the event loop: these take a few milliseconds."""


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
        zone, locale = ZoneInfo(briefing.schedule.zone), briefing.locale
        now = self._clock.now().astimezone(zone)
        place = ReminderPlace(briefing.user, briefing.chat, briefing.private, locale, briefing.name)
        found: dict[str, tuple[datetime | None, str]] = {}
        for at, words in (*await self._due(place, now), *await self._dated(place, now)):
            found.setdefault(fold(words), (at, words))
        things = sorted(found.values(), key=lambda each: (each[0] is None, each[0] or now))
        day = wording.day_told(now, locale)
        if not things:
            return NOTHING[locale].format(day=day)
        lines = [_line(at, words, locale) for at, words in things[:_MAX_LINES]]
        if more := len(things) - len(lines):
            lines.append(counted(MORE, locale, more))
        return "\n".join((TODAY[locale].format(day=day), *lines))

    async def _due(self, place: ReminderPlace, now: datetime) -> Sequence[tuple[datetime | None, str]]:
        """Return the reminders that are due today, each at its next hour."""
        going = OPEN - {ReminderState.PAUSED}
        return [
            (at, each.text)
            for each in await self._reminders.of(place)
            if each.kind is Kind.REMINDER and each.state in going and each.due is not None
            if (at := each.due.astimezone(now.tzinfo)).date() == now.date()
        ]

    async def _dated(self, place: ReminderPlace, now: datetime) -> Sequence[tuple[datetime | None, str]]:
        """Return the memories that name today, each with its hour, if it has one."""
        room = "" if place.private else room_name(place.chat)
        memory = self._memories.of(await self._memories.owner(place.user), ChangeContext("", room, place.user))
        return await dated(memory, now, place.locale)


async def dated(memory: UserMemory, now: datetime, locale: Locale) -> Sequence[tuple[datetime | None, str]]:
    """Return the memories that name the day of `now`, each with its hour, if it has one."""
    found: list[tuple[datetime | None, str]] = []
    for number, item in enumerate(await _candidates(memory, now.date(), locale), 1):
        is_today, at = _today(item, now, locale)
        if is_today:
            found.append((at, item.content if item.kind is MemoryKind.TEXT else item.bindings[0]))
        if number % _READ_AT_ONCE == 0:
            await asyncio.sleep(0)
    return found


async def _candidates(memory: UserMemory, day: date, locale: Locale) -> Iterable[MemoryItem]:
    """Return the memories that may name the day: the newest, and older ones in which it stands as people write it."""
    newest = await memory.page(limit=_NEWEST)
    written = (f"{day:%Y-%m-%d}", f"{day:%d/%m}", f"{day:%m/%d}", f"{day.day} {_month(day, locale)}")
    hits = await memory.search(written, {}, limit=_MAX_FOUND, floor=0.0)
    return {item.id: item for item in (*newest, *(hit.item for hit in hits))}.values()


def _today(item: MemoryItem, now: datetime, locale: Locale) -> tuple[bool, datetime | None]:
    """Return whether a memory, read as of when it was said, names the day of `now`, and the hour, if it names one."""
    if item.meant:
        meant = datetime.fromisoformat(item.meant).replace(tzinfo=now.tzinfo)
        return meant.date() == now.date(), meant if "T" in item.meant else None
    words = item.content[:_MAX_READ_CHARS]
    said = item.updated_at.astimezone(now.tzinfo)
    found = find_time(words, said, locale)
    if found is None:
        return False, None
    times: Sequence[Time] = found.time.options if isinstance(found.time, Unclear) else (found.time,)
    instants = [_instant(each, now, is_yearly=is_yearly(words)) for each in times]
    if not all(instants):
        return False, None
    at = instants[0]
    has_hour = len(times) == 1 and isinstance(times[0], Once | Recurrence) and times[0].has_hour
    return True, at if has_hour else None


def _instant(each: Time, now: datetime, *, is_yearly: bool) -> datetime | None:
    """Return the instant of a time on the day of `now`, or None."""
    match each:
        case Once(at=at) | Past(at=at):
            same = at.date() == now.date() or (is_yearly and (at.month, at.day) == (now.month, now.day))
            return datetime.combine(now.date(), at.time(), now.tzinfo) if same else None
        case Recurrence(rule=rule, first=first):
            midnight = datetime.combine(now.date(), time(), now.tzinfo) - timedelta(seconds=1)
            zone = str(now.tzinfo)
            following = rules.next_after(first.replace(tzinfo=None), zone, rule, midnight)
            at_home = None if following is None else following.astimezone(now.tzinfo)
            return at_home if at_home is not None and at_home.date() == now.date() else None
    return None


def _line(at: datetime | None, words: str, locale: Locale) -> str:
    told = verbatim(one_line(words, _MAX_SHOWN_CHARS))
    return f"• {told}" if at is None else f"• {time_link(wording.hour_told(at, locale), at)} {told}"


def _month(day: date, locale: Locale) -> str:
    from babel.dates import get_month_names  # loaded by the first briefing, not by the start

    return str(get_month_names(locale=locale.value.replace("-", "_"))[day.month])


TODAY = text("reminders.briefing.today")
NOTHING = text("reminders.briefing.nothing")
MORE = forms("reminders.briefing.more")
