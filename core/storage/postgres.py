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

from core.errors import ClaimLost, StorageError
from core.sealing.port import PLAIN, Sealing
from core.storage import postgres_vectors
from core.storage.database import Database, PoolUse, Query, Row, Statement
from core.storage.kept import PUT_MARK, SealMark
from core.storage.memory_rows import VECTORS
from core.storage.postgres_connection import (
    SET_LOCAL,
    STATEMENT_S,
    CommitUnknown,
    break_off,
    is_away,
    is_lost,
    is_repeatable,
    parameters,
    reason,
    translated,
    with_session,
)
from core.storage.postgres_schema import MIGRATIONS, Migration, is_to_be_marked, prepare
from core.workers.port import Claim, present_claim

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
_LOCK: Final = "pg_advisory_xact_lock(hashtextextended(?, 0))"
_FENCE: Final = "1 / (SELECT count(*) FROM (SELECT 1 FROM claims WHERE epoch = ? FOR KEY SHARE) AS held)"
"""Divides by zero if the claim is gone: so all that was sent with it fails, and nobody has to wait for the answer.

The row is held until the end: nobody else claims the same before what is written here is there.
"""

_CHANGE = re.compile(r"(INSERT|UPDATE|DELETE)\b(?!.*\bRETURNING\b)", re.DOTALL)
_MARK = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|\?")
_LIST = re.compile(r"\bjson_list\(([^()]*)\)")

_log = logging.getLogger(__name__)
logging.getLogger("psycopg").setLevel(logging.ERROR)  # it warns at every attempt, and of what follows from an error


