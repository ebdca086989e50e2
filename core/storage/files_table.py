"""Files in the database: where several workers share no disk, and where nothing is written to one."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final

from core.errors import FileQuotaExceeded
from core.files.port import FileStore
from core.ports import Clock
from core.storage.database import Database, Query
from core.storage.files_folder import owner_name
from core.storage.record import listed, microseconds
from core.types import UserKey

_AT_ONCE: Final = 2
"""So many files are read or written at a time: a driver holds each of them twice."""

_USED: Final = "SELECT coalesce(sum(length(content)), 0) FROM files WHERE owner = ?"
_RENEW: Final = "UPDATE files SET at = ? WHERE owner = ? AND sha256 = ? RETURNING id"


class SqlFiles(FileStore):
    """Rows of `files`."""

    def __init__(self, database: Database, clock: Clock, quota: int) -> None:
        self.quota = quota
        self._database = database
        self._clock = clock
        self._turn = asyncio.Semaphore(_AT_ONCE)

    async def put(self, owner: UserKey, content: bytes) -> str:
        """Keep the bytes, and return their digest; they are on disk when this returns."""
        sha256, whose, at = hashlib.sha256(content).hexdigest(), owner_name(owner), microseconds(self._clock.now())

        def job(query: Query) -> int | None:
            query.lock("files", whose)
            if query.run(_RENEW, (at, whose, sha256)):
                return None
            [(used,)] = query.run(_USED, (whose,))
            if used + len(content) > self.quota:
                return int(used)
            query.run(
                "INSERT INTO files (owner, sha256, at, content) VALUES (?, ?, ?, ?)", (whose, sha256, at, content)
            )
            return None

        async with self._turn:
            refused_at = await self._database.write(job)
        if refused_at is not None:
            raise FileQuotaExceeded(refused_at, self.quota)
        return sha256

    async def get(self, owner: UserKey, sha256: str) -> bytes | None:
        """Return the bytes; None if the owner has none of that digest."""
        async with self._turn:
            rows = await self._database.rows(
                "SELECT content FROM files WHERE owner = ? AND sha256 = ?", (owner_name(owner), sha256)
            )
        return bytes(rows[0][0]) if rows else None

    async def used(self, owner: UserKey) -> int:
        """Return how many bytes of the owner are kept."""
        [(used,)] = await self._database.rows(_USED, (owner_name(owner),))
        return int(used)

    async def digests(self, owner: UserKey) -> frozenset[str]:
        """Return the digests of all that the owner has."""
        rows = await self._database.rows("SELECT sha256 FROM files WHERE owner = ?", (owner_name(owner),))
        return frozenset(sha256 for (sha256,) in rows)

    async def remove(self, owner: UserKey, digests: Collection[str]) -> None:
        """Remove those of the owner's files, down to the last byte."""
        gone = "DELETE FROM files WHERE owner = ? AND sha256 IN (SELECT value FROM texts(?)) RETURNING id"
        if digests and await self._database.change(gone, (owner_name(owner), listed(digests))):
            await self._database.scrub()

    async def copy(self, owner: UserKey, to: UserKey, digests: Collection[str]) -> None:
        """Give those of one owner's files to another, too, whatever that one may keep."""
        at = microseconds(self._clock.now())
        await self._database.change(
            """
            INSERT INTO files (owner, sha256, at, content)
            SELECT ?, sha256, ?, content FROM files WHERE owner = ? AND sha256 IN (SELECT value FROM texts(?))
            ON CONFLICT (owner, sha256) DO UPDATE SET at = excluded.at
            """,
            (owner_name(to), at, owner_name(owner), listed(digests)),
        )

    async def sweep(self, named: Mapping[UserKey, Collection[str]], before: datetime) -> int:
        """Remove what was last put before then and is not among its owner's digests; return how many files that is."""
        wanted = {owner_name(owner): frozenset(digests) for owner, digests in named.items()}
        old = await self._database.rows("SELECT owner, sha256 FROM files WHERE at < ?", (microseconds(before),))
        strays = [(owner, sha256) for owner, sha256 in old if sha256 not in wanted.get(owner, ())]
        if strays:
            gone = "DELETE FROM files WHERE owner = ? AND sha256 = ? AND at < ?"  # unless it was put again meanwhile
            rows = [(*each, microseconds(before)) for each in strays]
            await self._database.write(lambda query: query.run_many(gone, rows))
            await self._database.scrub()
        return len(strays)
