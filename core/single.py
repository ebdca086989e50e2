"""The single-call cycle: one streamed call answers and calls actions as tools; others follow only if needed."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from core import outcomes
from core.actions.action import Action
from core.actions.registry import Registry
from core.cycle import close_step, failed, offered, shortened
from core.dialogue import Outcome, PromptTurn, Step, Task, Tool, ToolCall, ToolResult, committed
from core.errors import BadReply, EmptyReply
from core.models import parsed, schema_of
from core.text.catalogue import text
from core.turn import Reply, Turn
from core.types import JSONValue, MessageRole

THINKING: Final = text("common.thinking")

STOP: Final = "stop"
_THEN: Final = {"type": "string", "enum": [STOP, "continue"]}
_QUESTION_MARKS: Final = ("?", "？", "؟")

_log = logging.getLogger(__name__)


def tool_of(action: Action) -> Tool:
    """Return the action as a tool: its arguments, and what is to come after it (`then`)."""
    whole, brief = (_with_then(action, brief=brief) for brief in (False, True))
    return Tool(action.name, f"{action.when}\n{action.instruction}".strip(), whole, brief)


def _with_then(action: Action, *, brief: bool) -> dict[str, JSONValue]:
    schema: dict[str, Any] = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    if action.arguments is not None:
        schema = dict(schema_of(action.arguments, brief=brief))
    schema["properties"] = {**schema["properties"], "then": _THEN}
    schema["required"] = [*schema["required"], "then"]
    return schema


def tools_of(registry: Registry) -> tuple[Tool, ...]:
    """Return every action that is on and is no text as a tool."""
    return tuple(tool_of(action) for action in registry.enabled if not action.is_text)


async def fits(turn: Turn, registry: Registry) -> bool:
    """Return whether the prompt of this cycle leaves room for a conversation in the chat model's window."""
    return await turn.form_that_fits(tools_of(registry)) is not None


async def think(turn: Turn, registry: Registry, *, max_steps: int) -> None:
    """Run the cycle for one message; at most `max_steps` actions, the last of which is the text that ends the turn.

    Raises:
        ProviderError: the model failed.
    """
    turn.actions = tuple(action.info for action in registry.enabled)
    turn.is_single = True
    if turn.prefetch is None:
        turn.begin_prefetch()
    run = _Run(turn, registry, max_steps, tools_of(registry))
    try:
        while not await run.next():
            pass
    finally:
        if turn.prefetch is not None:
            await turn.prefetch.close()


