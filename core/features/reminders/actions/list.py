"""ReminderList: tell the model, or in limited mode the person, which reminders are set."""

from __future__ import annotations

from typing import Final

from core.actions.action import Action
from core.answering.turn import Turn
from core.dialogue import Outcome, Step
from core.features.preferences.timezone import local_now
from core.features.reminders.actions.saying import day_in, line, on_that_day
from core.features.reminders.briefing import dated
from core.features.reminders.mentions import asks_for_day, read_list
from core.features.reminders.service import Reminders
from core.features.reminders.telling import place_of
from core.text.catalogue import counted, forms, text
from core.text.markdown import quoted

NAME: Final = "ReminderList"
_MAX_LISTED: Final = 20

WHEN = "They ask which reminders they have."


def reminder_list(reminders: Reminders) -> Action:
    """Return the action, which lists the reminders there."""

    async def run(turn: Turn, _: None) -> Step:
        """Put the reminders into the step's notes, the next first: those of the day that the message names, or all."""
        found = await reminders.of(place_of(turn))
        named = on_that_day(turn, found, turn.asked.text)
        lines = [line(turn, each) for each in (found if named is None else named)]
        if asks_for_day(turn.asked.text):
            lines += await _memories_of_day(turn)
        told = lines[:_MAX_LISTED] or [(NONE if named is None else NONE_THEN)[turn.person.locale]]
        if more := len(lines) - _MAX_LISTED if len(lines) > _MAX_LISTED else 0:
            told.append(counted(MORE, turn.person.locale, more))
        return Step(NAME, Outcome.DONE if lines else Outcome.NOTHING, notes=tuple(told))

    return Action(NAME, WHEN, run, status=LOOKING, informs=True, reads=read_list)


async def _memories_of_day(turn: Turn) -> list[str]:
    """Return the memories that name the day which the message names, a line each."""
    now, _ = local_now(turn)
    day = day_in(turn.asked.text, turn, now)
    if day is None:
        return []
    return [f"• {quoted(words)}" for _, words in await dated(turn.memory, day, turn.person.locale)]


LOOKING = text("reminders.actions.looking")
NONE = text("reminders.actions.none")
NONE_THEN = text("reminders.actions.none_then")
MORE = forms("reminders.actions.more")
