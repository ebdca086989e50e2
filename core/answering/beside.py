"""Read what others asked the bot in the room of a turn, as far as a prompt of somebody else may show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from core.history.withholding import known, withheld_of
from core.memory.memories import Memories
from core.stores import ChangeContext, Exchange, HistoryStore, Inbox
from core.types import ConversationKey, is_said_by_person, room_name

MOST: Final = 20
"""Exchanges; how many of them a prompt has room for is decided there."""


@dataclass(frozen=True, slots=True)
class Beside:
    """The exchanges of others in one place.

    They are text that everybody there saw; memories, and what their people have had deleted since, are not in them.
    """

    here: ConversationKey
    memories: Memories
    history: HistoryStore
    inbox: Inbox
    replies_to: str = ""
    """The handle of the bot's own message that the question replies to."""

    async def read(self, *, together: bool) -> Sequence[Exchange]:
        """Return the newest exchanges where people talk `together`, and last the one that the question goes on from."""
        found = list(await self.history.beside(self.here, MOST)) if together else []
        known_before = {each.messages[0].id for each in found}
        found += [each for each in await self._replied_to() if each.messages[0].id not in known_before]
        return [shown for each in found if (shown := await self._allowed(each)) is not None]

    async def _replied_to(self) -> Sequence[Exchange]:
        """Return the exchange with somebody else whose answer the question replies to; none for any other message."""
        if not self.replies_to:
            return ()
        chat = self.here.chat
        answered = await self.inbox.question(chat.platform, chat.chat, self.replies_to)
        if answered is None or answered[0].chat != chat:
            return ()
        return await self.history.beside(self.here, 1, source_id=answered[1])

    async def _allowed(self, exchange: Exchange) -> Exchange | None:
        """Return an exchange without what tells of deleted or changed memories; None if its question does."""
        context = ChangeContext(room=room_name(self.here.chat))
        memory = self.memories.of(await self.memories.owner(exchange.thread.conversation.user), context)
        knowledge, withheld = await known(self.history, exchange.messages, memory.get), withheld_of(exchange.thread)
        shown = [each for each in exchange.messages if not (withheld.hides(each) or knowledge.is_stale(each))]
        return replace(exchange, messages=tuple(shown)) if shown and is_said_by_person(shown[0]) else None
