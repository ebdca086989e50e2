"""What is written in the terminal, as messages for the Door. Knows who writes. Does not know what is answered."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from adapters.console.output import Output
from adapters.console.pipe import PipeSurface, read_line
from adapters.console.surface import ConsoleSurface
from adapters.console.texts import GREETING, HOW_TO_LEAVE
from core.errors import SurfaceGone
from core.language import from_tag
from core.ports import Clock, Door
from core.types import ChatKey, Incoming, Locale, UserKey

PLATFORM = "console"
CHAT = ChatKey(PLATFORM, "terminal")
_QUIT, _STOP = "/quit", "/stop"


@dataclass(frozen=True, slots=True)
class Person:
    """Who sits at the terminal. `language` is the system's tag for them ("pt_BR.UTF-8"), "" if it has none."""

    user: UserKey
    language: str
    clock: Clock

    def says(self, text: str) -> Incoming:
        """Return that text as a message of theirs, unlike any before, in whatever process."""
        return Incoming(
            CHAT, self.user, self.user.user, uuid.uuid4().hex, text, self.clock.now(), language=self.language
        )


async def run(door: Door, clock: Clock, *, user: UserKey, data_dir: Path, language: Locale | None = None) -> None:
    """Talk until the person leaves or the input ends; everything asked by then is answered.

    On a terminal with a prompt, whose history is kept in `data_dir`; otherwise line by line. `language` is set by the
    owner; without it the terminal speaks the system's.
    """
    person = Person(user, language.value if language else _system_language(), clock)
    with _ending_in_order(), contextlib.suppress(SurfaceGone):  # gone: what was accepted is answered at the next start
        if sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb":
            await _talk(door, person, data_dir)
        else:
            await _pipe(door, person)


async def _pipe(door: Door, person: Person) -> None:
    """Answer line by line, each before the next is read."""
    output = Output(sys.stdout)
    surface = PipeSurface(output)
    await door.resume(PLATFORM, lambda _: surface)
    while not output.gone and (line := await read_line(sys.stdin.buffer)) is not None:
        if line.strip() == _QUIT:
            break
        if line.strip():
            await (await door.receive(person.says(line), surface))


async def _talk(door: Door, person: Person, data_dir: Path) -> None:
    from adapters.console.prompt import Prompt, quiet_keys  # half of the start of a terminal, and of no use to a pipe

    colour = not os.environ.get("NO_COLOR")
    output = Output(sys.stdout)
    surface = ConsoleSurface(output, colour=colour)
    prompt = Prompt(data_dir / "console-history", output, colour=colour)
    locale = from_tag(person.language) or Locale.PT
    surface.say(GREETING[locale])
    await door.resume(PLATFORM, lambda _: surface)
    while not output.gone:
        surface.above = prompt.above
        try:
            text = await prompt.ask()
        except EOFError:
            return
        except KeyboardInterrupt:
            surface.above = None
            surface.say(HOW_TO_LEAVE[locale])
            continue
        finally:
            surface.above = None
        if text.strip() == _QUIT:
            return
        if text.strip():
            with quiet_keys():
                await _answer(door, person, surface, text)


async def _answer(door: Door, person: Person, surface: ConsoleSurface, text: str) -> None:
    """Hand a message over and wait for its answer; Ctrl-C asks to stop it, a second Ctrl-C leaves."""
    async with asyncio.TaskGroup() as tasks:
        interrupted = asyncio.Event()
        stopping = tasks.create_task(_stop_when(interrupted, door, person, surface))
        with _on_interrupt(interrupted.set):
            await (await door.receive(person.says(text), surface))
            if interrupted.is_set():
                await stopping
        stopping.cancel()
    surface.settle()


async def _stop_when(interrupted: asyncio.Event, door: Door, person: Person, surface: ConsoleSurface) -> None:
    await interrupted.wait()
    await (await door.receive(person.says(_STOP), surface))


@contextmanager
def _on_interrupt(call: Callable[[], None]) -> Iterator[None]:
    """Call that at the first Ctrl-C; a second one is what it always is."""
    if sys.platform == "win32":  # there is no such handler: Ctrl-C leaves
        yield
        return
    loop = asyncio.get_running_loop()

    def first() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        call()

    loop.add_signal_handler(signal.SIGINT, first)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end this task as if it were cancelled, so that the terminal is left as it was found."""
    task = asyncio.current_task()
    if sys.platform == "win32" or task is None:
        yield
        return
    loop = asyncio.get_running_loop()
    told: list[int] = []

    def end(number: int) -> None:
        told.append(number)
        task.cancel()

    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, end, number)
    try:
        yield
    except asyncio.CancelledError:
        if told:
            raise SystemExit(128 + told[0]) from None  # what a shell says of a process that a signal ended
        raise
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)


def _system_language() -> str:
    """Return the language tag of the system's locale: the first of these that is set, as gettext reads them."""
    return os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
