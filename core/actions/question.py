"""Question (T8): ask the person for missing information. Ends the turn; their answer starts the next."""

from __future__ import annotations

from core.actions.action import Action
from core.dialogue import Outcome, Step, Task
from core.turn import Turn

NAME = "Question"

WHEN = (
    "Information is missing that only the person can give, and their memory was searched for it in this turn without "
    "success, or the request can be read in several ways."
)

ASK = """\
Ask the person, in one or two short sentences, for the information that is missing. \
If there are few possible answers, offer them as a numbered list."""


async def run(turn: Turn, _: None) -> None:
    """Stream the question and end the turn."""
    turn.steps.append(Step(NAME, Outcome.DONE))
    await turn.speak(Task.QUESTION, ASK, in_history=True)


QUESTION = Action(NAME, WHEN, run, ends_cycle=True, task=Task.QUESTION)
