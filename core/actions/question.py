"""Question (T8): ask the person for missing information. Ends the turn; their answer starts the next."""

from __future__ import annotations

from core.actions.action import Action
from core.answering.speech import speak
from core.answering.turn import Turn
from core.dialogue import Outcome, Step, Task

NAME = "Question"

WHEN = (
    "Information is missing that only the person can give, and their memory was searched for it in this turn without "
    "success, or the request can be read in several ways."
)

ASK = """\
Ask the person, in one or two short sentences, for the information that is missing. \
If there are few possible answers, offer them as a numbered list."""


async def run(turn: Turn, _: None) -> Step:
    """Stream the question and end the turn."""
    await speak(turn, Task.QUESTION, ASK, in_history=True)
    return Step(NAME, Outcome.DONE)


QUESTION = Action(NAME, WHEN, run, ends_cycle=True, task=Task.QUESTION)
