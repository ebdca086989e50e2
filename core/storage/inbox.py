"""What we owe an answer to, in SQLite. Knows rows of accepted messages. Does not know how one is answered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from core.enclosures import enclosures_from_json, enclosures_to_json
from core.storage.batches import in_batches, statement
from core.storage.record import to_json
from core.storage.sqlite import Database, Row
from core.stores import Inbox
from core.types import ChatKey, Incoming, JSONValue, UserKey


class SqliteInbox(Inbox):
    """Rows stay for ever, so that a repeat is known for ever; what was said in them goes when they are closed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def accept(self, incoming: Incoming) -> bool:
        """Store it; it is on disk when this returns. False, and nothing stored, for a known (chat, message_id)."""
        payload: dict[str, JSONValue] = {
            "user_name": incoming.user_name,
            "text": incoming.text,
            "at": incoming.at.isoformat(),
            "addressed": incoming.addressed,
            "private": incoming.private,
            "language": incoming.language,
            "pressed": incoming.pressed,
            "file": incoming.file,
            "thread_id": incoming.thread_id,
            "enclosed": enclosures_to_json(incoming.attachments, incoming.quotes),
        }
        async with self._database.transaction() as transaction:
            stored = await transaction.run(
                """
                INSERT INTO inbox (platform, chat, topic, message_id, user, payload) VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT DO NOTHING RETURNING id
                """,
                (*_key(incoming), incoming.user.user, to_json(payload)),
            )
        return bool(stored)

    async def close(self, incoming: Incoming) -> None:
        """Mark it answered and let go of its words."""
        async with self._database.transaction() as transaction:
            await transaction.run(
                "UPDATE inbox SET payload = NULL WHERE platform = ? AND chat = ? AND topic = ? AND message_id = ?",
                _key(incoming),
            )

    async def owed(self, platform: str) -> Sequence[Incoming]:
        """Return what was accepted on that platform and not closed, oldest first."""
        rows = await self._database.rows(
            """
            SELECT chat, topic, message_id, user, payload FROM inbox
            WHERE platform = ? AND payload IS NOT NULL ORDER BY id
            """,
            (platform,),
        )
        return [_incoming(platform, row) for row in rows]

    async def forget(self, user: UserKey) -> None:
        """Remove every row of that person's."""
        rows = "SELECT id FROM inbox WHERE platform = ? AND user = ? LIMIT ?"
        forget = statement(f"DELETE FROM inbox WHERE id IN ({rows})", user.platform, user.user)  # noqa: S608 - a constant
        await in_batches(self._database, forget)
        await self._database.scrub()


def _key(incoming: Incoming) -> tuple[str, str, str, str]:
    return (incoming.chat.platform, incoming.chat.chat, incoming.chat.thread, incoming.message_id)


def _incoming(platform: str, row: Row) -> Incoming:
    chat, topic, message_id, user, payload = row
    fields = json.loads(payload)
    attachments, quotes = enclosures_from_json(fields.get("enclosed", {}))
    return Incoming(
        chat=ChatKey(platform, chat, topic),
        user=UserKey(platform, user),
        message_id=message_id,
        user_name=fields["user_name"],
        text=fields["text"],
        at=datetime.fromisoformat(fields["at"]),
        addressed=fields["addressed"],
        private=fields["private"],
        language=fields["language"],
        pressed=fields.get("pressed", False),  # not in what an older version of this program accepted
        file=fields.get("file", ""),
        thread_id=fields.get("thread_id", ""),
        attachments=attachments,
        quotes=quotes,
    )
