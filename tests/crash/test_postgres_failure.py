"""PostgreSQL away, killed, cut off, full or changed: jobs wait or say why, none is lost, and all goes on by itself."""

from __future__ import annotations

import asyncio
import random
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from typing import Self

import psycopg
import pytest

from bot.settings.settings import load
from bot.workers import open_worker
from core.clock import SystemClock
from core.errors import DiskFull, StorageDown, StorageError
from core.storage.database import Query
from core.storage.postgres import PostgresDatabase, open_postgres
from core.storage.postgres_connection import STATEMENT_S, reason
from core.storage.postgres_schema import Migration
from core.workers.cluster import ClusterWorker
from tests.postgres import HAS_POSTGRES, WHY_NOT, Server, own_server
from tests.profile import long

_CHUNK = 1 << 16


class TcpProxy:
    """Passes bytes on to a port while `passes` is set; else it keeps them, and new connections hang, too."""

    def __init__(self, target: int) -> None:
        self.port = 0
        self.passes = asyncio.Event()
        self.passes.set()
        self._target = target
        self._writers: set[asyncio.StreamWriter] = set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Self]:
        """Listen on a free port while the context is entered."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self.passes.set()
            self.break_off()

    def break_off(self) -> None:
        """End every connection."""
        for writer in self._writers:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            await self.passes.wait()
            there_reader, there = await asyncio.open_connection("127.0.0.1", self._target)
            self._writers.add(there)
            try:
                await asyncio.gather(self._pump(reader, there), self._pump(there_reader, writer))
            finally:
                self._writers.discard(there)
        except OSError:
            writer.close()
        finally:
            self._writers.discard(writer)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(_CHUNK):
                await self.passes.wait()
                writer.write(data)
                await writer.drain()
        writer.close()


pytestmark = pytest.mark.skipif(not HAS_POSTGRES, reason=WHY_NOT)

COUNTER = [
    Migration(("CREATE TABLE counter (name TEXT PRIMARY KEY, value BIGINT NOT NULL)",)),
]
_WHY_AWAY = {"nothing listens at its address", "it is starting or stopping", "it closed the connection"}
"""What is said of a server that has just stopped: a connection may be refused, turned down or closed half way."""

UNKNOWN = "whether the last change was stored is not known"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with own_server() as server:
        yield server


@asynccontextmanager
async def opened(
    url: str, *, wait_s: float = 60.0, stalled_s: float = 60.0, pool: int = 4
) -> AsyncIterator[PostgresDatabase]:
    database = await open_postgres(url, COUNTER, pool=pool, wait_s=wait_s, stalled_s=stalled_s)
    try:
        yield database
    finally:
        await database.close()


@pytest.fixture
def url(server: Server) -> str:
    """Give an empty database of the server, which runs."""
    try:
        do(server, "SELECT 1")
    except psycopg.OperationalError:  # a test before has stopped it
        server.start()
    do(server, "DROP DATABASE IF EXISTS bot WITH (FORCE)", "CREATE DATABASE bot")
    return server.url("bot")


def do(server: Server, *statements: str, database: str = "postgres") -> list[tuple[object, ...]]:
    """Run statements as the superuser; return the rows of the last."""
    with psycopg.connect(server.url(database), autocommit=True) as connection:
        *before, last = statements
        for statement in before:
            connection.execute(statement)
        cursor = connection.execute(last)
        return cursor.fetchall() if cursor.description else []


def add_one(query: Query) -> None:
    query.run("INSERT INTO counter VALUES ('a', 1) ON CONFLICT (name) DO UPDATE SET value = counter.value + 1")


async def count(database: PostgresDatabase) -> int:
    rows = await database.rows("SELECT value FROM counter")
    return int(rows[0][0]) if rows else 0


def backends(server: Server) -> list[int]:
    """Return the processes of the server that serve the bot's database."""
    return [row[0] for row in do(server, "SELECT pid FROM pg_stat_activity WHERE datname = 'bot'")]  # type: ignore[misc]


async def eventually(condition: Callable[[], object]) -> None:
    """Return when it holds."""
    async with asyncio.timeout(120):
        while not condition():  # noqa: ASYNC110 (nothing tells of it)
            await asyncio.sleep(0.01)


