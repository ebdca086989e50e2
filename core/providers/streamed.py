"""The common part of models with streamed HTTP answers: refused parameters, silence, and answers that break off.

The module of each protocol builds requests, reads events, and translates failures.
"""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Protocol, TypeAlias

from core.dialogue import Delta, Finish, Picture, Prompt, PromptTurn, Stop, StreamEvent, Thoughts, Tool, ToolCall, Usage
from core.errors import ContextTooLong, ProviderDown, ProviderError, StreamCut
from core.ports import ChatModel
from core.providers.failure import TOOLS, Concessions, Ladder, Params, Rung, merged
from core.providers.written_calls import WrittenCalls, has_calls, in_words, reply_schema, tool_ladder, turn_in_words
from core.types import JSONValue

_END = object()

_CHARS_A_TOKEN: Final = 3  # more than most models count: an answer asked for too long is refused
_DENSE: Final = re.compile("[\u0800-\U0010ffff]")  # Indic scripts, Thai, Chinese, Japanese, Korean, emoji
_LEAST_ANSWER_TOKENS: Final = 128
_USUAL_ANSWER_TOKENS: Final = 1_024
_ID_CHARS: Final = 9  # Mistral's servers take ids of exactly nine letters and digits

Part: TypeAlias = Delta | ToolCall


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """A model's name and parameters. None leaves a parameter to the model, and out of the request.

    `effort` is none, minimal, low, medium, high, xhigh or max ("none": answer without thinking); `verbosity` low,
    medium or high. `max_tokens` limits the whole answer, thinking included; None takes the prompt's limit.
    `window_tokens` is the context window, prompt and answer together; None if unknown. `timeout_s` is the longest
    silence between two pieces of the answer, `first_token_timeout_s` the longest before its first word, between any two
    signs of thinking; None is `timeout_s`. `tools`: False if the model is known not to call tools by itself.
    `pictures`: whether it is sent pictures; one that is not is told that they were there.
    """

    model: str
    effort: str | None = None
    verbosity: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    window_tokens: int | None = None
    timeout_s: float = 30.0
    first_token_timeout_s: float | None = None
    tools: bool = True
    pictures: bool = False


class RawStream(Protocol):
    """An SDK's stream of events, as decoded JSON."""

    async def __anext__(self) -> object:
        """Return the next event, or raise StopAsyncIteration."""

    async def close(self) -> None:
        """Close the connection."""


class Endpoint(ABC):
    """One account at one address: what its models have learnt, and the connections that they share.

    `api` is what the protocol is called.
    """

    def __init__(self, provider: str, api: str) -> None:
        self.provider = provider
        self.api = api
        self.concessions = Concessions()

    @abstractmethod
    def model(self, options: ModelOptions) -> ChatModel:
        """Return a model of this account."""

    async def models(self) -> object:
        """Return the provider's list of models as decoded JSON; None if it is not asked for here.

        Raises:
            ProviderError: it did not answer.
        """
        return None

    async def post(self, path: str, body: dict[str, JSONValue]) -> RawStream:
        """Send a request of a model of this module. Raises what `failures` translates."""
        raise NotImplementedError

    def failures(self, name: str) -> AbstractContextManager[None]:
        """Translate the SDK's errors of such a model to ours, `from None`: they may contain a person's words."""
        raise NotImplementedError

    @abstractmethod
    async def aclose(self) -> None:
        """Close the connections."""


class Reading(ABC):
    """Reads one answer of the model of that name from its events; without tools it ignores calls and thoughts.

    `thoughts` are blocks that the model wants back with the results of its calls. A call without an id has "".
    """

    def __init__(self, name: str, *, has_tools: bool) -> None:
        self.stop: Stop | None = None
        self.usage = Usage()
        self.thoughts: list[JSONValue] = []
        self._name = name
        self._has_tools = has_tools
        self._doubtful: list[ToolCall] = []

    @abstractmethod
    def take(self, event: object) -> Sequence[Part]:
        """Return what the event adds to the answer, or completes."""

    def _called(self, call: ToolCall, *, is_whole: bool) -> Sequence[Part]:
        """Return a call; one that is no whole JSON waits for the reason of the end, and so do those after it."""
        if is_whole and not self._doubtful:
            return (call,)
        self._doubtful.append(call)
        return ()

    def _stopped(self, stop: Stop) -> Sequence[Part]:
        """Note the reason of the end, and return the calls that waited for it, if nothing cut the answer off."""
        self.stop = stop
        return self._doubtful if stop is Stop.END else ()


