"""What the Telegram scenarios share: a server, people, a bot over real sockets, and a door that answers by script."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from adapters import telegram
from adapters.telegram.config import TelegramConfig
from core.delivery.view import View
from core.errors import SurfaceError
from core.mailbox import Mailbox
from core.ports import Clock, Door, Surface
from core.types import Incoming
from tests.fakes.clock import FakeClock
from tests.fakes.telegram_server import TOKEN, TelegramServer

Script = Callable[[Incoming, View], Awaitable[None]]


async def echo(incoming: Incoming, view: View) -> None:
    """Think visibly, then say back what was said."""
    await view.status("IA está pensando...")
    await view.stream(words(f"Você disse: {incoming.text}"))


async def words(text: str) -> AsyncIterator[str]:
    for word in text.split(" "):
        yield word + " "


def slowly(clock: Clock, text: str, pause_s: float) -> Script:
    """Answer with the text, a word at a time, as a model would."""

    async def chunks() -> AsyncIterator[str]:
        for word in re.findall(r"\S+\s*", text):
            await clock.sleep(pause_s)
            yield word

    async def script(_: Incoming, view: View) -> None:
        await view.status("IA está pensando...")
        await view.stream(chunks())

    return script


@dataclass
class ScriptedDoor(Door):
    """Keeps what it is given, in order, and answers each message by the script, one lane a chat."""

    clock: Clock
    script: Script = echo
    received: list[Incoming] = field(default_factory=list)
    owed: list[Incoming] = field(default_factory=list)
    failures: list[SurfaceError] = field(default_factory=list)
    answered: int = 0

    def __post_init__(self) -> None:
        self._lanes = Mailbox()
        self._known: set[tuple[str, str]] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def receive(self, incoming: Incoming, surface: Surface) -> Awaitable[None]:
        key = (incoming.chat.chat, incoming.message_id)
        if key in self._known:
            return _done()
        self._known.add(key)
        self.received.append(incoming)
        return self._start(incoming, surface) if incoming.addressed else _done()

    async def resume(self, platform: str, reopen: Callable[[Incoming], Surface]) -> None:
        for incoming in self.owed:
            if incoming.chat.platform == platform:
                self._start(incoming, reopen(incoming))

    def _start(self, incoming: Incoming, surface: Surface) -> asyncio.Task[None]:
        task = asyncio.create_task(self._answer(incoming, surface))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _answer(self, incoming: Incoming, surface: Surface) -> None:
        async with self._lanes.lane(incoming.chat):
            view = View(surface, self.clock)
            try:
                await self.script(incoming, view)
                await view.close()
            except SurfaceError as error:
                self.failures.append(error)
            self.answered += 1

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@dataclass
class Bot:
    """A running bot and the task that runs it."""

    door: ScriptedDoor
    task: asyncio.Task[None]
    stop: asyncio.Event


@asynccontextmanager
async def running(
    server: TelegramServer,
    clock: Clock,
    script: Script = echo,
    config: TelegramConfig | None = None,
    *,
    owed: Sequence[Incoming] = (),
) -> AsyncIterator[Bot]:
    """Run the adapter against the server; leaving stops it gracefully."""
    door, stop = ScriptedDoor(clock, script, owed=list(owed)), asyncio.Event()
    config = replace(config or TelegramConfig(TOKEN), base_url=server.url)
    task = asyncio.create_task(telegram.run(config, door, clock, stop))
    try:
        yield Bot(door, task, stop)
    finally:
        stop.set()
        ending = asyncio.create_task(_end(task, door))
        while not ending.done():
            await idle(server)
            if isinstance(clock, FakeClock):
                await clock.advance(1.0)  # a view that is cancelled still has a moment to write
        await ending


async def _end(task: asyncio.Task[None], door: ScriptedDoor) -> None:
    await asyncio.wait({task})
    await asyncio.gather(task, return_exceptions=True)
    await door.close()


def _done() -> Awaitable[None]:
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    done.set_result(None)
    return done


async def flow(
    server: TelegramServer, clock: FakeClock, condition: Callable[[], object], limit_s: float = 7200
) -> None:
    """Let everything run and time go by, from one sleeper to the next, until the condition holds."""
    until_s = clock.monotonic() + limit_s
    async with asyncio.timeout(30):
        while not condition():
            await idle(server)
            if condition():
                return
            next_s = min((at_s for at_s, _, wake in clock._sleepers if not wake.done()), default=None)
            assert next_s is not None, "everything rests, and it has not happened"
            assert next_s <= until_s, f"it has not happened within {limit_s} s"
            await clock.advance(next_s - clock.monotonic())


async def idle(server: TelegramServer) -> None:
    """Return when nobody does anything but wait: no request is on its way, and the loop went round in vain."""
    quiet, seen = 0, -1
    while quiet < 40:
        await asyncio.sleep(0)
        quiet = quiet + 1 if len(server.calls) == seen and not server.busy else 0
        seen = len(server.calls)
