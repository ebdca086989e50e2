"""A chat's history within a token budget, in RAM: document 3's five verbs, for programs that want nothing else."""

from __future__ import annotations

from dataclasses import replace

from core.errors import InputError, InputTooLong
from core.history.window import fit
from core.ports import Tokenizer
from core.types import Message, MessageRole


class ChatHistory:
    """Keep messages and return the newest that fit. Each message is counted once, when it is added."""

    def __init__(self, max_context_tokens: int, tokenizer: Tokenizer) -> None:
        self._max_tokens = max_context_tokens
        self._tokenizer = tokenizer
        self._system: Message | None = None
        self._messages: list[Message] = []

    def add_message(self, message: Message | None) -> None:
        """Add a message; a system message sets the system prompt.

        Raises:
            InputError: it is None, or has no content.
        """
        if message is None or message.content is None:
            raise InputError("there is no message to add: None")
        if message.role is MessageRole.SYSTEM:
            self.add_system_prompt(message.text)
        else:
            self._messages.append(self._counted(message))

    def add_system_prompt(self, prompt: str | None) -> None:
        """Set the one system prompt, or remove it with "".

        Raises:
            InputError: it is None.
        """
        if prompt is None:
            raise InputError('there is no system prompt to set: None; "" removes it')
        if self._system is None or self._system.text != prompt:
            self._system = self._counted(Message(MessageRole.SYSTEM, prompt)) if prompt else None

    def get_trimmed_history(self) -> tuple[Message, ...]:
        """Return the system prompt, then the newest messages that fit beside it, the person's last one always.

        Raises:
            InputTooLong: the system prompt and the person's last message do not fit together.
        """
        if self._system is None:
            return fit(self._messages, self._max_tokens)
        if self._system.tokens > self._max_tokens:
            raise InputTooLong(0)
        return (self._system, *fit(self._messages, self._max_tokens - self._system.tokens))

    def get_remaining_budget(self) -> int:
        """Return how many tokens can be added before a message is dropped.

        Raises:
            InputTooLong: as `get_trimmed_history`.
        """
        return self._max_tokens - sum(message.tokens for message in self.get_trimmed_history())

    def clear_history(self) -> None:
        """Remove every message but the system prompt."""
        self._messages.clear()

    def _counted(self, message: Message) -> Message:
        return replace(message, tokens=message.tokens or self._tokenizer.count_tokens([message]))
