"""The SQLite engine: one file, opened, written by one writer at a time, scrubbed, closed.

Reads go through a connection of their own, so that they see what was committed and never wait for a writer. A copy in
RAM has one connection only; there a read waits for the writer's turn to end.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from contextvars import ContextVar
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeVar

import aiosqlite

from core.errors import DiskFull, StorageError
from core.sealing.port import PLAIN, Sealing
from core.storage.database import Database, Query, Row
from core.storage.kept import PUT_MARK, SealMark, needs_mark
from core.storage.sqlite_backup import is_lost, open_to_read
from core.storage.sqlite_migrations import MIGRATIONS, Migration
from core.storage.sqlite_schema import PRAGMAS, as_ours, migrate, tables_of, translated
from core.storage.sqlite_scrub import DatabaseFile, scrub
from core.storage.sqlite_upgrade import upgrade

T = TypeVar("T")

_CHECK, _FOREIGN_CHECK = "PRAGMA quick_check(10)", "PRAGMA foreign_key_check"
_STEPS_BETWEEN_LOOKS = 100_000  # of SQLite's machine: some milliseconds

_BUSY_TIMEOUT_S = 60.0
"""How long another process that writes is waited for."""

_OUR_FUNCTIONS = {"numbers": "json_each", "texts": "json_each", "tuples": "json_each", "json_list": "json_group_array"}
_OUR_CALL = re.compile(rf"\b({'|'.join(_OUR_FUNCTIONS)})\(")
_KNOWN_STATEMENTS = 512


class Connection(aiosqlite.Connection):
    """A connection on a thread of its own that runs whole functions there: aiosqlite has no public call for that."""

    async def call(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """Return what a function of the connection returns; cancelling this does not stop it."""
        try:
            result: T = await self._execute(function, self._conn)  # type: ignore[no-untyped-call]
        except sqlite3.Error as error:
            raise as_ours(error) from error
        return result


class SqliteQuery(Query):
    """Statements on the thread of their connection."""

    def __init__(self, connection: sqlite3.Connection, sealing: Sealing) -> None:
        self._connection = connection
        self.sealing = sealing

    def run(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Run one statement and return its rows."""
        return self._connection.execute(_in_sqlite(sql), parameters).fetchall()

    def run_many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run one statement for each row of parameters; none for no rows."""
        self._connection.executemany(_in_sqlite(sql), rows)

    def lock(self, *names: object) -> None:
        """Do nothing: there is one writer at a time."""


class SqliteDatabase(Database):
    """An open file, or a copy of one in RAM. Made by `open_database` or `open_copy`; `close` it."""

    def __init__(
        self,
        writer: Connection,
        reader: Connection | None = None,
        file: DatabaseFile | None = None,
        *,
        sealing: Sealing = PLAIN,
    ) -> None:
        self.sealing = sealing
        self._writer = writer
        self._reader = reader
        self._file = file  # None in RAM
        self._turn = asyncio.Lock()
        self._open = True
        self._scrubbing = asyncio.Lock()
        self._scrubs_asked = self._scrubs_done = 0
        self._stop = threading.Event()

    async def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Return the rows of a query over what is committed."""
        return await self._read(lambda raw: SqliteQuery(raw, self.sealing).run(sql, parameters))

    async def read(self, job: Callable[[Query], T]) -> T:
        """Return what a function of statements returns, over one state of what is committed."""
        return await self._read(partial(_whole, "BEGIN", job, self.sealing))

    async def write(self, job: Callable[[Query], T]) -> T:
        """Run a function of statements as one transaction, in one hop, and return what it returns."""
        async with self._turn:
            self._check_open()
            return await self._writer.call(partial(_whole, "BEGIN IMMEDIATE", job, self.sealing))

    async def _read(self, function: Callable[[sqlite3.Connection], T]) -> T:
        self._check_open()
        if self._reader is not None:
            return await self._reader.call(function)
        async with self._turn:
            return await self._writer.call(function)

    async def describe(self) -> tuple[str, int]:
        """Return the engine's name with its version, and how many bytes the database takes."""
        [(pages,)], [(page_bytes,)] = await self.rows("PRAGMA page_count"), await self.rows("PRAGMA page_size")
        return f"SQLite {sqlite3.sqlite_version}", int(pages) * int(page_bytes)

    async def integrity(self) -> list[str]:
        """Return what SQLite finds wrong with the file; nothing, if it is sound. Nobody waits for it."""
        if self._file is None:
            return _faults(await self.rows(_CHECK), await self.rows(_FOREIGN_CHECK))
        self._check_open()
        return await asyncio.to_thread(self._integrity, self._file.path)

    def _integrity(self, path: Path) -> list[str]:
        with translated(), closing(sqlite3.connect(_uri_of(path), uri=True, timeout=_BUSY_TIMEOUT_S)) as connection:
            connection.set_progress_handler(self._stop.is_set, _STEPS_BETWEEN_LOOKS)
            return _faults(connection.execute(_CHECK).fetchall(), connection.execute(_FOREIGN_CHECK).fetchall())

    async def checkpoint(self) -> None:
        """Copy the log into the file as far as readers let it, while others write: their commits need not do it."""
        if self._file is not None:
            await asyncio.to_thread(_checkpoint, self._file.path)

    async def truncate_log(self) -> None:
        """Empty the write-ahead log into the file, if no reader is in the way: what was deleted is gone from the log.

        In the file stray copies of it may be left: `scrub` zeroes those.
        """
        async with self._turn:
            self._check_open()
            await self._writer.call(_truncate_log)

    async def scrub(self) -> None:
        """Return when no byte of what was deleted before this call is left in the file and its log.

        It takes seconds for a file of gigabytes; nobody else waits, and those who ask together are served together.
        """
        self._check_open()
        if self in (put_off := _put_off.get()):
            put_off[self] = True
            return
        self._scrubs_asked += 1
        mine = self._scrubs_asked
        async with self._scrubbing:
            if self._scrubs_done >= mine or self._file is None:
                return
            self._check_open()
            serving = self._scrubs_asked
            await self._scrub_file(self._file)
            self._scrubs_done = serving

    @asynccontextmanager
    async def scrubbing_once(self) -> AsyncIterator[None]:
        """Put off every scrub that is asked for inside to one at the end; none after an exception."""
        put_off = {**_put_off.get(), self: False}
        before = _put_off.set(put_off)
        try:
            yield
        finally:
            _put_off.reset(before)
        if put_off[self]:
            await self.scrub()

    def pool(self) -> None:
        """Return None: there are two connections, each with its thread."""

    async def maintain(self) -> None:
        """Do nothing: what is searched by vectors is in RAM."""

    def away(self) -> str:
        """Return "": the file is here."""
        return ""

    async def close(self) -> None:
        """Write everything into the one file and let go of it. Closing twice is fine."""
        self._stop.set()
        async with self._scrubbing, self._turn:
            if not self._open:
                return
            self._open = False
            if self._reader is not None:
                await self._reader.close()
            try:
                with suppress(DiskFull):  # what was written stays in the log until there is room
                    await _fetch(self._writer, "PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                await self._writer.close()
                if self._file is not None:
                    self._file.release()

    async def _scrub_file(self, file: DatabaseFile) -> None:
        """Do it in a thread; if that is cancelled, it is stopped, and has ended when this raises."""

        def work() -> None:
            with translated():
                scrub(file, self._stop)

        doing = asyncio.get_running_loop().run_in_executor(None, work)
        try:
            await asyncio.shield(doing)
        except asyncio.CancelledError:
            self._stop.set()
            await asyncio.wait([doing])
            doing.exception()  # nobody else asks for it: what is not asked for is logged with a traceback
            self._stop.clear()
            raise

    def _check_open(self) -> None:
        if not self._open:
            raise StorageError("the database is closed")


_put_off: ContextVar[dict[SqliteDatabase, bool]] = ContextVar("put_off", default={})  # noqa: B039 - never changed
"""The databases whose scrubs are put off, by the task at hand, and whether one was asked for."""


async def open_database(
    path: Path,
    migrations: Sequence[Migration] = MIGRATIONS,
    *,
    backups: Path | None = None,
    sealing: Sealing = PLAIN,
) -> SqliteDatabase:
    """Open the file, made now if there is none, readable by its owner only, and migrate it (`upgrade`).

    The backup made before a migration lies in `backups`, by default the folder of that name beside the file.

    Raises:
        SchemaTooNew: a newer version of this program wrote it.
        Damaged: it is not a database of this program, or broken.
        StorageError: it cannot be opened, written or migrated, or is not sealed as `sealing` seals (`needs_mark`).
    """
    is_new = await asyncio.to_thread(is_to_be_marked, path, sealing.id)
    _make_private(path)
    await asyncio.to_thread(upgrade, path, migrations, backups or path.parent / "backups", wait_s=_BUSY_TIMEOUT_S)
    async with AsyncExitStack() as opened:
        writer = await _connect(str(path))
        opened.push_async_callback(writer.close)
        await _fetch(writer, "PRAGMA journal_mode = WAL")
        if is_new:
            await _fetch(writer, PUT_MARK, (SealMark(sealing.id).to_json(),))
        reader = await _connect(str(path))
        opened.push_async_callback(reader.close)
        await _fetch(reader, "PRAGMA query_only = ON")
        database = SqliteDatabase(writer, reader, DatabaseFile(path), sealing=sealing)
        opened.pop_all()
        return database


async def open_copy(
    path: Path | None, migrations: Sequence[Migration] = MIGRATIONS, *, sealing: Sealing = PLAIN
) -> SqliteDatabase:
    """Open a copy of the whole database in RAM, which nobody else sees; empty if there is no file, or None.

    Raises:
        SchemaTooNew, Damaged, StorageError: as `open_database`.
    """
    copy = await _connect(":memory:")
    try:
        if path is not None and (uri := _uri_of(path)):
            await asyncio.to_thread(is_to_be_marked, path, sealing.id)
            source = await _connect(uri)
            try:
                with translated():
                    await source.backup(copy)
            finally:
                await source.close()
        await copy.call(lambda raw: migrate(raw, migrations))
    except BaseException:
        await copy.close()
        raise
    return SqliteDatabase(copy, sealing=sealing)


def is_to_be_marked(path: Path, key_file: str) -> bool:
    """Return whether the file has to be marked as sealed; raises as `needs_mark`. Nothing is written."""
    if is_lost(path):
        return bool(key_file)
    with translated(), closing(open_to_read(path, _BUSY_TIMEOUT_S)) as connection:
        return needs_mark(lambda sql: connection.execute(sql).fetchall(), tables_of(connection), key_file)


def _faults(check: Iterable[Row], foreign: Iterable[Row]) -> list[str]:
    found = [str(row[0]) for row in check] + [f"a row of {row[0]} points nowhere" for row in foreign]
    return [line for line in found if line != "ok"]


def _whole(begin: str, job: Callable[[Query], T], sealing: Sealing, connection: sqlite3.Connection) -> T:
    """Run a job between BEGIN and COMMIT; roll back on any exception."""
    connection.execute(begin)
    try:
        sealing.refresh()
        result = job(SqliteQuery(connection, sealing))
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise
    return result


def _truncate_log(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA busy_timeout = 0")  # waiting for a reader, it would hold up writers
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_S * 1000:.0f}")


def _checkpoint(path: Path) -> None:
    with translated(), closing(sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S)) as connection:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


