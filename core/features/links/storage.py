"""The codes that link accounts, in SQLite. Knows rows. Does not know who may use one, nor for how long."""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

from datetime import datetime

from core.features.links.codes import LinkCode, LinkCodes
from core.storage.record import microseconds, moment
from core.storage.sqlite import Database
from core.types import UserKey

_ROW = "digest, platform, user, name, at, asked_platform, asked_user, asked_at"


class SqliteLinkCodes(LinkCodes):
    """One row for each account that waits for its other one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, code: LinkCode) -> None:
        """Keep it, in place of the one that the account had."""
        asked = (None, None) if code.asked is None else (code.asked.platform, code.asked.user)
        asked_at = None if code.asked_at is None else microseconds(code.asked_at)
        row = (code.digest, code.user.platform, code.user.user, code.name, microseconds(code.at), *asked, asked_at)
        async with self._database.transaction() as transaction:
            await transaction.run(f"INSERT OR REPLACE INTO link_codes ({_ROW}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    async def find(self, digest: str) -> LinkCode | None:
        """Return the code, or None if there is none of that digest."""
        rows = await self._database.rows(f"SELECT {_ROW} FROM link_codes WHERE digest = ?", (digest,))
        for _, platform, user, name, at_us, asked_platform, asked_user, asked_us in rows:
            asked = UserKey(asked_platform, asked_user) if asked_user else None
            asked_at = None if asked_us is None else moment(asked_us)
            return LinkCode(digest, UserKey(platform, user), name, moment(at_us), asked, asked_at)
        return None

    async def take(self, digest: str) -> bool:
        """Forget the code of that digest, and return whether there was one."""
        async with self._database.transaction() as transaction:
            return bool(await transaction.run("DELETE FROM link_codes WHERE digest = ? RETURNING 1", (digest,)))

    async def drop(self, before: datetime) -> None:
        """Forget what was put before then."""
        async with self._database.transaction() as transaction:
            await transaction.run("DELETE FROM link_codes WHERE at < ?", (microseconds(before),))

    async def forget(self, user: UserKey) -> None:
        """Forget the account's code, and that it was asked about another's. None is fine."""
        async with self._database.transaction() as transaction:
            await transaction.run("DELETE FROM link_codes WHERE platform = ? AND user = ?", (user.platform, user.user))
            await transaction.run(
                """
                UPDATE link_codes SET asked_platform = NULL, asked_user = NULL, asked_at = NULL
                WHERE asked_platform = ? AND asked_user = ?
                """,
                (user.platform, user.user),
            )
