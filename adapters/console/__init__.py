"""The terminal as a platform, and the example to copy for the next one.

A platform is a `Channel` to write into, `Channels` for answers after a restart, and a `run` that turns what people
write into `Incoming` for the `MessageHandler`. Where the input is a file or a pipe, this module and `person.py` are all
of that; the others draw a prompt and redraw answers in place.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from adapters.console.output import Buttons, Output, memory_line, printable
from adapters.console.person import (
    EXPORTS,
    PLATFORM,
    OneScreen,
    TerminalUser,
    conversation,
    copy_file,
    handed_over,
    leaves,
)
from core.commands.menu import MenuEntry
from core.errors import ChannelGone
from core.outgoing import ChannelLimits, OutgoingMessage
from core.ports import Channel, Clock, MessageHandler
from core.text.language import spoken_tag
from core.types import Locale, Modal, UserKey

__all__ = ["PLATFORM", "conversation", "run", "system_language"]

_LIMITS = ChannelLimits(max_chars=1_000_000_000, edit_interval_s=0.01)
_MAX_LINE_BYTES = 4_000_004
"""More than the longest message that may be configured, in UTF-8; the rest of a longer line is not kept in memory."""


async def run(
    handler: MessageHandler,
    clock: Clock,
    *,
    user: UserKey,
    data_dir: Path,
    language: Locale | None = None,
    keeps_lines: bool = True,
    menu: Sequence[MenuEntry] = (),
) -> None:
    """Talk until the person leaves or the input ends; everything asked by then is answered.

    On a terminal there is a prompt, which completes the commands of the `menu` and whose history is kept in `data_dir`
    if it `keeps_lines`; otherwise it reads line by line. Files for the person are written into `exports` in `data_dir`.
    `language` is set by the owner; without it the system's is used.
    """
    person = TerminalUser(user, language.value if language else system_language(), clock)
    with contextlib.suppress(ChannelGone):  # nobody reads any more; what was accepted is answered at the next start
        if sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb":
            from adapters.console.terminal import talk  # a pipe has no use for it, and it is half of the start

            await talk(handler, person, data_dir, keeps_lines=keeps_lines, menu=menu)
        else:
            await listen(handler, person, data_dir)


async def listen(handler: MessageHandler, person: TerminalUser, data_dir: Path) -> None:
    """Answer line by line, each line before the next is read."""
    output = Output(sys.stdout)
    channel = PipeChannel(output, exports=data_dir / EXPORTS)
    await handler.resume(PLATFORM, OneScreen(channel))
    while not output.gone and (line := await read_line(sys.stdin.buffer)) is not None:
        if leaves(line):
            break
        if line.strip():
            answered = await handler.receive(person.says(channel.buttons.pressed(line)), channel)
            await answered


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
            shown = await handed_over(shown, self._exports)
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
        await asyncio.to_thread(copy_file, handle, max_bytes, into)


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


def system_language() -> str:
    """Return the language tag of the system's locale: the first of these that is set, as gettext reads them.

    Where none is set, or it is C, that is English's.
    """
    tag = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    return tag if spoken_tag(tag) else Locale.EN.value
