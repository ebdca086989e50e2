"""What we owe an answer to, in a dict: the reference, for tests and for those who keep nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from core.stores import Inbox
from core.types import ChatKey, Incoming, UserKey


class InMemoryInbox(Inbox):
    """Gone with the process."""

    def __init__(self) -> None:
        self._owed: dict[tuple[ChatKey, str], Incoming] = {}
        self._known: dict[tuple[ChatKey, str], Incoming] = {}
        self._posted: dict[tuple[ChatKey, str], Sequence[str]] = {}

    async def accept(self, incoming: Incoming) -> bool:
        """Keep it. False for a known (chat, message_id)."""
        key = (incoming.chat, incoming.message_id)
        if key in self._known:
            return False
        self._known[key] = incoming
        self._owed[key] = incoming
        return True

    async def close(self, incoming: Incoming) -> None:
        """Mark it answered."""
        self._owed.pop((incoming.chat, incoming.message_id), None)

    async def put_posted(self, incoming: Incoming, handles: Sequence[str]) -> None:
        """Record what stands on the screen for it."""
        key = (incoming.chat, incoming.message_id)
        if key in self._owed:
            self._posted[key] = tuple(handles)

    async def question(self, user: UserKey, chat: str, handle: str) -> tuple[ChatKey, str] | None:
        """Return where the user said what that message of the chat answers, and its id; None if it answers nothing."""
        mine = [key for key, known in self._known.items() if known.user == user and key[0].chat == chat]
        found = [key for key in mine if handle in self._posted.get(key, ())]
        return found[-1] if found and handle else None

    async def purge(self, before: datetime, limit: int) -> int:
        """Forget answered messages that were sent before then."""
        old = [key for key, known in self._known.items() if key not in self._owed and known.at < before][:limit]
        for key in old:
            del self._known[key]
            self._posted.pop(key, None)
        return len(old)

    async def owed(self, platform: str) -> Mapping[Incoming, Sequence[str]]:
        """Map what was accepted on that platform and not closed, oldest first, to the handles recorded for it."""
        owed = {key: each for key, each in self._owed.items() if each.chat.platform == platform}
        return {each: self._posted.get(key, ()) for key, each in owed.items()}

    async def forget(self, user: UserKey) -> None:
        """Remove everything of that person's."""
        for key in [key for key, known in self._known.items() if known.user == user]:
            del self._known[key]
            self._owed.pop(key, None)
            self._posted.pop(key, None)
