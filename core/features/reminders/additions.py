"""What reminders add to an answer: they are found like memories, and offered below a memory that names a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from core.answering.turn import Additions, Turn
from core.features.reminders.actions.saying import line
from core.features.reminders.service import Reminders
from core.features.reminders.telling import local_now, place_of, time_in
from core.outgoing import Button
from core.text import claims
from core.text.catalogue import text
from core.text.unicode import one_line
from core.types import ChangeKind, MemoryItem

_MAX_OFFERED: Final = 3
_MAX_LABEL_CHARS: Final = 30


class ReminderAdditions(Additions):
    """Finds reminders by the words of a search."""

    def __init__(self, reminders: Reminders) -> None:
        self._reminders = reminders

    async def known(self, turn: Turn, queries: Sequence[str]) -> Sequence[str]:
        """Return the reminders that share a telling word with what is looked for, a line each."""
        place = place_of(turn)
        found = [each for query in queries for each in await self._reminders.matching(place, query)]
        return [line(turn, each) for each in {each.id: each for each in found}.values()]

    async def below_saved(self, turn: Turn, saved: Sequence[MemoryItem]) -> Sequence[Button]:
        """Return a button for each memory that names a time ahead, unless a reminder was asked for, too."""
        is_asked = ChangeKind.REMINDER in turn.log.written or claims.asks_for_reminder(turn.asked.text)
        if not self._reminders.limits.most or is_asked:
            return ()
        now, _ = local_now(turn)
        timed = [item for item in saved if time_in(item, now, turn.person.locale) is not None][:_MAX_OFFERED]
        labels = [OFFER[turn.person.locale]] if len(timed) == 1 else [_label(turn, item) for item in timed]
        return [Button(label, f"/remind memory {item.id}") for label, item in zip(labels, timed, strict=True)]


def _label(turn: Turn, item: MemoryItem) -> str:
    return f"{OFFER[turn.person.locale]} {one_line(item.content, _MAX_LABEL_CHARS)}"


OFFER = text("reminders.actions.offer")
