"""What we owe an answer to, in a dict: the reference, for tests and for those who keep nothing."""

from __future__ import annotations

from collections.abc import Sequence

from core.stores import Inbox
from core.types import ChatKey, Incoming, UserKey


class InMemoryInbox(Inbox):
    """Gone with the process."""

    def __init__(self) -> None:
        self._owed: dict[tuple[ChatKey, str], Incoming] = {}
        self._known: dict[tuple[ChatKey, str], UserKey] = {}

    async def accept(self, incoming: Incoming) -> bool:
        """Keep it. False for a known (chat, message_id)."""
        key = (incoming.chat, incoming.message_id)
        if key in self._known:
            return False
        self._known[key] = incoming.user
        self._owed[key] = incoming
        return True

    async def close(self, incoming: Incoming) -> None:
        """Mark it answered."""
        self._owed.pop((incoming.chat, incoming.message_id), None)

    async def owed(self, platform: str) -> Sequence[Incoming]:
        """Return what was accepted on that platform and not closed, oldest first."""
        return [incoming for incoming in self._owed.values() if incoming.chat.platform == platform]

    async def forget(self, user: UserKey) -> None:
        """Remove everything of that person's."""
        for key in [key for key, owner in self._known.items() if owner == user]:
            del self._known[key]
            self._owed.pop(key, None)
