"""The commands that wait for a text, in RAM: the reference. Knows a dict. Does not know what a command does."""

from __future__ import annotations

from datetime import datetime

from core.threads import PendingInput, PendingInputs
from core.types import ConversationKey, UserKey


class InMemoryPendingInputs(PendingInputs):
    """Everything is gone with the process."""

    def __init__(self) -> None:
        self._waiting: dict[ConversationKey, PendingInput] = {}

    async def put(self, conversation: ConversationKey, command: str, at: datetime) -> None:
        """Let it wait, in place of the one that waited there."""
        self._waiting[conversation] = PendingInput(command, at)

    async def find(self, conversation: ConversationKey) -> PendingInput | None:
        """Return what waits there, or None."""
        return self._waiting.get(conversation)

    async def drop(self, conversation: ConversationKey) -> bool:
        """Let it wait no more, and return whether anything did."""
        return self._waiting.pop(conversation, None) is not None

    async def forget(self, user: UserKey) -> None:
        """Let nothing of that person's wait any more."""
        self._waiting = {where: waiting for where, waiting in self._waiting.items() if where.user != user}
