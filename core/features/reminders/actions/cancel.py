"""ReminderCancel: delete a reminder that the person names; it can be taken back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from core.actions.action import Action
from core.dialogue import Outcome, Step
from core.features.reminders.actions.saying import line, on_that_day, say
from core.features.reminders.asked import Removal
from core.features.reminders.mentions import read_cancel
from core.features.reminders.reminders import Reminder
from core.features.reminders.service import Refusal, Reminders
from core.features.reminders.telling import REMOVED, Told, place_of, refused, told
from core.memory.search import same
from core.outgoing import Button
from core.text.catalogue import text
from core.text.markdown import quoted
from core.text.replies import numbered
from core.text.unicode import clean, one_line
from core.text.words import FUNCTION_WORDS, folded_words
from core.turn import Turn

NAME: Final = "ReminderCancel"
_MAX_OFFERED: Final = 8
_MAX_LABEL_CHARS: Final = 40
_MAX_WORDS_CHARS: Final = 200

WHEN = "They want to be reminded no more."

INSTRUCTION = "`which` are their words for the reminder, or its number in the list."


@dataclass(frozen=True)
class Named:
    """The reminder to delete, in words."""

    which: str


def reminder_cancel(reminders: Reminders) -> Action:
    """Return the action, which deletes reminders there."""

    async def run(turn: Turn, named: Named) -> None:
        """Delete the one that is named, ask which of several, or say that there is none."""
        words = clean(named.which, _MAX_WORDS_CHARS).strip()
        found = await _found(turn, reminders, words)
        if not found:
            answer = Told(NONE[turn.locale].format(words=quoted(words)))
        elif len(found) > 1:
            answer = await _which(turn, found)
        else:
            removed = await reminders.remove(place_of(turn), found[0].id)
            can_undo = bool(reminders.undo_within)
            if isinstance(removed, Refusal):
                answer = refused(turn, reminders, removed)
            else:
                answer = told(turn, removed, REMOVED, can_undo=can_undo)
        await say(turn, _step(answer), answer)

    return Action(
        NAME,
        WHEN,
        run,
        arguments=Named,
        instruction=INSTRUCTION,
        example='{"which": "..."}',
        status=LOOKING,
        asks=True,
        reads=read_cancel,
    )


async def _found(turn: Turn, reminders: Reminders, words: str) -> Sequence[Reminder]:
    """Return the reminders that the words name: by number, by their own words, or by the day they are due."""
    place = place_of(turn)
    every = await reminders.of(place)
    if not words:
        return every
    if (numbers := numbered(words, len(every))) is not None:
        return [every[at] for at in numbers]
    matching = await reminders.matching(place, words)
    on_day = on_that_day(turn, every, words)
    if matching and on_day and (both := [each for each in matching if each in on_day]):
        return _best(both, words)
    return _best(matching, words) or on_day or ()


def _best(found: Sequence[Reminder], words: str) -> Sequence[Reminder]:
    """Return those that share the most words with what was said."""
    wanted = set(folded_words(words)) - FUNCTION_WORDS
    scores = [sum(any(same(word, own) for own in folded_words(each.text)) for word in wanted) for each in found]
    return [each for each, score in zip(found, scores, strict=True) if score == max(scores)]


async def _which(turn: Turn, found: Sequence[Reminder]) -> Told:
    """Store which reminders are meant, and return the question which of them, with a button for each."""
    shown = found[:_MAX_OFFERED]
    await turn.confirmations.ask(turn.conversation.thread.conversation, Removal(tuple(each.id for each in shown)))
    lines = [f"{number}. {line(turn, each)}" for number, each in enumerate(shown, 1)]
    choices = tuple(
        Button(f"{number}. {one_line(each.text, _MAX_LABEL_CHARS)}", f"/reminders delete {each.id}", in_place=True)
        for number, each in enumerate(shown, 1)
    )
    return Told("\n".join((WHICH[turn.locale], *lines)), choices, asks=True)


def _step(answer: Told) -> Step:
    if answer.reminder is not None:
        return Step(NAME, Outcome.DONE, detail="deleted; the person was just told this: do not repeat it")
    why = "the person is asked which one; none is deleted before they say" if answer.asks else "none; they were told so"
    return Step(NAME, Outcome.NOTHING, detail=why)


LOOKING = text("reminders.actions.looking")
NONE = text("reminders.actions.none_of_these_words")
WHICH = text("reminders.actions.which")