def _make_private(path: Path) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():  # opening and closing it would drop the locks of this process's connections
            path.touch(mode=0o600)  # SQLite gives its log the mode of the file
        path.chmod(0o600)
    except OSError as error:
        raise StorageError(f"the database file cannot be written: {error.strerror}") from error


def _uri_of(path: Path) -> str:
    return f"{path.absolute().as_uri()}?mode=ro" if path.exists() else ""


async def _connect(name: str) -> Connection:
    uri = name.startswith("file:")
    with translated():
        # A file that cannot be opened is found out here: aiosqlite would leave a thread behind that outlives the loop.
        sqlite3.connect(name, uri=uri).close()
        opening = partial(sqlite3.connect, name, isolation_level=None, timeout=_BUSY_TIMEOUT_S, uri=uri)
        connection = Connection(opening, iter_chunk_size=1)  # rows of a cursor; we use none
        await connection
    try:
        for pragma in PRAGMAS:
            await _fetch(connection, pragma)
    except BaseException:
        await connection.close()
        raise
    return connection


async def _fetch(connection: Connection, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
    return await connection.call(lambda raw: raw.execute(sql, parameters).fetchall())


@lru_cache(_KNOWN_STATEMENTS)
def _in_sqlite(sql: str) -> str:
    """Return a statement with SQLite's names for the four functions of `core.storage.database`."""
    return _OUR_CALL.sub(lambda call: f"{_OUR_FUNCTIONS[call[1]]}(", sql)
