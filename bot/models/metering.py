"""What a call of a model costs, and its record in the ledger: for whom, how many tokens, how fast, at what cost.

Prices are those of the table in this package, with the owner's own (MODEL_PRICES) over it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib import resources
from pathlib import Path
from typing import Annotated, Final, Protocol, TypeAlias

from pydantic import Field, TypeAdapter, ValidationError

from bot.models.presets import PROVIDERS
from bot.settings.models import ModelSettings
from core.dialogue import Delta, Finish, Prompt, Stop, StreamEvent, Usage
from core.errors import ConfigError, ProviderError, StorageError
from core.features.ledger.calls import ModelCall, asker_of
from core.files.port import Content, Heard, Transcriber
from core.history.tokens import ByCharacters, counted
from core.ports import ChatModel, Clock, Embedder
from core.tasks import Phase, current, spend
from core.types import Vectors

SETTING: Final = "MODEL_PRICES"

_Price = Annotated[float, Field(ge=0)]
_MILLION = 1e6


@dataclass(frozen=True, slots=True)
class Rate:
    """US dollars per million tokens.

    `cached` is for input read from a cache, `cache_write` for input written into one; both default to `input`.
    """

    input: _Price
    output: _Price
    cached: _Price | None = None
    cache_write: _Price | None = None

    def cost_usd(self, usage: Usage) -> float:
        """Return the price of a call at this rate."""
        cached = self.input if self.cached is None else self.cached
        written = self.input if self.cache_write is None else self.cache_write
        fresh_tokens = usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens
        asked = fresh_tokens * self.input + usage.cached_tokens * cached + usage.cache_write_tokens * written
        return (asked + usage.output_tokens * self.output) / _MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class HigherRate(Rate):
    """The rate of a whole call whose input has more than `input_tokens`."""

    input_tokens: Annotated[int, Field(gt=0)]


@dataclass(frozen=True, slots=True)
class Price(Rate):
    """The rates of one model: `above` for calls with long input."""

    above: HigherRate | None = None

    @property
    def is_free(self) -> bool:
        """Tell whether every call is free."""
        return self.input == self.output == 0

    def cost_usd(self, usage: Usage) -> float:
        """Return the price of a call; a long one has its own rate."""
        if self.above is not None and usage.input_tokens > self.above.input_tokens:
            return self.above.cost_usd(usage)
        return Rate.cost_usd(self, usage)


@dataclass(frozen=True, slots=True)
class Prices:
    """A price table as of `date`, by its `source`. Models are `provider:model`, or `provider:*` (all others).

    At `own_servers`, providers whose address is the owner's, a model without a price may be free: none is assumed.
    """

    date: str
    models: Mapping[str, Price]
    source: str = ""
    note: str = ""
    own_servers: frozenset[str] = frozenset()
    listed: dict[str, Price] = field(default_factory=dict, init=False)
    """Those that providers' own lists told while this runs, of models that the table lacks."""

    def of(self, model: str) -> Price | None:
        """Return the price of a model; None if it is not known."""
        table = self.models
        return table.get(model) or table.get(f"{model.partition(':')[0]}:*") or self.listed.get(model)

    def cost_usd(self, model: str, usage: Usage | None) -> float | None:
        """Return the cost of a call, by the dearest price that it may have if its own is not known.

        None: no tokens were counted, or it went to a server of the owner's that has no price.
        """
        price = self.of(model) or self._dearest(model.partition(":")[0])
        if price is None:
            return None
        if usage is None:
            return 0.0 if price.is_free else None
        return price.cost_usd(usage)

    def _dearest(self, provider: str) -> Price | None:
        """Return the dearest price of a provider, or of all where it has none."""
        if provider in self.own_servers:
            return None
        own = [price for name, price in self.models.items() if name.startswith(f"{provider}:")]
        return max(own or self.models.values(), key=lambda price: (price.output, price.input), default=None)


def prices_of(settings: ModelSettings) -> Prices:
    """Return the price table for the models of those settings.

    Raises:
        ConfigError: as `load_prices`.
    """
    own_servers = frozenset(provider for provider in PROVIDERS if settings.is_own_address(provider))
    return replace(load_prices(settings.model_prices), own_servers=own_servers)


def load_prices(own: Path | None = None) -> Prices:
    """Return the price table of this package with the owner's entries over it.

    Raises:
        ConfigError: the owner's file cannot be read, or is no price table.
    """
    shipped = _parse(resources.files(__package__).joinpath("prices.json").read_bytes())
    if own is None:
        return shipped
    try:
        table = _parse(own.read_bytes())
    except OSError as error:
        raise ConfigError(SETTING, f"cannot read {own} ({error.strerror}); name a JSON file") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise ConfigError(SETTING, f"{own}: {where}: {first['msg']}; see docs/models.md") from None
    return replace(table, models={**shipped.models, **table.models})


def _parse(text: bytes) -> Prices:
    return TypeAdapter(Prices).validate_json(text, strict=False)


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
