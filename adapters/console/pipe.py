"""Input and output without a terminal, for scripts: a line in is a message, and only what stays is written, once."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from pathlib import Path
from typing import BinaryIO

from adapters.console import files
from adapters.console.output import Buttons, Output, memory_line, printable
from core.outgoing import ChannelLimits, OutgoingMessage
from core.ports import Channel
from core.types import Modal

_LIMITS = ChannelLimits(max_chars=1_000_000_000, edit_interval_s=0.01)
_MAX_LINE_BYTES = 4_000_004
"""More than the longest message that may be configured, in UTF-8; the rest of a longer line is not kept in memory."""


class PipeChannel(Channel):
    """Writes each message when it is complete. Files for the person are written into the folder `exports`."""

    limits = _LIMITS

    def __init__(self, output: Output, *, exports: Path = Path()) -> None:
        self.buttons = Buttons()
        self._exports = exports
        self._output = output
        self._posts = 0
        self._written: dict[str, str] = {}

    def measure(self, text: str) -> int:
        """Return the length in code points."""
        return len(text)

    async def post(self, shown: OutgoingMessage) -> str:
        """Write a message, unless it will be replaced or may still grow."""
        self._posts += 1
        if shown.files:
            shown = await files.handed_over(shown, self._exports)
        await self.edit(str(self._posts), shown)
        return str(self._posts)

    async def edit(self, handle: str, shown: OutgoingMessage) -> None:
        """Write a message that is complete now, unless it was written already."""
        if shown.modal is Modal.TEXT_FOR_REPLACE or not shown.final:
            return
        memories = list(map(memory_line, shown.memories))
        said = [] if memories and shown.modal is Modal.MEMORY else [printable(shown.words)]
        text = "\n".join(filter(None, [*said, *memories, printable(shown.folded), self.buttons.line(shown)]))
        if self._written.get(handle) != text:
            self._output.write(f"{text}\n")
            self._written = {handle: text}

    async def fetch(self, handle: str, max_bytes: int, into: BinaryIO) -> None:
        """Copy a file that was sent."""
        await asyncio.to_thread(files.read, handle, max_bytes, into)


async def read_line(stream: BinaryIO) -> str | None:
    """Return the next line without its end, or None at the end of the input.

    Bytes that are not UTF-8 are read as U+FFFD. A thread of its own waits for the line: files, pipes and terminals can
    all be read that way, and a daemon thread does not keep the program alive.
    """
    loop = asyncio.get_running_loop()
    line: asyncio.Future[bytes] = loop.create_future()

    def deliver(found: bytes) -> None:
        if not line.done():
            line.set_result(found)

    def read() -> None:
        try:
            found = _read_line(stream)
        except (OSError, ValueError):
            found = b""
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits for this line
            loop.call_soon_threadsafe(deliver, found)

    threading.Thread(target=read, daemon=True, name="stdin").start()
    found = await line
    return found.decode("utf-8", "replace").rstrip("\r\n") if found else None


def _read_line(stream: BinaryIO) -> bytes:
    line = rest = stream.readline(_MAX_LINE_BYTES)
    while rest and not rest.endswith(b"\n"):
        rest = stream.readline(_MAX_LINE_BYTES)
    return line
