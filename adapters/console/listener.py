"""What is written in the terminal, as messages for the Door. Knows who writes. Does not know what is answered."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from adapters.console.files import EXPORTS
from adapters.console.output import Output
from adapters.console.person import PLATFORM, QUIT, Person
from adapters.console.pipe import PipeChannel, read_line
from adapters.console.screen import OneScreen
from core.errors import ChannelGone
from core.ports import Clock, MessageHandler
from core.types import Locale, UserKey


async def run(
    handler: MessageHandler,
    clock: Clock,
    *,
    user: UserKey,
    data_dir: Path,
    language: Locale | None = None,
    keeps_lines: bool = True,
) -> None:
    """Talk until the person leaves or the input ends; everything asked by then is answered.

    On a terminal with a prompt, which keeps the lines that were typed in `data_dir` if it `keeps_lines`; otherwise line
    by line. Files that are handed over are laid into its folder `exports`. `language` is set by the owner; without it
    the terminal speaks the system's.
    """
    person = Person(user, language.value if language else system_language(), clock)
    with contextlib.suppress(ChannelGone):  # nobody reads any more: what was accepted is answered at the next start
        if sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb":
            from adapters.console.terminal import talk  # a pipe has no use for it, and it is half of the start

            await talk(handler, person, data_dir, keeps_lines=keeps_lines)
        else:
            await listen(handler, person, data_dir)


async def listen(handler: MessageHandler, person: Person, data_dir: Path) -> None:
    """Answer line by line, each before the next is read."""
    output = Output(sys.stdout)
    channel = PipeChannel(output, exports=data_dir / EXPORTS)
    await handler.resume(PLATFORM, OneScreen(channel))
    while not output.gone and (line := await read_line(sys.stdin.buffer)) is not None:
        if line.strip() == QUIT:
            break
        if line.strip():
            answered = await handler.receive(person.says(channel.buttons.pressed(line)), channel)
            await answered


def system_language() -> str:
    """Return the language tag of the system's locale: the first of these that is set, as gettext reads them."""
    return os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
