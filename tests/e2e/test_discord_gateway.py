"""Staying connected to Discord: lost lines, lost sessions, restarts, malformed events, tokens, intents, budgets."""

from __future__ import annotations

import asyncio
import threading
from itertools import pairwise
from unittest.mock import Mock

import discord
import pytest
from discord.gateway import KeepAliveHandler

from adapters.discord import about, run
from adapters.discord.config import DiscordConfig
from core.errors import ConfigError
from core.storage.kept import SqlKept
from core.workers.port import Worker
from tests.e2e.discord_kit import ANA, BIA, flow, idle, refusing, running
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import TOKEN, DiscordServer
from tests.fakes.discord_world import OWNER_ID, Person
from tests.fakes.handler import ScriptedHandler, slowly
from tests.fakes.ram import RamDatabase


async def test_the_start_says_who_the_bot_is_who_owns_it_and_how_to_invite_it(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        said = "\n".join(bot.said)
        assert "connected as Elefante; owner: Dona" in said
        assert "scope=bot+applications.commands" in said
        assert "permissions=274878024768" in said  # view, react, send, send in threads, history, embeds, files
        assert "intent" not in said


async def test_what_the_start_says_can_be_asked_for_alone(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server:
        asked = asyncio.create_task(about(DiscordConfig(TOKEN, api_base_url=server.api_url), clock))
        await flow(server, clock, asked.done)
        assert [line.split(":")[0] for line in await asked] == ["Discord", "Discord"]
        assert not server.gateway.identified


async def test_a_stop_while_discord_cannot_be_reached_ends_the_run(clock: FakeClock) -> None:
    stop = asyncio.Event()
    config = DiscordConfig(TOKEN, api_base_url="http://127.0.0.1:9")
    task = asyncio.create_task(
        run(config, ScriptedHandler(clock), clock, stop, menu=(), worker=Worker(), kept=SqlKept(RamDatabase()))
    )
    await clock.advance(10.0)
    stop.set()
    async with asyncio.timeout(120):
        await task


@pytest.mark.parametrize("as_team", [False, True])
async def test_who_owns_the_application_owns_the_bot(clock: FakeClock, *, as_team: bool) -> None:
    async with DiscordServer(clock) as server:
        if as_team:
            server.team = [(ANA, "developer"), (BIA, "admin"), (Person(10**17 + 9, "Caio"), "read_only")]
        async with running(server, clock) as bot:
            owners = {user.user: name for user, name in bot.owners.items()}
            assert owners == ({str(ANA.id): "Ana", str(BIA.id): "Bia"} if as_team else {str(OWNER_ID): "Dona"})


async def test_a_dropped_line_is_resumed_and_nothing_said_meanwhile_is_lost(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        await bot.answers(server.says(ANA, "antes"))
        await server.gateway.drop()
        await bot.answers(server.says(ANA, "durante"))
        assert server.gateway.resumed == 1
        assert len(server.gateway.identified) == 1
        assert server.direct(ANA).screen() == ["Você disse: antes", "Você disse: durante"]


async def test_after_an_outage_of_any_length_it_is_connected_within_half_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, pauses_s = FakeClock(), list[float]()

    async def sleep(delay_s: float) -> None:
        pauses_s.append(delay_s)

    async with DiscordServer(clock) as server, running(server, clock) as bot:
        monkeypatch.setattr(
            discord.shard, "asyncio", Mock(wraps=asyncio, sleep=sleep, CancelledError=asyncio.CancelledError)
        )
        server.gateway.refusing = 14
        await server.gateway.drop()
        await flow(server, clock, lambda: server.gateway.online)
        await bot.answers(server.says(ANA, "voltou?"))
    assert len(pauses_s) == 14
    assert max(pauses_s) == 30.0


async def test_discord_away_at_the_start_is_asked_again_every_half_minute(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server:
        server.faults.append(refusing(503, 0))
        task = asyncio.create_task(about(DiscordConfig(TOKEN, api_base_url=server.api_url), clock))
        await flow(server, clock, lambda: len(server.calls) == 12)
        asked_s = [call.at_s for call in server.calls]
        assert max(after - before for before, after in pairwise(asked_s)) == 30.0
        server.faults.clear()
        await flow(server, clock, task.done)


async def test_an_outage_between_two_sessions_is_none_of_a_gateway_that_wants_new_ones(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock):
        away = [refusing(503, 0)] * 20
        server.faults.append(lambda m, p: away.pop()(m, p) if away else None)
        began = len(server.calls)
        await server.gateway.end()
        await flow(server, clock, lambda: len(server.gateway.identified) == 2)
        asked_s = [call.at_s for call in server.calls[began:]]
        assert len(asked_s) > 20
        assert max(after - before for before, after in pairwise(asked_s)) <= 30.0


async def test_a_gateway_named_by_the_owner_is_used_instead_of_the_apis(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server:
        named, server.gateway.url = server.gateway.url, "ws://127.0.0.1:1/"
        async with running(server, clock, config=DiscordConfig(TOKEN, gateway_url=named)) as bot:
            await bot.answers(server.says(ANA, "oi"))


@pytest.mark.spec("D3")
async def test_a_wrong_token_stops_the_start_and_names_the_setting(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock, config=DiscordConfig("a.wrong.one")) as bot:
        with pytest.raises(ConfigError, match="DISCORD_TOKEN: ") as raised:
            await bot.task
        assert "a.wrong.one" not in str(raised.value)
        assert not server.gateway.identified


async def test_a_token_revoked_while_running_ends_the_run_with_the_same_words(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        server.gateway.token = "another"
        await server.gateway.drop(resumable=False)
        await flow(server, clock, bot.task.done)
        with pytest.raises(ConfigError, match="DISCORD_TOKEN: "):
            await bot.task


async def test_an_intent_that_is_turned_off_while_running_is_done_without(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        server.gateway.content_allowed = False
        await server.gateway.drop(resumable=False)
        await flow(server, clock, lambda: server.gateway.online)
        await bot.answers(server.says(ANA, "oi"))
        assert [bool(one["intents"] & (1 << 15)) for one in server.gateway.identified] == [True, True, False]


async def test_a_used_up_session_budget_is_waited_for_not_broken(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server:
        server.sessions_left = 3
        async with running(server, clock):
            assert clock.monotonic() >= 3600
            assert len(server.gateway.identified) == 1


async def test_a_gateway_that_wants_new_sessions_all_the_time_is_left_alone_longer_and_longer(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        began_s = clock.monotonic()
        for _ in range(30):
            await server.gateway.drop(resumable=False)
            await flow(server, clock, lambda: server.gateway.online)
        assert clock.monotonic() - began_s > 30 * 4.5
        assert not bot.task.done()
        await bot.answers(server.says(ANA, "ainda aí?"))
    for thread in threading.enumerate():  # of sockets left while they identified; they would end at their next beat
        if isinstance(thread, KeepAliveHandler):
            thread.stop()


async def test_a_server_that_is_down_at_the_start_is_waited_for(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server:
        down = [refusing(503, 0)] * 3
        server.faults.append(lambda m, p: down.pop()(m, p) if down else None)
        async with running(server, clock) as bot:
            await bot.answers(server.says(ANA, "oi"))
            assert clock.monotonic() >= 2 + 4


async def test_a_stop_lets_an_answer_finish_and_hears_nothing_more(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server:
        async with running(server, clock, slowly(clock, "uma resposta que demora", 1.0)) as bot:
            await server.says(ANA, "conte")
            await flow(server, clock, lambda: server.writes)
            bot.stop.set()
            await idle(server)
            await server.says(ANA, "mais uma")
            await flow(server, clock, bot.task.done)
            assert server.direct(ANA).screen() == ["uma resposta que demora"]
            assert len(bot.handler.received) == 1
        assert not server.gateway.online