class _AnswerReader:
    """Read one answer, including the calls in its text, if `written` is there to read them.

    Each call gets an id that no other of the turn has; one made as the protocol has it, the model's name in `extra`.
    """

    def __init__(self, name: str, reading: Reading, written: WrittenCalls | None, known_ids: set[str]) -> None:
        self.reading = reading
        self.has_begun = False
        self.has_called = False
        self._name = name
        self._written = written
        self._known_ids = known_ids

    @property
    def has_written_calls(self) -> bool:
        """Whether a call came as text."""
        return self._written is not None and self._written.found

    def take(self, event: object) -> Sequence[Part]:
        """Return what the event adds to the answer."""
        parts = self.reading.take(event)
        if parts:
            parts = self._with_ids([read for part in parts for read in self._read(part)])
        self.has_begun = self.has_begun or bool(parts)
        return parts

    def finish(self, *, is_cut: bool) -> Sequence[Part]:
        """Return what was held back of the text."""
        return self._with_ids(self._said(self._written.finish(is_cut=is_cut))) if self._written is not None else ()

    def _read(self, part: Part) -> Sequence[Part]:
        if isinstance(part, Delta):
            return self._said(self._written.feed(part.text)) if self._written is not None else [part]
        self.has_called = True
        return [replace(part, extra={self._name: part.extra})]

    def _said(self, parts: Sequence[Part]) -> Sequence[Part]:
        """Return the text, and the calls in it if none came as the protocol has it: else they repeat those."""
        return [part for part in parts if isinstance(part, Delta)] if self.has_called else parts

    def _with_ids(self, parts: Sequence[Part]) -> Sequence[Part]:
        return [part if isinstance(part, Delta) else self._with_id(part) for part in parts]

    def _with_id(self, call: ToolCall) -> ToolCall:
        own = call.id if call.id and call.id not in self._known_ids else uuid.uuid4().hex[:_ID_CHARS]
        self._known_ids.add(own)
        return replace(call, id=own)


@dataclass(frozen=True, slots=True)
class _AcceptedRequest:
    """A request that was accepted, and the reader of its answer."""

    raw: RawStream
    answer: _AnswerReader


