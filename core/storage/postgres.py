"""The PostgreSQL engine: a pool of connections on threads, jobs that are safe beside those of other workers.

A job runs as one transaction (READ COMMITTED: after `Query.lock` it sees what the holders before it committed). It is
run again after a deadlock, a serialization failure, or a connection that broke before COMMIT was sent.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from functools import lru_cache, partial
from typing import Final, TypeVar

import psycopg
from psycopg.adapt import Loader
from psycopg.types.numeric import Int8Dumper
from psycopg.types.string import StrDumperUnknown
from psycopg_pool import ConnectionPool

from core.claims import present_claim
from core.errors import ClaimLost, StorageError
from core.storage import postgres_vectors
from core.storage.database import Database, PoolUse, Query, Row
from core.storage.postgres_errors import CommitUnknown, is_repeatable, translated
from core.storage.postgres_migrations import MIGRATIONS, Migration
from core.storage.postgres_schema import prepare

T = TypeVar("T")

POOL: Final = 8
"""Connections of one process: as many jobs run at once."""

_WAIT_S: Final = 30.0
"""How long a job waits for a connection while the server cannot be reached."""

_MAINTENANCE: Final = 0x456C6567  # one process maintains at a time
_ATTEMPTS: Final = 5
_PREPARED_FROM: Final = 5
"""A statement is planned once on a connection that has run it so many times."""

_KNOWN_STATEMENTS: Final = 1024
_MARK = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|\?")
_LIST = re.compile(r"\bjson_list\(([^()]*)\)")

_log = logging.getLogger(__name__)


class PostgresQuery(Query):
    """Statements on one connection, on the thread of their job."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def run(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Run one statement and return its rows."""
        with self._connection.cursor() as cursor:
            cursor.execute(_in_postgres(sql), parameters)
            return cursor.fetchall() if cursor.description is not None else []

    def run_many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run one statement for each row of parameters, in one round trip; none for no rows."""
        with self._connection.cursor() as cursor:
            cursor.executemany(_in_postgres(sql), rows)

    def lock(self, *names: object) -> None:
        """Wait until no other transaction holds this name; it is held until this one ends."""
        self.run("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", (":".join(map(str, names)),))


class PostgresDatabase(Database):
    """A database that other processes use, too. Made by `open_postgres`; `close` it."""

    searches_vectors = True

    def __init__(self, pool: ConnectionPool[psycopg.Connection], *, is_pooled: bool = False) -> None:
        self._pool = pool
        self._is_pooled = is_pooled
        self._threads = ThreadPoolExecutor(pool.max_size, "postgres")
        self._open = True

    async def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Return the rows of a query over what is committed."""
        return await self._run(partial(self._job, "", lambda query: query.run(sql, parameters)))

    async def read(self, job: Callable[[Query], T]) -> T:
        """Return what a function of statements returns, over one state of what is committed."""
        return await self._run(partial(self._job, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", job))

    async def write(self, job: Callable[[Query], T]) -> T:
        """Run a function of statements as one transaction and return what it returns."""
        return await self._run(partial(self._job, "BEGIN", _fenced(job)))

    async def integrity(self) -> list[str]:
        """Return what the server knows to be wrong: pages with false checksums, indexes that were not built whole."""
        pages = await self.rows("SELECT checksum_failures FROM pg_stat_database WHERE datname = current_database()")
        # Those of `maintain` may be in the making, and are mended by it.
        indexes = await self.rows(
            "SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid AND indrelid != 'vectors'::regclass"
        )
        faults = [f"{count} pages have false checksums" for (count,) in pages if count]
        return faults + [f"the index {name} is not whole" for (name,) in indexes]

    async def maintain(self) -> None:
        """Make and drop the indexes of people with many vectors, unless another process is doing it."""
        await self._run(self._maintain)

    def _maintain(self) -> None:
        with translated(), self._pool.connection() as turn, turn.transaction():
            # A transaction's lock: a pooler gives a session's to others. It is asked for by a simple query: one with
            # parameters keeps its snapshot until the next, and a new index waits for snapshots to end.
            asked = f"SELECT pg_try_advisory_xact_lock({_MAINTENANCE})".encode()
            [(is_ours,)] = turn.execute(asked, prepare=False).fetchall()
            if is_ours:
                with self._pool.connection() as connection:
                    postgres_vectors.maintain(connection)

    async def checkpoint(self) -> None:
        """Do nothing: the server does it."""

    async def truncate_log(self) -> None:
        """Do nothing: the server recycles its log."""

    async def scrub(self) -> None:
        """Do nothing: the server overwrites what was deleted when it vacuums, and keeps its log as it is set up."""

    @asynccontextmanager
    async def scrubbing_once(self) -> AsyncIterator[None]:
        """Do nothing, as `scrub`."""
        yield

    @property
    def is_pooled(self) -> bool:
        """Whether a pooler stands in between, over which nobody hears of anything."""
        return self._is_pooled

    def pool(self) -> PoolUse:
        """Return how the connections are used now."""
        use = self._pool.get_stats()
        names = ("pool_max", "pool_size", "pool_available", "requests_waiting")
        return PoolUse(*(use.get(name, 0) for name in names))

    async def close(self) -> None:
        """Let the jobs that run end, and close the connections. Closing twice is fine."""
        if not self._open:
            return
        self._open = False
        await asyncio.to_thread(self._threads.shutdown)
        await asyncio.to_thread(self._pool.close)

    async def _run(self, work: Callable[[], T]) -> T:
        if not self._open:
            raise StorageError("the database is closed")
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _job(self, begin: str, job: Callable[[Query], T]) -> T:
        with translated():
            for attempts_left in range(_ATTEMPTS - 1, -1, -1):
                try:
                    with self._pool.connection() as connection:
                        return _whole(connection, begin, job)
                except psycopg.Error as error:
                    if not attempts_left or not is_repeatable(error):
                        raise
                    self._pool.check()  # a server that was restarted has closed all of them
                    _log.info("run again", extra={"error": type(error).__name__})
        raise AssertionError("unreachable")


async def open_postgres(
    url: str, migrations: Sequence[Migration] = MIGRATIONS, *, pool: int = POOL, wait_s: float = _WAIT_S
) -> PostgresDatabase:
    """Connect to the database of a URL, see that it has what is needed, and migrate it.

    Raises:
        ConfigError: something is missing that somebody has to give: an extension, a right, a newer server.
        SchemaTooNew: a newer version of this program wrote it.
        StorageError: it cannot be reached or migrated.
    """
    async with AsyncExitStack() as opened:
        is_pooled = await asyncio.to_thread(prepare, url, migrations)
        connections = ConnectionPool(
            url,
            # A pooler in transaction mode gives each transaction another session: nothing prepared stays.
            kwargs={
                "autocommit": True,
                "prepare_threshold": None if is_pooled else 5,
                "cursor_factory": psycopg.RawCursor,
            },
            configure=_configure,
            min_size=1,
            max_size=pool,
            timeout=wait_s,
            reconnect_timeout=0,
            open=False,
        )
        await asyncio.to_thread(connections.open)
        opened.callback(connections.close)
        database = PostgresDatabase(connections, is_pooled=is_pooled)
        opened.pop_all()
        return database


class _Number(Loader):
    """A sum as it is in SQLite: whole where it has no fraction."""

    def load(self, data: bytes | bytearray | memoryview) -> int | float:
        text = bytes(data).decode()
        return float(text) if "." in text else int(text)


class _Text(StrDumperUnknown):
    """Text without NUL, which PostgreSQL refuses."""

    def dump(self, obj: str) -> bytes | bytearray | memoryview | None:
        return super().dump(obj.replace("\0", "\ufffd") if "\0" in obj else obj)


def _configure(connection: psycopg.Connection) -> None:
    adapters = connection.adapters
    adapters.register_dumper(int, Int8Dumper)  # one plan for small and large
    adapters.register_dumper(str, _Text)
    adapters.register_loader("numeric", _Number)
    postgres_vectors.register(connection)


def _whole(connection: psycopg.Connection, begin: str, job: Callable[[Query], T]) -> T:
    """Run a job between BEGIN and COMMIT, or without them; on any exception the pool rolls its connection back."""
    query = PostgresQuery(connection)
    if not begin:
        return job(query)
    query.run(begin)
    result = job(query)
    try:
        query.run("COMMIT")
    except psycopg.OperationalError as error:
        if connection.closed:
            raise CommitUnknown from error
        raise
    return result


def _fenced(job: Callable[[Query], T]) -> Callable[[Query], T]:
    """Return a job that is refused once the claim is gone under which it is asked for (ClaimLost)."""
    if (claim := present_claim()) is None or not claim.epoch:
        return job
    claim.check()

    def fenced(query: Query) -> T:
        # The row is held until the end: nobody else claims the same before what is written here is there.
        held = query.run("SELECT 1 FROM claims WHERE epoch = ? FOR KEY SHARE", (claim.epoch,))
        if not held and not claim.is_given_up:
            raise ClaimLost("another worker goes on with this")
        return job(query)

    return fenced


@lru_cache(_KNOWN_STATEMENTS)
def _in_postgres(sql: str) -> str:
    """Return a statement with numbered parameters, and lists made as PostgreSQL makes them."""
    numbers = iter(range(1, 1 + sql.count("?")))
    numbered = _MARK.sub(lambda mark: f"${next(numbers)}" if mark[0] == "?" else mark[0], sql)
    return _LIST.sub(r"coalesce(json_agg(\1), '[]')::text", numbered)
