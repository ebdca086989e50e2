"""Every message ever said, in SQLite. Knows threads and messages as rows. Does not know what a model is shown."""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from core.ports import HistoryStore
from core.storage.record import microseconds, moment, random_id, to_json
from core.storage.sqlite import Database, Row
from core.types import ConversationKey, Message, Modal, Role, Thread, ThreadStatus, UserKey

_MESSAGE = "id, role, modal, in_history, content, at, turn, source_id, memory_id"


class SqliteHistory(HistoryStore):
    """Threads and messages as rows of `Database`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open_thread(self, conversation: ConversationKey, at: datetime) -> Thread:
        """Return the conversation's one active thread, made now if there is none."""
        chat, user = conversation.chat, conversation.user
        active = "SELECT id, created_at, updated_at FROM threads WHERE status = 'active' AND "
        active += "platform = ? AND user = ? AND chat = ? AND topic = ?"
        key = (user.platform, user.user, chat.chat, chat.thread)
        rows = await self._database.rows(active, key)
        if not rows:
            async with self._database.transaction() as transaction:
                await transaction.run(
                    """
                    INSERT INTO threads (platform, user, chat, topic, id, created_at, updated_at, status)
                    VALUES (?, ?, ?, ?, ?, ?, ?, 'active') ON CONFLICT DO NOTHING
                    """,
                    (*key, random_id(), microseconds(at), microseconds(at)),
                )
                rows = await transaction.run(active, key)
        [(thread_id, created_at, updated_at)] = rows
        return Thread(thread_id, conversation, moment(created_at), moment(updated_at))

    async def mark(self, thread_id: str, status: ThreadStatus, at: datetime) -> None:
        """Give a thread another status; a thread that is no longer active is not opened again."""
        async with self._database.transaction() as transaction:
            await transaction.run(
                "UPDATE threads SET status = ?, updated_at = ? WHERE id = ?", (status, microseconds(at), thread_id)
            )

    async def append(self, thread_id: str, message: Message) -> Message:
        """Store it and return it with its id. A known non-empty source_id returns the stored row and stores nothing."""
        at_us = None if message.at is None else microseconds(message.at)
        async with self._database.transaction() as transaction:
            rows = await transaction.run(
                f"""
                INSERT INTO messages (thread, role, modal, in_history, content, at, turn, source_id, memory_id)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING {_MESSAGE}
                """,
                (
                    thread_id,
                    message.role,
                    message.modal,
                    message.in_history,
                    to_json(message.content),
                    at_us,
                    message.turn,
                    message.source_id,
                    message.memory_id,
                ),
            )
            if rows:
                await transaction.run(
                    "UPDATE threads SET updated_at = max(updated_at, ?) WHERE id = ?", (at_us or 0, thread_id)
                )
            else:
                rows = await transaction.run(
                    f"SELECT {_MESSAGE} FROM messages WHERE thread = ? AND source_id = ?",
                    (thread_id, message.source_id),
                )
        return _message(rows[0])

    async def tail(self, thread_id: str, limit: int) -> Sequence[Message]:
        """Return the newest `limit` messages, oldest first."""
        rows = await self._database.rows(
            f"SELECT {_MESSAGE} FROM messages WHERE thread = ? ORDER BY id DESC LIMIT ?",
            (thread_id, max(limit, 0)),
        )
        return [_message(row) for row in reversed(rows)]

    async def shown_memories(self, thread_id: str) -> frozenset[str]:
        """Return the ids of all memories ever shown in the thread."""
        rows = await self._database.rows(
            "SELECT DISTINCT memory_id FROM messages WHERE thread = ? AND memory_id != ''", (thread_id,)
        )
        return frozenset(memory_id for (memory_id,) in rows)

    async def forget(self, user: UserKey) -> None:
        """Remove every thread and message of that person's."""
        async with self._database.transaction() as transaction:
            await transaction.run("DELETE FROM threads WHERE platform = ? AND user = ?", (user.platform, user.user))
        await self._database.scrub(rebuild=True)


def _message(row: Row) -> Message:
    message_id, role, modal, in_history, content, at_us, turn, source_id, memory_id = row
    return Message(
        role=Role(role),
        content=json.loads(content),
        modal=Modal(modal),
        in_history=bool(in_history),
        at=None if at_us is None else moment(at_us),
        turn=turn,
        source_id=source_id,
        memory_id=memory_id,
        id=message_id,
    )
