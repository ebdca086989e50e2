"""What the Telegram scenarios share: a bot over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from adapters import telegram
from adapters.telegram.config import TelegramConfig
from bot.settings.settings import load
from core.ports import Clock, MessageHandler
from core.storage.kept import SqlKept
from core.types import Incoming
from core.workers.port import Worker
from tests.e2e.flowing import Bot, ending, flow, idle
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
        yield Bot(handler, task, stop, server, clock)


@asynccontextmanager
async def serving(
    server: TelegramServer, clock: Clock, handler: MessageHandler, config: TelegramConfig | None = None, **wired: Any
) -> AsyncIterator[tuple[asyncio.Task[None], asyncio.Event]]:
    """Run the adapter against the server; leaving stops it gracefully."""
    stop = asyncio.Event()
    config = replace(config or TelegramConfig(TOKEN), base_url=server.url)
    wired = {"worker": Worker(), "kept": SqlKept(RamDatabase()), "menu": menu(), **wired}
    task = asyncio.create_task(telegram.run(config, handler, clock, stop, **wired))
    async with ending(server, clock, handler, task, stop):
        yield task, stop
