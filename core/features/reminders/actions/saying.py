"""What the actions on reminders share: to say what became of one, a line on each, and those of a day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from core.answering.turn import Turn
from core.dialogue import Step
from core.features.preferences.timezone import local_now
from core.features.reminders import card
from core.features.reminders.days import Days
from core.features.reminders.planned import due_within
from core.features.reminders.reminders import Reminder
from core.features.reminders.request import QUESTIONS
from core.features.reminders.service import Reminders
from core.features.reminders.telling import ReminderNotice, place_of
from core.text.markdown import plain_times
from core.text.replies import numbered
from core.text.words import FUNCTION_WORDS, folded_words, same
from core.times.grammar import find_time
from core.times.reading import Once, Past, Recurrence, Unclear


async def say(turn: Turn, step: Step, answer: ReminderNotice) -> Step:
    """Say the answer in our own words, and return the step; a question ends the turn."""
    try:
        step = await turn.answer.report(replace(step, asks=answer.asks), answer.text, answer.choices)
        if answer.asks:
            await turn.answer.complete()
            await turn.answer.view.flush()
    except BaseException:  # nobody can answer what was not shown
        await turn.services.confirmations.drop(turn.conversation.thread.conversation, *QUESTIONS)
        raise
    return step


def line(turn: Turn, reminder: Reminder) -> str:
    """Return a reminder on one line: its words, and when it is due."""
    return plain_times(card.line(reminder, local_now(turn)[0], turn.person.locale))


async def on_that_day(turn: Turn, found: Sequence[Reminder], words: str) -> Sequence[Reminder] | None:
    """Return those of the reminders that are due on the day which the words name; None if they name none."""
    now, _ = local_now(turn)
    day = day_in(words, turn, now)
    return None if day is None else await due_within(found, now, Days.of(day.date()))


async def named_by(turn: Turn, reminders: Reminders, words: str) -> Sequence[Reminder]:
    """Return the reminders that the words name: by number, by their own words, or by the day they are due."""
    place = place_of(turn)
    every = await reminders.of(place)
    if not words:
        return every
    if (numbers := numbered(words, len(every))) is not None:
        return [every[at] for at in numbers]
    matching = await reminders.matching(place, words)
    on_day = await on_that_day(turn, every, words)
    if matching and on_day and (both := [each for each in matching if each in on_day]):
        return _best(both, words)
    return _best(matching, words) or on_day or ()


def _best(found: Sequence[Reminder], words: str) -> Sequence[Reminder]:
    """Return those that share the most words with what was said."""
    wanted = set(folded_words(words)) - FUNCTION_WORDS
    scores = [sum(any(same(word, own) for own in folded_words(each.named_by)) for word in wanted) for each in found]
    return [each for each, score in zip(found, scores, strict=True) if score == max(scores)]


def day_in(words: str, turn: Turn, now: datetime) -> datetime | None:
    """Return an instant on the day that the words name, or None."""
    found = find_time(words, now, turn.person.locale) if words else None
    match found.time if found is not None else None:
        case Once(at) | Past(at) | Unclear((Once(at), *_)) | Recurrence(_, at):
            return at.astimezone(now.tzinfo)
    return None