class StreamedModel(ChatModel):
    """Base of the ChatModels of all protocols: of the requests to one `path`, whose answers `reading` reads."""

    path: ClassVar[str]
    reading: ClassVar[type[Reading]]

    def __init__(self, endpoint: Endpoint, options: ModelOptions) -> None:
        self._endpoint = endpoint
        self._name = f"{endpoint.provider}:{options.model}"
        self._options = options
        self._concessions = endpoint.concessions

    @property
    def name(self) -> str:
        """`provider:model`."""
        return self._name

    @abstractmethod
    def _body(self, prompt: Prompt) -> Params:
        """Return the required part of a request. The calls and thoughts in its turns are this model's."""

    @abstractmethod
    def _tool(self, tool: Tool) -> JSONValue:
        """Return a tool as the protocol offers it."""

    @abstractmethod
    def _structured(self, schema: Params) -> Ladder:
        """Return the forms of asking for a typed answer."""

    @abstractmethod
    def _effort(self, effort: str | None, *, has_tools: bool) -> Ladder:
        """Return the forms of how hard the model is to think; None leaves that to the model."""

    def _ladders(self, prompt: Prompt) -> list[Ladder]:
        """Return the parameters that a model may refuse: tools or a schema, effort and temperature."""
        options, ladders = self._options, list[Ladder]()
        if has_calls(prompt):
            native: Params = {"tools": [self._tool(tool) for tool in prompt.tools]} if prompt.tools else {}
            ladders.append(tool_ladder(native, self._structured(reply_schema(prompt.tools)), options.tools))
        elif prompt.schema is not None:
            ladders.append(self._structured(prompt.schema))
        ladders.append(self._effort(options.effort, has_tools=bool(prompt.tools) and options.tools))
        if options.temperature is not None:
            ladders.append([Rung("temperature", {"temperature": options.temperature}, ("temperature",))])
        return ladders

    @asynccontextmanager
    async def stream(self, prompt: Prompt) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """Ask. The request is sent when the context is entered, the connection released when it is left."""
        asked = await self._ask(replace(prompt, max_tokens=self._options.max_tokens or prompt.max_tokens))
        try:
            async with aclosing(self._events(asked)) as events:
                yield events
        finally:
            await asked.raw.close()

    async def _ask(self, prompt: Prompt) -> _AcceptedRequest:
        """Send the prompt; if it leaves too little room for the answer, ask for a shorter one."""
        while True:
            prompt = replace(prompt, max_tokens=self._answer_tokens(prompt))
            try:
                return await self._send(prompt)
            except ContextTooLong as error:
                if error.window_tokens:
                    self._concessions.windows[self._options.model] = error.window_tokens
                is_beyond = 0 < error.window_tokens <= prompt_tokens(prompt)  # the prompt alone does not fit
                if prompt.max_tokens <= _LEAST_ANSWER_TOKENS or is_beyond:
                    raise
                prompt = replace(prompt, max_tokens=max(prompt.max_tokens // 4, _LEAST_ANSWER_TOKENS))

    def _answer_tokens(self, prompt: Prompt) -> int:
        """Return the limit of the answer: the prompt's, or what the window leaves."""
        window = self._concessions.windows.get(self._options.model) or self._options.window_tokens
        if window is None:
            return prompt.max_tokens
        reserved = max(min(_USUAL_ANSWER_TOKENS, window // 4), _LEAST_ANSWER_TOKENS)
        return min(prompt.max_tokens, max(window - prompt_tokens(prompt), reserved))

    async def _send(self, prompt: Prompt) -> _AcceptedRequest:
        known_ids = {call.id for turn in prompt.turns for call in turn.calls}

        async def send(rungs: Sequence[Rung]) -> _AcceptedRequest:
            is_form = any(rung.written for rung in rungs)
            with self._endpoint.failures(self._name):
                raw = await self._endpoint.post(self.path, self._request(prompt, rungs, is_form=is_form))
            if prompt.tools:
                self._concessions.forms[self._options.model] = rungs[0].label
            reading = self.reading(self._name, has_tools=bool(prompt.tools) and not is_form)
            names = [tool.name for tool in prompt.tools]
            written = WrittenCalls(names, is_form=is_form) if names or is_form else None
            return _AcceptedRequest(raw, _AnswerReader(self._name, reading, written, known_ids))

        try:
            async with asyncio.timeout(self._first_timeout_s):
                asked = await self._concessions.settle(self._options.model, self._ladders(prompt), send)
        except TimeoutError:
            raise self._silent(self._first_timeout_s) from None
        return asked

    def _request(self, prompt: Prompt, rungs: Sequence[Rung], *, is_form: bool) -> dict[str, JSONValue]:
        if is_form or not prompt.tools:
            prompt = in_words(prompt, is_form=is_form)
        turns = prompt.turns if self._options.pictures else map(_blind, prompt.turns)
        *earlier, last = (turn if self._is_own(turn) else turn_in_words(turn) for turn in turns)
        notes = [rung.note for rung in rungs if rung.note]
        if last.volatile:
            last = replace(last, volatile="\n\n".join((last.volatile, *notes)))
        else:
            last = replace(last, text="\n\n".join((last.text, *notes) if last.text else notes))
        body = self._body(replace(prompt, turns=(*earlier, last)))
        return merged(body, *(rung.params for rung in rungs))

    def _is_own(self, turn: PromptTurn) -> bool:
        """Return whether this model made the calls: another's lack what it wants back, and their ids may not fit."""
        calls = (*turn.calls, *(result.call for result in turn.results))
        return all(self._name in call.extra for call in calls)

    async def _events(self, asked: _AcceptedRequest) -> AsyncGenerator[StreamEvent, None]:
        answer, reading, is_told = asked.answer, asked.answer.reading, False
        try:
            with self._endpoint.failures(self._name):
                while (event := await self._next(asked.raw, has_begun=answer.has_begun)) is not _END:
                    for part in answer.take(event):
                        if isinstance(part, Delta) and not is_told:
                            is_told = True
                            yield Delta(part.text, reading.usage if reading.usage.input_tokens else None)
                        else:
                            yield part
            if reading.stop is None:
                raise ProviderDown(f"{self._name} ended its answer without a stop reason")
            for part in answer.finish(is_cut=reading.stop is not Stop.END):
                yield part
        except ProviderError as error:
            raise (StreamCut(str(error)) if answer.has_begun else error) from None
        if answer.has_called:
            self._concessions.callers.add(self._options.model)
        elif answer.has_written_calls and self._options.model not in self._concessions.callers:
            self._concessions.refuse(self._options.model, TOOLS)
        thoughts = Thoughts(self._name, tuple(reading.thoughts)) if reading.thoughts else None
        yield Finish(reading.stop, reading.usage, thoughts=thoughts)

    async def _next(self, raw: RawStream, *, has_begun: bool) -> object:
        """Return the next event, or _END. Silence is timed here, because pings keep the connection itself alive."""
        limit_s = self._options.timeout_s if has_begun else self._first_timeout_s
        try:
            async with asyncio.timeout(limit_s):
                return await raw.__anext__()
        except StopAsyncIteration:
            return _END
        except TimeoutError:
            raise self._silent(limit_s) from None

    @property
    def _first_timeout_s(self) -> float:
        return self._options.first_token_timeout_s or self._options.timeout_s

    def _silent(self, limit_s: float) -> ProviderDown:
        return ProviderDown(f"{self._name} was silent for {limit_s:g} s")


_UNSEEN: Final = "(A picture was sent with this message. You cannot see it.)"


def _blind(turn: PromptTurn) -> PromptTurn:
    """Return an entry for a model that takes no pictures: with words for each."""
    if not turn.pictures:
        return turn
    words = "\n".join([_UNSEEN] * len(turn.pictures))
    if turn.volatile:
        return replace(turn, volatile=f"{words}\n\n{turn.volatile}", pictures=())
    return replace(turn, text=f"{turn.text}\n{words}", pictures=())


def base64_of(picture: Picture) -> str:
    """Return the bytes of a picture as protocols carry them."""
    return b64encode(picture.content).decode()


def prompt_tokens(prompt: Prompt) -> int:
    """Return an upper estimate of a prompt's tokens, for nearly all languages."""
    chars = _chars(prompt.system) + sum(_turn_chars(turn) for turn in prompt.turns)
    for tool in prompt.tools:
        chars += len(tool.name) + _chars(tool.description) + _chars(json.dumps(tool.schema, ensure_ascii=False))
    return chars // _CHARS_A_TOKEN + sum(each.tokens for turn in prompt.turns for each in turn.pictures)


def _turn_chars(turn: PromptTurn) -> int:
    calls = sum(len(call.name) + _chars(call.arguments) + 10 for call in turn.calls)
    return _chars(turn.whole_text) + 10 + calls + sum(_chars(result.text) + 10 for result in turn.results)


def _chars(text: str) -> int:
    """Return the length of a text, in which each sign that can be a token of its own counts as a whole token."""
    dense = 0 if text.isascii() else len(_DENSE.findall(text))
    return len(text) + dense * (_CHARS_A_TOKEN - 1)


def sendable(text: str) -> str:
    """Return the text without lone surrogates, which JSON cannot carry; "-" if blank, which Anthropic refuses."""
    return text.encode("utf-8", "replace").decode("utf-8") if text.strip() else "-"
