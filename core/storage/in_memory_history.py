"""Every message ever said, in dicts: the reference, for tests and for those who keep nothing."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from core.errors import StorageError
from core.ports import HistoryStore
from core.storage.record import random_id
from core.types import ConversationKey, Message, Thread, ThreadStatus, UserKey


class InMemoryHistory(HistoryStore):
    """Gone with the process."""

    def __init__(self) -> None:
        self._threads: dict[str, Thread] = {}
        self._messages: dict[str, list[Message]] = {}
        self._ids = itertools.count(1)

    async def open_thread(self, conversation: ConversationKey, at: datetime) -> Thread:
        """Return the conversation's one active thread, made now if there is none."""
        for thread in self._threads.values():
            if thread.conversation == conversation and thread.status is ThreadStatus.ACTIVE:
                return thread
        thread = Thread(random_id(), conversation, created_at=at, updated_at=at)
        self._threads[thread.id] = thread
        self._messages[thread.id] = []
        return thread

    async def mark(self, thread_id: str, status: ThreadStatus, at: datetime) -> None:
        """Give a thread another status; a thread that is no longer active is not opened again."""
        if thread_id in self._threads:
            self._threads[thread_id] = replace(self._threads[thread_id], status=status, updated_at=at)

    async def append(self, thread_id: str, message: Message) -> Message:
        """Keep it and return it with its id. A known non-empty source_id returns the kept one and keeps nothing."""
        if thread_id not in self._threads:
            raise StorageError("there is no such thread")
        for known in self._messages[thread_id]:
            if message.source_id and known.source_id == message.source_id:
                return known
        stored = replace(message, id=next(self._ids))
        self._messages[thread_id].append(stored)
        thread = self._threads[thread_id]
        if message.at is not None:
            self._threads[thread_id] = replace(thread, updated_at=max(thread.updated_at, message.at))
        return stored

    async def tail(self, thread_id: str, limit: int) -> Sequence[Message]:
        """Return the newest `limit` messages, oldest first."""
        return self._messages.get(thread_id, [])[-limit:] if limit > 0 else []

    async def shown_memories(self, thread_id: str) -> frozenset[str]:
        """Return the ids of all memories ever shown in the thread."""
        return frozenset(message.memory_id for message in self._messages.get(thread_id, []) if message.memory_id)

    async def forget(self, user: UserKey) -> None:
        """Remove every thread and message of that person's."""
        for thread in [thread for thread in self._threads.values() if thread.conversation.user == user]:
            del self._threads[thread.id], self._messages[thread.id]
