"""What days have in store for a person: what is due then, and memories that name them. No model is asked.

/agenda shows it with a head for each day; the same lines stand in a briefing and in answers.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from core.answering.turn import Turn
from core.commands.command import Command, Request, Topic
from core.commands.menu import text_field
from core.features.preferences.timezone import local_now
from core.features.reminders.card import mark
from core.features.reminders.reminders import MOST_A_DAY, Days, Kind, Reminder, ReminderState, instants
from core.features.reminders.service import ReminderPlace, Reminders
from core.features.reminders.telling import place_of
from core.memory.memories import Memories
from core.memory.user_memory import UserMemory
from core.outgoing import Button
from core.ports import Clock
from core.stores import ChangeContext
from core.text.catalogue import Sentences, counted, forms, text
from core.text.clauses import parts
from core.text.markdown import time_link, verbatim
from core.text.unicode import fold, one_line
from core.times import rules, wording
from core.times.grammar import find_time
from core.times.reading import Once, Past, Recurrence, Time, Unclear
from core.times.said import asked, is_yearly
from core.times.zones import zone_key
from core.types import Locale, MemoryItem, MemoryKind, room_name

LIST = Sentences("memories.list")
AGENDA = Sentences("reminders.agenda")
BRIEFING = Sentences("reminders.briefing")

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
    found = find_time(content, at, locale)
    timed = [] if found is None else [(whole, found.time)]
    if item.kind is MemoryKind.TEXT and (found is None or isinstance(found.time, Unclear)):
        told = [content[slice(*each)] for each in parts(content)]
        each_timed = [(words, found.time) for words in told if (found := find_time(words, at, locale)) is not None]
        timed = each_timed if len(each_timed) > 1 else timed
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


MAX_LINES: Final = 20
_MAX_SHOWN_CHARS: Final = 160
_ISO: Final = re.compile(r"\d{4}-\d\d-\d\d")

ON_REMINDERS: Final = Topic("reminders", text("help.topics.reminders"))


def agenda_command(reminders: Reminders) -> Command:
    """Return /agenda, which takes a day or days in words; without any it shows seven days from today."""

    async def run(request: Request, argument: str) -> None:
        """Show the days, with buttons to those before and after them."""
        now, _ = local_now(request.turn)
        days = _days(argument, now, request.locale)
        if days is None:
            await request.tell(AGENDA.how)
            return
        shown = "\n".join(await agenda(request.turn, reminders, days))
        length = (days.last - days.first).days + 1
        earlier, later = days.first - timedelta(days=length), days.last + timedelta(days=1)
        begins = [*([earlier] if earlier >= now.date() else [now.date()] if days.first > now.date() else []), later]
        labels = [LIST.previous, LIST.next][-len(begins) :]
        buttons = [
            Button(label[request.locale], f"/agenda {begin} {length}", in_place=True)
            for label, begin in zip(labels, begins, strict=True)
        ]
        await request.answer.tell(shown, choices=buttons)

    return Command(
        "agenda",
        text("commands.agenda"),
        run,
        usage=" […]",
        in_conversation=True,
        for_all=True,
        fields=(text_field("when", text("menus.fields.agenda")),),
        topics=(ON_REMINDERS,),
    )


def _days(argument: str, now: datetime, locale: Locale) -> Days | None:
    """Return the days that the argument names, or a button; without any, a week from today."""
    begins, _, count = argument.partition(" ")
    if not argument:
        return Days.of(now.date(), WEEK)
    if _ISO.fullmatch(begins) and (count or str(WEEK)).isdecimal():
        try:
            first = date.fromisoformat(begins)
        except ValueError:
            return None
        return Days.of(first, max(int(count or WEEK), 1)).ahead(now.date())
    named = asked(argument, now, locale, ahead=True)
    return None if named is None else Days(named.first, named.last).ahead(now.date())


async def agenda(turn: Turn, reminders: Reminders, days: Days, *, only_reminders: bool = False) -> list[str]:
    """Return what the days have in store as lines of Markdown: a head for each day, and below it a line for each thing.

    Of more days than a week, only those are told that have anything.
    """
    now, _ = local_now(turn)
    locale, memory = turn.person.locale, None if only_reminders else turn.memory
    things = await planned(reminders, place_of(turn), memory, now, days)
    by_day: dict[date, list[Thing]] = {day: [] for day in days}
    for each in things:
        by_day[each.day].append(each)
    is_long = len(by_day) > WEEK
    shown = [(day, found) for day, found in by_day.items() if found or not is_long]
    told = [told_day(day, found, now, locale) for day, found in shown]
    return "\n\n".join(told).split("\n") if told else [AGENDA.free_long[locale]]


def told_day(day: date, things: Sequence[Thing], now: datetime, locale: Locale) -> str:
    """Return the head of a day with the things of that day below it."""
    words = wording.day_told(datetime.combine(day, time(), now.tzinfo), locale)
    named = {now.date(): AGENDA.today, now.date() + timedelta(days=1): AGENDA.tomorrow}.get(day)
    notes = [*([named[locale]] if named else []), *([] if things else [AGENDA.free[locale]])]
    head = " · ".join((f"**{words[:1].upper()}{words[1:]}**", *notes))
    return "\n".join((head, *lines_of(things, locale)))


def lines_of(things: Sequence[Thing], locale: Locale) -> list[str]:
    """Return a line for each thing of a day, and one that counts those that are not told."""
    lines = [_line(each, locale) for each in things[:MAX_LINES]]
    more = len(things) - len(lines)
    return [*lines, counted(MORE, locale, more)] if more else lines


def _line(thing: Thing, locale: Locale) -> str:
    """Return a thing on one line: its sign, its hour and words, that it is paused, and its rule if it is due often."""
    reminder, words = thing.reminder, verbatim(one_line(thing.text, _MAX_SHOWN_CHARS))
    sign = "•" if reminder is None else mark(reminder)
    hour = [] if thing.at is None else [time_link(wording.hour_told(thing.at, locale), thing.at)]
    notes = [AGENDA.paused[locale]] if reminder is not None and reminder.state is ReminderState.PAUSED else []
    if reminder is not None and thing.is_often:
        schedule = reminder.schedule
        notes.append(f"· {wording.rule_told(schedule.rule, schedule.wall, locale, schedule.zone)}")
    return " ".join((sign, *hour, words, *notes))


MORE = forms("reminders.briefing.more")


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
            return BRIEFING.nothing[locale].format(day=day)
        return "\n".join((BRIEFING.today[locale].format(day=day), *lines_of(things, locale)))
