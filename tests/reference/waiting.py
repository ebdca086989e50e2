"""What waits in conversations, in RAM: the reference."""

from __future__ import annotations

from datetime import datetime
from typing import Generic

from core.threads import Confirmation, PendingInput, Waiting, WaitingStore
from core.types import ConversationKey, UserKey


class InMemoryWaiting(WaitingStore[Waiting], Generic[Waiting]):
    """Everything is gone with the process."""

    def __init__(self) -> None:
        self._waiting: dict[ConversationKey, Waiting] = {}
        self._taken: dict[tuple[ConversationKey, str], Waiting | None] = {}

    async def put(self, conversation: ConversationKey, waiting: Waiting) -> None:
        """Store it, in place of what waited there."""
        self._waiting[conversation] = waiting

    async def find(self, conversation: ConversationKey) -> Waiting | None:
        """Return what waits there, or None."""
        return self._waiting.get(conversation)

    async def take(
        self, conversation: ConversationKey, message_id: str = "", since: datetime | None = None
    ) -> Waiting | None:
        """Remove what waits there and return it, or None: of two that take it at once, one has it."""
        if message_id and (conversation, message_id) in self._taken:
            return self._taken[conversation, message_id]
        found = self._waiting.pop(conversation, None)
        kept = None if found is None or (since is not None and found.at < since) else found
        if message_id:
            self._taken[conversation, message_id] = kept
        return kept

    async def taken(self, conversation: ConversationKey, message_id: str) -> Waiting | None:
        """Return what that message has taken; all are owed an answer."""
        return self._taken.get((conversation, message_id))

    async def expire(self, before: datetime) -> None:
        """Remove what was stored before then."""
        self._waiting = {where: each for where, each in self._waiting.items() if each.at >= before}

    async def forget(self, user: UserKey) -> None:
        """Remove what waits for that person, in any conversation."""
        self._waiting = {where: each for where, each in self._waiting.items() if where.user != user}


InMemoryPendingInputs = InMemoryWaiting[PendingInput]
InMemoryConfirmations = InMemoryWaiting[Confirmation]
