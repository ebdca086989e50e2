"""Several workers of one bot on Discord: one is connected, all of them write, and nothing gets lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from core.errors import ClaimLost, ConfigError
from core.outgoing import OutgoingMessage
from core.ports import Channel
from core.storage.kept import SqlKept
from core.types import Incoming, UserKey
from tests.e2e.discord_kit import ANA, BIA, ME, ROOM, Bot, flow, idle, serving
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import LOADING
from tests.fakes.duties import OneOfThese, Workers
from tests.fakes.handler import ScriptedHandler
from tests.fakes.ram import RamDatabase


class Cluster:
    """Workers that share duties, and what is kept; each is a bot of its own."""

    def __init__(self, server: DiscordServer, clock: FakeClock) -> None:
        self.server, self.clock = server, clock
        self.workers, self.kept = Workers(), SqlKept(RamDatabase())

    @asynccontextmanager
    async def worker(self) -> AsyncIterator[tuple[Bot, OneOfThese]]:
        """Start one more, which is there when somebody listens, and it can write."""
        worker, handler = self.workers.worker(), ScriptedHandler(self.clock)
        async with serving(self.server, self.clock, handler, kept=self.kept, worker=worker) as bot:
            await flow(self.server, self.clock, lambda: bot.connected and bot.connected[-1])
            await idle(self.server)
            yield bot, worker


async def test_what_is_said_while_another_worker_connects_is_read_back_there_and_answered_once() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        server.gateway.shards = 2
        server.room(ROOM)
        cluster = Cluster(server, clock)
        async with cluster.worker() as (leaving, _), cluster.worker() as (staying, _):
            assert len(server.gateway.identified) == 2
            await server.says(ANA, "em particular")
            await server.says(ANA, f"{ME} na sala", room=ROOM)
            await flow(server, clock, lambda: leaving.handler.answered == 2)
            leaving.stop.set()
            await idle(server)
            await server.says(BIA, f"{ME} durante", room=ROOM)
            await flow(server, clock, lambda: len(server.room(ROOM).screen()) == 2)
            await flow(server, clock, lambda: len(server.gateway.listening) == 2)
            await server.says(BIA, f"{ME} depois", room=ROOM)
            await flow(server, clock, lambda: len(server.room(ROOM).screen()) == 3)
            assert [one.text for one in staying.handler.received] == ["durante", "depois"]


async def test_a_worker_that_is_cut_off_leaves_the_gateway_and_waits_for_its_turn(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server:
        server.gateway.shards = 2
        cluster = Cluster(server, clock)
        async with cluster.worker() as (first, cut_off), cluster.worker() as (second, other):
            await server.gateway.drop()  # the library is about to resume it
            cut_off.lose(next(iter(cut_off.duties)))
            await flow(server, clock, lambda: len(server.gateway.identified) == 4)
            await flow(server, clock, lambda: first.connected[-1] and second.connected[-1])
            await clock.advance(120)
            await idle(server)
            assert len(server.gateway.identified) == 4
            assert [bool(worker.duties) for worker in (cut_off, other)] == [False, True]
            await server.says(ANA, "oi")
            await flow(server, clock, lambda: second.handler.answered == 1)
            assert not first.handler.received


async def test_a_worker_that_waits_for_its_turn_notices_that_the_token_was_revoked(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server:
        cluster = Cluster(server, clock)
        async with cluster.worker(), cluster.worker() as (waiting, _):
            server.gateway.token = "another"
            channels = waiting.handler.notifier.platforms["discord"]
            asked = asyncio.ensure_future(channels.private(UserKey("discord", str(ANA.id))).post(OutgoingMessage("oi")))
            await flow(server, clock, waiting.task.done)
            with pytest.raises(ConfigError, match="DISCORD_TOKEN: "):
                await waiting.task
            await asyncio.gather(asked, return_exceptions=True)


async def test_a_worker_that_is_not_connected_writes_and_answers_what_another_took_in(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server:
        cluster = Cluster(server, clock)
        async with cluster.worker() as (first, _), cluster.worker() as (second, _):
            assert second.connected[-1] is True
            assert len(server.gateway.identified) == 1
            await server.says(ANA, f"{ME} oi", room=ROOM)
            await flow(server, clock, lambda: first.handler.answered == 1)
            used = await server.interactions.command(ANA, "ask", room=ROOM, message="e isto?")
            await flow(server, clock, lambda: first.handler.answered == 2)
            channels = second.handler.notifier.platforms["discord"]
            said, asked = first.handler.received
            for incoming in (replace(said, text="de lá"), replace(asked, text="de lá também")):
                await flow(server, clock, second.handler._start(incoming, channels.again(incoming), ()).done)
            assert server.room(ROOM).screen() == ["Você disse: de lá", "Você disse: de lá também"]  # in their places
            assert not any(one.flags & LOADING for one in used.notes)


async def test_an_answer_that_is_ready_before_the_other_worker_acknowledged_waits_for_that(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server:
        cluster = Cluster(server, clock)
        async with cluster.worker() as (first, _), cluster.worker() as (second, _):
            channels = second.handler.notifier.platforms["discord"]

            async def overtaken(incoming: Incoming, channel: Channel) -> Awaitable[None]:
                second.handler._start(incoming, channels.again(incoming), ())
                await server.until(lambda: any(call.status == 404 for call in server.calls))
                elsewhere(first.handler)
                return await first.handler.receive(incoming, channel)

            first.handler.receive = overtaken  # type: ignore[method-assign]
            used = await server.interactions.command(ANA, "ask", room=ROOM, message="oi")
            await flow(server, clock, lambda: used.screen == ["Você disse: oi"])
            assert server.room(ROOM).screen() == ["Você disse: oi"]


async def test_an_interaction_that_another_worker_answers_goes_on_thinking(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server:
        cluster = Cluster(server, clock)
        async with cluster.worker() as (first, _), cluster.worker() as (second, _):
            elsewhere(first.handler)
            used = await server.interactions.command(ANA, "ask", room=ROOM, message="oi")
            await flow(server, clock, lambda: used.kind)
            await idle(server)
            assert used.thinking
            [incoming] = first.handler.received
            channels = second.handler.notifier.platforms["discord"]
            await flow(server, clock, second.handler._start(incoming, channels.again(incoming), ()).done)
            assert used.screen == ["Você disse: oi"]
            stopped = await server.interactions.command(ANA, "stop", room=ROOM)
            await flow(server, clock, lambda: stopped.screen)
            assert not stopped.thinking


def elsewhere(handler: ScriptedHandler) -> None:
    """Let every message be answered by another worker."""

    async def receive(incoming: Incoming, channel: Channel) -> Awaitable[None]:
        del channel
        handler.received.append(incoming)
        return lost()

    async def lost() -> None:
        raise ClaimLost("another worker answers")

    handler.receive = receive  # type: ignore[method-assign]
