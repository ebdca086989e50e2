"""The conversation at a terminal: prompt, answer, prompt. Knows what Ctrl-C, Ctrl-D and a signal mean."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from adapters.console.channel import ConsoleChannel
from adapters.console.files import EXPORTS
from adapters.console.output import Output
from adapters.console.person import PLATFORM, QUIT, STOP, Person
from adapters.console.prompt import Prompt, quiet_keys
from adapters.console.screen import OneScreen
from adapters.console.texts import GREETING, HOW_TO_LEAVE
from core.ports import MessageHandler
from core.text.language import from_tag
from core.types import Locale


async def talk(handler: MessageHandler, person: Person, data_dir: Path, *, keeps_lines: bool = True) -> None:
    """Greet, then ask and answer until the person leaves."""
    colour = not os.environ.get("NO_COLOR")
    output = Output(sys.stdout)
    channel = ConsoleChannel(output, colour=colour, exports=data_dir / EXPORTS)
    prompt = Prompt(data_dir / "console-history" if keeps_lines else None, output, colour=colour)
    locale = from_tag(person.language) or Locale.PT
    channel.say(GREETING[locale])
    channel.end()
    with _ending_in_order():
        await handler.resume(PLATFORM, OneScreen(channel))
        while not output.gone:
            try:
                with channel.printing_above(prompt.above):
                    text = await prompt.ask()
            except KeyboardInterrupt:
                channel.say(HOW_TO_LEAVE[locale])
                continue
            except EOFError:
                break
            if text.strip() == QUIT:
                break
            if text.strip():
                with quiet_keys():
                    await _answer(handler, person, channel, channel.buttons.pressed(text))


async def _answer(handler: MessageHandler, person: Person, channel: ConsoleChannel, text: str) -> None:
    """Hand a message over and wait for its answer; Ctrl-C asks to stop it, a second Ctrl-C leaves."""
    interrupted = asyncio.Event()
    stopping = asyncio.create_task(_stop_when(interrupted, handler, person, channel))
    try:
        with _on_interrupt(interrupted.set):
            answered = await handler.receive(person.says(text), channel)
            await answered
            if interrupted.is_set():
                await stopping
    finally:
        stopping.cancel()
    channel.end()


async def _stop_when(
    interrupted: asyncio.Event, handler: MessageHandler, person: Person, channel: ConsoleChannel
) -> None:
    await interrupted.wait()
    stopped = await handler.receive(person.says(STOP), channel)
    await stopped


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
