"""Small texts by name, in the table `kept`: what all workers of a database agree on."""

from __future__ import annotations

from collections.abc import Callable

from core.storage.database import Database, Query
from core.stores import KeptStore

_FIND = "SELECT value FROM kept WHERE name = ?"
_PUT = "INSERT INTO kept (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


class SqlKept(KeptStore):
    """One row for each name."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, name: str) -> str | None:
        """Return what is kept under that name, or None."""
        return next((value for (value,) in await self._database.rows(_FIND, (name,))), None)

    async def put(self, name: str, value: str) -> None:
        """Keep the text, in place of what was kept under that name."""
        await self.change(name, lambda _: value)

    async def delete(self, name: str) -> None:
        """Keep nothing under that name."""
        await self.change(name, lambda _: None)

    async def change(self, name: str, change: Callable[[str | None], str | None]) -> str | None:
        """Keep what `change` makes of what is kept (None: nothing), and return it: no other worker is in between."""

        def job(query: Query) -> str | None:
            query.lock("kept", name)
            before = next((value for (value,) in query.run(_FIND, (name,))), None)
            after = change(before)
            if after is None and before is not None:
                query.run("DELETE FROM kept WHERE name = ?", (name,))
            elif after is not None and after != before:
                query.run(_PUT, (name, after))
            return after

        return await self._database.write(job)
