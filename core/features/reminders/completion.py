"""Offer times in the field of /remind while a person types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from core.answering.language_choice import PreferencesOf
from core.commands.command import MAX_LABEL_CHARS, CompletionRequest, offered
from core.features.reminders.card import line
from core.features.reminders.reminders import ReminderState
from core.features.reminders.service import ReminderPlace, Reminders
from core.features.reminders.telling import as_schedule, label
from core.outgoing import Suggestion
from core.ports import Clock
from core.text.catalogue import text
from core.text.unicode import one_line
from core.times.grammar import find_time
from core.times.reading import Once, Recurrence, Unclear
from core.times.zones import likely_zone


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
