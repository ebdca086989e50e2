"""The PostgreSQL engine: a pool of connections on threads, jobs that are safe beside those of other workers.

A job runs as one transaction (READ COMMITTED: after `Query.lock` it sees what the holders before it committed). It is
run again after a deadlock, a serialization failure, or a connection that broke before COMMIT was sent: while the server
is away, it waits. Threads and connections are as many, so no job waits for another's connection.
"""

from __future__ import annotations

import asyncio
import logging
import random
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import lru_cache
from time import monotonic, sleep
from typing import Any, Final, TypeVar

import psycopg
from psycopg import errors
from psycopg.adapt import Loader
from psycopg.types.numeric import Int8Dumper
from psycopg.types.string import StrDumperUnknown
from psycopg_pool import ConnectionPool, PoolTimeout

from core.claims import present_claim
from core.errors import ClaimLost, StorageError
from core.storage import postgres_vectors
from core.storage.database import Database, PoolUse, Query, Row
from core.storage.postgres_connection import SET_LOCAL, STATEMENT_S, break_off, parameters, with_session
from core.storage.postgres_errors import CommitUnknown, is_away, is_repeatable, reason, translated
from core.storage.postgres_migrations import MIGRATIONS, Migration
from core.storage.postgres_schema import prepare

T = TypeVar("T")

POOL: Final = 8
"""Connections of one process: as many jobs run at once."""

_WAIT_S: Final = 30.0
"""How long a job waits for a connection while the server cannot be reached."""

_MAINTENANCE: Final = 0x456C6567  # one process maintains at a time
_INDEX_RAM: Final = "512MB"
"""How much of the server's an index may take; it takes 2 KB a vector, and where that is refused, many times as long."""

_STALLED_S: Final = STATEMENT_S + 5.0
"""A statement without an answer for so long has lost its server. TCP does not notice a proxy that swallows all."""

_TRY_S: Final = 0.5
"""The pool does not try by itself to reach a server that was away: whoever waits has it try so often."""

_ATTEMPTS: Final = 5
_PAUSE_S: Final = 0.01
_PREPARED_FROM: Final = 5
"""A statement is planned once on a connection that has run it so many times."""

_KNOWN_STATEMENTS: Final = 1024
_MARK = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|\?")
_LIST = re.compile(r"\bjson_list\(([^()]*)\)")

_log = logging.getLogger(__name__)
logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # it warns at every attempt; once is enough


