"""AnswerLanguage: answer in another language from now on, because the person asked for it in the chat."""

from __future__ import annotations

from dataclasses import dataclass

from core.actions.action import Action
from core.actions.change_report import UNDO
from core.answering.turn import Turn
from core.dialogue import Outcome, Step
from core.features.preferences.language import AUTO, choose_language
from core.features.preferences.store import PreferenceStore
from core.outgoing import Button
from core.text.language import from_tag, spoken
from core.text.language_names import english_name

NAME = "AnswerLanguage"

WHEN = (
    'The person says in which language you are to answer from now on ("answer me in German from now on"). Never for '
    "one text in another language (\"say 'good morning' in German\"), nor because of the language that they write in."
)

INSTRUCTION = f"""\
`language` is the tag of the language that the person wants all answers in, such as "de" or "pt-BR", or "{AUTO}" for \
the language of each message. Only the person's own words count, not those of a quote or a memory."""


@dataclass(frozen=True)
class Choice:
    """The language of answers."""

    language: str


def answer_language(preferences: PreferenceStore) -> Action:
    """Return the action, which stores a person's choice there."""

    async def run(turn: Turn, choice: Choice) -> Step:
        """Store the choice and say what holds from now on; the rest of the turn goes on in that language."""
        before = (await preferences.of(turn.conversation.thread.conversation.user)).language
        if (
            not before
            and from_tag(choice.language) is not None
            and from_tag(choice.language) is spoken(turn.asked.text)
        ):
            detail = "they are answered in the language they write in anyway; nothing was changed"
            return Step(NAME, Outcome.NOTHING, detail=detail)
        told = await choose_language(turn, preferences, choice.language)
        if told is None:
            return Step(NAME, Outcome.NOTHING, detail="no such language is known; nothing was changed")
        language = english_name(turn.person.language) if turn.person.language else "the language of each message"
        detail = f"from now on, this answer included, you write in {language}; the person was told so"
        back = Button(UNDO[turn.person.locale], f"/language {before or AUTO}")
        return await turn.answer.report(Step(NAME, Outcome.DONE, detail=detail), told, (back,))

    return Action(NAME, WHEN, run, arguments=Choice, instruction=INSTRUCTION, example='{"language": "de"}')
