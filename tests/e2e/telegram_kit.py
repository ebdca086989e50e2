"""What the Telegram scenarios share: a bot over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from adapters import telegram
from adapters.telegram.config import TelegramConfig
from bot.settings.settings import load
from core.ports import Clock, MessageHandler
from core.storage.kept import SqlKept
from core.types import Incoming
from core.workers.port import Worker
from tests.e2e.flowing import flow, idle
from tests.fakes.clock import FakeClock
from tests.fakes.commands import menu
from tests.fakes.handler import Script, ScriptedHandler, echo
from tests.fakes.ram import RamDatabase
from tests.fakes.telegram_server import TOKEN, TelegramServer

__all__ = ["Bot", "flow", "idle", "running", "serving"]


def set_by(**settings: object) -> TelegramConfig:
    """Return the adapter's configuration as an owner's settings make it."""
    config = load(None, telegram_token=TOKEN, **settings).telegram()
    assert config is not None
    return config


@dataclass
class Bot:
    """A running bot and the task that runs it."""

    handler: ScriptedHandler
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
    posted: Sequence[str] = ("",),
    **wired: Any,
) -> AsyncIterator[Bot]:
    """Run the adapter with a scripted handler, and what else `run` is given; leaving stops it gracefully."""
    handler = ScriptedHandler(clock, script, owed=list(owed), posted=posted)
    async with serving(server, clock, handler, config, **wired) as (task, stop):
        yield Bot(handler, task, stop)


@asynccontextmanager
async def serving(
    server: TelegramServer, clock: Clock, handler: MessageHandler, config: TelegramConfig | None = None, **wired: Any
) -> AsyncIterator[tuple[asyncio.Task[None], asyncio.Event]]:
    """Run the adapter against the server; leaving stops it gracefully."""
    stop = asyncio.Event()
    config = replace(config or TelegramConfig(TOKEN), base_url=server.url)
    wired = {"worker": Worker(), "kept": SqlKept(RamDatabase()), **wired}
    task = asyncio.create_task(telegram.run(config, handler, clock, stop, menu=menu(), **wired))
    try:
        yield task, stop
    finally:
        stop.set()
        ending = asyncio.create_task(_end(task, handler))
        while not ending.done():
            await idle(server)
            if isinstance(clock, FakeClock):
                await clock.advance(1.0)  # a view that is cancelled still has a moment to write
        await ending


async def _end(task: asyncio.Task[None], handler: MessageHandler) -> None:
    await asyncio.wait({task})
    await asyncio.gather(task, return_exceptions=True)
    if isinstance(handler, ScriptedHandler):
        await handler.close()
