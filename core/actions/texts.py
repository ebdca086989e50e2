"""The two texts that end a turn: Finish (T7, *Finalizar*), always enabled, and Question (T8)."""

from __future__ import annotations

from typing import Final

from core.actions.action import Action
from core.actions.proposal import offer_keeping
from core.answering.speech import speak
from core.answering.turn import Turn
from core.dialogue import Outcome, Step, Task

ANSWER: Final = """\
Answer the person now. If they asked something, give the answer, from the memories and the conversation. If something \
was done in this turn's steps, they were told so word for word in the message of which yours is the end: do not \
repeat, count or claim it; if nothing else is left to say, answer just "-". If a step failed, say honestly what could \
not be done."""

ASK: Final = """\
Ask the person, in one or two short sentences, for the information that is missing. \
If there are few possible answers, offer them as a numbered list."""


async def finish(turn: Turn, _: None) -> Step:
    """Answer, or say in short what was done.

    The text is `chat-history: false`, as in document 1: later calls of this turn do not read it, but later turns do
    (decision 1).
    """
    await speak(turn, Task.FINISH, ANSWER, in_history=False)
    turn.answer.add_buttons(offer_keeping(turn))
    return Step(FINISH.name, Outcome.DONE)


async def ask(turn: Turn, _: None) -> Step:
    """Ask the person for missing information; their answer starts the next turn."""
    await speak(turn, Task.QUESTION, ASK, in_history=True)
    return Step(QUESTION.name, Outcome.DONE)


FINISH = Action(
    "Finish",
    "No other action is valid any more: everything was done, or the message only needs an answer.",
    finish,
    ends_cycle=True,
    task=Task.FINISH,
)

QUESTION = Action(
    "Question",
    "Information is missing that only the person can give, and their memory was searched for it in this turn without "
    "success, or the request can be read in several ways.",
    ask,
    ends_cycle=True,
    task=Task.QUESTION,
)
