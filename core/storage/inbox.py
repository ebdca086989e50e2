"""Messages that are owed an answer, in the database: one row an accepted message."""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from core.enclosures import enclosures_from_json, enclosures_to_json
from core.storage.batches import in_batches, statement
from core.storage.database import Database
from core.storage.record import OF_USER, microseconds, to_json, user_key
from core.stores import Inbox
from core.types import ChatKey, Incoming, JSONValue, UserKey


class SqlInbox(Inbox):
    """What was said in a row is removed when it is closed; the row stays until `purge`, so that a repeat is known."""

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
            "written": incoming.written,
            "file": incoming.file,
            "thread_id": incoming.thread_id,
            "enclosed": enclosures_to_json(incoming.attachments, incoming.quotes),
            "reply_token": incoming.reply_token,
            "quoted_user": incoming.quoted_user,
            "handle": incoming.handle,
        }
        async with self._database.transaction() as transaction:
            stored = await transaction.run(
                """
                INSERT INTO inbox (platform, chat, topic, message_id, "user", at, payload) VALUES (?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT DO NOTHING RETURNING id
                """,
                (*_key(incoming), incoming.user.user, microseconds(incoming.at), to_json(payload)),
            )
        return bool(stored)

    async def close(self, incoming: Incoming) -> None:
        """Mark it answered and remove its words."""
        async with self._database.transaction() as transaction:
            await transaction.run(f"UPDATE inbox SET payload = NULL WHERE {_THIS}", _key(incoming))

    async def put_posted(self, incoming: Incoming, handles: Sequence[str]) -> None:
        """Record what stands on the screen for it; on disk when this returns."""
        async with self._database.transaction() as transaction:
            await transaction.run(
                f"UPDATE inbox SET posted = ? WHERE {_THIS} AND payload IS NOT NULL",
                (to_json(list(handles)), *_key(incoming)),
            )

    async def question(self, user: UserKey, chat: str, handle: str) -> tuple[ChatKey, str] | None:
        """Return where the user said what that message of the chat answers, and its id; None if it answers nothing."""
        rows = await self._database.rows(
            f"""
            SELECT topic, message_id, posted FROM inbox WHERE {OF_USER} AND chat = ? AND posted IS NOT NULL ORDER BY id
            """,
            (*user_key(user), chat),
        )
        found = [(topic, message_id) for topic, message_id, posted in rows if handle in json.loads(posted)]
        return (ChatKey(user.platform, chat, found[-1][0]), found[-1][1]) if found and handle else None

    async def purge(self, before: datetime, limit: int) -> int:
        """Remove up to `limit` answered messages that were sent before then, and return how many."""
        async with self._database.transaction() as transaction:
            removed = await transaction.run(
                """
                DELETE FROM inbox WHERE id IN (
                    SELECT id FROM inbox WHERE payload IS NULL AND at < ? ORDER BY at LIMIT ?
                ) RETURNING id
                """,
                (microseconds(before), limit),
            )
        return len(removed)

    async def owed(self, platform: str) -> Mapping[Incoming, Sequence[str]]:
        """Map what was accepted on that platform and not closed, oldest first, to the handles recorded for it."""
        rows = await self._database.rows(
            """
            SELECT chat, topic, message_id, "user", payload, posted FROM inbox
            WHERE platform = ? AND payload IS NOT NULL ORDER BY id
            """,
            (platform,),
        )
        return {_incoming(platform, row): tuple(json.loads(posted or "[]")) for *row, posted in rows}

    async def forget(self, user: UserKey) -> None:
        """Remove every row of that person's."""
        rows = f"SELECT id FROM inbox WHERE {OF_USER} LIMIT ?"
        forget = statement(f"DELETE FROM inbox WHERE id IN ({rows}) RETURNING id", *user_key(user))
        await in_batches(self._database, forget)
        await self._database.scrub()


_THIS = "platform = ? AND chat = ? AND topic = ? AND message_id = ?"


def _key(incoming: Incoming) -> tuple[str, str, str, str]:
    return (incoming.chat.platform, incoming.chat.chat, incoming.chat.thread, incoming.message_id)


def _incoming(platform: str, row: Sequence[str]) -> Incoming:
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
        written=fields.get("written", False),
        file=fields.get("file", ""),
        thread_id=fields.get("thread_id", ""),
        attachments=attachments,
        quotes=quotes,
        reply_token=fields.get("reply_token", ""),
        quoted_user=fields.get("quoted_user", ""),
        handle=fields.get("handle", ""),
    )
