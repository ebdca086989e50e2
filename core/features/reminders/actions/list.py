"""ReminderList: tell the model, or in limited mode the person, which reminders are set."""

from __future__ import annotations

from typing import Final

from core.actions.action import Action
from core.answering.turn import Turn
from core.dialogue import Outcome, Step
from core.features.preferences.timezone import local_now
from core.features.reminders.actions.saying import day_in, line
from core.features.reminders.agenda import agenda
from core.features.reminders.days import Days
from core.features.reminders.mentions import may_be_about, read_agenda, read_list
from core.features.reminders.service import Reminders
from core.features.reminders.telling import place_of
from core.text.catalogue import counted, forms, text
from core.text.clauses import clauses
from core.text.markdown import plain_times

NAME: Final = "ReminderList"
_MAX_LISTED: Final = 20

WHEN = "They ask which reminders they have."


def reminder_list(reminders: Reminders) -> Action:
    """Return the action, which lists the reminders there."""

    async def run(turn: Turn, _: None) -> Step:
        """Put into the step's notes what the days have in store that the message asks for, or else all reminders.

        Of a day of which only reminders are asked for, those alone.
        """
        now, said = local_now(turn)[0], turn.asked.text
        days = next(filter(None, (read_agenda(said[slice(*each)], now) for each in clauses(said))), None)
        day = None if days is not None else day_in(turn.asked.text, turn, now)
        if shown := days or (Days.of(day.date()) if day is not None else None):
            told = await agenda(turn, reminders, shown, only_reminders=days is None)
            return Step(NAME, Outcome.DONE, notes=tuple(map(plain_times, told)))
        lines = [line(turn, each) for each in await reminders.of(place_of(turn))]
        told = lines[:_MAX_LISTED] or [NONE[turn.person.locale]]
        if more := len(lines) - _MAX_LISTED if len(lines) > _MAX_LISTED else 0:
            told.append(counted(MORE, turn.person.locale, more))
        return Step(NAME, Outcome.DONE if lines else Outcome.NOTHING, notes=tuple(told))

    return Action(NAME, WHEN, run, status=LOOKING, informs=True, called_for=may_be_about, reads=read_list)


LOOKING = text("reminders.actions.looking")
NONE = text("reminders.actions.none")
MORE = forms("reminders.actions.more")
