"""Files of people: in a folder, or in the database where several workers share no disk; and what names them.

They lie in FOLDER/OWNER/SHA256, where OWNER is a digest of the account. Where they are sealed, the last name is what
their digest is stored as: who has the same file sees not that it is here. A file is written under another name, synced,
and only then given its own; it is never changed. Its time is when it was last put. Whoever gives, looks for or removes
names holds the folder's lock, in this process or another.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os

# ruff: noqa: S608 - SQL is put together from constants of ours only
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import mkstemp
from typing import Any, Final, TypeAlias, TypeVar

from core.errors import FileQuotaExceeded, StorageError, Unreadable
from core.files.port import FileStore
from core.ports import Clock
from core.sealing.port import PLAIN, Sealing
from core.storage.database import Database, Query, Row
from core.storage.inbox import opened_message, opened_question
from core.storage.memory_rows import change_row, memory_row
from core.storage.record import listed, microseconds
from core.storage.sqlite_backup import settle, unwritten
from core.types import UserKey

T = TypeVar("T")

_PART: Final = "part-"
"""How the name of a file begins that is being written."""

_DIGEST_CHARS: Final = 64
_AT_ONCE: Final = 4
"""So many files are read or written at a time; each is whole in RAM."""


CONTENT: Final = "files.content"
"""What sealing knows the bytes of a file as; their row is the file's name."""


