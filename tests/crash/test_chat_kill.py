"""kill -9 between "accepted" and "answered": what was asked is answered after the next start, once."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.command import ROOT, execute


@pytest.fixture
def silent_server() -> Iterator[tuple[str, threading.Event]]:
    """A model's address that accepts a question and never answers it; the event tells that one came."""
    asked = threading.Event()
    kept = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                kept.append(connection)
                if connection.recv(65536):
                    asked.set()

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1", asked
        for connection in kept:
            connection.close()


def environ(folder: Path, **settings: str) -> dict[str, str]:
    usual = {"PATH": os.environ["PATH"], "HOME": str(folder), "DATA_DIR": str(folder / "data"), "PYTHONPATH": str(ROOT)}
    return usual | {"LANG": "pt_BR.UTF-8", "CONSOLE_USER": "ana", "ELEFANTE_ENV": os.devnull} | settings


@pytest.mark.long
def test_a_message_that_was_accepted_is_answered_after_a_kill(
    tmp_path: Path, silent_server: tuple[str, threading.Event]
) -> None:
    address, asked = silent_server
    command = [sys.executable, "-m", "bot", "chat"]
    stuck = environ(tmp_path, MODEL="openai:stuck", OPENAI_BASE_URL=address)
    first = subprocess.Popen(command, env=stuck, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert first.stdin is not None
    first.stdin.write("Lembre que a senha do cofre é zebra77\n".encode())
    first.stdin.flush()
    assert asked.wait(180), "the model was never asked"
    first.send_signal(signal.SIGKILL)
    first.communicate()
    with closing(sqlite3.connect(tmp_path / "data" / "elefante.db")) as database:
        assert database.execute("SELECT count(*) FROM inbox WHERE payload IS NOT NULL").fetchone() == (1,)

    answers = []
    for _ in range(2):
        again = execute(("chat",), tmp_path, environ(tmp_path))
        assert again.returncode == 0
        answers.append(again.stdout)
    assert answers[0].count("zebra77") == 1
    assert "zebra77" not in answers[1]
    with closing(sqlite3.connect(tmp_path / "data" / "elefante.db")) as database:
        assert database.execute("SELECT count(*) FROM memories").fetchone() == (1,)
        assert database.execute("SELECT count(*) FROM inbox WHERE payload IS NOT NULL").fetchone() == (0,)
