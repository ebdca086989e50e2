"""Choose step by step: the heavy model names an action, then the reasoning model gives its arguments (ADR 16)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from core.actions.action import Action
from core.answering.loop import Call, Choice, Chooser, Offered, Performed
from core.answering.prompting import prompt_of
from core.answering.turn import Turn
from core.dialogue import Outcome, Step, Task
from core.errors import BadReply
from core.models import choose

DECIDE = """\
Decide the next action that brings the person's message nearer to what they want, given the conversation and the steps \
already done. Answer with exactly the name of one action, nothing else:
{actions}"""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class StepByStep(Chooser):
    """Chooses one action at a time. What came of the last one it reads in the next prompt."""

    turn: Turn
    fallback: Action

    async def next(self, offered: Offered) -> Choice:
        """Let the heavy model choose, if there is a choice."""
        action = await self._decide(await offered())
        return Choice([Call(action.name, action, partial(self._perform, action))])

    def learn(self, performed: Sequence[Performed]) -> None:
        """Do nothing: the steps are in every prompt."""

    async def _decide(self, choices: Sequence[Action]) -> Action:
        if len(choices) == 1:
            return self.fallback
        actions = "\n".join(f"- {action.name}: {action.when}" for action in choices)
        names = [action.name for action in choices]
        prompt = await prompt_of(self.turn, Task.DECIDE, DECIDE.format(actions=actions), choices=names)
        try:
            name = await choose(self.turn.services.models.heavy, prompt, names)
        except BadReply as error:
            _log.warning("no decision", extra={"error": str(error)})
            detail = "the next action could not be decided"
            self.turn.log.add(Step("decision", Outcome.FAILED, detail=detail))
            return self.fallback
        return next(action for action in choices if action.name == name)

    async def _perform(self, action: Action) -> Step:
        return await action.run(self.turn, await action.ask(self.turn))