def owner_name(owner: UserKey) -> str:
    """Return the name under which an owner's files lie: it tells nobody whose they are."""
    return hashlib.sha256(str(owner).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def file_names(sealing: Sealing, owner: UserKey, digests: Collection[str]) -> frozenset[str]:
    """Return the names of an owner's files; what is no digest has none, and so no way out of the folder."""
    return frozenset(sealing.digest(owner, bytes.fromhex(each)).hex() for each in _names(digests))


def file_name(sealing: Sealing, owner: UserKey, sha256: str) -> str:
    """Return the name of an owner's file; "" for what is no digest."""
    return next(iter(file_names(sealing, owner, [sha256])), "")


def file_content(sealing: Sealing, name: str, stored: bytes, sha256: str = "") -> bytes | None:
    """Return the bytes of a file of that name, and digest; None if they are not what they were.

    Without a digest, what is not sealed has the one that is its name.
    """
    try:
        content = sealing.open_bytes(CONTENT, name, stored)
    except Unreadable:
        return None
    told = sha256 or ("" if sealing.is_on else name)
    return content if told in {"", hashlib.sha256(content).hexdigest()} else None


class FolderFiles(FileStore):
    """Files of everybody below one folder, which is made when the first is put."""

    def __init__(self, folder: Path, clock: Clock, quota: int, sealing: Sealing = PLAIN) -> None:
        self.folder = folder
        self.quota = quota
        self._clock = clock
        self._sealing = sealing
        self._turn = asyncio.Semaphore(_AT_ONCE)

    async def put(self, owner: UserKey, content: bytes) -> str:
        """Keep the bytes, and return their digest; they are on disk when this returns."""

        def work() -> str:
            sha256 = hashlib.sha256(content).hexdigest()
            if not self._renew(path := self._path(owner, sha256)):
                self._write(path, owner, content, most=self.quota)
            return sha256

        return await self._run(work)

    async def get(self, owner: UserKey, sha256: str) -> bytes | None:
        """Return the bytes; None if the owner has none of that digest."""
        return await self._run(lambda: self._read(owner, sha256)) if _names([sha256]) else None

    async def used(self, owner: UserKey) -> int:
        """Return how many bytes of the owner are kept."""
        return await self._run(lambda: self._used(owner))

    async def digests(self, owner: UserKey) -> frozenset[str]:
        """Return the digests of all that the owner has. Where they are sealed, all are read for it."""

        def work() -> frozenset[str]:
            folder = self.folder / owner_name(owner)
            names = names_in(folder)
            if not self._sealing.is_on:
                return names
            found = (file_content(self._sealing, name, (folder / name).read_bytes()) for name in names)
            return frozenset(hashlib.sha256(content).hexdigest() for content in found if content is not None)

        return await self._run(work)

    async def remove(self, owner: UserKey, digests: Collection[str] | None = None) -> None:
        """Remove those of the owner's files, or all of them."""

        def work() -> None:
            folder = self.folder / owner_name(owner)
            with self._locked():
                _unlink(folder, names_in(folder) if digests is None else file_names(self._sealing, owner, digests))

        await self._run(work)

    async def copy(self, owner: UserKey, to: UserKey, digests: Collection[str]) -> None:
        """Give those of one owner's files to another, too, whatever that one may keep."""

        def work(sha256: str) -> None:
            if not self._renew(path := self._path(to, sha256)) and (content := self._read(owner, sha256)) is not None:
                self._write(path, to, content)

        for sha256 in sorted(_names(digests)):
            await self._run(partial(work, sha256))

    async def sweep(self, named: Mapping[UserKey, Collection[str]], before: datetime) -> int:
        """Remove what was last put before then and is not among its owner's digests; return how many files that is."""
        wanted = {owner_name(owner): file_names(self._sealing, owner, digests) for owner, digests in named.items()}

        def work() -> int:
            count = 0
            for path in sorted(self.folder.iterdir()) if self.folder.is_dir() else ():
                with self._locked():
                    if path.is_dir():
                        gone = {
                            name for name in names_in(path) - wanted.get(path.name, frozenset()) if is_old(path / name)
                        }
                        count += len(gone)
                        _unlink(path, gone)
                    elif path.name.startswith(_PART) and is_old(path):
                        path.unlink(missing_ok=True)
            return count

        def is_old(path: Path) -> bool:
            with suppress(FileNotFoundError):
                return path.stat().st_mtime < before.timestamp()
            return False

        return await self._run(work)

    async def _run(self, work: Callable[[], T]) -> T:
        """Do it in a thread."""
        async with self._turn:
            try:
                return await asyncio.to_thread(work)
            except OSError as error:
                raise unwritten(Path(error.filename or self.folder), error) from error

    def _path(self, owner: UserKey, sha256: str) -> Path:
        return self.folder / owner_name(owner) / file_name(self._sealing, owner, sha256)

    def _used(self, owner: UserKey) -> int:
        folder = self.folder / owner_name(owner)
        return sum((folder / name).stat().st_size - self._sealing.extra_bytes for name in names_in(folder))

    def _read(self, owner: UserKey, sha256: str) -> bytes | None:
        path = self._path(owner, sha256)
        try:
            return file_content(self._sealing, path.name, path.read_bytes(), sha256)
        except FileNotFoundError:
            return None

    def _write(self, path: Path, owner: UserKey, content: bytes, most: int | None = None) -> None:
        with self._new_file() as part:
            part.write_bytes(self._sealing.seal_bytes(owner, CONTENT, path.name, content))
            self._give_name(part, path, owner, most)

    @contextmanager
    def _new_file(self) -> Iterator[Path]:
        """Give an empty file of our own to be written and named; what is left of it goes."""
        if not self.folder.is_dir():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            settle(self.folder.parent)
        descriptor, name = mkstemp("", _PART, self.folder)
        os.close(descriptor)
        try:
            yield Path(name)
        finally:
            Path(name).unlink(missing_ok=True)

    def _renew(self, path: Path) -> bool:
        """Note that a file was put again; return False if there is none."""
        at = self._clock.now().timestamp()
        with self._locked(), suppress(FileNotFoundError):
            os.utime(path, (at, at))
            return True
        return False

    def _give_name(self, part: Path, path: Path, owner: UserKey, most: int | None) -> None:
        """Write a file through to the disk and give it its name, unless the owner has more bytes then.

        Raises:
            FileQuotaExceeded: they would.
        """
        at, size = self._clock.now().timestamp(), part.stat().st_size - self._sealing.extra_bytes
        os.utime(part, (at, at))
        settle(part)
        with self._locked():
            if most is not None and not path.exists() and (used := self._used(owner)) + size > most:
                raise FileQuotaExceeded(used, most)
            if not path.parent.is_dir():
                path.parent.mkdir(mode=0o700)
                settle(self.folder)
            part.replace(path)
            settle(path.parent)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of the folder, if there is one. Source: flock(2)."""
        try:
            descriptor = os.open(self.folder, os.O_RDONLY)
        except FileNotFoundError:
            yield
            return
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _names(digests: Collection[str]) -> frozenset[str]:
    """Return what is a digest, and so a name without a way out of the folder."""
    return frozenset(each for each in digests if len(each) == _DIGEST_CHARS and set(each) <= set("0123456789abcdef"))


def names_in(folder: Path) -> frozenset[str]:
    """Return the names of the files in an owner's folder."""
    try:
        return _names([path.name for path in folder.iterdir()])
    except FileNotFoundError:
        return frozenset()


def write_file(folder: Path, owner: str, name: str, content: bytes, at_s: float, *, sha256: str = "") -> None:
    """Write a file under the name of its owner, synced, as last put then (seconds since 1970), while nobody else does.

    `sha256` is the digest of what is written; it is the name of what is not sealed.

    Raises:
        StorageError: the file has another digest then.
    """
    path, part = folder / owner / name, folder / f"{_PART}{name}"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
        part.touch(mode=0o600)
        part.write_bytes(content)
        os.utime(part, (at_s, at_s))
        settle(part)
        part.replace(path)
        settle(path.parent)
        if hashlib.sha256(path.read_bytes()).hexdigest() != (sha256 or name):
            raise StorageError(f"{path} is not what was written: is the disk sound?")
    except OSError as error:
        raise unwritten(path, error) from error


def _unlink(folder: Path, digests: Collection[str]) -> None:
    """Remove files, and the folder with the last of them."""
    for sha256 in digests:
        (folder / sha256).unlink(missing_ok=True)
    with suppress(OSError):  # others are there, or there is no such folder
        folder.rmdir()
    if digests:
        with suppress(FileNotFoundError):
            settle(folder if folder.is_dir() else folder.parent)


# --- files in the database --------------------------------------------------------------------------------------------

_ROWS_AT_ONCE: Final = 2
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
        self._turn = asyncio.Semaphore(_ROWS_AT_ONCE)

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


# --- who names them ---------------------------------------------------------------------------------------------------

RowsOf: TypeAlias = Callable[[str, Sequence[object]], Awaitable[list[Row]]]
"""Returns the rows of a query, as `Database.rows`."""

_PAGE: Final = 2_000
_DIGEST: Final = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_OWNER: Final = "JOIN owners AS a ON a.id = {table}.owner JOIN owners AS o ON o.id = coalesce(a.linked, a.id)"
_HELD: Final = (
    """
    SELECT {table}.id, o.platform, o."user", {table}.enclosed, coalesce({table}.account, {table}.owner), {row}
    FROM {table} """
    + _OWNER
    + """
    WHERE {table}.enclosed != '' AND {table}.id > ? ORDER BY {table}.id LIMIT ?
"""
)
# What a person is asked to agree to moves, when they do, into the row of the message that says so: one statement.
_WAITING: Final = """
    SELECT coalesce(o.platform, w.platform), coalesce(o."user", w."user"),
        w.platform, w."user", w.chat, w.topic, w.message_id, w.said, w.done
    FROM (
        SELECT platform, "user", chat, topic, message_id, payload AS said, done FROM inbox WHERE payload IS NOT NULL
        UNION ALL SELECT platform, "user", chat, topic, NULL, data, NULL FROM confirmations
    ) AS w
    LEFT JOIN owners AS a ON a.platform = w.platform AND a."user" = w."user"
    LEFT JOIN owners AS o ON o.id = coalesce(a.linked, a.id)
"""


async def files_named(rows_of: RowsOf, sealing: Sealing = PLAIN) -> Mapping[UserKey, frozenset[str]]:
    """Map owners to the digests of the files that anything of theirs names."""
    found: dict[UserKey, set[str]] = defaultdict(set)
    # First: what waits becomes a memory, and never the other way round.
    for platform, user, *row in await rows_of(_WAITING, ()):
        found[UserKey(platform, user)].update(_DIGEST.findall(_waiting(sealing, row)))
    for table, row_of, names in (("memories", memory_row, ("key",)), ("changes", change_row, ("key", "act"))):
        last, held = 0, _HELD.format(table=table, row=", ".join(f"{table}.{name}" for name in names))
        while rows := await rows_of(held, (last, _PAGE)):
            for _, platform, user, enclosed, *row in rows:
                if platform:  # else they were forgotten
                    told = sealing.open(f"{table}.enclosed", row_of(*row), enclosed)
                    found[UserKey(platform, user)].update(_DIGEST.findall(told))
            last = rows[-1][0]
    return {owner: frozenset(digests) for owner, digests in found.items()}


def _waiting(sealing: Sealing, row: Sequence[Any]) -> str:
    """Return what waits: a message, or a question that wants a yes."""
    platform, user, chat, topic, message_id, said, done = row
    if message_id is None:
        return opened_question(sealing, (platform, user, chat, topic), said)
    return opened_message(sealing, (platform, chat, topic, message_id), said, done)
