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
        self._answers: dict[tuple[ChatKey, str], tuple[str, Sequence[str]]] = {}
        self._posted: dict[tuple[ChatKey, str], Sequence[str]] = {}

    async def accept(self, incoming: Incoming) -> bool:
        """Keep it. False for a known (chat, message_id)."""
        key = (incoming.chat, incoming.message_id)
        if key in self._known:
            return False
        self._known[key] = incoming
        self._owed[key] = incoming
        return True

    async def close(self, incoming: Incoming, turn: str = "") -> None:
        """Mark it answered."""
        key = (incoming.chat, incoming.message_id)
        posted = self._posted.pop(key, ())
        if self._owed.pop(key, None) is not None and turn:
            self._answers[key] = turn, posted

    async def turn_of(self, user: UserKey, chat: str, handle: str) -> str:
        """Return the turn of the answer that stands in that message of the chat; "" if none answers the user there."""
        mine = [key for key, known in self._known.items() if known.user == user and key[0].chat == chat]
        answers = (self._answers.get(key, ("", ())) for key in mine)
        return next((turn for turn, handles in answers if handle in handles), "")

    async def put_posted(self, incoming: Incoming, handles: Sequence[str]) -> None:
        """Record what stands on the screen for it."""
        key = (incoming.chat, incoming.message_id)
        if key in self._owed:
            self._posted[key] = tuple(handles)

    async def purge(self, before: datetime, limit: int) -> int:
        """Forget answered messages that were sent before then."""
        old = [key for key, known in self._known.items() if key not in self._owed and known.at < before][:limit]
        for key in old:
            del self._known[key]
            self._answers.pop(key, None)
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
            self._answers.pop(key, None)
