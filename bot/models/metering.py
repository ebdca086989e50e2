"""Record every call of a model in the ledger: for whom, which model, how many tokens, how fast, at what cost."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol, TypeAlias

from bot.models.prices import Prices
from core.dialogue import Delta, Finish, Prompt, Stop, StreamEvent, Usage
from core.errors import ProviderError, StorageError
from core.features.ledger.calls import ModelCall, asker_of
from core.files.port import Content, Heard, Transcriber
from core.history.tokens import ByCharacters, counted
from core.ports import ChatModel, Clock, Embedder
from core.tasks import Phase, current, spend
from core.types import Vectors

Record: TypeAlias = Callable[[ModelCall], Awaitable[None]]

LEFT = "left"
EMBEDDING = "embedding"
TRANSCRIPTION = "transcription"
_BESIDE = frozenset({EMBEDDING, "summary"})  # of the answer: no turn waits for them alone

_log = logging.getLogger(__name__)


def counting(record: Record, count: Callable[[ModelCall], None]) -> Record:
    """Return what counts each call, and then records it."""

    async def count_and_record(call: ModelCall) -> None:
        count(call)
        await record(call)

    return count_and_record


@dataclass(frozen=True, slots=True)
class Meter:
    """Write calls to the ledger, with their prices."""

    record: Record
    prices: Prices
    clock: Clock

    def of(self, model: ChatModel, mode: str) -> MeteredModel:
        """Return the model with every call recorded."""
        return MeteredModel(model, mode, self)

    async def write(self, mode: str, task: str, model: str, reading: Measurement) -> None:
        """Record a call. If the ledger fails, the answer goes on."""
        trace = current()
        asker = asker_of(trace.asked) if trace is not None and trace.asked is not None else None
        call = ModelCall(
            at=reading.at,
            user=asker.user if asker else None,
            mode=mode,
            task=task,
            model=model,
            outcome=reading.outcome,
            duration_s=self.clock.monotonic() - reading.started_s,
            first_s=reading.first_s,
            usage=reading.usage,
            cost_usd=self.prices.cost_usd(model, reading.usage),
            room=asker.room if asker else "",
        )
        if mode not in _BESIDE:
            spend(Phase.MODEL, call.duration_s)
        used = reading.usage or Usage()
        facts = {"mode": mode, "task": task, "model": model, "input_tokens": used.input_tokens}
        _log.info(
            "tokens used", extra=facts | {"output_tokens": used.output_tokens, "known": reading.usage is not None}
        )
        try:
            await self.record(call)
        except StorageError as error:
            _log.warning("a call was not written down", extra={"error": type(error).__name__, "model": model})


class MeteredModel(ChatModel):
    """A model whose calls are recorded when they end."""

    def __init__(self, model: ChatModel, mode: str, meter: Meter) -> None:
        self._model = model
        self._mode = mode
        self._meter = meter

    @property
    def name(self) -> str:
        """Name of the model inside."""
        return self._model.name

    @asynccontextmanager
    async def stream(self, prompt: Prompt) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """Ask the model. The call is recorded when the context is left, after the reader has the whole answer."""
        reading = Measurement(self._meter.clock)
        try:
            async with self._model.stream(prompt) as events, aclosing(reading.of(events)) as read:
                reading.prompt = prompt
                yield read
        except ProviderError as error:
            reading.outcome = type(error).__name__
            raise
        finally:
            await self._meter.write(self._mode, prompt.context.task.value, self.name, reading)


class CountingEmbedder(Embedder, Protocol):
    """An embedder that reports the tokens it read."""

    @property
    def name(self) -> str:
        """`provider:model`."""
        ...

    async def embed_counted(self, texts: Sequence[str]) -> tuple[Vectors, int]:
        """Return the vectors and the number of tokens read."""
        ...


class MeteredEmbedder(Embedder):
    """An embedder whose calls are recorded. What a cache in front of it answers is no call."""

    def __init__(self, embedder: CountingEmbedder, meter: Meter) -> None:
        self._embedder = embedder
        self._meter = meter

    @property
    def space(self) -> str:
        """That of the embedder inside."""
        return self._embedder.space

    @property
    def dims(self) -> int:
        """That of the embedder inside."""
        return self._embedder.dims

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed, and record the call."""
        reading = Measurement(self._meter.clock)
        try:
            vectors, tokens = await self._embedder.embed_counted(texts)
        except ProviderError as error:
            reading.outcome = type(error).__name__
            raise
        else:
            reading.outcome = Stop.END.value
            reading.usage = Usage(tokens) if tokens else None
            return vectors
        finally:
            await self._meter.write(EMBEDDING, EMBEDDING, self._embedder.name, reading)

    async def close(self) -> None:
        """Close the embedder inside."""
        await self._embedder.close()


class MeteredTranscriber(Transcriber):
    """A transcriber whose calls are recorded. Servers tell no tokens."""

    def __init__(self, transcriber: Transcriber, meter: Meter) -> None:
        self._transcriber = transcriber
        self._meter = meter
        self.name = transcriber.name

    async def transcribe(self, content: Content, media_type: str, language: str, heard: Heard | None = None) -> str:
        """Write down, and record the call."""
        reading = Measurement(self._meter.clock)
        try:
            text = await self._transcriber.transcribe(content, media_type, language, heard)
        except ProviderError as error:
            reading.outcome = type(error).__name__
            raise
        else:
            reading.outcome = Stop.END.value
            return text
        finally:
            await self._meter.write(TRANSCRIPTION, TRANSCRIPTION, self.name, reading)

    async def close(self) -> None:
        """Close the transcriber inside."""
        await self._transcriber.close()


class Measurement:
    """Measure one call by its events: outcome, times and tokens."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.at: datetime = clock.now()
        self.started_s = clock.monotonic()
        self.first_s: float | None = None
        self.prompt: Prompt | None = None  # set once the model has accepted it
        self.outcome = LEFT
        self._usage: Usage | None = None
        self._begun: Usage | None = None
        self._said: list[str] = []
        self._ended = False

    @property
    def usage(self) -> Usage | None:
        """Tokens as the model reported them; of a call that was cut or stopped, our own count of what it did not."""
        if self._ended or self.prompt is None or (self.outcome != LEFT and not self._said):
            return self._usage
        said = "".join(self._said)
        begun = self._begun or Usage(counted(self.prompt))
        return replace(begun, output_tokens=max(begun.output_tokens, ByCharacters().count(said) if said else 0))

    @usage.setter
    def usage(self, usage: Usage | None) -> None:
        self._usage = usage
        self._ended = True

    async def of(self, events: AsyncIterator[StreamEvent]) -> AsyncGenerator[StreamEvent, None]:
        """Yield the events, and measure them."""
        async for event in events:
            match event:
                case Delta(text, begun):
                    self._said.append(text)
                    self._begun = begun or self._begun
                    if self.first_s is None:
                        self.first_s = self._clock.monotonic() - self.started_s
                case Finish(stop, usage):
                    self.outcome = stop.value
                    self.usage = usage if usage != Usage() else None
            yield event
