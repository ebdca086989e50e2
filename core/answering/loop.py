"""Think a message through: perform what a chooser names, one step after the other, until the turn is over (T3)."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import chain
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from pydantic import ValidationError

from core.actions.action import Action, Registry
from core.actions.proposal import offer_saving, open_offers
from core.actions.things import own_draft
from core.answering import outcomes
from core.answering.prompting import (
    build_single,
    context_of,
    labelled,
    notes_on,
    on_memory,
    profile_lines,
    profile_of,
    prompt_of,
    render_notes,
    render_past,
    render_steps,
    repeated,
    show_conversation,
    single_forms,
    with_pictures,
)
from core.answering.shown import MAX_MESSAGES, room_talk
from core.answering.speech import Speech
from core.answering.turn import Heard, Turn
from core.dialogue import Outcome, Prompt, PromptTurn, Step, Task, Tool, ToolCall, ToolResult, committed
from core.enclosures import QuoteKind
from core.errors import BadReply, ContextTooLong, EmptyReply, StepwiseOnly
from core.history.conversation import Context
from core.history.rendering import asks
from core.history.withholding import tells
from core.models import Cycle, adapter_of, choose, parsed, problems_of, schema_of
from core.text.catalogue import text
from core.text.language import is_foreign
from core.text.marks import Citations
from core.text.pointing import points_only
from core.types import ChangeKind, JSONValue, MemoryItem, MessageRole, Modal

Result = TypeVar("Result")

THINKING: Final = text("common.thinking")
_LIKE_FAILURES: Final = 2
_VAIN: Final = "in vain"
"""Any manner of coming to nothing."""

_LIKE: Final = {Outcome.NOTHING.value: 3, _VAIN: 3}
"""How often an action may do so in these manners."""


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

    failures: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How many choices failed, by action and manner: the second like failure ends the turn with what it has.

    So does the third that came to nothing in any manner.
    """

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
        off = {info.name for info in self.turn.services.actions if not info.is_on}
        if self._is_last:
            return (self.registry.fallback,)
        in_view = await self.turn.search.may_be_meant() if any(each.needs for each in self.registry.enabled) else ()
        stuck = steps[-1].action if steps and steps[-1].outcome is Outcome.REPEATED else None
        return tuple(
            each
            for each in self.registry.enabled
            if (remembers or not each.remembers)
            and (each.needs is None or any(map(each.needs, in_view)))
            and each.name not in {stuck, *off}
        )

    @property
    def _is_last(self) -> bool:
        is_stuck = any(count >= _LIKE.get(how, _LIKE_FAILURES) for (_, how), count in self.failures.items())
        return is_stuck or len(self.turn.log.steps) >= self.max_steps - 1

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
        failures = {(self._known_name(call), _failure(done[id(call)])) for call in ordered}
        if not self.turn.answer.is_limited:  # its steps are as many as the parts of a message
            self.failures.update((name, manner) for name, how in failures if how for manner in (how, _VAIN))
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
            self.failures[action.name, _failure(Performed(step))] += 1  # it was asked for twice
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

    def _known_name(self, call: Call) -> str:
        """Return the name of the action that a call is for; "" if there is none, whatever name a model made up."""
        return call.name if any(each.name == call.name for each in self.registry.enabled) else ""

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


def _failure(performed: Performed) -> str:
    """Return in which manner a call failed; "" if it did not."""
    if performed.step is None:
        return "refused"
    return "" if performed.step.outcome is Outcome.DONE else performed.step.outcome.value


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
        """Let the heavy model choose, if there is a choice; limited mode tells first what it can tell already."""
        actions = await offered()
        action = await self._decide(actions)
        may_ask = action.asks or action.writes is ChangeKind.SAVED
        speech = await self._before(actions) if may_ask and self.turn.services.models.is_limited else None
        return Choice([Call(action.name, action, partial(self._perform, action))], speech)

    def learn(self, performed: Sequence[Performed]) -> None:
        """Do nothing: the steps are in every prompt."""

    async def _decide(self, choices: Sequence[Action]) -> Action:
        steps = self.turn.log.steps
        if len(choices) == 1 or (steps and steps[-1].suffices):
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

    async def _before(self, choices: Sequence[Action]) -> Speech | None:
        """Return what stands in the answer before an action that may end the turn with a question; None for nothing."""
        prompt = await prompt_of(self.turn, Task.FINISH, "", choices=[action.name for action in choices])
        speech = Speech.begin(self.turn)
        try:
            await speech.stream(prompt, in_history=True)
        except EmptyReply:
            return None
        return speech

    async def _perform(self, action: Action) -> Step:
        return await action.run(self.turn, await action.ask(self.turn))


STOP: Final = "stop"
_THEN: Final = {"type": "string", "enum": [STOP, "continue"]}
_QUESTION_MARKS: Final = ("?", "？", "؟")
_MAX_TOLD_LATELY: Final = 4
_KEPT_CALLS: Final = 1_024


def tool_of(action: Action) -> Tool:
    """Return the action as a tool: its arguments, and what is to come after it (`then`).

    After one that informs the model goes on anyway: only one that is told in words is asked, as all calls are alike.
    """
    whole, brief = (_with_then(action, brief=brief) for brief in (False, True))
    return Tool(action.name, f"{action.when}\n{action.instruction}".strip(), whole, brief)


