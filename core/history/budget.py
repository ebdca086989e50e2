"""Making messages fit into a number of tokens. Pure. Knows which must stay; does not know who reads the rest.

The laws: never over the budget, never reordered, the last message of the person always kept, and fitting what fits
changes nothing. One pass from the newest back: the time is that of what is kept, not of what is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import InputTooLong
from core.types import Message, MessageRole, Modal


@dataclass(frozen=True, slots=True)
class Budget:
    """What a context costs, by part, in tokens. `answer` is kept free for the model to answer in."""

    max_tokens: int
    system: int = 0
    summary: int = 0
    window: int = 0
    memories: int = 0
    answer: int = 0

    @property
    def remaining(self) -> int:
        """What could still be added."""
        return self.max_tokens - self.system - self.summary - self.window - self.memories - self.answer


def fit(messages: Sequence[Message], max_tokens: int) -> tuple[Message, ...]:
    """Return the newest messages that fit, and always the last one of the person's (H3).

    Messages are dropped oldest first; a tool's result goes with its request (L5).

    Raises:
        InputTooLong: the person's last message alone does not fit; it says how many characters would (H4).
    """
    last = last_said(messages)
    left = max_tokens
    if last is not None:
        left -= messages[last].tokens
        if left < 0:
            raise InputTooLong(_chars_that_fit(messages[last], max_tokens))
    kept: list[Message] = []
    for at in range(len(messages) - 1, -1, -1):
        if at == last:
            kept.append(messages[at])
            continue
        left -= messages[at].tokens
        if left < 0:
            if last is not None and last < at:
                kept.append(messages[last])
            break
        kept.append(messages[at])
    return without_orphans(kept[::-1])


def without_orphans(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages without results of tools whose request is not among those before them."""
    asked: set[str] = set()
    kept: list[Message] = []
    for message in messages:
        if message.pair and message.role is MessageRole.ASSISTANT:
            asked.add(message.pair)
        if not message.pair or message.pair in asked:
            kept.append(message)
    return tuple(kept)


def last_said(messages: Sequence[Message]) -> int | None:
    """Return the place of the last message that the person wrote."""
    places = range(len(messages) - 1, -1, -1)
    return next((at for at in places if is_said_by_person(messages[at])), None)


def is_said_by_person(message: Message) -> bool:
    """Tell whether the person wrote it: with such a message a cycle begins."""
    return message.role is MessageRole.USER and message.modal is Modal.TEXT and not message.pair


def parts(messages: Sequence[Message]) -> tuple[int, int]:
    """Return what the messages cost: those that were said, and the memories among them."""
    memories = sum(message.tokens for message in messages if message.modal is Modal.MEMORY)
    return sum(message.tokens for message in messages) - memories, memories


def _chars_that_fit(message: Message, max_tokens: int) -> int:
    return max(max_tokens, 0) * len(message.text) // message.tokens
