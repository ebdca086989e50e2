"""The command `elefante` as a real process of its own, forked from one that has imported it already.

Importing, and reading the embedder's model, take ten times as long as most verbs do; a run that measures coverage
starts each process anew instead.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import multiprocessing
import os
import runpy
import signal
import sqlite3
import subprocess
import sys
import tempfile
import termios
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any, TypeAlias

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 180.0

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.e2e.preloaded"])
_MEASURED = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}


@dataclass(frozen=True)
class Elefante:
    """Runs the command with its home, its data and its working directory in one folder."""

    folder: Path

    def __call__(self, *arguments: str, said: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
        """Run it to its end; where PYTHONPATH is set, in an interpreter that has imported nothing."""
        anew = "PYTHONPATH" in settings
        return execute(arguments, self.folder, self.environment(**settings), said, anew=anew)

    async def meanwhile(self, *arguments: str, said: str = "", **settings: str) -> tuple[int, str, str]:
        """Run it while servers of this loop answer it; return its exit code and what it printed."""
        done = await asyncio.to_thread(self, *arguments, said=said, **settings)
        return done.returncode, done.stdout, done.stderr

    def memories(self, data: str = "data") -> list[str]:
        """Return what is remembered, of everybody, in the database of that folder."""
        with closing(sqlite3.connect(self.folder / data / "elefante.db")) as database:
            return [content for (content,) in database.execute("SELECT content FROM memories ORDER BY id")]

    def environment(self, **settings: str) -> dict[str, str]:
        """Return the environment of Ana, who has no settings but these."""
        own = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "DATA_DIR": str(self.folder / "data")}
        own |= {"CONSOLE_USER": "ana", "ELEFANTE_ENV": os.devnull}
        return {"PYTHONPATH": str(ROOT)} | own | settings


def document(done: subprocess.CompletedProcess[str]) -> Any:
    """Return the one JSON document on standard output."""
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def execute(
    arguments: tuple[str, ...],
    folder: Path,
    environment: Mapping[str, str],
    said: str = "",
    *,
    before: Callable[[], object] | None = None,
    anew: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end, after `before` in its process, which is a new interpreter where `anew` wants one."""
    if not (anew or _MEASURED):
        return _forked(arguments, folder, environment, said, before)
    return subprocess.run(
        [sys.executable, "-m", "bot", *arguments],
        input=said,
        env=dict(environment) | _MEASURED,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        preexec_fn=before,
    )


def _forked(
    arguments: tuple[str, ...],
    folder: Path,
    environment: Mapping[str, str],
    said: str,
    before: Callable[[], object] | None,
) -> subprocess.CompletedProcess[str]:
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, os.fdopen(writing, "wb") as typed:
        process = _fork(arguments, folder, environment, (reading, out.fileno(), err.fileno()), before)
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


class _Handed:
    """A file handed over as its process is forked.

    Shared before that, it stays open here if the process is killed before it takes it, and its pipe has no end.
    """

    def __init__(self, file: int) -> None:
        self._file = file

    def __reduce__(self) -> tuple[Callable[[Any], Any], tuple[Any]]:
        return _as_it_is, (DupFd(self._file),)


def _as_it_is(file: Any) -> Any:
    return file


def _fork(
    arguments: tuple[str, ...],
    folder: Path,
    environment: Mapping[str, str],
    files: tuple[int, int, int],
    before: Callable[[], object] | None = None,
    *,
    module: str = "bot",
) -> Any:
    """Start the command, or another module, with those files as its standard ones, and return its process."""
    given = [_Handed(file) for file in files]
    process = _FORKS.Process(target=_main, args=((module, *arguments), str(folder), dict(environment), given, before))
    process.start()
    return process


