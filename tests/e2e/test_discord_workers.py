"""Several workers of one bot on Discord: each has some of the shards, all of them write, nothing gets lost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from itertools import pairwise

from adapters.discord.config import DiscordConfig
from core.errors import ClaimLost
from core.ports import Channel
from core.types import Incoming
from tests.e2e.discord_kit import ANA, BIA, ME, ROOM, Bot, flow, idle, serving
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import GUILD_ID, LOADING
from tests.fakes.duties import Worker, Workers
from tests.fakes.handler import ScriptedHandler
from tests.reference.kept import InMemoryKept

OF_ROOM = (GUILD_ID >> 22) % 2
"""The shard of the server, of two; direct messages are of the first."""


class Cluster:
    """Workers that share duties, and what is kept; each is a bot of its own."""

    def __init__(self, server: DiscordServer, clock: FakeClock, config: DiscordConfig | None = None) -> None:
        self.server, self.clock, self.config = server, clock, config
        self.workers, self.kept = Workers(), InMemoryKept()

    @asynccontextmanager
    async def worker(self, *, sessions: int) -> AsyncIterator[tuple[Bot, Worker]]:
        """Start one more, which is there when so many sessions were begun in all, and it is connected."""
        worker, handler = self.workers.worker(), ScriptedHandler(self.clock)

        def is_there() -> bool:
            return len(self.server.gateway.identified) >= sessions and len(self.server.gateway.listening) == self.count

        async with serving(
            self.server, self.clock, handler, self.config, kept=self.kept, duties=worker, is_there=is_there
        ) as bot:
            await flow(self.server, self.clock, lambda: bot.connected and bot.connected[-1])
            yield bot, worker

    @property
    def count(self) -> int:
        return self.server.gateway.shards


async def test_shards_are_dealt_out_and_what_a_worker_keeps_stays_connected() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server, AsyncExitStack() as stack:
        server.gateway.shards = 4
        cluster = Cluster(server, clock)
        first, _ = await stack.enter_async_context(cluster.worker(sessions=4))
        sockets = server.gateway.listening
        second, _ = await stack.enter_async_context(cluster.worker(sessions=6))
        assert [one["shard"] for one in server.gateway.identified] == [[0, 4], [1, 4], [2, 4], [3, 4], [2, 4], [3, 4]]
        after = server.gateway.listening
        assert [after[shard] is sockets[shard] for shard in range(4)] == [True, True, False, False]
        assert (first.connected[-1], second.connected[-1]) == (True, True)


async def test_new_sessions_of_all_workers_together_keep_the_pace_that_discord_allows() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server, AsyncExitStack() as stack:
        server.gateway.shards, server.gateway.concurrency = 8, 2
        cluster = Cluster(server, clock)
        for sessions in (8, 12, 14):
            await stack.enter_async_context(cluster.worker(sessions=sessions))
        begun = list(zip(server.gateway.identified, server.gateway.identified_s, strict=True))
        for rest in (0, 1):
            at_s = [at_s for one, at_s in begun if one["shard"][0] % 2 == rest]
            assert all(later - earlier >= 5.0 for earlier, later in pairwise(at_s))
        assert server.gateway.identified_s[1] == server.gateway.identified_s[0]  # two at once


async def test_what_is_said_while_a_shard_goes_to_another_worker_is_read_back_there_and_answered_once() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        server.gateway.shards = 2
        server.room(ROOM)
        cluster = Cluster(server, clock)
        async with cluster.worker(sessions=2) as (first, _), cluster.worker(sessions=3) as (second, _):
            await server.says(ANA, "em particular")
            await server.says(ANA, f"{ME} na sala", room=ROOM)
            await flow(server, clock, lambda: first.handler.answered + second.handler.answered == 2)
            leaving, staying = (second, first) if OF_ROOM == 1 else (first, second)
            leaving.stop.set()
            await idle(server)
            await server.says(BIA, f"{ME} durante", room=ROOM)
            await flow(server, clock, lambda: len(server.room(ROOM).screen()) == 2)
            await flow(server, clock, lambda: len(server.gateway.identified) == 4)
            await server.says(BIA, f"{ME} depois", room=ROOM)
            await flow(server, clock, lambda: len(server.room(ROOM).screen()) == 3)
            assert [one.text for one in staying.handler.received][-2:] == ["durante", "depois"]
            assert "na sala" in [one.text for one in leaving.handler.received]


async def test_a_worker_that_is_cut_off_leaves_its_shards_closed_for_good() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        server.gateway.shards = 2
        cluster = Cluster(server, clock)
        async with cluster.worker(sessions=2) as (first, _):
            await server.gateway.drop()  # the library is about to resume it
            async with cluster.worker(sessions=3) as (second, _):
                sockets = server.gateway.listening
                await clock.advance(120)
                await idle(server)
                assert server.gateway.listening == sockets
                assert len(server.gateway.identified) == 3
                await server.says(ANA, "oi")
                await flow(server, clock, lambda: first.handler.answered + second.handler.answered == 1)


async def test_a_worker_without_a_shard_writes_and_answers_what_another_took_in() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        server.room(ROOM)
        cluster = Cluster(server, clock)
        async with cluster.worker(sessions=1) as (first, _), cluster.worker(sessions=1) as (second, _):
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


async def test_the_number_of_shards_is_agreed_on_and_followed_while_running() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        server.gateway.shards = 2
        server.room(ROOM)
        cluster = Cluster(server, clock)
        async with cluster.worker(sessions=2) as (first, _):
            await server.says(ANA, f"{ME} um", room=ROOM)
            await flow(server, clock, lambda: first.handler.answered == 1)
            server.gateway.shards = 5  # too many for the two that there are
            async with cluster.worker(sessions=5) as (second, _):
                await flow(server, clock, lambda: {one["shard"][1] for one in server.gateway.identified[-5:]} == {5})
                await flow(server, clock, lambda: len(server.gateway.listening) == 5)
                await server.says(ANA, f"{ME} dois", room=ROOM)
                await flow(server, clock, lambda: first.handler.answered + second.handler.answered == 2)
                await idle(server)
                assert server.room(ROOM).screen() == ["Você disse: um", "Você disse: dois"]


async def test_a_number_that_discord_recommends_half_or_twice_of_is_gone_on_with() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        cluster = Cluster(server, clock)
        for recommended, agreed in ((2, 2), (4, 2), (5, 5), (3, 5), (2, 2)):
            server.gateway.shards = agreed
            began = len(server.gateway.identified)
            server.recommended = recommended
            async with cluster.worker(sessions=began + agreed):
                assert server.gateway.identified[-1]["shard"][1] == agreed


async def test_an_answer_that_is_ready_before_the_other_worker_acknowledged_waits_for_that() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        server.room(ROOM)
        cluster = Cluster(server, clock)
        async with cluster.worker(sessions=1) as (first, _), cluster.worker(sessions=1) as (second, _):
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


async def test_an_interaction_that_another_worker_answers_goes_on_thinking() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        server.room(ROOM)
        cluster = Cluster(server, clock)
        async with cluster.worker(sessions=1) as (first, _), cluster.worker(sessions=1) as (second, _):
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
