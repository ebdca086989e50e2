"""The table of model providers: addresses, names of settings, defaults. Importing it imports no SDK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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


_THINKING: Final = MappingProxyType(
    {Mode.HEAVY: "medium", Mode.REASONING: "low", Mode.CHAT: "none", Mode.SUMMARY: "low"}
)
"""Default effort: choosing an action needs thought; a chat answer should begin soon."""


@dataclass(frozen=True, slots=True)
class Preset:
    """One provider. `key_setting` is "" if the server needs no key; `key_page` is where a key is made.

    `efforts` are defaults for the provider's own address; another server at `url_setting` gets none. `window_tokens`
    is the default context of a provider that cuts a longer prompt silently instead of refusing it.
    """

    wire: Wire
    url: str
    url_setting: str
    key_setting: str = ""
    key_page: str = ""
    efforts: Mapping[Mode, str] = field(default_factory=dict)
    timeout_s: float = 30.0
    window_tokens: int | None = None


_LOCAL_TIMEOUT_S = 120.0  # the first question loads the model

PROVIDERS: Final[Mapping[str, Preset]] = MappingProxyType(
    {
        "anthropic": Preset(
            Wire.ANTHROPIC,
            "https://api.anthropic.com",
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_API_KEY",
            "https://platform.claude.com/settings/keys",
            _THINKING,
        ),
        "openai": Preset(
            Wire.OPENAI,
            "https://api.openai.com/v1",
            "OPENAI_BASE_URL",
            "OPENAI_API_KEY",
            "https://platform.openai.com/api-keys",
            _THINKING,
        ),
        "gemini": Preset(
            Wire.OPENAI,
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "GEMINI_BASE_URL",
            "GEMINI_API_KEY",
            "https://aistudio.google.com/apikey",
        ),
        "openrouter": Preset(
            Wire.OPENAI,
            "https://openrouter.ai/api/v1",
            "OPENROUTER_BASE_URL",
            "OPENROUTER_API_KEY",
            "https://openrouter.ai/settings/keys",
        ),
        "ollama": Preset(
            Wire.OPENAI,
            "http://127.0.0.1:11434/v1",
            "OLLAMA_BASE_URL",
            timeout_s=_LOCAL_TIMEOUT_S,
            window_tokens=4_096,
        ),
        "llamacpp": Preset(Wire.OPENAI, "http://127.0.0.1:8080/v1", "LLAMACPP_BASE_URL", timeout_s=_LOCAL_TIMEOUT_S),
    }
)

EMBEDDING_DIMS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "text-embedding-3-small": 1536,
        "text-embedding-3-large": 3072,
        "text-embedding-ada-002": 1536,
        "gemini-embedding-001": 3072,
        "gemini-embedding-2": 3072,
        "nomic-embed-text": 768,
        "mxbai-embed-large": 1024,
        "bge-m3": 1024,
        "all-minilm": 384,
    }
)
"""Length of the vectors of common embedding models; MODEL_EMBEDDING_DIMS gives that of any other."""
