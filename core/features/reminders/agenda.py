"""/agenda: show what days have in store, a head for each day; the same lines stand in a briefing and in answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Final

from core.answering.turn import Turn
from core.commands.command import Command, Request, Topic
from core.commands.menu import text_field
from core.features.preferences.timezone import local_now
from core.features.reminders.card import mark
from core.features.reminders.days import Days
from core.features.reminders.planned import WEEK, Thing, planned
from core.features.reminders.reminders import ReminderState
from core.features.reminders.service import Reminders
from core.features.reminders.telling import place_of
from core.outgoing import Button
from core.text.catalogue import counted, forms, text
from core.text.markdown import time_link, verbatim
from core.text.unicode import one_line
from core.times import wording
from core.times.said import asked
from core.types import Locale

MAX_LINES: Final = 20
_MAX_SHOWN_CHARS: Final = 160
_ISO: Final = re.compile(r"\d{4}-\d\d-\d\d")

ON_REMINDERS: Final = Topic("reminders", text("help.topics.reminders"))


class AgendaCommand:
    """Offer /agenda."""

    def __init__(self, reminders: Reminders) -> None:
        self._reminders = reminders

    @property
    def command(self) -> Command:
        """The command, which takes a day or days in words; without any it shows seven days from today."""
        return Command(
            "agenda",
            text("commands.agenda"),
            self.run,
            usage=" […]",
            in_conversation=True,
            for_all=True,
            fields=(text_field("when", text("menus.fields.agenda")),),
            topics=(ON_REMINDERS,),
        )

    async def run(self, request: Request, argument: str) -> None:
        """Show the days, with buttons to those before and after them."""
        now, _ = local_now(request.turn)
        days = _days(argument, now, request.locale)
        if days is None:
            await request.tell(HOW)
            return
        shown = "\n".join(await agenda(request.turn, self._reminders, days))
        length = (days.last - days.first).days + 1
        earlier, later = days.first - timedelta(days=length), days.last + timedelta(days=1)
        begins = [*([earlier] if earlier >= now.date() else [now.date()] if days.first > now.date() else []), later]
        labels = [PREVIOUS, NEXT][-len(begins) :]
        buttons = [
            Button(label[request.locale], f"/agenda {begin} {length}", in_place=True)
            for label, begin in zip(labels, begins, strict=True)
        ]
        await request.answer.tell(shown, choices=buttons)


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
    return "\n\n".join(told).split("\n") if told else [FREE_LONG[locale]]


def told_day(day: date, things: Sequence[Thing], now: datetime, locale: Locale) -> str:
    """Return the head of a day with the things of that day below it."""
    words = wording.day_told(datetime.combine(day, time(), now.tzinfo), locale)
    named = {now.date(): TODAY, now.date() + timedelta(days=1): TOMORROW}.get(day)
    notes = [*([named[locale]] if named else []), *([] if things else [FREE[locale]])]
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
    notes = [PAUSED[locale]] if reminder is not None and reminder.state is ReminderState.PAUSED else []
    if reminder is not None and thing.is_often:
        schedule = reminder.schedule
        notes.append(f"· {wording.rule_told(schedule.rule, schedule.wall, locale, schedule.zone)}")
    return " ".join((sign, *hour, words, *notes))


TODAY = text("reminders.agenda.today")
TOMORROW = text("reminders.agenda.tomorrow")
FREE = text("reminders.agenda.free")
FREE_LONG = text("reminders.agenda.free_long")
PAUSED = text("reminders.agenda.paused")
HOW = text("reminders.agenda.how")
PREVIOUS = text("memories.list.previous")
NEXT = text("memories.list.next")
MORE = forms("reminders.briefing.more")