class Load:
    """Tasks that add one, again and again, until told to stop; what became of it."""

    def __init__(self, database: PostgresDatabase) -> None:
        self.done = 0
        self.unknown = 0
        self.failures: list[StorageError] = []
        self._database = database
        self._stop = False

    @asynccontextmanager
    async def by(self, tasks: int) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            for _ in range(tasks):
                group.create_task(self._work())
            try:
                yield
            finally:
                self._stop = True

    async def more(self, jobs: int) -> None:
        """Return when so many more were done."""
        until = self.done + jobs
        await eventually(lambda: self.done >= until)

    async def _work(self) -> None:
        while not self._stop:
            try:
                await self._database.write(add_one)
                self.done += 1
            except StorageError as error:
                if UNKNOWN in str(error):
                    self.unknown += 1
                else:
                    self.failures.append(error)


@pytest.mark.parametrize("number", [long(signal.SIGINT), signal.SIGQUIT])
@pytest.mark.long
async def test_a_restart_or_a_crash_of_the_server_fails_no_job_under_load(
    server: Server, url: str, number: signal.Signals
) -> None:
    async with opened(url) as database:
        load = Load(database)
        async with load.by(8):
            for _ in range(2):
                await load.more(50)
                await asyncio.to_thread(server.stop, number)
                await asyncio.to_thread(server.start)
            await load.more(50)
        assert load.failures == []
        assert load.done <= await count(database) <= load.done + load.unknown


async def test_a_single_job_that_waits_wakes_when_the_server_is_back(server: Server, url: str) -> None:
    async with opened(url) as database:
        await database.write(add_one)
        server.stop()
        job = asyncio.create_task(database.write(add_one))
        await eventually(database.away)
        assert database.away().partition(":")[0] in _WHY_AWAY
        await asyncio.to_thread(server.start)
        await job
        assert database.away() == ""
        assert await count(database) == 2


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("consuming input failed: server closed the connection unexpectedly", "it closed the connection"),
        ("connection failed: could not receive data from server: Connection reset by peer", "it closed the connection"),
        ("terminating connection due to administrator command", "it is starting or stopping"),
        ("something that nobody has seen", "the connection failed, and the server's log says why (OperationalError)"),
    ],
)
def test_why_the_server_is_away_is_said_in_words(said: str, told: str) -> None:
    assert reason(psycopg.OperationalError(said)).startswith(told)


async def test_a_server_that_stays_away_is_said_with_the_reason_and_closing_does_not_wait_for_it(
    server: Server, url: str
) -> None:
    async with opened(url, wait_s=0.0) as database:
        server.stop()
        with pytest.raises(
            StorageDown, match=r"cannot be reached \((nothing listens at its address|it is starting|it closed)"
        ):
            await database.write(add_one)
    async with asyncio.TaskGroup() as group:
        await asyncio.to_thread(server.start)
        database = await open_postgres(url, COUNTER, pool=2)  # jobs wait for half a minute
        server.stop()
        jobs = [group.create_task(refused(database)) for _ in range(5)]
        await eventually(database.away)
        await database.close()
        assert all(job.done() for job in jobs)


async def refused(database: PostgresDatabase) -> None:
    with pytest.raises(StorageError):
        await database.write(add_one)


@pytest.mark.parametrize("seed", [0, *map(long, range(1, 10))])
async def test_jobs_whose_connections_are_killed_at_any_time_are_done_once(server: Server, url: str, seed: int) -> None:
    """No success is lost, none is done twice; only of a lost COMMIT it is not known, and that is said."""
    chance = random.Random(seed)  # noqa: S311
    async with opened(url) as database:
        load = Load(database)
        enough = threading.Event()

        def kill() -> None:
            with psycopg.connect(server.url(), autocommit=True) as connection:
                while not enough.is_set():
                    connection.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'bot' "
                        "ORDER BY random() LIMIT 1"
                    )
                    enough.wait(chance.random() * 0.02)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            async with load.by(8):
                await load.more(300)
        finally:
            enough.set()
            killer.join()
        assert load.failures == []
        assert load.done <= await count(database) <= load.done + load.unknown


