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
from core.storage.files_folder import CONTENT, file_content, file_name, file_names, owner_name
from core.storage.record import listed, microseconds
from core.types import UserKey

_AT_ONCE: Final = 2
"""So many files are read or written at a time: a driver holds each of them twice."""

_USED: Final = "SELECT coalesce(sum(length(content) - ?), 0) FROM files WHERE owner = ?"
_CONTENT: Final = "SELECT content FROM files WHERE owner = ? AND sha256 = ?"
_PUT: Final = "INSERT INTO files (owner, sha256, at, content) VALUES (?, ?, ?, ?)"
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
        name = file_name(self._database.sealing, owner, sha256)

        def job(query: Query) -> int | None:
            query.lock("files", whose)
            if query.run(_RENEW, (at, whose, name)):
                return None
            [(used,)] = query.run(_USED, (self._database.sealing.extra_bytes, whose))
            if used + len(content) > self.quota:
                return int(used)
            query.run(_PUT, (whose, name, at, query.sealing.seal_bytes(owner, CONTENT, name, content)))
            return None

        async with self._turn:
            refused_at = await self._database.write(job)
        if refused_at is not None:
            raise FileQuotaExceeded(refused_at, self.quota)
        return sha256

    async def get(self, owner: UserKey, sha256: str) -> bytes | None:
        """Return the bytes; None if the owner has none of that digest."""
        return await self._read(owner, file_name(self._database.sealing, owner, sha256), sha256)

    async def used(self, owner: UserKey) -> int:
        """Return how many bytes of the owner are kept."""
        [(used,)] = await self._database.rows(_USED, (self._database.sealing.extra_bytes, owner_name(owner)))
        return int(used)

    async def digests(self, owner: UserKey) -> frozenset[str]:
        """Return the digests of all that the owner has. Where they are sealed, all are read for it."""
        rows = await self._database.rows("SELECT sha256 FROM files WHERE owner = ?", (owner_name(owner),))
        names = frozenset(name for (name,) in rows)
        if not self._database.sealing.is_on:
            return names
        found = set()
        for name in names:
            if (content := await self._read(owner, name)) is not None:
                found.add(hashlib.sha256(content).hexdigest())
        return frozenset(found)

    async def remove(self, owner: UserKey, digests: Collection[str] | None = None) -> None:
        """Remove those of the owner's files, or all of them, down to the last byte."""
        gone, values = "DELETE FROM files WHERE owner = ?", [owner_name(owner)]
        if digests is not None:
            gone += " AND sha256 IN (SELECT value FROM texts(?))"
            values.append(listed(file_names(self._database.sealing, owner, digests)))
        if await self._database.change(f"{gone} RETURNING id", values):
            await self._database.scrub()

    async def copy(self, owner: UserKey, to: UserKey, digests: Collection[str]) -> None:
        """Give those of one owner's files to another, too, whatever that one may keep."""
        at, whose = microseconds(self._clock.now()), owner_name(to)
        for sha256 in sorted(digests):
            name = file_name(self._database.sealing, to, sha256)
            if await self._database.change(_RENEW, (at, whose, name)):
                continue
            if (content := await self.get(owner, sha256)) is not None:
                put = f"{_PUT} ON CONFLICT (owner, sha256) DO UPDATE SET at = excluded.at"
                sealed = self._database.sealing.seal_bytes(to, CONTENT, name, content)
                await self._database.change(put, (whose, name, at, sealed))

    async def sweep(self, named: Mapping[UserKey, Collection[str]], before: datetime) -> int:
        """Remove what was last put before then and is not among its owner's digests; return how many files that is."""
        wanted = {
            owner_name(owner): file_names(self._database.sealing, owner, digests) for owner, digests in named.items()
        }
        old = await self._database.rows("SELECT owner, sha256 FROM files WHERE at < ?", (microseconds(before),))
        strays = [(owner, sha256) for owner, sha256 in old if sha256 not in wanted.get(owner, ())]
        if strays:
            gone = "DELETE FROM files WHERE owner = ? AND sha256 = ? AND at < ?"  # unless it was put again meanwhile
            rows = [(*each, microseconds(before)) for each in strays]
            await self._database.write(lambda query: query.run_many(gone, rows))
            await self._database.scrub()
        return len(strays)

    async def _read(self, owner: UserKey, name: str, sha256: str = "") -> bytes | None:
        async with self._turn:
            rows = await self._database.rows(_CONTENT, (owner_name(owner), name))
        return file_content(self._database.sealing, name, bytes(rows[0][0]), sha256) if rows else None
