"""Offer times in the field of /remind while a person types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from core.commands.command import CompletionRequest
from core.features.reminders.telling import as_schedule, label, likely_zone
from core.hooks import PreferencesOf
from core.outgoing import Choice
from core.ports import Clock
from core.text.catalogue import text
from core.text.unicode import one_line
from core.times.grammar import find_time
from core.times.reading import Once, Repeated, Unclear

_MAX_CHARS: Final = 100
"""The longest label or value. Source: discord.com/developers/docs/interactions/application-commands, choices."""


@dataclass(frozen=True, slots=True)
class TimeCompletion:
    """Says what is typed would set, or offers usual times for it. `zone` is the owner's."""

    preferences: PreferencesOf
    clock: Clock
    zone: tzinfo

    async def __call__(self, request: CompletionRequest) -> Sequence[Choice]:
        """Return the times that the words can mean; where they name none, the words with usual times before them."""
        chosen = (await self.preferences(request.incoming.user)).zone
        now, tag = self.clock.now(), request.incoming.language or request.locale.value
        zone = ZoneInfo(chosen) if chosen else likely_zone(now, self.zone, tag, request.locale)
        now, typed = now.astimezone(zone), request.typed.strip()
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
            Choice(
                one_line(" · ".join(filter(None, (label(as_schedule(time), now, request.locale), rest))), _MAX_CHARS),
                value,
            )
            for time, rest, value in named
            if isinstance(time, Once | Repeated) and len(value) <= _MAX_CHARS
        ]


USUAL: Final = (
    text("reminders.remind.usual.soon"),
    text("reminders.remind.usual.evening"),
    text("reminders.remind.usual.morning"),
)
