"""One lane a chat: in order inside a chat, side by side across chats. Knows order. Does not know what is done."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from core.types import ChatKey


@dataclass(slots=True)
class _Lane:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)  # asyncio's lock is fair: first come, first served
    users: int = 0


class Mailbox:
    """Lanes that exist while somebody is in them."""

    def __init__(self) -> None:
        self._lanes: dict[ChatKey, _Lane] = {}

    def __len__(self) -> int:
        """Return how many messages are being answered or wait for it."""
        return sum(lane.users for lane in self._lanes.values())

    @asynccontextmanager
    async def lane(self, chat: ChatKey) -> AsyncIterator[None]:
        """Wait for all who came to this chat before, then be alone in it."""
        lane = self._lanes.setdefault(chat, _Lane())
        lane.users += 1
        try:
            async with lane.lock:
                yield
        finally:
            lane.users -= 1
            if not lane.users:
                del self._lanes[chat]
