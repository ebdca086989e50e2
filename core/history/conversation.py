"""One person's conversation in one place: what was said is kept, and what a model is shown is chosen from it.

Knows which messages later calls read. Does not know where they are kept, or how a prompt is written.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.ports import Clock, HistoryStore
from core.types import ConversationKey, Message, Modal, Role, Thread, ThreadStatus


@dataclass(frozen=True, slots=True)
class Context:
    """What a model is shown of a conversation: a summary of what is further back ("" if none), then messages."""

    summary: str
    messages: tuple[Message, ...]


class Conversations:
    """Opens conversations. `window` is how many messages a model is shown at most."""

    def __init__(self, store: HistoryStore, clock: Clock, window: int = 40) -> None:
        self._store = store
        self._clock = clock
        self._window = window

    async def open(self, conversation: ConversationKey) -> Conversation:
        """Return the conversation that goes on in that place, begun now if there is none."""
        thread = await self._store.open_thread(conversation, self._clock.now())
        return Conversation(thread, self._store, self._clock, self._window)


class Conversation:
    """A thread being talked in. Made by `Conversations.open`."""

    def __init__(self, thread: Thread, store: HistoryStore, clock: Clock, window: int) -> None:
        self._thread = thread
        self._store = store
        self._clock = clock
        self._window = window

    @property
    def thread(self) -> Thread:
        """The thread as it was when it was opened."""
        return self._thread

    async def add(self, message: Message) -> Message:
        """Store a message and return it with its id and its time, now unless it has one.

        Raises:
            ValueError: a status line is no part of a conversation.
        """
        if message.modal is Modal.TEXT_FOR_REPLACE:
            raise ValueError("a message that will be replaced is not stored")
        return await self._store.append(self._thread.id, replace(message, at=message.at or self._clock.now()))

    async def context(self, turn: str) -> Context:
        """Return what a model is shown in that turn.

        Of earlier turns all that the person and the bot said and what was remembered, final answers included: a bot
        that forgets its own answers cannot be talked to. Of this turn only what is marked to be read by later calls.
        """
        recent = await self._store.tail(self._thread.id, self._window)
        return Context("", tuple(message for message in recent if _is_shown(message, turn)))

    async def shown_memories(self) -> frozenset[str]:
        """Return the ids of all memories that this conversation has shown."""
        return await self._store.shown_memories(self._thread.id)

    async def reset(self) -> None:
        """End this thread; the next `Conversations.open` begins another. Nothing that was said is removed."""
        await self._store.mark(self._thread.id, ThreadStatus.RESET, self._clock.now())


def _is_shown(message: Message, turn: str) -> bool:
    if message.turn == turn:
        return message.in_history
    return message.role is not Role.SYSTEM or message.modal is Modal.MEMORY