class PostgresQuery(Query):
    """Statements on one connection, on the thread of their job.

    Inside a transaction they are a pipeline: only rows that are asked for are waited for.
    """

    def __init__(
        self,
        connection: psycopg.Connection,
        *,
        is_pooled: bool = False,
        claim: Claim | None = None,
        sealing: Sealing = PLAIN,
    ) -> None:
        self.sealing = sealing
        self._connection = connection
        self._is_pooled = is_pooled
        self._held: list[Statement] = [] if claim is None else [(_FENCE, (claim.epoch,))]
        self._pipeline: psycopg.Pipeline | None = None
        self._answered = False
        self._sent_s: float | None = None

    def run(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Run one statement and return its rows."""
        self._hold()
        return self._execute(sql, parameters)

    def run_many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run one statement for each row of parameters; none for no rows."""
        self._hold()
        self._try()
        with self._waiting(), self._connection.cursor() as cursor:
            cursor.executemany(_in_postgres(sql), rows)

    def alone(self, sql: str, parameters: Sequence[object]) -> list[Row]:
        """Run one statement that is no part of a transaction; it returns no rows if a claim is to hold meanwhile."""
        if not self._held:
            return self._execute(sql, parameters)
        self._execute(*_as_one([(sql, parameters), self._taken()]))
        return []

    def together(self, *statements: Statement) -> list[Row]:
        """Run statements as one, and return the rows of the last."""
        return self.run(*_as_one(statements))

    def lock(self, *names: object) -> None:
        """Wait until no other transaction holds this name; it is held until this one ends."""
        self._held.append((_LOCK, (":".join(map(str, names)),)))

    @contextmanager
    def transaction(self, begin: str) -> Iterator[None]:
        """Begin, run the block, and commit; roll back on any exception.

        Raises:
            CommitUnknown: the connection broke after COMMIT was sent.
            InFailedSqlTransaction: a statement had failed before, and the job has not said so; nothing was changed.
        """
        is_committing = False
        with self._connection:
            try:
                with self._connection.pipeline() as self._pipeline:
                    try:
                        self._send(begin)
                        if self._is_pooled:
                            self._send(SET_LOCAL)
                        yield
                        self._hold()
                        is_committing = True
                        commit = self._send("COMMIT")
                    finally:
                        self._sent_s = monotonic()  # the pipeline waits for all answers when it ends
            except psycopg.Error as error:
                if is_committing and (self._connection.closed or is_lost(error)):
                    raise CommitUnknown from error
                raise
            finally:
                self._sent_s = None
            if commit.statusmessage != "COMMIT":
                raise errors.InFailedSqlTransaction

    def break_off(self, stalled_s: float) -> None:
        """Break the connection if a statement has had no answer for so long. Call from any thread."""
        if (sent_s := self._sent_s) is not None and monotonic() - sent_s > stalled_s:
            with suppress(OSError, psycopg.Error):  # the answer came just now
                break_off(self._connection)

    def _hold(self) -> None:
        """Take the locks that were asked for since the last statement: the next one sees what their holders did."""
        if self._held:
            sql, parameters = self._taken()
            self._send(_in_postgres(sql), parameters)

    def _taken(self) -> Statement:
        held, self._held = self._held, []
        return f"SELECT {', '.join(sql for sql, _ in held)}", [value for _, values in held for value in values]

    def _execute(self, sql: str, parameters: Sequence[object]) -> list[Row]:
        has_rows = _has_rows(sql)
        if not has_rows:
            self._try()
        cursor = self._send(_in_postgres(sql), parameters)
        if not has_rows:
            return []
        self._sync()
        return cursor.fetchall() if cursor.description is not None else []

    def _try(self) -> None:
        """Wait for BEGIN before the first change: what goes out with COMMIT cannot be run again if the server is gone.

        So no row is held, either, while that is on its way.
        """
        if not self._answered:
            self._sync()

    def _sync(self) -> None:
        """Wait for what was sent. After a mere flush the server would not notice a worker that stands still."""
        if self._pipeline is not None:
            with self._waiting():
                self._pipeline.sync()
            self._answered = True

    def _send(self, sql: str, parameters: Sequence[object] = ()) -> psycopg.Cursor:
        with self._waiting():
            return self._connection.cursor().execute(sql, parameters)

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        self._sent_s = monotonic()
        try:
            yield
        finally:
            self._sent_s = None


class PostgresDatabase(Database):
    """A database that other processes use, too. Made by `open_postgres`; `close` it."""

    def __init__(
        self,
        named: dict[str, Any],
        *,
        pool: int,
        is_pooled: bool,
        wait_s: float,
        stalled_s: float,
        sealing: Sealing = PLAIN,
    ) -> None:
        self.sealing = sealing
        self.searches_vectors = not sealing.seals(VECTORS)
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
        """Connect.

        Raises:
            StorageError: there are vectors that are sealed and should not be, or the other way round.
        """
        await asyncio.to_thread(self._pool.open)
        try:
            await asyncio.to_thread(self._fit)
        except BaseException:
            await self.close()
            raise
        self._watching = asyncio.create_task(self._watch())

    def _fit(self) -> None:
        with translated(), self._pool.connection() as connection:
            postgres_vectors.fit(connection, sealed=not self.searches_vectors)

    async def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Return the rows of a query over what is committed."""
        return await self._run("", lambda query: query.run(sql, parameters))

    async def read(self, job: Callable[[Query], T]) -> T:
        """Return what a function of statements returns, over one state of what is committed."""
        return await self._run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", job)

    async def write(self, job: Callable[[Query], T]) -> T:
        """Run a function of statements as one transaction and return what it returns."""
        return await self._run("BEGIN", job, _claim_of_work())

    async def change(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Run one statement as a transaction of its own, and return its rows."""
        if (claim := _claim_of_work()) is not None and _has_rows(sql):
            return await self._run("BEGIN", lambda query: query.run(sql, parameters), claim)
        return await self._run("", lambda query: query.alone(sql, parameters), claim)

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
        if self.searches_vectors:
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

    async def _run(self, begin: str, job: Callable[[PostgresQuery], T], claim: Claim | None = None) -> T:
        if not self._open:
            raise StorageError("the database is closed")
        until_s = monotonic() + self._wait_s
        if (away_s := self._away_s) is not None:  # who asks later does not wait anew
            until_s = max(away_s + self._wait_s, monotonic() + _TRY_S)
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._job, begin, job, claim, until_s)

    def _job(self, begin: str, job: Callable[[PostgresQuery], T], claim: Claim | None, until_s: float) -> T:
        attempts = 0
        with translated():
            while True:
                connection = self._connection(until_s)
                taken_s = monotonic()
                try:
                    return self._whole(connection, begin, job, claim)
                except errors.DivisionByZero as error:
                    if claim is None or not claim.is_given_up:
                        raise ClaimLost("another worker goes on with this") from error
                    claim = None
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

    def _whole(
        self, connection: psycopg.Connection, begin: str, job: Callable[[PostgresQuery], T], claim: Claim | None
    ) -> T:
        """Run a job between BEGIN and COMMIT, or without them; roll back on any exception."""
        query = PostgresQuery(connection, is_pooled=self._is_pooled, claim=claim, sealing=self.sealing)
        self._at_work.add(query)
        try:
            self.sealing.refresh()
            with query.transaction(begin) if begin else connection:
                return job(query)
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
    sealing: Sealing = PLAIN,
) -> PostgresDatabase:
    """Connect to the database of a URL, see that it has what is needed, and migrate it.

    A job waits for `wait_s` while the server is away; a statement without an answer for `stalled_s` is broken off.

    Raises:
        ConfigError: something is missing that somebody has to give: an extension, a right, a newer server.
        SchemaTooNew: a newer version of this program wrote it.
        StorageError: it cannot be reached or migrated.
    """
    named = parameters(url)
    is_new = await asyncio.to_thread(is_to_be_marked, named, sealing.id)
    is_pooled = await asyncio.to_thread(prepare, named, migrations)
    database = PostgresDatabase(
        named, pool=pool, is_pooled=is_pooled, wait_s=wait_s, stalled_s=stalled_s, sealing=sealing
    )
    await database.open()
    if is_new:
        await database.change(PUT_MARK, (SealMark(sealing.id).to_json(),))
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


def _claim_of_work() -> Claim | None:
    """Return the claim under which the task works, as long as it is not known to be lost; None if it needs none."""
    if (claim := present_claim()) is None or not claim.epoch:
        return None
    claim.check()
    return claim


def _as_one(statements: Sequence[Statement]) -> Statement:
    """Return statements as one, with the rows of the last."""
    *others, (sql, _) = statements
    named = ", ".join(f"part_{number} AS ({other})" for number, (other, _) in enumerate(others))
    return (f"WITH {named} {sql}" if others else sql), [value for _, values in statements for value in values]


@lru_cache(_KNOWN_STATEMENTS)
def _has_rows(sql: str) -> bool:
    """Return whether a statement may return rows."""
    return _CHANGE.match(sql.lstrip()) is None


@lru_cache(_KNOWN_STATEMENTS)
def _in_postgres(sql: str) -> str:
    """Return a statement with numbered parameters, and lists made as PostgreSQL makes them."""
    numbers = iter(range(1, 1 + sql.count("?")))
    numbered = _MARK.sub(lambda mark: f"${next(numbers)}" if mark[0] == "?" else mark[0], sql)
    return _LIST.sub(r"coalesce(json_agg(\1), '[]')::text", numbered)
