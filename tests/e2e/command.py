"""The command `elefante` as a real process of its own, forked from one that has imported it already.

Importing takes ten times as long as most verbs do; `make test-long` and a run that measures coverage start each process
anew instead.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

from tests.profile import LONG

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 180.0

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    ["bot.chat", "bot.cli.main", "core.providers.anthropic", "core.providers.openai", "core.storage.faiss_index"]
)
_MEASURED = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}


@dataclass(frozen=True)
class Elefante:
    """Runs the command with its home, its data and its working directory in one folder."""

    folder: Path

    def __call__(self, *arguments: str, said: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
        """Run it to its end; where PYTHONPATH is set, in an interpreter that has imported nothing."""
        run = _started if "PYTHONPATH" in settings or LONG or _MEASURED else _forked
        return run(arguments, self.folder, self.environment(**settings), said)

    async def meanwhile(self, *arguments: str, said: str = "", **settings: str) -> tuple[int, str, str]:
        """Run it while servers of this loop answer it; return its exit code and what it printed."""
        done = await asyncio.to_thread(self, *arguments, said=said, **settings)
        return done.returncode, done.stdout, done.stderr

    def environment(self, **settings: str) -> dict[str, str]:
        """Return the environment of Ana, who has no settings but these."""
        own = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "DATA_DIR": str(self.folder / "data")}
        own |= {"CONSOLE_USER": "ana", "ELEFANTE_ENV": os.devnull}
        return {"PYTHONPATH": str(ROOT)} | own | _MEASURED | settings


def document(done: subprocess.CompletedProcess[str]) -> Any:
    """Return the one JSON document on standard output."""
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _started(
    arguments: tuple[str, ...], folder: Path, environment: Mapping[str, str], said: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bot", *arguments]
    return subprocess.run(
        command,
        input=said,
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def _forked(
    arguments: tuple[str, ...], folder: Path, environment: Mapping[str, str], said: str
) -> subprocess.CompletedProcess[str]:
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, os.fdopen(writing, "wb") as typed:
        given = [DupFd(reading), DupFd(out.fileno()), DupFd(err.fileno())]
        process = _FORKS.Process(target=_main, args=(arguments, str(folder), dict(environment), given))
        process.start()
        os.close(reading)
        try:
            typed.write(said.encode())
            typed.close()
        except BrokenPipeError:
            pass  # it ended without reading, as it may
        process.join(TIMEOUT_S)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(arguments, TIMEOUT_S)
        printed = []
        for file in (out, err):
            file.seek(0)
            printed.append(file.read().decode())
        return subprocess.CompletedProcess(arguments, process.exitcode, *printed)


def _main(arguments: tuple[str, ...], folder: str, environment: dict[str, str], given: list[Any]) -> None:
    """Be the command, in the process that was forked."""
    for number, file in enumerate(given):
        os.dup2(file.detach(), number)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["elefante", *arguments]
    runpy.run_module("bot", run_name="__main__")
