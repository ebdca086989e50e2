"""The table of model providers: addresses, names of settings, defaults. Importing it imports no SDK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Mode(StrEnum):
    """What a model is used for (T14). The value is part of the settings' names."""

    HEAVY = "reasoning_heavy"
    REASONING = "reasoning"
    CHAT = "chat"
    SUMMARY = "summary"


class Wire(StrEnum):
    """The protocol that the provider speaks."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"


_LITTLE: Final = MappingProxyType({Mode.HEAVY: "low", Mode.REASONING: "low", Mode.SUMMARY: "low"})
"""Default effort where models think as long as they see fit: a name or some JSON needs little, an answer its own."""

_LITTLE_ALWAYS: Final = MappingProxyType({**_LITTLE, Mode.CHAT: "low"})
"""The same for models whose own effort varies widely: a chat answer should begin soon."""

_NONE: Final = MappingProxyType(dict.fromkeys(Mode, "none"))
"""For models which think by default for longer than people wait."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a model is waited for: `first_token_s` until its answer begins, thinking included, `silence_s` after."""

    first_token_s: float
    silence_s: float


REMOTE: Final = Patience(120.0, 30.0)
LOCAL: Final = Patience(300.0, 120.0)  # the first question loads the model, and a long prompt is read slowly


@dataclass(frozen=True, slots=True)
class Preset:
    """One provider. `key_setting` is "" if the server needs no key.

    `efforts` are defaults for the provider's own address; another server at `url_setting` gets none, unless every
    address is the owner's (`is_local`).
    """

    wire: Wire
    url: str
    url_setting: str
    key_setting: str = ""

    _: KW_ONLY

    about: str
    """What somebody has who chooses it, for the table of docs/models.md."""

    model: str
    """The model that README, `.env.example`, set-up and the pages name. None that its provider has said to end."""

    key_page: str = ""
    """Where a key is made."""

    credit_page: str = ""
    """Where credit is bought; "": where the key is made."""

    efforts: Mapping[Mode, str] = field(default_factory=dict)

    window_tokens: int | None = None
    """The default context of a provider that cuts a longer prompt silently instead of refusing it."""

    is_local: bool = False

    pictures: bool = False
    """Whether its models take pictures. Source: the providers' lists of models."""

    tools: bool = True
    """False where a model's own tool calls are less sure than JSON that the server holds to a schema."""


PROVIDERS: Final[Mapping[str, Preset]] = MappingProxyType(
    {
        "anthropic": Preset(
            Wire.ANTHROPIC,
            "https://api.anthropic.com",
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_API_KEY",
            about="a Claude key",
            pictures=True,
            model="claude-haiku-5-5",
            key_page="https://platform.claude.com/settings/keys",
            credit_page="https://platform.claude.com/settings/billing",
            efforts=_LITTLE,
        ),
        "openai": Preset(
            Wire.OPENAI,
            "https://api.openai.com/v1",
            "OPENAI_BASE_URL",
            "OPENAI_API_KEY",
            about="an OpenAI key",
            pictures=True,
            model="gpt-6-luna",
            key_page="https://platform.openai.com/api-keys",
            credit_page="https://platform.openai.com/settings/organization/billing",
            efforts=_LITTLE,
        ),
        "gemini": Preset(
            Wire.OPENAI,
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "GEMINI_BASE_URL",
            "GEMINI_API_KEY",
            about="a Gemini key (there is a free tier)",
            pictures=True,
            model="gemini-3.8-flash",
            key_page="https://aistudio.google.com/apikey",
            efforts=_LITTLE_ALWAYS,
        ),
        "openrouter": Preset(
            Wire.OPENAI,
            "https://openrouter.ai/api/v1",
            "OPENROUTER_BASE_URL",
            "OPENROUTER_API_KEY",
            about="an OpenRouter key",
            model="VENDOR/NAME",
            key_page="https://openrouter.ai/settings/keys",
            credit_page="https://openrouter.ai/settings/credits",
        ),
        "deepseek": Preset(
            Wire.OPENAI,
            "https://api.deepseek.com/v1",
            "DEEPSEEK_BASE_URL",
            "DEEPSEEK_API_KEY",
            about="a DeepSeek key",
            model="deepseek-flash",
            key_page="https://platform.deepseek.com/api_keys",
            credit_page="https://platform.deepseek.com/top_up",
            efforts=_NONE,
        ),
        "groq": Preset(
            Wire.OPENAI,
            "https://api.groq.com/openai/v1",
            "GROQ_BASE_URL",
            "GROQ_API_KEY",
            about="a Groq key (there is a free tier)",
            model="openai/gpt-oss-120b",
            key_page="https://console.groq.com/keys",
            credit_page="https://console.groq.com/settings/billing",
            efforts=_LITTLE_ALWAYS,
        ),
        "mistral": Preset(
            Wire.OPENAI,
            "https://api.mistral.ai/v1",
            "MISTRAL_BASE_URL",
            "MISTRAL_API_KEY",
            about="a Mistral key",
            pictures=True,
            model="mistral-small-latest",
            key_page="https://console.mistral.ai/api-keys",
            credit_page="https://admin.mistral.ai/organization/billing",
        ),
        "xai": Preset(
            Wire.OPENAI,
            "https://api.x.ai/v1",
            "XAI_BASE_URL",
            "XAI_API_KEY",
            about="an xAI key",
            pictures=True,
            model="grok-4.3",
            key_page="https://console.x.ai",
            efforts=_LITTLE_ALWAYS,
        ),
        "ollama": Preset(
            Wire.OPENAI,
            "http://127.0.0.1:11434/v1",
            "OLLAMA_BASE_URL",
            about="[Ollama](https://ollama.com) on this machine",
            model="qwen3:8b",
            efforts=_NONE,
            window_tokens=4_096,
            is_local=True,
        ),
        "llamacpp": Preset(
            Wire.OPENAI,
            "http://127.0.0.1:8080/v1",
            "LLAMACPP_BASE_URL",
            about="llama.cpp's `llama-server` on this machine",
            model="any",
            efforts=_NONE,
            is_local=True,
            tools=False,
        ),
    }
)

SUGGESTED: Final = ("anthropic", "openai", "gemini", "ollama")
"""The providers that README, `.env.example` and set-up show."""


def example(provider: str) -> str:
    """Return the model that pages name for a provider, as settings write it."""
    return f"{provider}:{PROVIDERS[provider].model}"


TRANSCRIBERS: Final = ("openai:gpt-4o-mini-transcribe", "groq:whisper-large-v3-turbo")
"""The models that `.env.example` and pages name for recordings."""


EMBEDDING_DIMS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "text-embedding-3-small": 1536,
        "text-embedding-3-large": 3072,
        "text-embedding-ada-002": 1536,
        "gemini-embedding-001": 3072,
        "gemini-embedding-2": 3072,
        "mistral-embed": 1024,
        "nomic-embed-text": 768,
        "mxbai-embed-large": 1024,
        "bge-m3": 1024,
        "all-minilm": 384,
    }
)
"""Length of the vectors of common embedding models; MODEL_EMBEDDING_DIMS gives that of any other."""
