"""What waits in a conversation for the person's next word: a command that wants a text, a question that wants a yes."""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Generic

from core.sealing.port import Sealing
from core.storage.database import Database, Query, Row
from core.storage.inbox import done, once
from core.storage.record import OF_USER, microseconds, moment, user_key
from core.threads import Confirmation, PendingInput, Waiting, WaitingStore
from core.types import ConversationKey, JSONValue, UserKey

_HERE = f"{OF_USER} AND chat = ? AND topic = ?"


@dataclass(frozen=True, slots=True)
class _Words:
    """The column that is sealed, and its place in a row."""

    column: str
    at: int

    def sealed(self, sealing: Sealing, conversation: ConversationKey, row: Sequence[str | int]) -> Sequence[str | int]:
        said = sealing.seal(conversation.user, self.column, _named(_key(conversation)), str(row[self.at]))
        return [*row[: self.at], said, *row[self.at + 1 :]]

    def opened(self, sealing: Sealing, conversation: ConversationKey, rows: Sequence[Row]) -> list[JSONValue]:
        named = _named(_key(conversation))
        return [[*row[: self.at], sealing.open(self.column, named, row[self.at]), *row[self.at + 1 :]] for row in rows]


class SqlWaiting(WaitingStore[Waiting], Generic[Waiting]):
    """One row for each conversation, in a table with a column for each field of what waits; `at` is a moment.

    The column `words` is sealed by the person's key.
    """

    def __init__(self, database: Database, table: str, kind: type[Waiting], words: str) -> None:
        self._database = database
        self._table = table
        self._kind: type[Waiting] = kind
        self._names = [field.name for field in fields(kind)]
        self._words = _Words(f"{table}.{words}", self._names.index(words))

    async def put(self, conversation: ConversationKey, waiting: Waiting) -> None:
        """Store it, in place of what waited there."""
        changed = ", ".join(f"{name} = excluded.{name}" for name in self._names)
        sql = f"""
            INSERT INTO {self._table} (platform, "user", chat, topic, {", ".join(self._names)})
            VALUES ({", ".join("?" * (len(self._names) + 4))})
            ON CONFLICT (platform, chat, topic, "user") DO UPDATE SET {changed}
        """
        row: list[str | int] = [_written(getattr(waiting, name)) for name in self._names]
        await self._database.write(
            lambda query: query.run(sql, [*_key(conversation), *self._words.sealed(query.sealing, conversation, row)])
        )

    async def find(self, conversation: ConversationKey) -> Waiting | None:
        """Return what waits there, or None."""
        found = f"SELECT {', '.join(self._names)} FROM {self._table} WHERE {_HERE}"
        rows = await self._database.rows(found, _key(conversation))
        return self._read(self._words.opened(self._database.sealing, conversation, rows))

    async def take(
        self, conversation: ConversationKey, message_id: str = "", since: datetime | None = None
    ) -> Waiting | None:
        """Remove what waits there and return it, or None: of two that take it at once, one has it."""
        sql = f"DELETE FROM {self._table} WHERE {_HERE} RETURNING {', '.join(self._names)}"
        message = (conversation.chat, message_id) if message_id else None

        def job(query: Query) -> Waiting | None:
            def remove() -> JSONValue:
                rows = self._words.opened(query.sealing, conversation, query.run(sql, _key(conversation)))
                kept = self._read(rows)
                return [] if kept is None or (since is not None and kept.at < since) else rows

            return self._read(once(query, message, self._table, remove))

        return await self._database.write(job)

    async def taken(self, conversation: ConversationKey, message_id: str) -> Waiting | None:
        """Return what that message has taken; None once it was answered."""
        message = (conversation.chat, message_id)
        return self._read(await self._database.read(lambda query: done(query, message).get(self._table)))

    async def expire(self, before: datetime) -> None:
        """Remove what was stored before then."""
        sql = f"DELETE FROM {self._table} WHERE at < ?"
        await self._database.write(lambda query: query.run(sql, (microseconds(before),)))

    async def forget(self, user: UserKey) -> None:
        """Remove what waits for that person, in any conversation."""
        sql = f"DELETE FROM {self._table} WHERE {OF_USER}"
        await self._database.write(lambda query: query.run(sql, user_key(user)))

    def _read(self, rows: Any) -> Waiting | None:
        for row in rows or ():
            values: dict[str, Any] = dict(zip(self._names, row, strict=True))
            return self._kind(**{**values, "at": moment(values["at"])})
        return None


class SqlPendingInputs(SqlWaiting[PendingInput]):
    """Commands that wait for a text, in the table `awaited`."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, "awaited", PendingInput, "command")


class SqlConfirmations(SqlWaiting[Confirmation]):
    """Questions that wait for a yes, in the table `confirmations`."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, "confirmations", Confirmation, "data")


def _written(value: str | datetime) -> str | int:
    return microseconds(value) if isinstance(value, datetime) else value


def _key(conversation: ConversationKey) -> tuple[str, str, str, str]:
    """Return the row's key. A conversation's chat and user are of one platform."""
    return *user_key(conversation.user), conversation.chat.chat, conversation.chat.thread


def _named(key: Sequence[str]) -> str:
    """Return what names a row to the sealing, of the values of _key."""
    platform, user, chat, topic = key
    return f"{platform}|{chat}|{topic}|{user}"


def opened(sealing: Sealing, key: Sequence[str], data: str) -> str:
    """Return what a question is about, of platform, user, chat and topic."""
    return sealing.open("confirmations.data", _named(key), data)
