"""A PgBouncer in transaction mode before the tests' PostgreSQL server, where the machine has one.

The first process that asks for that of the run starts it, with few connections for many clients;
`tests.postgres.end_run` stops it. A test that restarts one, or wants TLS of it, has its own.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from core.storage.database import Database
from core.storage.postgres import open_postgres
from tests import postgres

PROGRAM: Final = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
WHY_NOT: Final = "no pgbouncer on this machine (Debian: apt install pgbouncer): nothing is tested through a pooler"

_START_S: Final = 30.0
_INI: Final = """
[databases]
* = host=127.0.0.1 port={server}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = 4
max_client_conn = 200
max_db_connections = 4
logfile = {folder}/pgbouncer.log
pidfile = {folder}/pgbouncer.pid
{more}
"""


@dataclass(frozen=True, slots=True)
class Pooler:
    """A PgBouncer: its folder, and its port on 127.0.0.1."""

    folder: Path
    port: int
    server: int  # the port of the server

    def through(self, url: str) -> str:
        """Return a URL of the server as it is through this pooler."""
        return url.replace(f":{self.server}/", f":{self.port}/")

    def start(self) -> None:
        """Start it, and return when it listens."""
        assert PROGRAM is not None
        command = [PROGRAM, "--quiet", str(self.folder / "pgbouncer.ini")]
        nowhere = subprocess.DEVNULL
        started = subprocess.Popen(command, stdout=nowhere, stderr=nowhere, start_new_session=True, **postgres.user())
        started.returncode = 0  # it may outlive this process, which is no leak: it is ended by the number in its file
        until = time.monotonic() + _START_S
        while True:
            with suppress(OSError):
                return socket.create_connection(("127.0.0.1", self.port)).close()
            assert time.monotonic() < until, (self.folder / "pgbouncer.log").read_text()
            time.sleep(0.02)

    def stop(self) -> None:
        """Break all connections off, and return when it has ended."""
        postgres.end(int((self.folder / "pgbouncer.pid").read_text()), signal.SIGTERM)


def pooled(url: str) -> str:
    """Return a URL of the shared server as it is through the pooler of this run.

    Raises:
        pytest.skip.Exception: there is none on this machine.
    """
    server = postgres.shared_server()
    folder = server.folder / "pgbouncer"
    with (server.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = folder / "port.json"
        if not known.exists():
            pooler = _new_pooler(folder, server)
            pooler.start()
            known.write_text(json.dumps(pooler.port))
        return Pooler(folder, json.loads(known.read_text()), server.port).through(url)


@contextmanager
def own_pooler(*more: str, files: Sequence[Path] = ()) -> Iterator[Pooler]:
    """Give a started pooler before the shared server that a test may stop and start; `more` are lines of its settings.

    They may name `files`, which it is given copies of, in its folder.

    Raises:
        pytest.skip.Exception: there is none on this machine.
    """
    server = postgres.shared_server()
    pooler = _new_pooler(server.folder / f"pgbouncer-{uuid.uuid4().hex[:8]}", server, *more, files=files)
    pooler.start()
    try:
        yield pooler
    finally:
        with suppress(OSError):
            pooler.stop()


async def open_pooled(path: Path) -> Database:
    """Open the database that belongs to a path in this test, through the pooler."""
    return await open_postgres(pooled(postgres.database_of(str(path))))


def _new_pooler(folder: Path, server: postgres.Server, *more: str, files: Sequence[Path] = ()) -> Pooler:
    """Make a pooler; it is not started."""
    if PROGRAM is None:
        pytest.skip(WHY_NOT)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    folder.mkdir()
    for file in files:
        shutil.copy(file, folder)
    (folder / "users").write_text('"postgres" ""\n')
    settings = "\n".join(more).format(folder=folder)
    (folder / "pgbouncer.ini").write_text(_INI.format(server=server.port, port=port, folder=folder, more=settings))
    postgres.give_away(folder)
    return Pooler(folder, port, server.port)
