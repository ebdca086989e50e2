"""A PgBouncer in transaction mode before the tests' PostgreSQL server, where the machine has one.

The first process that asks starts it, with few connections for many clients; `tests.postgres.end_run` stops it.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import psycopg
import pytest

from core.storage.database import Database
from core.storage.postgres import open_postgres
from tests import postgres

PROGRAM: Final = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
WHY_NOT: Final = "no pgbouncer on this machine: nothing is tested through a pooler"

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
"""


def pooled(url: str) -> str:
    """Return a URL of the shared server as it is through the pooler of this run.

    Raises:
        pytest.skip.Exception: there is none on this machine.
    """
    server = postgres.shared_server()
    if PROGRAM is None:
        pytest.skip(WHY_NOT)
    folder = server.folder / "pgbouncer"
    with (server.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            folder.mkdir()
            _start(folder, server.port)
        port = json.loads((folder / "port.json").read_text())
    return url.replace(f":{server.port}/", f":{port}/")


async def open_pooled(path: Path) -> Database:
    """Open the database that belongs to a path in this test, through the pooler."""
    return await open_postgres(pooled(postgres.database_of(str(path))))


def _start(folder: Path, server: int) -> None:
    assert PROGRAM is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "users").write_text('"postgres" ""\n')
    (folder / "pgbouncer.ini").write_text(_INI.format(server=server, port=port, folder=folder))
    postgres.give_away(folder)
    command = [PROGRAM, "--quiet", "--daemon", str(folder / "pgbouncer.ini")]
    subprocess.run(command, check=True, capture_output=True, **postgres.user())
    until = time.monotonic() + _START_S
    while True:
        with suppress(psycopg.OperationalError):
            psycopg.connect(f"postgresql://postgres@127.0.0.1:{port}/postgres", connect_timeout=2).close()
            break
        assert time.monotonic() < until, (folder / "pgbouncer.log").read_text()
        time.sleep(0.02)
    (folder / "port.json").write_text(json.dumps(port))
