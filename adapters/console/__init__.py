"""The terminal as a platform, and the example to copy for the next one.

A platform is a `Channel` to write into, `Channels` for answers after a restart, and a `run` that turns what people
write into `Incoming` for the `MessageHandler`. `listen` below, `person.py` and `pipe.py` are all of that for input that
is no terminal; the other modules draw a prompt and redraw answers in place.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from adapters.console.files import EXPORTS, PLATFORM
from adapters.console.output import Output
from adapters.console.person import OneScreen, TerminalUser, conversation, leaves
from adapters.console.pipe import PipeChannel, read_line
from core.commands.menu import MenuEntry
from core.errors import ChannelGone
from core.ports import Clock, MessageHandler
from core.text.language import spoken_tag
from core.types import Locale, UserKey

__all__ = ["PLATFORM", "conversation", "run", "system_language"]


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


def system_language() -> str:
    """Return the language tag of the system's locale: the first of these that is set, as gettext reads them.

    Where none is set, or it is C, that is English's.
    """
    tag = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    return tag if spoken_tag(tag) else Locale.EN.value