@dataclass(slots=True)
class _Run:
    """One run of the cycle: what the model called so far, and what came of it."""

    turn: Turn
    registry: Registry
    max_steps: int
    tools: tuple[Tool, ...]
    exchange: list[PromptTurn] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    """The calls that ran."""

    complained: set[str] = field(default_factory=set)
    """The actions whose arguments were unusable once."""

    async def next(self) -> bool:
        """Ask the model once, and run what it calls; return whether the turn is over."""
        turn, asked_s = self.turn, self.turn.clock.monotonic()
        await turn.status(THINKING[turn.locale])
        try:
            reply, actions = await shortened(turn, self._ask)
        except EmptyReply:
            if not turn.has_said:
                raise
            reply, actions = Reply(turn.begin_text()), []  # our own words are enough
        ask_s = turn.clock.monotonic() - asked_s
        if not reply.calls:
            await self._end(reply, ask_s)
            return True
        return await self._run(reply, [_read(call, actions) for call in reply.calls], ask_s)

    async def _run(self, reply: Reply, calls: Sequence[_Call], ask_s: float) -> bool:
        """Run the calls of one answer, those last that ask the person; return whether the turn is over."""
        turn, before, complained = self.turn, committed(self.turn.steps), frozenset(self.complained)
        ordered = sorted(calls, key=lambda each: each.asks)
        if ordered[-1].asks:  # the turn ends with the question
            await turn.end_text(reply.text, in_history=True, goes_on=True)
        is_ending = not any(each.goes_on for each in calls)
        done: dict[str, tuple[ToolResult, bool]] = {}
        for each in ordered:
            turn.is_ending = is_ending and each is ordered[-1]
            try:
                done[each.call.id] = await self._run_one(each, complained, ask_s)
            finally:
                turn.is_ending = False
        if turn.awaits_answer:
            return True
        is_over = turn.has_said and not any(goes_on for _, goes_on in done.values())
        told = committed(turn.steps) != before
        if not ordered[-1].asks:
            await turn.end_text(reply.text, in_history=not is_over, told=told, goes_on=not is_over)
        if is_over:
            return True
        said = PromptTurn(MessageRole.ASSISTANT, reply.text.text, tuple(reply.calls), thoughts=reply.thoughts)
        results = tuple(done[each.call.id][0] for each in calls)
        self.exchange += [said, PromptTurn(MessageRole.USER, "", results=results)]
        return False

    async def _ask(self) -> tuple[Reply, Sequence[Action]]:
        """Ask the model, and return what it answers with the actions that it was offered; none in the last step."""
        turn = self.turn
        await turn.look_up(self.tools)
        is_last = len(turn.steps) >= self.max_steps - 1
        actions = [] if is_last else [each for each in await offered(turn, self.registry) if not each.is_text]
        names = {action.name for action in actions}
        informing = frozenset(action.name for action in actions if action.informs)
        reply = await turn.ask([tool for tool in self.tools if tool.name in names], self.exchange, informing)
        if is_last and reply.calls:
            if not reply.text.text.strip() and not turn.has_said:
                raise BadReply(f"{turn.models.chat.name} did not answer")
            reply.calls.clear()  # nothing was offered
        return reply, actions

    async def _end(self, reply: Reply, ask_s: float) -> None:
        """Record the text as the action that ends the turn."""
        is_question = reply.text.text.rstrip().endswith(_QUESTION_MARKS)
        task = Task.QUESTION if is_question else Task.FINISH
        action = next((each for each in self.registry.enabled if each.task is task), self.registry.fallback)
        self.turn.steps.append(Step(action.name, Outcome.DONE))
        close_step(self.turn, decide_s=ask_s, run_s=0.0)
        await self.turn.recall_told(reply.text.text)
        await self.turn.end_text(reply.text, in_history=False, is_question=is_question)

    async def _run_one(self, each: _Call, complained: Collection[str], ask_s: float) -> tuple[ToolResult, bool]:
        """Run one call; return its result for the model, and whether the model has to go on after it."""
        turn, call, action = self.turn, each.call, each.action
        if action is None:
            self._record(Step("unknown action", Outcome.FAILED, detail="there is no such action now"), ask_s)
            return ToolResult(call, f"There is no tool {call.name!r} now.", failed=True), True
        if turn.awaits_answer:
            await self._tell_undone(action)
            return ToolResult(call, "not run: the person has to answer a question first", failed=True), False
        if len(turn.steps) >= self.max_steps - 1:
            return ToolResult(call, "Not done: too many calls in one turn. Tell the person so.", failed=True), True
        if each.problem:
            return self._complain(each, action, ask_s, again=action.name in complained), True
        key = f"{call.name} {call.arguments}"
        if key in self.seen:
            self._record(Step(action.name, Outcome.REPEATED, detail="the same call as before"), ask_s)
            return ToolResult(call, "not run: this was done already in this turn", failed=True), True
        self.seen.add(key)
        before, started_s = len(turn.steps), turn.clock.monotonic()
        try:
            if action.status is not None:
                await turn.status(action.status[turn.locale])
            await action.run(turn, each.arguments)
        except BadReply as error:
            _log.warning("action failed", extra={"action": action.name, "error": str(error)})
            turn.steps[before:] = [failed(action)]
        close_step(turn, decide_s=ask_s, run_s=turn.clock.monotonic() - started_s)
        step = turn.steps[-1]
        goes_on = each.goes_on or step.outcome in {Outcome.FAILED, Outcome.REPEATED} or bool(step.missing)
        return ToolResult(call, turn.result_text(step), failed=step.outcome is Outcome.FAILED), goes_on

    async def _tell_undone(self, action: Action) -> None:
        """Say that a call was not run, as the turn ends with a question to the person."""
        if action.writes is not None:
            told = outcomes.not_done(action.writes, (), self.turn.locale, some=False, remembers=self.turn.remembers)
            await self.turn.say(told, in_history=True)

    def _complain(self, each: _Call, action: Action, ask_s: float, *, again: bool) -> ToolResult:
        """Name what is wrong with the arguments; if the model was told so before, record that the action failed."""
        _log.warning("unusable arguments", extra={"action": action.name})
        self.complained.add(action.name)
        if again:
            self._record(failed(action), ask_s)
            return ToolResult(each.call, f"{each.problem}. This was not done: tell the person so.", failed=True)
        text = f"The arguments do not fit ({each.problem}). Nothing was done. Call it again."
        return ToolResult(each.call, text, failed=True)

    def _record(self, step: Step, ask_s: float) -> None:
        self.turn.steps.append(step)
        close_step(self.turn, decide_s=ask_s, run_s=0.0)


@dataclass(frozen=True, slots=True)
class _Call:
    """A call as it was read: its action (None: there is none) and arguments, or the problem with them."""

    call: ToolCall
    action: Action | None = None
    arguments: Any = None
    goes_on: bool = True
    problem: str = ""

    @property
    def asks(self) -> bool:
        """Whether the person may have to agree to it, which ends the turn."""
        return self.action is not None and self.action.asks and not self.problem


def _read(call: ToolCall, actions: Sequence[Action]) -> _Call:
    action = next((each for each in actions if each.name == call.name), None)
    if action is None:
        return _Call(call)
    try:
        arguments, goes_on = read_arguments(action, call.arguments)
    except ValueError as error:
        return _Call(call, action, problem=str(error))
    return _Call(call, action, arguments, goes_on)


def read_arguments(action: Action, written: str) -> tuple[Any, bool]:
    """Return the arguments of a call as the action takes them, and whether the model wants to go on after it.

    Raises:
        ValueError: they are no JSON, or do not fit; the text says what is wrong, without the values.
    """
    try:
        value = json.loads(written or "{}")
    except RecursionError:
        raise ValueError("nested too deep") from None
    except ValueError:
        raise ValueError("this is not JSON") from None
    then = value.pop("then", None) if isinstance(value, dict) else None
    goes_on = action.informs or then not in {STOP, None}
    if action.arguments is None:
        return None, goes_on
    try:
        return TypeAdapter(action.arguments).validate_python(parsed(value, action.arguments)), goes_on
    except ValidationError as error:
        raise ValueError("; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:3])) from None