def _main(
    program: tuple[str, ...],
    folder: str,
    environment: dict[str, str],
    given: list[Any],
    before: Callable[[], object] | None,
) -> None:
    """Be the command, or that module, in the process that was forked."""
    assert "tests.e2e.preloaded" in sys.modules, "its import failed, which the fork server keeps to itself"
    for number, file in enumerate(given):
        os.dup2(descriptor := file.detach(), number)
        os.close(descriptor)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    module, *sys.argv[1:] = program
    sys.argv[0] = "elefante"
    if before is not None:
        before()
    runpy.run_module(module, run_name="__main__")


def start_at(
    terminal: int, arguments: tuple[str, ...], environment: Mapping[str, str], *, module: str = "bot"
) -> tuple[int, Callable[[], int | None]]:
    """Start the command, or another module, at a terminal; return its id, and what tells its exit code.

    Where PYTHONPATH is set, in an interpreter that has imported nothing.
    """
    if "PYTHONPATH" in environment or _MEASURED:
        command = [sys.executable, "-m", module, *arguments]
        new = subprocess.Popen(
            command, stdin=terminal, stdout=terminal, stderr=terminal, env=dict(environment) | _MEASURED, cwd=ROOT,
            preexec_fn=_take_terminal,  # noqa: PLW1509
        )  # fmt: skip
        return new.pid, new.poll
    forked = _fork(arguments, ROOT, environment, (terminal, terminal, terminal), _take_terminal, module=module)
    return int(forked.pid), lambda: forked.exitcode


def _take_terminal() -> None:
    """Make standard input the terminal of this process: Ctrl-C and the end of its window are signals to it."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class _Pipe(asyncio.StreamReaderProtocol):
    """Reads a pipe, and knows when it was read to its end."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        super().__init__(reader)
        self.ended = asyncio.Event()

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self.ended.set()


class Forked:
    """The command as it runs, forked: what `asyncio.subprocess.Process` offers of it that tests use."""

    def __init__(self, process: Any, stdout: asyncio.StreamReader, stderr: asyncio.StreamReader) -> None:
        self._process = process
        self._ended = asyncio.Event()
        self.pipes: list[_Pipe] = []
        self.stdout, self.stderr = stdout, stderr
        asyncio.get_running_loop().add_reader(process.sentinel, self._end)

    @property
    def pid(self) -> int:
        return int(self._process.pid)

    @property
    def returncode(self) -> int | None:
        code: int | None = self._process.exitcode
        return code

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    async def wait(self) -> int:
        await self._ended.wait()
        for pipe in self.pipes:
            await pipe.ended.wait()
        self._process.join()
        return int(self._process.exitcode)

    async def communicate(self) -> tuple[bytes, bytes]:
        said = await asyncio.gather(self.stdout.read(), self.stderr.read())
        await self.wait()
        return said[0], said[1]

    def _end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._process.sentinel)
        self._ended.set()


Running: TypeAlias = asyncio.subprocess.Process | Forked


async def start(*arguments: str, environment: Mapping[str, str], folder: Path = ROOT) -> Running:
    """Start the command, and return it while it runs: its standard error and output can be read."""
    if _MEASURED:
        pipe = asyncio.subprocess.PIPE
        command = [sys.executable, "-m", "bot", *arguments]
        return await asyncio.create_subprocess_exec(
            *command, env={"PYTHONPATH": str(ROOT), **environment, **_MEASURED}, cwd=folder, stdout=pipe, stderr=pipe
        )
    outputs = [os.pipe(), os.pipe()]
    with open(os.devnull, "rb") as nothing:  # noqa: ASYNC230, PTH123 - it is there at once
        process = _fork(arguments, folder, environment, (nothing.fileno(), outputs[0][1], outputs[1][1]))
    readers = [asyncio.StreamReader(limit=1 << 24), asyncio.StreamReader(limit=1 << 24)]
    running = Forked(process, *readers)
    for reader, (reading, writing) in zip(readers, outputs, strict=True):
        os.close(writing)
        made = partial(_Pipe, reader)
        _, pipe_of_it = await asyncio.get_running_loop().connect_read_pipe(made, os.fdopen(reading, "rb", 0))
        running.pipes.append(pipe_of_it)
    return running
