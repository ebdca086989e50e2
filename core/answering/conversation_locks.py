"""Order answers: one after the other in a conversation, side by side in a room up to a limit, people taking turns."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from core.types import ChatKey, ConversationKey, UserKey


@dataclass(slots=True)
class _RoomQueue:
    """One chat: the people being answered, and those who wait, the next one first."""

    answering: set[UserKey] = field(default_factory=set)
    waiting: dict[UserKey, deque[asyncio.Future[None]]] = field(default_factory=dict)


class ConversationLocks:
    """Locks of conversations. In each room at most `at_once` people are answered side by side."""

    def __init__(self, at_once: int = 8) -> None:
        self._at_once = at_once
        self._rooms: dict[ChatKey, _RoomQueue] = {}

    def __len__(self) -> int:
        """Return the number of messages being answered or waiting."""
        rooms = self._rooms.values()
        return sum(len(room.answering) + sum(map(len, room.waiting.values())) for room in rooms)

    def has_others(self, conversation: ConversationKey) -> bool:
        """Return whether other people are being answered in that room, or wait there."""
        room = self._rooms.get(conversation.chat)
        return room is not None and bool({*room.answering, *room.waiting} - {conversation.user})

    @asynccontextmanager
    async def lane(self, conversation: ConversationKey, waits: Callable[[], None] | None = None) -> AsyncIterator[None]:
        """Wait for this person's earlier messages here and for a free place in the room; hold both.

        `waits` is called if they are not free at once.
        """
        room, user = self._rooms.setdefault(conversation.chat, _RoomQueue()), conversation.user
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        room.waiting.setdefault(user, deque()).append(place)
        self._fill(room)
        if waits is not None and not place.done():
            waits()
        try:
            await place
            yield
        finally:
            if place.done() and not place.cancelled():
                self._release(room, user)
            else:
                self._leave(room, user, place)
            self._fill(room)
            if not room.answering and not room.waiting and self._rooms.get(conversation.chat) is room:
                del self._rooms[conversation.chat]

    def _fill(self, room: _RoomQueue) -> None:
        """Give free places to the next people in line who are not being answered yet."""
        while len(room.answering) < self._at_once:
            user = next((user for user in room.waiting if user not in room.answering), None)
            if user is None:
                return
            place = room.waiting[user].popleft()
            if not room.waiting[user]:
                del room.waiting[user]
            if not place.cancelled():  # its task has not run `_leave` yet
                room.answering.add(user)
                place.set_result(None)

    @staticmethod
    def _release(room: _RoomQueue, user: UserKey) -> None:
        """Free a person's place; if they wrote more, they go to the end of the line."""
        room.answering.discard(user)
        if user in room.waiting:
            room.waiting[user] = room.waiting.pop(user)

    @staticmethod
    def _leave(room: _RoomQueue, user: UserKey, place: asyncio.Future[None]) -> None:
        """Take a cancelled place out of the line."""
        queue = room.waiting.get(user, deque())
        if place in queue:
            queue.remove(place)
        if not queue:
            room.waiting.pop(user, None)
