"""The socket of token counting. Knows no way to count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from core.types import Message


class Tokenizer(Protocol):
    """Counts what a message of some text costs a model. Never raises, and takes time linear in the text."""

    @property
    def name(self) -> str:
        """What it counts by, for people."""
        ...

    @property
    def is_slow(self) -> bool:
        """Whether a count may take so long that it belongs outside the event loop."""
        ...

    def count(self, text: str) -> int:
        """Return the tokens of one message of that text, what a provider adds to each message included."""
        ...

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the tokens of all those messages together."""
        return sum(self.count(message.text) for message in messages)
