"""What the actions on reminders share: to say what became of one, and a line on each for models and lists."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from core.dialogue import Step
from core.features.reminders.reminders import Reminder, State
from core.features.reminders.telling import Told, Wish, local_now, when
from core.text.catalogue import text
from core.text.markdown import plain_times
from core.text.unicode import one_line
from core.times.grammar import find_time
from core.times.reading import Once, Past, Repeated, Unclear
from core.turn import Turn
from core.types import Localized

_MAX_TEXT_CHARS = 120


async def say(turn: Turn, step: Step, answer: Told) -> None:
    """Record the step, and say the answer in our own words; a question ends the turn."""
    if not answer.asks:
        await turn.confirm(step, answer.text, answer.choices)
        return
    try:
        await turn.confirm(step, answer.text, answer.choices)
        await turn.finish()
        await turn.view.flush()
    except BaseException:  # nobody can answer what was not shown
        await turn.confirmations.drop(turn.conversation.thread.conversation, Wish)
        raise
    turn.awaits_answer = True


def line(turn: Turn, reminder: Reminder) -> str:
    """Return a reminder on one line: its words, and when it is due next."""
    state = STATES.get(reminder.state)
    due = plain_times(when(reminder, turn.clock.now(), turn.locale))
    told = f"⏰ {one_line(reminder.text, _MAX_TEXT_CHARS) or BRIEFING[turn.locale]} — {due}"
    return told if state is None else f"{told} ({state[turn.locale]})"


def on_that_day(turn: Turn, found: Sequence[Reminder], words: str) -> Sequence[Reminder] | None:
    """Return those of the reminders that are due next on the day which the words name; None if they name none."""
    now, _ = local_now(turn)
    day = _day(words, turn, now)
    if day is None:
        return None
    begin = day.replace(hour=0, minute=0, second=0, microsecond=0)
    end = begin + timedelta(days=1)  # by the clock on the wall, as both have one zone
    return [each for each in found if each.due is not None and begin <= each.due.astimezone(now.tzinfo) < end]


def _day(words: str, turn: Turn, now: datetime) -> datetime | None:
    found = find_time(words, now, turn.locale) if words else None
    match found.time if found is not None else None:
        case Once(at) | Past(at) | Unclear((Once(at), *_)) | Repeated(_, at):
            return at
    return None


BRIEFING = text("reminders.actions.briefing")
STATES: dict[State, Localized] = {
    State.PAUSED: text("reminders.actions.paused"),
    State.FAILED: text("reminders.actions.failed"),
}
