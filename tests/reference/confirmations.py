"""What waits for a person's yes, in RAM: the reference."""

from __future__ import annotations

from datetime import datetime

from core.threads import Confirmation, ConfirmationStore
from core.types import ConversationKey, UserKey


class InMemoryConfirmations(ConfirmationStore):
    """Everything is gone with the process."""

    def __init__(self) -> None:
        self._waiting: dict[ConversationKey, Confirmation] = {}

    async def put(self, conversation: ConversationKey, confirmation: Confirmation) -> None:
        """Store it, in place of the one that waited there."""
        self._waiting[conversation] = confirmation

    async def find(self, conversation: ConversationKey) -> Confirmation | None:
        """Return what waits there, or None."""
        return self._waiting.get(conversation)

    async def take(self, conversation: ConversationKey) -> Confirmation | None:
        """Remove what waits there and return it, or None: of two that take it at once, one has it."""
        return self._waiting.pop(conversation, None)

    async def expire(self, before: datetime) -> None:
        """Remove what was asked before then."""
        self._waiting = {where: asked for where, asked in self._waiting.items() if asked.at >= before}

    async def forget(self, user: UserKey) -> None:
        """Remove whatever waits for that person."""
        self._waiting = {where: asked for where, asked in self._waiting.items() if where.user != user}
