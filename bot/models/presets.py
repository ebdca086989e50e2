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


_LITTLE: Final = MappingProxyType({Mode.HEAVY: "low", Mode.REASONING: "low", Mode.SUMMARY: "low"})
"""Default effort where models think as long as they see fit: a name or some JSON needs little, an answer its own."""

_LITTLE_ALWAYS: Final = MappingProxyType({**_LITTLE, Mode.CHAT: "low"})
"""The same for models whose own effort varies widely: a chat answer should begin soon."""

_NONE: Final = MappingProxyType(dict.fromkeys(Mode, "none"))
"""For models on the owner's machine, which think by default for longer than people wait."""


@dataclass(frozen=True, slots=True)
class Preset:
    """One provider. `key_setting` is "" if the server needs no key; `key_page` is where a key is made,
    `credit_page` where credit is bought ("": the same).

    `efforts` are defaults for the provider's own address; another server at `url_setting` gets none, unless every
    address is the owner's (`is_local`). `window_tokens` is the default context of a provider that cuts a longer prompt
    silently instead of refusing it. `first_token_timeout_s` is the longest wait for the answer to begin, thinking
    included, `timeout_s` the longest silence after that. `tools`: False where a model's own tool calls are less sure
    than JSON that the server holds to a schema.
    """

    wire: Wire
    url: str
    url_setting: str
    key_setting: str = ""
    key_page: str = ""
    credit_page: str = field(default="", kw_only=True)
    efforts: Mapping[Mode, str] = field(default_factory=dict)
    timeout_s: float = 30.0
    first_token_timeout_s: float = 120.0
    window_tokens: int | None = None
    is_local: bool = False
    tools: bool = True


_LOCAL_TIMEOUT_S = 120.0
_LOCAL_FIRST_TOKEN_TIMEOUT_S = 300.0  # the first question loads the model, and a long prompt is read slowly

PROVIDERS: Final[Mapping[str, Preset]] = MappingProxyType(
    {
        "anthropic": Preset(
            Wire.ANTHROPIC,
            "https://api.anthropic.com",
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_API_KEY",
            "https://platform.claude.com/settings/keys",
            _LITTLE,
            credit_page="https://platform.claude.com/settings/billing",
        ),
        "openai": Preset(
            Wire.OPENAI,
            "https://api.openai.com/v1",
            "OPENAI_BASE_URL",
            "OPENAI_API_KEY",
            "https://platform.openai.com/api-keys",
            _LITTLE,
            credit_page="https://platform.openai.com/settings/organization/billing",
        ),
        "gemini": Preset(
            Wire.OPENAI,
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "GEMINI_BASE_URL",
            "GEMINI_API_KEY",
            "https://aistudio.google.com/apikey",
            _LITTLE_ALWAYS,
        ),
        "openrouter": Preset(
            Wire.OPENAI,
            "https://openrouter.ai/api/v1",
            "OPENROUTER_BASE_URL",
            "OPENROUTER_API_KEY",
            "https://openrouter.ai/settings/keys",
            credit_page="https://openrouter.ai/settings/credits",
        ),
        "ollama": Preset(
            Wire.OPENAI,
            "http://127.0.0.1:11434/v1",
            "OLLAMA_BASE_URL",
            efforts=_NONE,
            timeout_s=_LOCAL_TIMEOUT_S,
            first_token_timeout_s=_LOCAL_FIRST_TOKEN_TIMEOUT_S,
            window_tokens=4_096,
            is_local=True,
        ),
        "llamacpp": Preset(
            Wire.OPENAI,
            "http://127.0.0.1:8080/v1",
            "LLAMACPP_BASE_URL",
            efforts=_NONE,
            timeout_s=_LOCAL_TIMEOUT_S,
            first_token_timeout_s=_LOCAL_FIRST_TOKEN_TIMEOUT_S,
            is_local=True,
            tools=False,
        ),
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
