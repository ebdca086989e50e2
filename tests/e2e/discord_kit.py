"""What the Discord scenarios share: a bot over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from adapters import discord
from adapters.discord.config import DiscordConfig
from adapters.discord.read_back import Unread
from bot.settings.settings import load
from core.commands.menu import MenuEntry
from core.ports import Clock, MessageHandler
from core.storage.kept import SqlKept
from core.stores import KeptStore
from core.types import Incoming, UserKey
from core.workers.port import Worker
from tests.e2e import flowing
from tests.e2e.flowing import ending, flow, idle
from tests.fakes.clock import FakeClock
from tests.fakes.commands import menu
from tests.fakes.discord_server import TOKEN, DiscordServer
from tests.fakes.discord_world import BOT_ID, ROOM, Person, Refused
from tests.fakes.handler import Script, ScriptedHandler, echo
from tests.fakes.ram import RamDatabase

__all__ = ["ROOM", "Bot", "flow", "idle", "refusing", "running", "serving"]

ANA, BIA = Person(10**17 + 7, "Ana"), Person(10**17 + 8, "Bia", "en-US")
OTHER_ROOM, SILENT_ROOM, THREAD = 10**17 + 101, 10**17 + 102, 10**17 + 200
ME = f"<@{BOT_ID}>"


def set_by(**settings: object) -> DiscordConfig:
    """Return the adapter's configuration as an owner's settings make it."""
    config = load(None, discord_token=TOKEN, **settings).discord()
    assert config is not None
    return config


@dataclass
class Bot(flowing.Bot):
    """What it told of itself, besides."""

    said: list[str] = field(default_factory=list)
    owners: dict[UserKey, str] = field(default_factory=dict)
    unread: list[Unread] = field(default_factory=list)
    wrote: list[int] = field(default_factory=list)
    connected: list[bool] = field(default_factory=list)


@asynccontextmanager
async def running(
    server: DiscordServer,
    clock: FakeClock,
    script: Script = echo,
    config: DiscordConfig | None = None,
    *,
    owed: Sequence[Incoming] = (),
    posted: Sequence[str] = ("",),
    kept: KeptStore | None = None,
) -> AsyncIterator[Bot]:
    """Run the adapter against the server until it is connected; leaving stops it gracefully."""
    handler = ScriptedHandler(clock, script, owed=list(owed), posted=posted)
    async with serving(server, clock, handler, config, kept=kept) as bot:
        yield bot


@asynccontextmanager
async def serving(
    server: DiscordServer,
    clock: Clock,
    handler: MessageHandler,
    config: DiscordConfig | None = None,
    *,
    owned: Callable[[UserKey, str], Awaitable[None]] | None = None,
    entries: Sequence[MenuEntry] = (),
    kept: KeptStore | None = None,
    worker: Worker | None = None,
    is_there: Callable[[], bool] | None = None,
) -> AsyncIterator[Bot]:
    """Run the adapter for that handler; `owned` is told whom Discord names as owner, too.

    The menu holds those entries, or else every command. One of several workers shares the others' `kept`, and has
    started when `is_there`.
    """
    stop, said, owners, unread, wrote = asyncio.Event(), list[str](), dict[UserKey, str](), list[Unread](), list[int]()
    connected = list[bool]()

    async def own(user: UserKey, name: str) -> None:
        owners[user] = name
        if owned is not None:
            await owned(user, name)

    config = replace(config or DiscordConfig(TOKEN), api_base_url=server.api_url)
    task = asyncio.create_task(
        discord.run(
            config,
            handler,
            clock,
            stop,
            menu=entries or menu(),
            worker=worker or Worker(),
            kept=kept or SqlKept(RamDatabase()),
            connected=lambda is_connected, _why="": connected.append(is_connected),
            say=said.append,
            own=own,
            wrote=wrote.append,
            tell_unread=lambda found: unread.append(found) if found is not None else None,
        )
    )
    async with ending(server, clock, handler, task, stop):

        def is_up() -> bool:
            return task.done() or (is_there or (lambda: server.gateway.online))()

        await (flow(server, clock, is_up) if isinstance(clock, FakeClock) else server.until(is_up))
        scripted = handler if isinstance(handler, ScriptedHandler) else ScriptedHandler(clock)
        yield Bot(scripted, task, stop, server, clock, said, owners, unread, wrote, connected)


def refusing(status: int, code: int) -> Callable[[str, str], None]:
    """A fault: everything is refused like that."""

    def fault(_method: str, _path: str) -> None:
        raise Refused(status, code, "no")

    return fault
