"""Gather what days have in store for a person: what is due then, and memories that name them. No model is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Final

from core.features.reminders.days import MOST_A_DAY, Days, instants
from core.features.reminders.reminders import Kind, Reminder
from core.features.reminders.service import ReminderPlace, Reminders
from core.memory.user_memory import UserMemory
from core.text.clauses import parts
from core.text.unicode import fold
from core.times import rules
from core.times.grammar import find_time
from core.times.reading import Once, Past, Recurrence, Time, Unclear
from core.times.said import is_yearly
from core.times.zones import zone_key
from core.types import Locale, MemoryItem, MemoryKind

WEEK: Final = 7
_NEWEST: Final = 300
_MAX_FOUND: Final = 50
_MAX_READ_CHARS: Final = 500
_AT_ONCE: Final = 20
"""Memories, or reminders, that are read before others may use the event loop: these take a few milliseconds."""

_DAY: Final = timedelta(days=1)
_MOMENT: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Thing:
    """One thing that a day has in store: at an hour, or some time that day (`at` None).

    `reminder` is what it is due of, None for a memory; `is_often`: it is due then and more often on that day than is
    told one by one.
    """

    day: date
    at: datetime | None
    text: str
    reminder: Reminder | None = None
    is_often: bool = False


async def planned(
    reminders: Reminders, place: ReminderPlace, memory: UserMemory | None, now: datetime, days: Days
) -> Sequence[Thing]:
    """Return what the days have in store, each day's in order of hour: what has none follows.

    `now` is in the person's zone, as the days are. Rules are expanded over the days; what is paused is there, too.
    Without `memory` there are reminders only.
    """
    due = await _due(reminders, place, now, days)
    said = {(each.day, fold(each.text)) for each in due}
    dated = [] if memory is None else await _dated(memory, now, days, place.locale)
    things = [*due, *(each for each in dated if (each.day, fold(each.text)) not in said)]
    return sorted(things, key=lambda each: (each.day, each.at is None, each.at or now))


async def due_within(reminders: Iterable[Reminder], now: datetime, days: Days) -> Sequence[Reminder]:
    """Return the reminders that are due on one of the days, as `now` counts them."""
    found: list[Reminder] = []
    for number, each in enumerate(reminders, 1):
        found += [each] if instants(each, now, days) else []
        if number % _AT_ONCE == 0:
            await asyncio.sleep(0)
    return found


async def _due(reminders: Reminders, place: ReminderPlace, now: datetime, days: Days) -> list[Thing]:
    found: list[Thing] = []
    for number, each in enumerate(await reminders.of(place), 1):
        if each.kind is Kind.REMINDER:
            found += _each_day(each, instants(each, now, days))
        if number % _AT_ONCE == 0:
            await asyncio.sleep(0)
    return found


def _each_day(reminder: Reminder, due: Sequence[datetime]) -> Iterator[Thing]:
    """Yield a thing for each instant, or one for a day that has more of them than are told."""
    by_day: dict[date, list[datetime]] = {}
    for at in due:
        by_day.setdefault(at.date(), []).append(at)
    for day, hours in by_day.items():
        is_often = len(hours) > MOST_A_DAY
        for at in hours[:1] if is_often else hours:
            yield Thing(day, at, reminder.text, reminder, is_often)


async def _dated(memory: UserMemory, now: datetime, days: Days, locale: Locale) -> list[Thing]:
    """Return the memories that name one of the days, each with its hour, if it has one."""
    found: list[Thing] = []
    for number, item in enumerate(await _candidates(memory, days, locale), 1):
        found += [Thing(day, at, words) for day, at, words in _named(item, now, days, locale)]
        if number % _AT_ONCE == 0:
            await asyncio.sleep(0)
    return found


async def _candidates(memory: UserMemory, days: Days, locale: Locale) -> Iterable[MemoryItem]:
    """Return the memories that may name a day: the newest, and older ones in which it stands as people write it."""
    newest = await memory.page(limit=_NEWEST)
    written = [
        words
        for day in list(days)[:WEEK]
        for words in (f"{day:%Y-%m-%d}", f"{day:%d/%m}", f"{day:%m/%d}", f"{day.day} {_month(day, locale)}")
    ]
    hits = await memory.search(written, {}, limit=_MAX_FOUND, floor=0.0)
    return {item.id: item for item in (*newest, *(hit.item for hit in hits))}.values()


def _named(item: MemoryItem, now: datetime, days: Days, locale: Locale) -> Iterator[tuple[date, datetime | None, str]]:
    """Yield the days that a memory names, read as of when it was said, with the hour on each, if any, and its words.

    Of one that names several times, each clause tells its own.
    """
    whole = item.content if item.kind is MemoryKind.TEXT else item.bindings[0]
    if item.meant:
        meant = datetime.fromisoformat(item.meant).replace(tzinfo=now.tzinfo)
        if days.first <= meant.date() <= days.last:
            yield meant.date(), meant if "T" in item.meant else None, whole
        return
    content, at = item.content[:_MAX_READ_CHARS], item.updated_at.astimezone(now.tzinfo)
    told = [content[slice(*each)] for each in parts(content)] if item.kind is MemoryKind.TEXT else []
    timed = [(words, found.time) for words in told if (found := find_time(words, at, locale)) is not None]
    if len(timed) <= 1:
        found = find_time(content, at, locale)
        timed = [] if found is None else [(whole, found.time)]
    before: Once | None = None
    for words, each in timed:
        named = each
        if before is not None and isinstance(each, Once) and not each.has_day:  # "12/12 at 23, sound check at 18:30"
            named = Once(datetime.combine(before.at.date(), each.at.timetz()))
        before = named if isinstance(named, Once) and named.has_day else before
        yield from ((day, at_hour, words) for day, at_hour in _days_of(words, named, now, days))


def _days_of(words: str, named: Time, now: datetime, days: Days) -> Iterator[tuple[date, datetime | None]]:
    """Yield those of the days that a time is on, and its hour there, if it has one."""
    times: Sequence[Time] = named.options if isinstance(named, Unclear) else (named,)
    has_hour = len(times) == 1 and isinstance(times[0], Once | Recurrence) and times[0].has_hour
    each_year = is_yearly(words)
    for day in days:
        on_day = [_on(each, datetime.combine(day, time(), now.tzinfo), each_year=each_year) for each in times]
        if all(on_day):
            yield day, on_day[0] if has_hour else None


def _on(each: Time, day: datetime, *, each_year: bool) -> datetime | None:
    """Return the instant of a time on the day that begins then, or None."""
    match each:
        case Once(at=at) | Past(at=at):
            at = at.astimezone(day.tzinfo)
            same = at.date() == day.date() or (each_year and (at.month, at.day) == (day.month, day.day))
            return datetime.combine(day.date(), at.time(), day.tzinfo) if same else None
        case Recurrence(rule=rule, first=first):
            following = rules.next_after(first.replace(tzinfo=None), zone_key(first), rule, day - _MOMENT)
            at_home = None if following is None else following.astimezone(day.tzinfo)
            return at_home if at_home is not None and at_home.date() == day.date() else None
    return None


def _month(day: date, locale: Locale) -> str:
    from babel.dates import get_month_names  # loaded by the first briefing, not by the start

    return str(get_month_names(locale=locale.value.replace("-", "_"))[day.month])
