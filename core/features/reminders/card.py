"""Show a reminder whole, with the buttons by which a person changes it; offer reminders and times while people type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from core.answering.asker import PreferencesOf
from core.commands.command import MAX_LABEL_CHARS, CompletionRequest, Request, offered
from core.features.preferences.timezone import local_now
from core.features.reminders.reminders import OPEN, Kind, Reminder, ReminderState
from core.features.reminders.service import ReminderPlace, Reminders, may_reword
from core.features.reminders.telling import (
    MENTION_SIGN,
    as_schedule,
    at_mention,
    heading,
    label,
    place_of,
    undo_button,
    when,
)
from core.outgoing import Button, Suggestion
from core.ports import Clock
from core.text.catalogue import Sentences, text, texts
from core.text.markdown import time_link
from core.text.unicode import one_line
from core.times import wording
from core.times.grammar import find_time
from core.times.reading import Once, Recurrence, Unclear
from core.times.zones import likely_zone, zone_key
from core.types import Locale, room_name

CARD = Sentences("reminders.card")

_MAX_LABEL_CHARS: Final = 40


async def show_card(request: Request, reminder: Reminder, told: str = "", *, can_undo: bool = False) -> None:
    """Show a reminder below `told`, what was done to it."""
    locale, now = request.locale, request.turn.services.clock.now()
    lines = [*([told, ""] if told else []), f"{mark(reminder)} {heading(reminder, locale, max_chars=None)}"]
    if timed := when(reminder, now, locale, zone_key(local_now(request.turn)[0])):
        lines.append(timed)
    if note := _STATES.get(reminder.state):
        lines.append(note[locale])
    if not reminder.private:
        here = room_name(reminder.chat) == room_name(request.incoming.chat)
        called = await request.turn.services.room_called(room_name(reminder.chat), locale)
        lines.append(CARD.here[locale] if here else CARD.there[locale].format(room=called))
    undo = [undo_button(reminder, locale)] if can_undo else []
    await request.answer.tell("\n".join(lines), choices=[*undo, *_buttons(request, reminder), back(locale)])


def line(reminder: Reminder, now: datetime, locale: Locale) -> str:
    """Return a reminder on one line: its state, its text, and when it is due, by the clock of `now`."""
    return f"{mark(reminder)} {heading(reminder, locale)} · {_briefly(reminder, now, locale)}"


def entry(reminder: Reminder, locale: Locale) -> Button:
    """Return the button that chooses a reminder from a list, without its number."""
    is_own = reminder.kind in {Kind.REMINDER, Kind.MENTION}
    label = one_line(reminder.text if is_own else heading(reminder, locale), _MAX_LABEL_CHARS)
    return Button(label, f"/reminders show {reminder.id}", in_place=True)


def back(locale: Locale) -> Button:
    """Return the button to the list."""
    return Button(CARD.to_the_list[locale], "/reminders", in_place=True)


def mark(reminder: Reminder) -> str:
    """Return the sign before a reminder in lists, by its state."""
    usual = "⏰" if reminder.mention is None else MENTION_SIGN
    return _MARKS.get(reminder.state) or ("🔁" if reminder.schedule.rule else usual)


def _briefly(reminder: Reminder, now: datetime, locale: Locale) -> str:
    """Return when a reminder is due, without its zone, or why it is not."""
    schedule = reminder.schedule
    if reminder.state is ReminderState.FAILED:
        return CARD.failed_briefly[locale]
    if reminder.mention is not None:
        return at_mention(reminder.mention, locale)
    rule = wording.rule_told(schedule.rule, schedule.wall, locale, schedule.zone) if schedule.rule else ""
    if rule or reminder.due is None:
        return rule
    return time_link(wording.told(reminder.due.astimezone(now.tzinfo), now, zone_key(now), locale), reminder.due)


def _buttons(request: Request, reminder: Reminder) -> Sequence[Button]:
    """Return the buttons for what the person may do with a reminder here."""
    locale, key = request.locale, reminder.id
    buttons: list[Button] = []
    if reminder.kind in {Kind.REMINDER, Kind.MENTION} and may_reword(reminder, place_of(request.turn)):
        buttons.append(
            Button(
                CARD.edit[locale], f"/reminders edit {key}", asks=CARD.edited[locale], text=reminder.text, in_place=True
            )
        )
    buttons.append(Button(CARD.time[locale], f"/reminders when {key}", asks=CARD.time_asked[locale], in_place=True))
    if reminder.state is ReminderState.PAUSED:
        buttons.append(Button(CARD.resume[locale], f"/reminders resume {key}", in_place=True))
    elif reminder.state in OPEN:
        buttons.append(Button(CARD.pause[locale], f"/reminders pause {key}", in_place=True))
    return [*buttons, Button(CARD.delete[locale], f"/reminders delete {key}", in_place=True)]


_MARKS: dict[ReminderState, str] = {ReminderState.PAUSED: "⏸", ReminderState.FAILED: "⚠️", ReminderState.DONE: "✓"}
_STATES = texts("reminders.card", (ReminderState.PAUSED, ReminderState.FAILED, ReminderState.DONE))


@dataclass(frozen=True, slots=True)
class TimeCompletion:
    """Says what is typed would set, or offers usual times for it. `zone` is the owner's."""

    preferences: PreferencesOf
    clock: Clock
    zone: tzinfo

    async def now(self, request: CompletionRequest) -> datetime:
        """Return the present in the zone of whoever types."""
        chosen = (await self.preferences(request.incoming.user)).zone
        now, tag = self.clock.now(), request.incoming.language or request.locale.value
        return now.astimezone(ZoneInfo(chosen) if chosen else likely_zone(now, self.zone, tag, request.locale))

    async def __call__(self, request: CompletionRequest) -> Sequence[Suggestion]:
        """Return the times that the words can mean; where they name none, the words with usual times before them."""
        now, typed = await self.now(request), request.typed.strip()
        found = find_time(typed, now, request.locale) if typed else None
        if found is None:
            usual = [(each[request.locale], find_time(each[request.locale], now, request.locale)) for each in USUAL]
            named = [(read.time, typed, f"{words} {typed}".strip()) for words, read in usual if read is not None]
        elif isinstance(found.time, Unclear):
            rest = found.without(typed)
            named = [
                (each, rest, f"{each.at:%Y-%m-%d %H:%M} {rest}")
                for each in found.time.options
                if isinstance(each, Once)
            ]
        else:
            named = [(found.time, found.without(typed), typed)]
        return [
            Suggestion(
                one_line(
                    " · ".join(filter(None, (label(as_schedule(time), now, request.locale), rest))), MAX_LABEL_CHARS
                ),
                value,
            )
            for time, rest, value in named
            if isinstance(time, Once | Recurrence) and len(value) <= MAX_LABEL_CHARS
        ]


@dataclass(frozen=True, slots=True)
class ReminderCompletion:
    """Offers the person's reminders that may be spoken of there, or times for the field of a new one."""

    reminders: Reminders
    times: TimeCompletion

    async def __call__(self, request: CompletionRequest) -> Sequence[Suggestion]:
        """Return the reminders by their ids, the next first: those that the verb can do something with."""
        if request.option == "time":
            return await self.times(request)
        incoming, locale = request.incoming, request.locale
        place = ReminderPlace(incoming.user, incoming.chat, incoming.private, locale, incoming.user_name)
        now = await self.times.now(request)
        return offered(
            request.typed,
            (
                Suggestion(line(each, now, locale), each.id)
                for each in await self.reminders.of(place)
                if request.verb not in _PAUSING or (each.state is ReminderState.PAUSED) is _PAUSING[request.verb]
            ),
        )


_PAUSING: Final = {"pause": False, "resume": True}
USUAL: Final = (
    text("reminders.remind.usual.soon"),
    text("reminders.remind.usual.evening"),
    text("reminders.remind.usual.morning"),
)