async def test_a_commit_whose_answer_was_lost_is_said_to_be_unknown_and_not_run_again(server: Server, url: str) -> None:
    """The server has committed, waits for a standby that there is not, and the connection breaks."""
    begun = []

    def add(query: Query) -> None:
        begun.append(1)
        add_one(query)

    def waits() -> object:
        return do(server, "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'")

    async with opened(url) as database:
        do(server, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()")
        try:
            job = asyncio.create_task(database.write(add))
            await eventually(waits)
            do(server, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
            with pytest.raises(StorageDown, match=UNKNOWN):
                await job
        finally:
            do(server, "ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
        assert (len(begun), await count(database)) == (1, 1)


@pytest.mark.long
async def test_a_sign_of_life_that_the_network_swallows_does_not_hold_up_the_next(
    server: Server, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.workers.cluster.LEASE_S", 0.5)
    async with TcpProxy(server.port).open() as network, AsyncExitStack() as stack:
        direct = url.replace(f":{server.port}/", f":{network.port}/") + "?connect_timeout=2"
        settings = load(None, storage_url=url, storage_direct_url=direct)
        database = await open_postgres(url)
        stack.push_async_callback(database.close)
        worker, _ = await open_worker(settings, database, SystemClock(), stack)
        assert isinstance(worker, ClusterWorker)
        store = worker._store
        number = await store.join("test")
        assert await store.beat(number, 0, {}, lambda _: {})
        network.passes.clear()
        async with asyncio.timeout(STATEMENT_S):
            with pytest.raises(StorageDown):
                await store.beat(number, 0, {}, lambda _: {})
        network.passes.set()
        assert await store.beat(number, 0, {}, lambda _: {})


@pytest.mark.long
async def test_a_network_that_swallows_everything_is_left_and_the_job_goes_on_over_another_connection(
    server: Server, url: str
) -> None:
    """A statement without an answer is broken off, though TCP sees nothing; nor does a new connection hang."""
    async with TcpProxy(server.port).open() as network:
        through = url.replace(f":{server.port}/", f":{network.port}/") + "?connect_timeout=2"
        async with opened(through, stalled_s=0.5) as database:
            await asyncio.gather(*(database.write(add_one) for _ in range(4)))
            network.passes.clear()
            jobs = [asyncio.create_task(database.write(add_one)) for _ in range(4)]
            await eventually(database.away)
            assert database.away() == "it does not answer"
            network.passes.set()
            results = await asyncio.gather(*jobs, return_exceptions=True)
            unknown = [error for error in results if UNKNOWN in str(error)]
            assert len(unknown) == len([result for result in results if result is not None])
            assert 8 - len(unknown) <= await count(database) <= 8


@pytest.mark.long
async def test_of_several_hosts_the_one_that_can_be_written_to_is_used_also_after_a_failover(
    server: Server, url: str
) -> None:
    """Two names of one server stand for two: either of them can be told to take no writes."""
    async with TcpProxy(server.port).open() as first, TcpProxy(server.port).open() as second:
        several = f"postgresql://postgres@127.0.0.1:{first.port},127.0.0.1:{second.port}/bot?connect_timeout=2"
        async with opened(several) as database:
            await database.write(add_one)
            first.passes.clear()
            first.break_off()
            await database.write(add_one)
            assert await count(database) == 2
        do(server, "ALTER DATABASE bot SET default_transaction_read_only = on")
        with pytest.raises(StorageDown, match="leads to a standby"):
            await open_postgres(several, COUNTER)


async def test_a_primary_that_became_a_standby_is_waited_for(server: Server, url: str) -> None:
    async with opened(url) as database:
        await database.write(add_one)
        do(server, "ALTER DATABASE bot SET default_transaction_read_only = on")
        for pid in backends(server):
            do(server, f"SELECT pg_terminate_backend({pid})")
        job = asyncio.create_task(database.write(add_one))
        await eventually(database.away)
        assert "STORAGE_URL leads to a standby" in database.away()
        do(server, "ALTER DATABASE bot SET default_transaction_read_only = off")
        await job
        assert await count(database) == 2


@pytest.mark.long
async def test_too_many_connections_are_said_and_the_job_waits_for_one(server: Server, url: str) -> None:
    do(server, "DROP ROLE IF EXISTS narrow", "CREATE ROLE narrow LOGIN")
    do(server, "ALTER DATABASE bot OWNER TO narrow")
    do(server, "CREATE EXTENSION vector", database="bot")
    async with opened(url.replace("postgres@", "narrow@")) as database:
        await database.write(add_one)
        with closing(psycopg.connect(url.replace("postgres@", "narrow@"))) as other:
            do(server, "ALTER ROLE narrow CONNECTION LIMIT 1")
            for pid in {*backends(server)} - {other.info.backend_pid}:
                do(server, f"SELECT pg_terminate_backend({pid})")
            job = asyncio.create_task(database.write(add_one))
            await eventually(database.away)
            assert "raise max_connections there, lower STORAGE_POOL" in database.away()
        await job


@pytest.mark.long
async def test_a_password_that_was_changed_is_said_and_the_bot_goes_on_when_it_is_changed_back(
    server: Server, url: str
) -> None:
    rules = server.folder / "data" / "pg_hba.conf"
    before = rules.read_text()
    do(server, "DROP OWNED BY locked" if has_role(server, "locked") else "SELECT 1", "DROP ROLE IF EXISTS locked")
    do(server, "CREATE ROLE locked SUPERUSER LOGIN PASSWORD 'first'")
    try:
        rules.write_text(f"host all locked 127.0.0.1/32 scram-sha-256\n{before}")
        do(server, "SELECT pg_reload_conf()")
        async with opened(url.replace("postgres@", "locked:first@")) as database:
            await database.write(add_one)
            do(server, "ALTER ROLE locked PASSWORD 'second'")
            for pid in backends(server):
                do(server, f"SELECT pg_terminate_backend({pid})")
            job = asyncio.create_task(database.write(add_one))
            await eventually(database.away)
            assert database.away() == "the user or the password is wrong"
            do(server, "ALTER ROLE locked PASSWORD 'first'")
            await job
            assert await count(database) == 2
    finally:
        rules.write_text(before)
        do(server, "SELECT pg_reload_conf()")


def has_role(server: Server, name: str) -> bool:
    return bool(do(server, f"SELECT FROM pg_roles WHERE rolname = '{name}'"))


@pytest.mark.long
async def test_a_full_disk_is_said_changes_nothing_and_is_not_tried_again_at_once(server: Server, url: str) -> None:
    full = "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE SQLSTATE '53100'; END $$"
    trigger = "CREATE TRIGGER full_disk BEFORE UPDATE ON counter EXECUTE FUNCTION full_disk()"
    async with opened(url) as database:
        await database.write(add_one)
        do(server, full, trigger, database="bot")
        begun = 0

        def add(query: Query) -> None:
            nonlocal begun
            begun += 1
            query.run("INSERT INTO counter VALUES ('b', 1)")
            query.run("UPDATE counter SET value = 5")

        with pytest.raises(DiskFull, match="make room"):
            await database.write(add)
        assert begun == 1
        do(server, "DROP TRIGGER full_disk ON counter", database="bot")
        await database.write(add_one)
        assert await database.rows("SELECT name, value FROM counter") == [("a", 2)]


async def test_a_job_that_hides_a_failed_statement_does_not_pass_for_done(url: str) -> None:
    """PostgreSQL answers COMMIT after a failed statement by rolling back, which is no error."""

    def hide(query: Query) -> None:
        add_one(query)
        with suppress(psycopg.Error):
            query.run("SELECT 1 / 0")

    async with opened(url) as database:
        with pytest.raises(StorageError, match="InFailedSqlTransaction"):
            await database.write(hide)
        assert await count(database) == 0


@pytest.mark.parametrize("code", ["40001", "40P01"])
async def test_a_job_that_others_cross_is_run_again_and_in_the_end_says_so(url: str, code: str) -> None:
    tries: list[int] = []

    def cross(query: Query) -> None:
        add_one(query)
        tries.append(1)
        if len(tries) != 3:
            query.run(f"DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{code}'; END $$")

    async with opened(url) as database:
        await database.write(cross)
        assert (len(tries), await count(database)) == (3, 1)
        with pytest.raises(StorageError, match="others changed the same at the same moment"):
            await database.write(cross)
        assert (len(tries), await count(database)) == (8, 1)


@pytest.mark.long
async def test_a_worker_that_stopped_in_mid_transaction_holds_up_nobody(url: str) -> None:
    """Its locks are free when the server has waited long enough for it; its own job is run again."""
    resumed = threading.Event()
    begun: list[int] = []

    def stop(query: Query) -> None:
        query.lock("a")
        assert query.run("SELECT 1") == [(1,)], "it is taken with the next statement"
        begun.append(1)
        if len(begun) == 1:
            resumed.wait()
        add_one(query)
        assert query.run("SELECT 1") == [(1,)], "what became of it is known before it commits"

    def go_on(query: Query) -> None:
        query.lock("a")
        add_one(query)

    async with opened(url + "?options=-c%20idle_in_transaction_session_timeout%3D200ms") as database:
        stopped = asyncio.create_task(database.write(stop))
        await eventually(lambda: begun)
        try:
            await database.write(go_on)
        finally:
            resumed.set()
        await stopped
        assert (len(begun), await count(database)) == (2, 2)


@pytest.mark.long
async def test_no_thread_and_no_connection_is_left_after_all_of_it(server: Server, url: str) -> None:
    async with opened(url, pool=8) as database:
        load = Load(database)
        async with load.by(16):
            for _ in range(2):
                await load.more(20)
                await asyncio.to_thread(server.stop, signal.SIGQUIT)
                await asyncio.to_thread(server.start)
            await load.more(20)
        assert len(backends(server)) <= 8
    await eventually(lambda: backends(server) == [])
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith(("postgres", "pool-"))] == []
