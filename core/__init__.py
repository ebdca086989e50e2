"""Elefante's engine, and its API for programs: `from core import open_memory` (docs/memory.md, docs/history.md).

The names of the API are loaded on first use, so that importing `core` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.history.tokens import known_window, tokenizer_of
    from core.history.window import ChatHistory, HistoryLimits
    from core.library import open_conversation, open_memory
    from core.stores import MessageStore
    from core.types import Message, MessageRole

__all__ = [
    "ChatHistory",
    "HistoryLimits",
    "Message",
    "MessageRole",
    "MessageStore",
    "known_window",
    "open_conversation",
    "open_memory",
    "tokenizer_of",
]

_HOME = {
    "ChatHistory": "core.history.window",
    "HistoryLimits": "core.history.window",
    "Message": "core.types",
    "MessageRole": "core.types",
    "MessageStore": "core.stores",
    "known_window": "core.history.tokens",
    "open_conversation": "core.library",
    "open_memory": "core.library",
    "tokenizer_of": "core.history.tokens",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Load a name of the API (PEP 562)."""
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOME[name]), name)
