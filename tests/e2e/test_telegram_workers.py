"""Several workers of one bot on Telegram: one asks for updates, all of them write, and another takes over in time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import aiohttp
import pytest

from adapters.telegram.config import TelegramConfig, Webhook
from adapters.telegram.webhook import secret
from core.errors import StorageDown
from core.ports import Channel
from core.storage.kept import SqlKept
from core.types import Incoming
from tests.e2e.telegram_kit import flow, idle, running
from tests.e2e.test_telegram_webhook import HEADER, free_port
from tests.fakes.clock import FakeClock
from tests.fakes.duties import OneOfThese, Workers
from tests.fakes.handler import ScriptedHandler
from tests.fakes.ram import RamDatabase
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TOKEN, TelegramServer
from tests.fakes.telegram_wire import Refused

ANA = Person(7)


@dataclass
class Two:
    """Two workers of one bot, and the channels that each was connected with."""

    here: OneOfThese
    there: OneOfThese
    handlers: list[ScriptedHandler]
    tasks: list[asyncio.Task[None]]
    stops: list[asyncio.Event]

    @property
    def received(self) -> list[list[str]]:
        return [[incoming.text for incoming in handler.received] for handler in self.handlers]


@asynccontextmanager
async def two(server: TelegramServer, clock: FakeClock) -> AsyncIterator[Two]:
    workers, kept = Workers(), SqlKept(RamDatabase())
    both = workers.worker(), workers.worker()
    async with AsyncExitStack() as stack:
        bots = []
        for worker in both:
            bots.append(await stack.enter_async_context(running(server, clock, worker=worker, kept=kept)))
            await flow(server, clock, lambda: server.polled)
            await idle(server)
        yield Two(*both, [bot.handler for bot in bots], [bot.task for bot in bots], [bot.stop for bot in bots])


def polls(server: TelegramServer) -> list[int]:
    return [call.code for call in server.calls if call.method == "getupdates"]


async def test_one_of_two_workers_asks_for_updates_and_both_write(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, two(server, clock) as bot:
        server.says(ANA, "oi")
        await flow(server, clock, lambda: server.chats[7].screen() == ["Você disse: oi"])
        assert bot.received == [["oi"], []]
        assert 409 not in polls(server)
        other = bot.handlers[1]
        said = bot.handlers[0].received[0]
        channels = other.notifier.platforms["telegram"]
        await other._start(replace(said, message_id="99", text="de lá"), channels.again(said))
        assert server.chats[7].screen() == ["Você disse: oi", "Você disse: de lá"]
        assert len(server.done("setmycommands")) == 8  # by one of them
        assert set(bot.here.used_of) == set(bot.there.used_of) == {"telegram:writes"}


async def test_a_poller_that_is_cut_off_ends_at_once_and_the_other_goes_on_where_it_was(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = FakeClock()
    async with TelegramServer(clock) as server, two(server, clock) as bot:
        server.says(ANA, "um")
        await flow(server, clock, lambda: server.chats[7].screen() == ["Você disse: um"])
        began_s = clock.monotonic()
        bot.here.lose(next(iter(bot.here.duties)))
        await idle(server)
        server.says(ANA, "dois")
        await flow(server, clock, lambda: len(server.chats[7].screen()) == 2)
        assert clock.monotonic() - began_s < 5.0
        assert bot.received == [["um"], ["dois"]]
        server.says(ANA, "três")
        await flow(server, clock, lambda: len(server.chats[7].screen()) == 3)
        assert bot.received == [["um"], ["dois", "três"]]
        assert not bot.tasks[0].done()
        assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_a_poll_of_the_worker_before_that_is_still_open_is_waited_for_and_nobody_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = FakeClock()
    async with TelegramServer(clock) as server, two(server, clock) as bot:

        def open_yet(method: str, _: object) -> None:
            if method == "getupdates" and clock.monotonic() < ends_s:
                raise Refused(409, "Conflict: terminated by other getUpdates request; make sure that only one bot")

        ends_s = clock.monotonic() + 4.5
        server.faults.append(open_yet)
        bot.here.lose(next(iter(bot.here.duties)))
        await idle(server)
        server.says(ANA, "oi")
        await flow(server, clock, lambda: bot.received == [[], ["oi"]])
        assert clock.monotonic() < ends_s + 1.0
        assert polls(server).count(409) == 5
        assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_a_worker_that_stops_acknowledges_what_it_took_and_hands_over(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, two(server, clock) as bot:
        server.says(ANA, "um")
        await flow(server, clock, lambda: len(server.chats[7].screen()) == 1)
        bot.stops[0].set()
        await flow(server, clock, bot.tasks[0].done)
        server.says(ANA, "dois")
        await flow(server, clock, lambda: len(server.chats[7].screen()) == 2)
        assert bot.received == [["um"], ["dois"]]
        assert 409 not in polls(server)


async def test_an_update_that_cannot_be_stored_is_asked_for_again(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock) as bot:
        failing(bot.handler, 3)
        server.says(ANA, "um")
        server.says(ANA, "dois")
        await flow(server, clock, lambda: bot.handler.answered == 2)
        assert [incoming.text for incoming in bot.handler.received] == ["um", "dois"]
        assert server.chats[7].screen() == ["Você disse: um", "Você disse: dois"]
        assert 7.0 <= clock.monotonic() < 10.0  # 1 s, 2 s, 4 s


async def test_workers_behind_a_load_balancer_share_one_secret_and_one_address(clock: FakeClock) -> None:
    workers, kept = Workers(), SqlKept(RamDatabase())
    url = "https://bot.example.org/hook"
    ports = [free_port(), free_port()]
    async with TelegramServer(clock) as server, AsyncExitStack() as stack, aiohttp.ClientSession() as session:
        bots, connected = [], list[bool]()
        for port in ports:
            config = replace(TelegramConfig(TOKEN), webhook=Webhook(url, port=port))
            wired: dict[str, Any] = {"worker": workers.worker(), "kept": kept, "connected": connected.append}
            bots.append(await stack.enter_async_context(running(server, clock, config=config, **wired)))
        await flow(server, clock, lambda: connected.count(True) >= 2)
        assert server.webhook is not None
        assert server.webhook["secret_token"] == secret(TOKEN)
        assert TOKEN.partition(":")[2] not in secret(TOKEN)
        for number, port in enumerate(ports):
            server.says(ANA, f"por {number}")
            async with session.post(
                f"http://127.0.0.1:{port}/hook", json=server.updates[-1], headers={HEADER: secret(TOKEN)}
            ) as response:
                assert response.status == 200
        await flow(server, clock, lambda: len(server.chats[7].screen()) == 2)
        assert [[one.text for one in bot.handler.received] for bot in bots] == [["por 0"], ["por 1"]]
        assert not any(call.method == "getupdates" for call in server.calls)


async def test_a_group_that_grew_up_before_another_worker_is_known_to_this_one(clock: FakeClock) -> None:
    group, grown = -55, -1001
    async with TelegramServer(clock) as server, two(server, clock) as bot:
        old = server.chat(group)
        old.type = "group"
        server.says(ANA, "@elefante_bot um", chat_id=group)
        await flow(server, clock, lambda: bot.handlers[0].answered == 1)
        server.grows_up(old, grown)
        await flow(server, clock, lambda: not server.updates or server.offset > server.updates[-1]["update_id"])
        bot.here.lose(next(iter(bot.here.duties)))
        server.says(ANA, "@elefante_bot dois", chat_id=grown)
        await flow(server, clock, lambda: bot.handlers[1].answered == 1)
        assert {one.chat.chat for handler in bot.handlers for one in handler.received} == {str(group)}


def failing(handler: ScriptedHandler, times: int) -> None:
    """Let the database be away for the next messages."""
    receive, left = handler.receive, iter(range(times))

    async def down(incoming: Incoming, channel: Channel) -> Awaitable[None]:
        if next(left, None) is not None:
            raise StorageDown("away")
        return await receive(incoming, channel)

    handler.receive = down  # type: ignore[method-assign]
