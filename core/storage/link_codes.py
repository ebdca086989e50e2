"""The codes that link accounts, in SQLite. Knows rows. Does not know who may use one, nor for how long."""

from __future__ import annotations

from datetime import datetime

from core.people import LinkCode, LinkCodes
from core.storage.record import microseconds, moment
from core.storage.sqlite import Database
from core.types import UserKey


class SqliteLinkCodes(LinkCodes):
    """One row for each account that waits for its other one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, code: LinkCode) -> None:
        """Keep it, in place of the one that the account had."""
        row = (code.digest, code.user.platform, code.user.user, code.name, microseconds(code.at))
        async with self._database.transaction() as transaction:
            await transaction.run("INSERT OR REPLACE INTO link_codes VALUES (?, ?, ?, ?, ?)", row)

    async def find(self, digest: str) -> LinkCode | None:
        """Return the code, or None if there is none of that digest."""
        rows = await self._database.rows("SELECT platform, user, name, at FROM link_codes WHERE digest = ?", (digest,))
        for platform, user, name, at in rows:
            return LinkCode(digest, UserKey(platform, user), name, moment(at))
        return None

    async def drop(self, before: datetime) -> None:
        """Forget what was put before then."""
        async with self._database.transaction() as transaction:
            await transaction.run("DELETE FROM link_codes WHERE at < ?", (microseconds(before),))

    async def forget(self, user: UserKey) -> None:
        """Forget the account's code. None is fine."""
        async with self._database.transaction() as transaction:
            await transaction.run("DELETE FROM link_codes WHERE platform = ? AND user = ?", (user.platform, user.user))
