"""What every test shares: no network but loopback, no real keys, derandomised properties, fake time."""

from __future__ import annotations

import faulthandler
import gc
import ipaddress
import logging
import os
import shutil
import signal
import socket
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tests.profile  # noqa: F401  (sets how many examples a property tries, before any test module asks)
from tests import postgres
from tests.fakes.clock import FakeClock

pytest_plugins = ["tests.spec_plugin"]

# Clients load the authorities of the world when they are opened: 37 ms each, and loopback speaks plain HTTP.
os.environ["SSL_CERT_FILE"] = str(Path(__file__).parent / "data" / "authority.pem")

# Neither a test nor a process that it starts reads the settings file of whoever works on the project.
os.environ["ELEFANTE_ENV"] = os.devnull

# Databases are written through to the disk; a kill does not tell that from RAM, and RAM takes a fifth less time.
_RAM_DISK = Path("/dev/shm")  # noqa: S108
_TEMPORARY_BYTES = 2 << 30
if _RAM_DISK.is_dir() and os.access(_RAM_DISK, os.W_OK) and shutil.disk_usage(_RAM_DISK).free > _TEMPORARY_BYTES:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_RAM_DISK))

# A shell starts what runs in the background with Ctrl-C ignored, and so would run every process that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_SECRET_PARTS = (
    "API_KEY",
    "TOKEN",
    "BASE_URL",
    "_PROXY",
    "MODEL",
    "DATA_DIR",
    "DISCORD",
    "TELEGRAM",
    "KEY_FILE",
    "KEYS_FILE",
)


def pytest_configure(config: pytest.Config) -> None:
    logging.getLogger("aiosqlite").setLevel(logging.WARNING)  # as in a run; else two records a statement
    gc.disable()  # until all is collected: it stays to the end
    if not hasattr(config, "workerinput"):  # the process that began the run
        postgres.begin_run()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Leave the modules and ten thousand tests out of every later collection of garbage."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Make a hang at exit a failure with a stack: a test that left a thread at work, as an open database has one."""
    if not hasattr(config, "workerinput"):
        postgres.end_run()
    faulthandler.dump_traceback_later(300, exit=True, file=sys.__stderr__ or 2)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests were skipped, and why."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped)
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count} skipped: {reason}", yellow=True)


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if any(part in name.upper() for part in _SECRET_PARTS):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _databases_without_rows() -> Iterator[None]:
    yield
    postgres.empty_databases()


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    real_connect = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> None:
        if self.family in {socket.AF_INET, socket.AF_INET6}:
            host = address[0]
            if host != "localhost" and not ipaddress.ip_address(host).is_loopback:
                raise AssertionError(f"a test reached for {host}: loopback only")
        real_connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()
