"""Codes that link another account of a person, in the database: a row for each account that waits for its other."""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from core.storage.database import Database, Query
from core.storage.record import OF_USER, microseconds, moment, user_key
from core.types import UserKey


@dataclass(frozen=True, slots=True)
class LinkCode:
    """A code that links another account to `user`; only its hash, `digest`, is stored.

    `asked` is the account that was last told what entering the code gives away, at `asked_at`.
    """

    digest: str
    user: UserKey
    name: str
    at: datetime
    asked: UserKey | None = None
    asked_at: datetime | None = None


_ROW = 'platform, "user", digest, name, at, asked_platform, asked_user, asked_at'


class LinkCodes:
    """The codes that wait to be entered, at most one for each account."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, code: LinkCode) -> None:
        """Store the code in place of the one that the account had."""
        asked = (None, None) if code.asked is None else user_key(code.asked)
        asked_at = None if code.asked_at is None else microseconds(code.asked_at)
        row = (*user_key(code.user), code.digest, code.name, microseconds(code.at), *asked, asked_at)

        def job(query: Query) -> None:
            query.lock("link code", code.user)
            query.lock("link code", code.digest)
            gone = f"DELETE FROM link_codes WHERE digest = ? OR ({OF_USER})"
            query.run(gone, (code.digest, *user_key(code.user)))
            query.run(f"INSERT INTO link_codes ({_ROW}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

        await self._database.write(job)

    async def find(self, digest: str) -> LinkCode | None:
        """Return the code, or None if there is none of that digest."""
        rows = await self._database.rows(f"SELECT {_ROW} FROM link_codes WHERE digest = ?", (digest,))
        for platform, user, _, name, at_us, asked_platform, asked_user, asked_us in rows:
            asked = UserKey(asked_platform, asked_user) if asked_user else None
            asked_at = None if asked_us is None else moment(asked_us)
            return LinkCode(digest, UserKey(platform, user), name, moment(at_us), asked, asked_at)
        return None

    async def ask(self, digest: str, user: UserKey, at: datetime) -> None:
        """Record that an account was told what entering the code gives away; do nothing if there is no such code."""
        sql = "UPDATE link_codes SET asked_platform = ?, asked_user = ?, asked_at = ? WHERE digest = ?"
        row = (*user_key(user), microseconds(at), digest)
        await self._database.write(lambda query: query.run(sql, row))

    async def take(self, digest: str) -> bool:
        """Remove the code of that digest; return True to exactly one of several callers, False if there is none."""
        sql = "DELETE FROM link_codes WHERE digest = ? RETURNING 1"
        return bool(await self._database.write(lambda query: query.run(sql, (digest,))))

    async def drop(self, before: datetime) -> None:
        """Remove the codes that were stored before then."""
        sql = "DELETE FROM link_codes WHERE at < ?"
        await self._database.write(lambda query: query.run(sql, (microseconds(before),)))

    async def forget(self, user: UserKey) -> None:
        """Remove the account's code, and the record that it was asked about another's code, if there are any."""

        def job(query: Query) -> None:
            query.run(f"DELETE FROM link_codes WHERE {OF_USER}", user_key(user))
            query.run(
                """
                UPDATE link_codes SET asked_platform = NULL, asked_user = NULL, asked_at = NULL
                WHERE asked_platform = ? AND asked_user = ?
                """,
                user_key(user),
            )

        await self._database.write(job)
