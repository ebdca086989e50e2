"""The thought cycle: choose an action and run it until one ends the turn (T3)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from core.actions.action import Action
from core.actions.registry import Registry
from core.dialogue import Outcome, Step, Task
from core.errors import BadReply, ContextTooLong
from core.models import choose
from core.text.catalogue import text
from core.turn import Turn

Result = TypeVar("Result")

THINKING = text("common.thinking")

DECIDE = """\
Decide the next action that brings the person's message nearer to what they want, given the conversation and the steps \
already done. Answer with exactly the name of one action, nothing else:
{actions}"""

_log = logging.getLogger(__name__)


async def think(turn: Turn, registry: Registry, *, max_steps: int) -> None:
    """Run the cycle for one message; at most `max_steps` actions, the last of which ends the turn.

    Raises:
        ProviderError: a model failed, and no other action can help.
    """
    turn.actions = tuple(action.info for action in registry.enabled)
    while True:
        started_s = turn.clock.monotonic()
        action = await shortened(turn, partial(_decide, turn, registry, max_steps=max_steps))
        decided_s = turn.clock.monotonic()
        before = len(turn.steps)
        try:
            await shortened(turn, partial(_run, turn, action))
        except BadReply as error:  # nothing was changed: the next decision sees the failed step
            _log.warning("action failed", extra={"action": action.name, "error": str(error)})
            if action.ends_cycle:
                raise
            turn.steps[before:] = [failed(action)]
        close_step(turn, decide_s=decided_s - started_s, run_s=turn.clock.monotonic() - decided_s)
        if action.ends_cycle or turn.awaits_answer:
            return


async def offered(turn: Turn, registry: Registry) -> tuple[Action, ...]:
    """Return the actions that may run next: not one that had the same result twice in a row."""
    in_view = any(action.needs_memory for action in registry.enabled) and bool(await turn.in_view())
    stuck = turn.steps[-1].action if turn.steps and turn.steps[-1].outcome is Outcome.REPEATED else None
    return tuple(
        action
        for action in registry.enabled
        if (turn.remembers or not action.remembers) and (in_view or not action.needs_memory) and action.name != stuck
    )


async def _run(turn: Turn, action: Action) -> None:
    """Ask for the action's arguments, and run it."""
    if action.status is not None:
        await turn.status(action.status[turn.locale])
    await action.run(turn, await action.ask(turn))


async def _decide(turn: Turn, registry: Registry, *, max_steps: int) -> Action:
    await turn.status(THINKING[turn.locale])
    choices = await offered(turn, registry)
    if len(turn.steps) >= max_steps - 1 or len(choices) == 1:
        return registry.fallback
    actions = "\n".join(f"- {action.name}: {action.when}" for action in choices)
    names = [action.name for action in choices]
    prompt = await turn.prompt(Task.DECIDE, DECIDE.format(actions=actions), choices=names)
    try:
        name = await choose(turn.models.heavy, prompt, names)
    except BadReply as error:
        _log.warning("no decision", extra={"error": str(error)})
        turn.steps.append(Step("decision", Outcome.FAILED, detail="the next action could not be decided"))
        return registry.fallback
    return next(action for action in choices if action.name == name)


async def shortened(turn: Turn, work: Callable[[], Awaitable[Result]]) -> Result:
    """Do the work, again with less of the conversation as often as a model finds it too long.

    Repeating an action is safe: it asks a model before it changes anything.
    """
    before = list(turn.steps)
    while True:
        try:
            return await work()
        except ContextTooLong as error:
            if not turn.shorten(error):
                raise
            turn.steps[:] = before


def failed(action: Action) -> Step:
    """Return the step of an action that a model gave unusable arguments."""
    missing = ("",) if action.writes is not None else ()
    detail = "the model's answer could not be used"
    return Step(action.name, Outcome.FAILED, detail=detail, writes=action.writes, missing=missing)


def close_step(turn: Turn, *, decide_s: float, run_s: float) -> None:
    """Add the times to the last step; mark it REPEATED if its result is that of the step before."""
    step = replace(turn.steps[-1], decide_s=decide_s, run_s=run_s)
    if len(turn.steps) > 1 and step.result == turn.steps[-2].result:
        step = replace(step, outcome=Outcome.REPEATED)
    turn.steps[-1] = step
    _log.info("step", extra={"action": step.action, "outcome": step.outcome.value, "run_s": round(run_s, 3)})
