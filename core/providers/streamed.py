"""The common part of models with streamed HTTP answers: refused parameters, silence, and answers that break off.

The module of each protocol builds requests, reads events, and translates failures.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final, Protocol

from core.dialogue import Delta, Finish, Prompt, PromptTurn, Stop, StreamEvent, Usage
from core.errors import ContextTooLong, ProviderDown, ProviderError, StreamCut
from core.ports import ChatModel
from core.providers.ladder import Concessions, Ladder, Params, Rung, merged
from core.types import JSONValue

_END = object()

_CHARS_A_TOKEN: Final = 3  # more than most models count: an answer asked for too long is refused
_LEAST_ANSWER_TOKENS: Final = 128
_USUAL_ANSWER_TOKENS: Final = 1_024


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """A model's name and parameters. None leaves a parameter to the model, and out of the request.

    `effort` is none, minimal, low, medium, high, xhigh or max ("none": answer without thinking); `verbosity` low,
    medium or high. `max_tokens` limits the whole answer, thinking included; None takes the prompt's limit.
    `window_tokens` is the context window, prompt and answer together; None if unknown. `timeout_s` is the longest
    silence: until the answer starts, and between any two pieces of it.
    """

    model: str
    effort: str | None = None
    verbosity: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    window_tokens: int | None = None
    timeout_s: float = 30.0


class RawStream(Protocol):
    """An SDK's stream of events, as decoded JSON."""

    async def __anext__(self) -> object:
        """Return the next event, or raise StopAsyncIteration."""

    async def close(self) -> None:
        """Close the connection."""


class Reading(Protocol):
    """Read one answer from its events."""

    stop: Stop | None
    usage: Usage

    def take(self, event: object) -> str:
        """Return the text that the event adds to the answer, or ""."""


class StreamedModel(ChatModel):
    """Base of the ChatModels of all protocols."""

    def __init__(self, provider: str, options: ModelOptions, concessions: Concessions) -> None:
        self._name = f"{provider}:{options.model}"
        self._options = options
        self._concessions = concessions

    @property
    def name(self) -> str:
        """`provider:model`."""
        return self._name

    @abstractmethod
    def _body(self, prompt: Prompt, turns: Sequence[PromptTurn]) -> Params:
        """Return the required part of a request."""

    @abstractmethod
    def _ladders(self, prompt: Prompt) -> Sequence[Ladder]:
        """Return the parameters that a model may refuse."""

    @abstractmethod
    async def _post(self, body: dict[str, JSONValue]) -> RawStream:
        """Send a request. Raises what `_failures` translates."""

    @abstractmethod
    def _reading(self) -> Reading:
        """Return the reader of a new answer."""

    @abstractmethod
    def _failures(self) -> AbstractContextManager[None]:
        """Translate the SDK's errors to ours."""

    @asynccontextmanager
    async def stream(self, prompt: Prompt) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """Ask. The request is sent when the context is entered, the connection released when it is left."""
        raw = await self._ask(replace(prompt, max_tokens=self._options.max_tokens or prompt.max_tokens))
        try:
            async with aclosing(self._events(raw, self._reading())) as events:
                yield events
        finally:
            await raw.close()

    async def _ask(self, prompt: Prompt) -> RawStream:
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

    async def _send(self, prompt: Prompt) -> RawStream:
        async def send(rungs: Sequence[Rung]) -> RawStream:
            with self._failures():
                return await self._post(self._request(prompt, rungs))

        try:
            async with asyncio.timeout(self._options.timeout_s):
                return await self._concessions.settle(self._options.model, self._ladders(prompt), send)
        except TimeoutError:
            raise self._silent() from None

    def _request(self, prompt: Prompt, rungs: Sequence[Rung]) -> dict[str, JSONValue]:
        *earlier, last = prompt.turns
        text = "\n\n".join((last.text, *(rung.note for rung in rungs if rung.note)))
        turns = [PromptTurn(turn.role, sendable(turn.text)) for turn in (*earlier, PromptTurn(last.role, text))]
        return merged(self._body(prompt, turns), *(rung.params for rung in rungs))

    async def _events(self, raw: RawStream, reading: Reading) -> AsyncGenerator[StreamEvent, None]:
        said = False
        try:
            with self._failures():
                while (event := await self._next(raw)) is not _END:
                    if text := reading.take(event):
                        said = True
                        yield Delta(text)
            if reading.stop is None:
                raise ProviderDown(f"{self._name} ended its answer without a stop reason")
        except ProviderError as error:
            raise (StreamCut(str(error)) if said else error) from None
        yield Finish(reading.stop, reading.usage)

    async def _next(self, raw: RawStream) -> object:
        """Return the next event, or _END. Silence is timed here, because pings keep the connection itself alive."""
        try:
            async with asyncio.timeout(self._options.timeout_s):
                return await raw.__anext__()
        except StopAsyncIteration:
            return _END
        except TimeoutError:
            raise self._silent() from None

    def _silent(self) -> ProviderDown:
        return ProviderDown(f"{self._name} was silent for {self._options.timeout_s:g} s")


def prompt_tokens(prompt: Prompt) -> int:
    """Return an upper estimate of a prompt's tokens, for nearly all languages."""
    chars = len(prompt.system) + sum(len(turn.text) + 10 for turn in prompt.turns)
    return chars // _CHARS_A_TOKEN


def sendable(text: str) -> str:
    """Return the text without lone surrogates, which JSON cannot carry; "-" if blank, which Anthropic refuses."""
    return text.encode("utf-8", "replace").decode("utf-8") if text.strip() else "-"
