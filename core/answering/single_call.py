"""Choose in one streamed call, in which the model answers, calls actions as tools, or both."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from core.actions.action import Action
from core.actions.registry import Registry
from core.answering.loop import Call, Choice, Chooser, Offered, Performed
from core.answering.prompting import context_of, labelled, notes_on, profile_lines, profile_of, show_conversation
from core.answering.prompts import build_single, render_notes, render_past, render_steps, repeated, single_forms
from core.answering.speech import Speech
from core.answering.turn import Turn
from core.dialogue import Outcome, Prompt, PromptTurn, Step, Task, Tool, ToolCall, ToolResult
from core.errors import BadReply, EmptyReply, StepwiseOnly
from core.history.conversation import Context
from core.history.quotes import asks
from core.history.withholding import tells_of
from core.models import parsed, schema_of
from core.text.citations import Citations
from core.types import JSONValue, MemoryItem, MessageRole, Modal

STOP: Final = "stop"
_THEN: Final = {"type": "string", "enum": [STOP, "continue"]}
_QUESTION_MARKS: Final = ("?", "？", "؟")
_MAX_TOLD_LATELY: Final = 4


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


@dataclass(slots=True)
class SingleCall(Chooser):
    """Chooses in one call of the chat model."""

    turn: Turn
    registry: Registry

    tools: tuple[Tool, ...]
    """Those of every action that is on, for which each prompt leaves room."""

    _base: Prompt | None = None
    """The prompt before the exchange: the same in all calls of the turn, until the conversation is shortened."""

    _form: int = 0
    """Which of the forms of the prompt is used (`core.answering.prompts.single_forms`)."""

    _shortenings: int = 0
    _exchange: list[PromptTurn] = field(default_factory=list)
    """What the model called so far, with the results."""

    _last: Speech | None = None

    async def fits(self) -> bool:
        """Return whether the prompt leaves room for a conversation in the chat model's window."""
        return await self._fitting_form() is not None

    async def next(self, offered: Offered) -> Choice:
        """Ask the model; its text is shown as it comes, and memories that it cites are recalled."""
        base = await self._shown_once()
        actions = [action for action in await offered() if not action.is_text]
        speech = Speech.begin(self.turn)
        try:
            await self._stream(speech, base, actions)
        except EmptyReply:
            if not self.turn.answer.text:
                raise
            speech = Speech.begin(self.turn)  # our own words are enough
        if speech.calls and not actions:
            if not speech.text.strip() and not self.turn.answer.text:
                raise BadReply(f"{self.turn.services.models.chat.name} did not answer")
            speech.calls.clear()
        self._last = speech
        if not speech.calls:
            return Choice([self._ending(speech)])
        return Choice([self._read(call, actions) for call in speech.calls], speech)

    def learn(self, performed: Sequence[Performed]) -> None:
        """Add the calls and their results to what the next prompt shows."""
        if self._last is not None:
            calls = tuple(self._last.calls)
            results = tuple(map(self._result, calls, performed))
            said = PromptTurn(MessageRole.ASSISTANT, self._last.text, calls, thoughts=self._last.thoughts)
            self._exchange += [said, PromptTurn(MessageRole.USER, "", results=results)]

    async def _stream(self, speech: Speech, base: Prompt, actions: Sequence[Action]) -> None:
        names, shown = {action.name for action in actions}, self.turn.shown
        offered = tuple(tool for tool in self.tools if tool.name in names)
        tools = single_forms(offered)[self._form].tools
        prompt = replace(base, turns=(*base.turns, *self._exchange), tools=tools)
        citations = Citations(shown.labels)
        informing = frozenset(action.name for action in actions if action.informs)
        try:
            await speech.stream(prompt, in_history=False, citations=citations, informing=informing)
        finally:
            await self.turn.answer.recall(shown.labelled.cited(citations.labels))

    def _ending(self, speech: Speech) -> Call:
        """Return the action that ends the turn with that text."""
        is_question = speech.text.rstrip().endswith(_QUESTION_MARKS)
        task = Task.QUESTION if is_question else Task.FINISH
        action = next((each for each in self.registry.enabled if each.task is task), self.registry.fallback)

        async def end() -> Step:
            search, answer = self.turn.search, self.turn.answer
            if search.found and not answer.has_recalled:  # it cites nothing
                await answer.recall([item for item in search.found if tells_of(speech.text, item)])
            await speech.complete(in_history=False, is_question=is_question)
            return Step(action.name, Outcome.DONE)

        return Call(action.name, replace(action, status=None, ends_cycle=True), end)

    def _read(self, call: ToolCall, actions: Sequence[Action]) -> Call:
        action = next((each for each in actions if each.name == call.name), None)
        if action is None:
            return Call(call.name, None, _nothing)
        try:
            arguments, goes_on = read_arguments(action, call.arguments)
        except ValueError as error:
            return Call(call.name, action, _nothing, problem=str(error))
        run = partial(action.run, self.turn, arguments)
        return Call(call.name, action, run, goes_on, key=f"{call.name} {call.arguments}")

    def _result(self, call: ToolCall, performed: Performed) -> ToolResult:
        """Return what came of a call, for the model: why it was not run, or the step and what it found."""
        step = performed.step
        if step is None:
            return ToolResult(call, performed.refusal, failed=True)
        lines = [render_steps((step,)).splitlines()[0].removeprefix("1. ")]
        if step.writes is None:
            lines += [labelled(self.turn, step.items)] if step.items else []
            lines += render_notes(step.notes)
            lines += render_past(step.quotes, self.turn.person.zone)
        elif step.items:
            lines.append("The person was just shown this, word for word: do not repeat it.")
        return ToolResult(call, "\n".join(lines), failed=step.outcome is Outcome.FAILED)

    async def _fitting_form(self) -> int | None:
        return await self.turn.budget.first_fitting([form.text for form in single_forms(self.tools)])

    async def _shown_once(self) -> Prompt:
        """Return the prompt without the exchange, with the memories that the message may need.

        Raises:
            StepwiseOnly: it does not fit the model's window.
        """
        if self._base is None or self._shortenings != self.turn.budget.shortenings:
            fitting = await self._fitting_form()
            if fitting is None:
                raise StepwiseOnly("the window is too small for a single call")
            self._form, self._shortenings = fitting, self.turn.budget.shortenings
            self._base = await self._show()
        return self._base

    async def _show(self) -> Prompt:
        turn, form = self.turn, single_forms(self.tools)[self._form]
        hits = await turn.search.near_message()
        profile = await profile_of(turn)
        found = turn.budget.affordable([hit.item for hit in hits])
        last = "\n".join((*(item.content for item in found), repeated(turn.asked.text)))
        shown = await show_conversation(turn, last, mode="chat", system=form.text)
        found += [item for item in _told_lately(shown) if item not in found]
        blocks = [labelled(turn, found)] if found else []
        about = profile_lines(turn, [item for item in profile if item not in found])
        blocks += render_notes(await notes_on(turn, [turn.asked.text]))
        if asks(turn.asked.text) and (quotes := await turn.search.find_quotes([turn.asked.text], found)):
            said = render_past(quotes, turn.person.zone)
            shown = await show_conversation(turn, "\n".join((last, *said)), mode="chat", system=form.text)
            blocks += said
        context = replace(context_of(turn, Task.SINGLE, shown), profile=about)
        key = blake2b(turn.conversation.thread.id.encode(), digest_size=16).hexdigest()  # ids may name people
        return replace(build_single(context, shown, "\n".join(blocks), form), cache_key=key)


async def _nothing() -> Step:
    raise AssertionError("a call that cannot be read is not performed")


def _told_lately(shown: Context) -> list[MemoryItem]:
    """Return the memories that the last messages told of, without those in a block of the conversation."""
    blocks = {message.memory_id for message in shown.messages if message.modal is Modal.MEMORY}
    return [item for item in shown.memories if item.id not in blocks][-_MAX_TOLD_LATELY:]


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