def _with_then(action: Action, *, brief: bool) -> dict[str, JSONValue]:
    schema: dict[str, Any] = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    if action.arguments is not None:
        schema = dict(schema_of(action.arguments, brief=brief))
    rest = {name: each for name, each in schema["properties"].items() if name != "then"}
    then = {"then": _THEN} if brief or not action.informs else {}
    return schema | {"properties": rest | then, "required": [*rest, *then]}


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

    _called_for: frozenset[str] = frozenset()
    """The names of the tools that what is shown calls for: once it does, they stay until it is shown no more."""

    _form: int = 0
    """Which of the forms of the prompt is used (`core.answering.prompting.single_forms`)."""

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
        offered = tuple(tool for tool in self.tools if tool.name in names & self._called_for)
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
                await answer.recall([item for item in search.found if tells(speech.text, item.content)])
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
        return Call(call.name, action, run, goes_on, key=f"{call.name} {arguments!r}")

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
        blocks = [*on_memory(turn), *([labelled(turn, found)] if found else [])]
        about = profile_lines(turn, [item for item in profile if item not in found])
        notes = await notes_on(turn, [turn.asked.text])
        blocks += render_notes(notes)
        if asks(turn.asked.text) and (quotes := await turn.search.find_quotes([turn.asked.text], found)):
            said = render_past(quotes, turn.person.zone)
            shown = await show_conversation(turn, "\n".join((last, *said)), mode="chat", system=form.text)
            blocks += said
        context = replace(context_of(turn, Task.SINGLE, shown), profile=about)
        told = [*(each.text for each in shown.messages), turn.asked.text, *(each.text for each in turn.asked.quotes)]
        self._called_for = self._called(told, about, notes)
        tools = single_forms([tool for tool in self.tools if tool.name in self._called_for])[self._form]
        key = blake2b(turn.conversation.thread.id.encode(), digest_size=16).hexdigest()  # ids may name people
        prompt = replace(build_single(context, shown, "\n".join(blocks), tools), cache_key=key)
        return await with_pictures(turn, prompt)

    def _called(self, *texts: Iterable[str]) -> frozenset[str]:
        """Return the names of the actions that one of the texts calls for, or that are always offered."""
        return frozenset(
            action.name
            for action in self.registry.enabled
            if action.called_for is None or any(_calls_for(action.called_for, text) for text in chain(*texts))
        )


@lru_cache(_KEPT_CALLS)  # a window of messages is looked through in each turn
def _calls_for(called_for: Callable[[str], bool], text: str) -> bool:
    return is_foreign(text) or called_for(text)


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
        return adapter_of(action.arguments).validate_python(parsed(value, action.arguments)), goes_on
    except ValidationError as error:
        raise ValueError(problems_of(error)) from None


async def think(turn: Turn, registry: Registry, chosen: Cycle, *, max_steps: int) -> None:
    """Answer one message in at most `max_steps` steps.

    What a single call began goes on step by step if a model takes over that has no answer to one. A message that is
    only about another one, which the platform does not show the bot, is answered with that.

    Raises:
        ProviderError: a model failed, and no other action can help.
    """
    if _points_at_nothing(turn):
        await turn.answer.say(UNREAD[turn.person.locale], in_history=True)
        return
    await turn.enclosed.read()
    await turn.enclosed.search(turn.asked.text)
    heard = await _first(each.heard(turn) for each in turn.services.additions)
    if heard is not None and heard.is_all:
        await _offer(turn, heard)
        if not heard.rest:
            return
        turn.log.asked, heard = replace(turn.asked, content=heard.rest), None
    await _read_room(turn)
    single = SingleCall(turn, registry, tools_of(registry)) if chosen.is_single(turn.services.models) else None
    turn.is_single = single is not None and await single.fits()
    try:
        await Loop(turn, registry, max_steps).run(single if turn.is_single else None)
    finally:
        await turn.search.close()
    if heard is not None:
        await _offer(turn, heard)


async def _first(offers: Iterable[Awaitable[Heard | None]]) -> Heard | None:
    """Return what the first of the features offers that offers anything."""
    for offer in offers:
        if (found := await offer) is not None:
            return found
    return None


async def _offer(turn: Turn, heard: Heard) -> None:
    """Say what a feature offers; a plain yes takes it, unless the turn asked something else."""
    await turn.answer.say(heard.text, in_history=True, choices=heard.buttons)
    if heard.offer is not None and not any(step.asks for step in turn.log.steps):
        await open_offers(turn, [heard.offer], heard.text)


async def say_below(turn: Turn) -> None:
    """Say what features have to say below the answer, unless it stands there since before a restart."""
    if not any(step.asks or step.writes is ChangeKind.SAVED for step in turn.log.steps):
        own = own_draft(turn)
        turn.answer.add_buttons(await offer_saving(turn, [own]) if own is not None else ())
    said = await _first(each.below_answer(turn) for each in turn.services.additions)
    if said is not None and said.text not in turn.answer.text:
        await _offer(turn, said)


def _points_at_nothing(turn: Turn) -> bool:
    """Return whether the message is about the one that it replies to, and of that only is known that it is there."""
    pointed = turn.asked.quotes[:1]
    is_unread = any(quote.is_unread and quote.kind is QuoteKind.REPLY for quote in pointed)
    return is_unread and points_only(turn.asked.text)


async def _read_room(turn: Turn) -> None:
    """Read what was said in the room before, as far as that is on there; limited mode has no use for it."""
    if turn.beside is None or turn.services.models.is_limited:
        return
    most, together = turn.conversation.place.room_messages, turn.conversation.place.together
    said = await turn.answer.view.chat.said_before(min(most, MAX_MESSAGES)) if most > 0 else ()
    exchanges = await turn.beside.read(together=together)
    turn.shown.room = room_talk(said, turn.budget.eighth_chars, exchanges, together=together, zone=turn.person.zone)


UNREAD = text("pointing.unread")
