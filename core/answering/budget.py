"""How much of a conversation the prompts of a turn may show, given the window of the model that is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from core.errors import ContextTooLong
from core.history.conversation import Context, Conversations
from core.types import MemoryItem

_MAX_SHORTENINGS: Final = 3


@dataclass(slots=True)
class PromptBudget:
    """The room for the prompts of one turn."""

    conversations: Conversations

    model: str = ""
    """The model that found the conversation too long, whose window counts from then on; "" while none did."""

    max_tokens: int | None = None
    """The most of the conversation that is shown; None: what the window allows."""

    shortenings: int = 0

    _sent_tokens: int = 0
    """Of the conversation, in the last prompt."""

    def note(self, context: Context) -> None:
        """Note what a prompt shows of the conversation."""
        self._sent_tokens = context.budget.window + context.budget.memories

    def shorten(self, error: ContextTooLong, question_tokens: int) -> bool:
        """Show models less of the conversation from now on; return False if that was done often enough.

        It is fitted to the window of the model that found it too long, if that is known; then it is halved each time.
        The question always fits.
        """
        if self.shortenings == _MAX_SHORTENINGS:
            return False
        self.shortenings += 1
        if not error.model or error.model == self.model:
            self.max_tokens = max(self._sent_tokens // 2, question_tokens, 1)
        self.model = error.model
        return True

    @property
    def eighth_chars(self) -> int:
        """An eighth of the chat model's window, at four characters a token."""
        return self.conversations.window_tokens("chat", self.model) // 2

    def affordable(self, items: Sequence[MemoryItem]) -> list[MemoryItem]:
        """Return the first of the memories, as many as fit an eighth of the window."""
        left = self.eighth_chars
        return [item for item in items if (left := left - len(item.content)) >= 0]

    async def first_fitting(self, texts: Sequence[str]) -> int | None:
        """Return the index of the first system text that leaves room to talk in the chat model's window, or None."""
        return await self.conversations.longest_fitting(texts, "chat", self.model)
