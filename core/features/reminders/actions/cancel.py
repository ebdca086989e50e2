"""ReminderCancel: delete a reminder that the person names, pause it or let it go on; it can be taken back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from core.actions.action import Action
from core.answering.turn import Turn
from core.dialogue import Outcome, Step
from core.features.reminders.actions.saying import line, named_by, say
from core.features.reminders.card import entry
from core.features.reminders.mentions import asks_for_all, asks_to_hold, may_be_about, read_cancel
from core.features.reminders.reminders import Reminder
from core.features.reminders.request import Clearing, Removal
from core.features.reminders.service import Refusal, Reminders
from core.features.reminders.telling import PAUSED_TEXT, REMOVED, RESUMED_TEXT, ReminderNotice, place_of, refused, told
from core.outgoing import Button
from core.text.catalogue import counted, forms, text
from core.text.markdown import quoted
from core.text.unicode import clean

NAME: Final = "ReminderCancel"
_MAX_OFFERED: Final = 8
_MAX_WORDS_CHARS: Final = 200

WHEN = "They want to be reminded no more."

INSTRUCTION = "`which` are their words for the reminder, or its number in the list."


@dataclass(frozen=True)
class Named:
    """The reminder to delete, in words."""

    which: str


def reminder_cancel(reminders: Reminders) -> Action:
    """Return the action, which deletes reminders there."""

    async def run(turn: Turn, named: Named) -> Step:
        """Delete or hold the one that is named, ask which of several, or say that there is none."""
        words = clean(named.which, _MAX_WORDS_CHARS).strip()
        found = await named_by(turn, reminders, words)
        if len(found) > 1 and asks_for_all(turn.asked.text):
            answer = await _all(turn, found)
        elif not found:
            none = NONE if words and not asks_for_all(turn.asked.text) else NONE_SET
            answer = ReminderNotice(none[turn.person.locale].format(words=quoted(words)))
        elif len(found) > 1 or not await _is_asked(turn, words):
            answer = await _which(turn, found)
        else:
            place, held = place_of(turn), asks_to_hold(turn.asked.text)
            if held is None:
                changed, sentence = await reminders.remove(place, found[0].id), REMOVED
            else:
                changed = await reminders.pause(place, found[0].id, paused=held)
                sentence = PAUSED_TEXT if held else RESUMED_TEXT
            if isinstance(changed, Refusal):
                answer = refused(turn, reminders, changed)
            else:
                answer = told(turn, changed, sentence, can_undo=bool(reminders.undo_within))
        return await say(turn, _step(answer), answer)

    return Action(
        NAME,
        WHEN,
        run,
        arguments=Named,
        instruction=INSTRUCTION,
        example='{"which": "..."}',
        status=LOOKING,
        called_for=may_be_about,
        asks=True,
        reads=read_cancel,
    )


async def _all(turn: Turn, found: Sequence[Reminder]) -> ReminderNotice:
    """Store that all are meant, and return the question whether to delete them."""
    locale = turn.person.locale
    asked = Clearing(tuple(each.id for each in found))
    code = await turn.services.confirmations.ask(turn.conversation.thread.conversation, asked)
    lines = [f"- {line(turn, each)}" for each in found[:_MAX_OFFERED]]
    more = [counted(MORE, locale, len(found) - len(lines))] if len(found) > len(lines) else []
    choices = (
        Button(CLEAR[locale], f"/reminders clear {code}", in_place=True),
        Button(KEEP[locale], f"/reminders keep {code}", in_place=True),
    )
    return ReminderNotice("\n".join((CLEAR_ALL[locale].format(count=len(found)), *lines, *more)), choices, asks=True)


async def _is_asked(turn: Turn, words: str) -> bool:
    """Return whether the person asked to delete or hold a reminder, and said which."""
    is_read = read_cancel(turn.asked.text, turn.services.clock.now(), turn.person.locale) is not None
    return (is_read or turn.support.asks_to_delete()) and (not words or await turn.support.has(words, asked=True))


async def _which(turn: Turn, found: Sequence[Reminder]) -> ReminderNotice:
    """Store which reminders are meant, and return the question which of them, with a button for each."""
    shown = found[:_MAX_OFFERED]
    await turn.services.confirmations.ask(
        turn.conversation.thread.conversation, Removal(tuple(each.id for each in shown))
    )
    lines = [f"{number}. {line(turn, each)}" for number, each in enumerate(shown, 1)]
    choices = tuple(
        Button(f"{number}. {entry(each, turn.person.locale).label}", f"/reminders delete {each.id}", in_place=True)
        for number, each in enumerate(shown, 1)
    )
    return ReminderNotice("\n".join((WHICH[turn.person.locale], *lines)), choices, asks=True)


def _step(answer: ReminderNotice) -> Step:
    if answer.reminder is not None:
        return Step(NAME, Outcome.DONE, detail="done; the person was just told this: do not repeat it")
    why = "the person is asked which one; none is deleted before they say" if answer.asks else "none; they were told so"
    return Step(NAME, Outcome.NOTHING, detail=why)


LOOKING = text("reminders.actions.looking")
NONE = text("reminders.actions.none_of_these_words")
NONE_SET = text("reminders.actions.none")
WHICH = text("reminders.actions.which")
CLEAR_ALL = text("reminders.steering.clear_all")
CLEAR = text("reminders.steering.clear")
KEEP = text("reminders.steering.keep")
MORE = forms("reminders.actions.more")
