"""What waits for a person's yes, in SQLite."""

from __future__ import annotations

from datetime import datetime

from core.features.pending_input.storage import HERE, conversation_key
from core.storage.record import microseconds, moment
from core.storage.sqlite import Database, Row
from core.threads import Confirmation, ConfirmationStore
from core.types import ConversationKey, UserKey


class SqliteConfirmations(ConfirmationStore):
    """One row for each conversation in which a yes is waited for."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, conversation: ConversationKey, confirmation: Confirmation) -> None:
        """Store it, in place of the one that waited there."""
        asked = (confirmation.code, confirmation.kind, confirmation.data, microseconds(confirmation.at))
        async with self._database.transaction() as transaction:
            await transaction.run(
                "INSERT OR REPLACE INTO confirmations (platform, chat, topic, user, code, kind, data, at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (*conversation_key(conversation), *asked),
            )

    async def find(self, conversation: ConversationKey) -> Confirmation | None:
        """Return what waits there, or None."""
        return _found(
            await self._database.rows(
                f"SELECT code, kind, data, at FROM confirmations WHERE {HERE}",  # noqa: S608 - a constant
                conversation_key(conversation),
            )
        )

    async def take(self, conversation: ConversationKey) -> Confirmation | None:
        """Remove what waits there and return it, or None: of two that take it at once, one has it."""
        async with self._database.transaction() as transaction:
            rows = await transaction.run(
                f"DELETE FROM confirmations WHERE {HERE} RETURNING code, kind, data, at",  # noqa: S608 - a constant
                conversation_key(conversation),
            )
        return _found(rows)

    async def expire(self, before: datetime) -> None:
        """Remove what was asked before then."""
        async with self._database.transaction() as transaction:
            await transaction.run("DELETE FROM confirmations WHERE at < ?", (microseconds(before),))

    async def forget(self, user: UserKey) -> None:
        """Remove whatever waits for that person."""
        async with self._database.transaction() as transaction:
            await transaction.run(
                "DELETE FROM confirmations WHERE platform = ? AND user = ?", (user.platform, user.user)
            )


def _found(rows: list[Row]) -> Confirmation | None:
    if not rows:
        return None
    code, kind, data, at = rows[0]
    return Confirmation(code, kind, data, moment(at))
