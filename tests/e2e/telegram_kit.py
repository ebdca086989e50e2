"""What the Telegram scenarios share: a server, people, a bot over real sockets, and a door that answers by script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
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


@dataclass
class ScriptedDoor(Door):
    """Keeps what it is given, in order, and answers each message by the script, one lane a chat."""

    clock: Clock
    script: Script = echo
    received: list[Incoming] = field(default_factory=list)
    owed: list[Incoming] = field(default_factory=list)
    failures: list[SurfaceError] = field(default_factory=list)

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
    server: TelegramServer, clock: Clock, script: Script = echo, config: TelegramConfig | None = None
) -> AsyncIterator[Bot]:
    """Run the adapter against the server; leaving stops it gracefully."""
    door, stop = ScriptedDoor(clock, script), asyncio.Event()
    config = replace(config or TelegramConfig(TOKEN), base_url=server.url)
    task = asyncio.create_task(telegram.run(config, door, clock, stop))
    try:
        yield Bot(door, task, stop)
    finally:
        stop.set()
        if isinstance(clock, FakeClock):
            await clock.advance(0)
        await asyncio.wait({task}, timeout=5)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await door.close()


def _done() -> Awaitable[None]:
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    done.set_result(None)
    return done
