"""Finish (T7, *Finalizar*): answer, or say in short what was done. Ends the turn; always enabled."""

from __future__ import annotations

from core.actions.action import Action
from core.actions.offer import offer_keeping
from core.answering.speech import speak
from core.answering.turn import Turn
from core.dialogue import Outcome, Step, Task

NAME = "Finish"

WHEN = "No other action is valid any more: everything was done, or the message only needs an answer."

ANSWER = """\
Answer the person now. If they asked something, give the answer, from the memories and the conversation. If something \
was done in this turn's steps, they were told so word for word in the message of which yours is the end: do not \
repeat, count or claim it; if nothing else is left to say, answer just "-". If a step failed, say honestly what could \
not be done."""


async def run(turn: Turn, _: None) -> Step:
    """Stream the answer and end the turn.

    Its text is `chat-history: false`, as in document 1: later calls of this turn do not read it, but later turns do
    (decision 1).
    """
    await speak(turn, Task.FINISH, ANSWER, in_history=False)
    turn.answer.add_buttons(offer_keeping(turn))
    return Step(NAME, Outcome.DONE)


FINISH = Action(NAME, WHEN, run, ends_cycle=True, task=Task.FINISH)