class PostgresQuery(Query):
    """Statements on one connection, on the thread of their job."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        self._sent_s: float | None = None

    def run(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Run one statement and return its rows."""
        with self._cursor() as cursor:
            cursor.execute(_in_postgres(sql), parameters)
            return cursor.fetchall() if cursor.description is not None else []

    def run_many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run one statement for each row of parameters, in one round trip; none for no rows."""
        with self._cursor() as cursor:
            cursor.executemany(_in_postgres(sql), rows)

    def lock(self, *names: object) -> None:
        """Wait until no other transaction holds this name; it is held until this one ends."""
        self.run("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", (":".join(map(str, names)),))

    def commit(self) -> None:
        """Commit the transaction.

        Raises:
            CommitUnknown: the connection broke meanwhile.
            InFailedSqlTransaction: a statement had failed before, and the job has not said so; nothing was changed.
        """
        try:
            with self._cursor() as cursor:
                done = cursor.execute("COMMIT").statusmessage
        except psycopg.Error as error:
            if self._connection.closed:
                raise CommitUnknown from error
            raise
        if done != "COMMIT":
            raise errors.InFailedSqlTransaction

    def break_off(self, stalled_s: float) -> None:
        """Break the connection if a statement has had no answer for so long. Call from any thread."""
        if (sent_s := self._sent_s) is not None and monotonic() - sent_s > stalled_s:
            with suppress(OSError, psycopg.Error):  # the answer came just now
                break_off(self._connection)

    @contextmanager
    def _cursor(self) -> Iterator[psycopg.Cursor]:
        with self._connection.cursor() as cursor:
            self._sent_s = monotonic()
            try:
                yield cursor
            finally:
                self._sent_s = None


class PostgresDatabase(Database):
    """A database that other processes use, too. Made by `open_postgres`; `close` it."""

    searches_vectors = True

    def __init__(self, named: dict[str, Any], *, pool: int, is_pooled: bool, wait_s: float, stalled_s: float) -> None:
        self._wait_s = wait_s
        self._stalled_s = stalled_s
        self._is_pooled = is_pooled
        self._kwargs: dict[str, Any] = {
            **(named if is_pooled else with_session(named)),
            "autocommit": True,
            # A pooler in transaction mode gives each transaction another session: nothing prepared stays.
            "prepare_threshold": None if is_pooled else _PREPARED_FROM,
            "cursor_factory": psycopg.RawCursor,
        }
        self._pool = ConnectionPool(
            kwargs=self._kwargs,
            configure=_configure,
            min_size=1,
            max_size=pool,
            reconnect_timeout=0,
            reconnect_failed=lambda _: self._not_connected(sys.exception()),  # it is called by what handles that
            open=False,
        )
        self._threads = ThreadPoolExecutor(pool, "postgres")
        self._open = True
        self._at_work: set[PostgresQuery] = set()
        self._renewed_s = 0.0
        self._away_s: float | None = None
        self._reason = ""
        self._watching: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connect."""
        await asyncio.to_thread(self._pool.open)
        self._watching = asyncio.create_task(self._watch())

    async def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Return the rows of a query over what is committed."""
        return await self._run("", lambda query: query.run(sql, parameters))

    async def read(self, job: Callable[[Query], T]) -> T:
        """Return what a function of statements returns, over one state of what is committed."""
        return await self._run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", job)

    async def write(self, job: Callable[[Query], T]) -> T:
        """Run a function of statements as one transaction and return what it returns."""
        return await self._run("BEGIN", _fenced(job))

    async def describe(self) -> tuple[str, int]:
        """Return the engine's name with its version, and how many bytes the database takes."""
        [(version, size)] = await self.rows(
            "SELECT current_setting('server_version'), pg_database_size(current_database())"
        )
        return f"PostgreSQL {version.split()[0]}", int(size)

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
        await asyncio.get_running_loop().run_in_executor(self._threads, self._maintain)

    def _maintain(self) -> None:
        with translated(), self._pool.connection() as turn, turn.transaction():
            # A transaction's lock: a pooler gives a session's to others. It is asked for by a simple query: one with
            # parameters keeps its snapshot until the next, and a new index waits for snapshots to end.
            asked = f"SELECT pg_try_advisory_xact_lock({_MAINTENANCE})".encode()
            [(is_ours,)] = turn.execute(asked, prepare=False).fetchall()
            if is_ours:
                turn.execute("SET LOCAL idle_in_transaction_session_timeout = 0", prepare=False)
                # One of its own: an index takes minutes, and a pool may have two.
                with psycopg.connect(**self._kwargs) as connection:
                    if not self._is_pooled:  # a pooler would give what is set for a session to others
                        connection.execute("SET statement_timeout = 0")
                        connection.execute(f"SET maintenance_work_mem = '{_INDEX_RAM}'".encode())
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

    def away(self) -> str:
        """Return why the last attempt to reach the server failed; "" after one that did not."""
        return self._reason

    async def close(self) -> None:
        """Let the jobs that run end, and close the connections. Closing twice is fine."""
        if not self._open:
            return
        self._open = False
        await asyncio.to_thread(self._threads.shutdown)
        if self._watching is not None:
            self._watching.cancel()
        await asyncio.to_thread(self._pool.close)

    async def _run(self, begin: str, job: Callable[[Query], T]) -> T:
        if not self._open:
            raise StorageError("the database is closed")
        until_s = monotonic() + self._wait_s
        if (away_s := self._away_s) is not None:  # who asks later does not wait anew
            until_s = max(away_s + self._wait_s, monotonic() + _TRY_S)
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._job, begin, job, until_s)

    def _job(self, begin: str, job: Callable[[Query], T], until_s: float) -> T:
        attempts = 0
        with translated():
            while True:
                connection = self._connection(until_s)
                taken_s = monotonic()
                try:
                    return self._whole(connection, begin, job)
                except psycopg.Error as error:
                    attempts += 1
                    if is_away(error, connection):
                        self._renew(error, taken_s)
                        if monotonic() >= until_s:
                            raise
                    elif not is_repeatable(error) or attempts == _ATTEMPTS:
                        raise
                    else:
                        sleep(random.uniform(0, _PAUSE_S) * 2**attempts)  # noqa: S311 - not all at once again
                    _log.info("run again", extra={"error": type(error).__name__})

    def _whole(self, connection: psycopg.Connection, begin: str, job: Callable[[Query], T]) -> T:
        """Run a job between BEGIN and COMMIT, or without them; roll back on any exception."""
        query = PostgresQuery(connection)
        self._at_work.add(query)
        try:
            with connection:
                if not begin:
                    return job(query)
                query.run(begin + (SET_LOCAL if self._is_pooled else ""))
                result = job(query)
                query.commit()
                return result
        finally:
            self._at_work.discard(query)
            self._pool.putconn(connection)

    def _connection(self, until_s: float) -> psycopg.Connection:
        """Take a connection out of the pool; wait for the server until then.

        Raises:
            PoolTimeout: there was none; the text says why.
        """
        while True:
            with suppress(PoolTimeout):
                connection = self._pool.getconn(timeout=_TRY_S)
                self._connected()
                return connection
            if monotonic() >= until_s or not self._open:
                raise PoolTimeout(self._reason or "no connection was free in time")

    def _renew(self, error: psycopg.Error, taken_s: float) -> None:
        """Replace all connections after one was lost: those made with it have lost their server, too."""
        if isinstance(error, errors.ReadOnlySqlTransaction):
            self._not_connected(error)
            sleep(_TRY_S)
        if taken_s >= self._renewed_s:  # else another job did it meanwhile
            self._renewed_s = monotonic()
            self._pool.drain()

    def _connected(self) -> None:
        if self._away_s is not None:
            _log.info("the database is back", extra={"seconds": round(monotonic() - self._away_s, 1)})
            self._away_s, self._reason = None, ""

    def _not_connected(self, error: BaseException | None) -> None:
        self._reason = reason(error) if error is not None else ""
        if self._away_s is None:
            self._away_s = monotonic()
            _log.warning("the database is away: %s", self._reason)

    async def _watch(self) -> None:
        """Break off connections of which a statement has had no answer for too long."""
        while True:
            await asyncio.sleep(self._stalled_s / 10)
            for query in list(self._at_work):
                query.break_off(self._stalled_s)


async def open_postgres(
    url: str,
    migrations: Sequence[Migration] = MIGRATIONS,
    *,
    pool: int = POOL,
    wait_s: float = _WAIT_S,
    stalled_s: float = _STALLED_S,
) -> PostgresDatabase:
    """Connect to the database of a URL, see that it has what is needed, and migrate it.

    A job waits for `wait_s` while the server is away; a statement without an answer for `stalled_s` is broken off.

    Raises:
        ConfigError: something is missing that somebody has to give: an extension, a right, a newer server.
        SchemaTooNew: a newer version of this program wrote it.
        StorageError: it cannot be reached or migrated.
    """
    named = parameters(url)
    is_pooled = await asyncio.to_thread(prepare, named, migrations)
    database = PostgresDatabase(named, pool=pool, is_pooled=is_pooled, wait_s=wait_s, stalled_s=stalled_s)
    await database.open()
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
