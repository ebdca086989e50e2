"""Think a message through: perform what a chooser names, one step after the other, until the turn is over (T3)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, Protocol, TypeAlias, TypeVar

from core import outcomes
from core.actions.action import Action
from core.actions.registry import Registry
from core.answering.prompting import prompt_of
from core.answering.speech import Speech
from core.answering.turn import Turn
from core.dialogue import Outcome, Step, Task, committed
from core.errors import BadReply, ContextTooLong, StepwiseOnly
from core.models import choose
from core.text.catalogue import text

Result = TypeVar("Result")

THINKING: Final = text("common.thinking")

_log = logging.getLogger(__name__)

DECIDE = """\
Decide the next action that brings the person's message nearer to what they want, given the conversation and the steps \
already done. Answer with exactly the name of one action, nothing else:
{actions}"""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Call:
    """A wish to run an action."""

    name: str
    action: Action | None
    """The action; None: none of that name is offered."""

    perform: Callable[[], Awaitable[Step]]
    """Runs the action with its arguments, which a model may be asked for first."""

    goes_on: bool = True
    """Whether the model has more to do after it."""

    key: str = ""
    """The same for the same call; "" if only its result tells."""

    problem: str = ""
    """What is wrong with its arguments."""

    @property
    def asks(self) -> bool:
        """Whether the person may have to agree to it, which ends the turn."""
        return self.action is not None and self.action.asks and not self.problem


@dataclass(frozen=True, slots=True)
class Choice:
    """What is to be done next: at least one call, and a text that stands before them in the answer."""

    calls: Sequence[Call]
    speech: Speech | None = None


@dataclass(frozen=True, slots=True)
class Performed:
    """What came of a call: its step, or why it was not run, for the model."""

    step: Step | None = None
    refusal: str = ""
    goes_on: bool = True


Offered: TypeAlias = Callable[[], Awaitable[Sequence[Action]]]


class Chooser(Protocol):
    """Say what comes next in a turn."""

    async def next(self, offered: Offered) -> Choice:
        """Choose among the actions that `offered` returns, once all that the choice rests on was shown.

        Raises:
            ProviderError: a model failed.
            StepwiseOnly: this chooser cannot go on; `StepByStep` can.
        """

    def learn(self, performed: Sequence[Performed]) -> None:
        """Take note of what came of the calls chosen last, in their order."""


@dataclass(slots=True)
class Loop:
    """One run of the loop for a turn."""

    turn: Turn
    registry: Registry
    max_steps: int
    """The most steps, the last of which is the text that ends the turn."""

    seen: set[str] = field(default_factory=set)
    """The keys of calls that ran."""

    complained: set[str] = field(default_factory=set)
    """The actions whose arguments were unusable once."""

    async def run(self, chooser: Chooser | None = None) -> None:
        """Run until the turn is over, step by step without a `chooser` or where it cannot go on.

        Raises:
            ProviderError: a model failed, and no other action can help.
        """
        chooser = chooser or self._stepwise()
        while True:
            started_s = self.turn.services.clock.monotonic()
            await self.turn.answer.status(THINKING[self.turn.person.locale])
            try:
                choice = await self._shortened(partial(chooser.next, self._offered))
            except StepwiseOnly as error:
                _log.info("%s", error)
                chooser, self.turn.is_single = self._stepwise(), False
                continue
            performed = await self._perform_all(choice, self.turn.services.clock.monotonic() - started_s)
            if performed is None:
                return
            chooser.learn(performed)

    def _stepwise(self) -> Chooser:
        return StepByStep(self.turn, self.registry.fallback)

    async def _offered(self) -> Sequence[Action]:
        """Return the actions that may run next: in the last step the fallback; never one that has just repeated."""
        steps, remembers = self.turn.log.steps, self.turn.person.remembers
        if self._is_last:
            return (self.registry.fallback,)
        in_view = any(each.needs_memory for each in self.registry.enabled) and bool(await self.turn.search.in_view())
        stuck = steps[-1].action if steps and steps[-1].outcome is Outcome.REPEATED else None
        return tuple(
            each
            for each in self.registry.enabled
            if (remembers or not each.remembers) and (in_view or not each.needs_memory) and each.name != stuck
        )

    @property
    def _is_last(self) -> bool:
        return len(self.turn.log.steps) >= self.max_steps - 1

    async def _perform_all(self, choice: Choice, decide_s: float) -> Sequence[Performed] | None:
        """Perform the calls, those last that ask the person; return what came of each, or None if the turn is over."""
        log, answer, speech = self.turn.log, self.turn.answer, choice.speech
        before, complained = committed(log.steps), frozenset(self.complained)
        ordered = sorted(choice.calls, key=lambda call: call.asks)
        if speech is not None and ordered[-1].asks:  # the turn ends with the question
            await speech.complete(in_history=True, goes_on=True)
        is_ending = not any(call.goes_on for call in ordered)
        done: dict[int, Performed] = {}
        is_asked = is_over = False
        for call in ordered:
            answer.is_ending = is_ending and call is ordered[-1]
            try:
                if is_asked:
                    done[id(call)] = await self._leave_undone(call)
                    continue
                performed = done[id(call)] = await self._perform(call, decide_s, complained)
            finally:
                answer.is_ending = False
            is_asked = performed.step is not None and performed.step.asks
            is_over |= performed.step is not None and call.action is not None and call.action.ends_cycle
        if is_asked or is_over:
            return None
        is_over = bool(answer.text) and not any(each.goes_on for each in done.values())
        if speech is not None and not ordered[-1].asks:
            told = committed(log.steps) != before
            await speech.complete(in_history=not is_over, told=told, goes_on=not is_over)
        return None if is_over else [done[id(call)] for call in choice.calls]

    async def _perform(self, call: Call, decide_s: float, complained: frozenset[str]) -> Performed:
        action, log = call.action, self.turn.log
        if action is None:
            self._add(Step("unknown action", Outcome.FAILED, detail="there is no such action now"), decide_s)
            return Performed(refusal=f"There is no tool {call.name!r} now.")
        if self._is_last and not action.ends_cycle:
            return Performed(refusal="Not done: too many calls in one turn. Tell the person so.")
        if call.problem:
            return self._complain(call, action, decide_s, again=action.name in complained)
        if call.key in self.seen:
            self._add(Step(action.name, Outcome.REPEATED, detail="the same call as before"), decide_s)
            return Performed(refusal="not run: this was done already in this turn")
        self.seen |= {call.key} - {""}
        before, started_s = len(log.steps), self.turn.services.clock.monotonic()
        try:
            if action.status is not None:
                await self.turn.answer.status(action.status[self.turn.person.locale])
            step = await self._shortened(call.perform)
        except BadReply as error:  # nothing was changed: the next choice sees the failed step
            _log.warning("action failed", extra={"action": action.name, "error": str(error)})
            if action.ends_cycle:
                raise
            del log.steps[before:]
            step = failed(action)
        step = self._add(step, decide_s, self.turn.services.clock.monotonic() - started_s)
        goes_on = call.goes_on or step.outcome in {Outcome.FAILED, Outcome.REPEATED} or bool(step.missing)
        return Performed(step, goes_on=goes_on)

    def _complain(self, call: Call, action: Action, decide_s: float, *, again: bool) -> Performed:
        """Name what is wrong with the arguments; if the model was told so before, record that the action failed."""
        _log.warning("unusable arguments", extra={"action": action.name})
        self.complained.add(action.name)
        if again:
            self._add(failed(action), decide_s)
            return Performed(refusal=f"{call.problem}. This was not done: tell the person so.")
        return Performed(refusal=f"The arguments do not fit ({call.problem}). Nothing was done. Call it again.")

    async def _leave_undone(self, call: Call) -> Performed:
        """Say that a call is not run, as the turn ends with a question to the person."""
        if call.action is not None and call.action.writes is not None:
            person = self.turn.person
            told = outcomes.not_done(call.action.writes, (), person.locale, some=False, remembers=person.remembers)
            await self.turn.answer.say(told, in_history=True)
        return Performed(refusal="not run: the person has to answer a question first", goes_on=False)

    def _add(self, step: Step, decide_s: float, run_s: float = 0.0) -> Step:
        """Add the step with its times; mark it REPEATED if its result is that of the step before."""
        steps = self.turn.log.steps
        self.turn.log.add(step)
        step = replace(step, decide_s=decide_s, run_s=run_s)
        if len(steps) > 1 and step.result == steps[-2].result:
            step = replace(step, outcome=Outcome.REPEATED)
        steps[-1] = step
        _log.info("step", extra={"action": step.action, "outcome": step.outcome.value, "run_s": round(run_s, 3)})
        return step

    async def _shortened(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """Do the work, again with less of the conversation as often as a model finds it too long.

        Repeating an action is safe: it asks a model before it changes anything.
        """
        log, before = self.turn.log, list(self.turn.log.steps)
        while True:
            try:
                return await work()
            except ContextTooLong as error:
                if not self.turn.budget.shorten(error, self.turn.asked.tokens):
                    raise
                log.steps[:] = before


def failed(action: Action) -> Step:
    """Return the step of an action that a model gave unusable arguments."""
    missing = ("",) if action.writes is not None else ()
    detail = "the model's answer could not be used"
    return Step(action.name, Outcome.FAILED, detail=detail, writes=action.writes, missing=missing)


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
