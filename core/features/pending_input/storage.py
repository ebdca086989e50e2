"""The commands that wait for a text, in SQLite. Knows rows. Does not know what a command does, or how long it waits."""

from __future__ import annotations

from datetime import datetime

from core.storage.record import microseconds, moment
from core.storage.sqlite import Database
from core.threads import PendingInput, PendingInputs
from core.types import ConversationKey, UserKey

HERE = "platform = ? AND chat = ? AND topic = ? AND user = ?"


class SqlitePendingInputs(PendingInputs):
    """One row for each conversation in which a command waits."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, conversation: ConversationKey, command: str, at: datetime) -> None:
        """Let it wait, in place of the one that waited there."""
        async with self._database.transaction() as transaction:
            await transaction.run(
                "INSERT OR REPLACE INTO awaited (platform, chat, topic, user, command, at) VALUES (?, ?, ?, ?, ?, ?)",
                (*conversation_key(conversation), command, microseconds(at)),
            )

    async def find(self, conversation: ConversationKey) -> PendingInput | None:
        """Return what waits there, or None."""
        rows = await self._database.rows(
            f"SELECT command, at FROM awaited WHERE {HERE}",  # noqa: S608 - a constant
            conversation_key(conversation),
        )
        return PendingInput(rows[0][0], moment(rows[0][1])) if rows else None

    async def drop(self, conversation: ConversationKey) -> bool:
        """Let it wait no more, and return whether anything did."""
        async with self._database.transaction() as transaction:
            rows = await transaction.run(
                f"DELETE FROM awaited WHERE {HERE} RETURNING at",  # noqa: S608 - a constant
                conversation_key(conversation),
            )
        return bool(rows)

    async def forget(self, user: UserKey) -> None:
        """Let nothing of that person's wait any more."""
        async with self._database.transaction() as transaction:
            await transaction.run("DELETE FROM awaited WHERE platform = ? AND user = ?", (user.platform, user.user))


def conversation_key(conversation: ConversationKey) -> tuple[str, str, str, str]:
    """Return the row's key. A conversation's chat and user are of one platform."""
    chat = conversation.chat
    return chat.platform, chat.chat, chat.thread, conversation.user.user
