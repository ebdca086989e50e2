"""What was said while nobody listened: lost sessions, restarts, what is still owed, whatever became of the file."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import partial
from itertools import pairwise

import pytest

from adapters.discord.config import DiscordConfig
from adapters.discord.read_back import Why
from core.storage.kept import SqlKept
from core.types import ChatKey, Incoming, UserKey
from tests.e2e.discord_kit import (
    ANA,
    BIA,
    ME,
    OTHER_ROOM,
    ROOM,
    SILENT_ROOM,
    THREAD,
    Bot,
    flow,
    idle,
    refusing,
    running,
    set_by,
)
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import TOKEN, DiscordServer
from tests.fakes.discord_world import GUILD_ID, Note
from tests.fakes.handler import slowly
from tests.fakes.ram import RamDatabase


async def test_after_a_lost_session_what_was_asked_meanwhile_is_read_back_and_answered_once(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        await server.says(ANA, "antes")
        await server.says(ANA, f"{ME} antes", room=ROOM)
        await flow(server, clock, lambda: bot.handler.answered == 2)
        await server.gateway.drop(resumable=False)
        await server.says(ANA, "durante, em particular")
        await server.says(BIA, f"{ME} durante, na sala", room=ROOM)
        await server.says(BIA, "para ninguém", room=ROOM)
        await flow(server, clock, lambda: bot.handler.answered == 4)
        await bot.answers(server.says(ANA, "depois"))
        said = [incoming.text for incoming in bot.handler.received]
        assert sorted(said) == ["antes", "antes", "depois", "durante, em particular", "durante, na sala"]
        assert len(server.gateway.identified) == 2
        assert server.room(ROOM).screen() == ["Você disse: antes", "Você disse: durante, na sala"]


async def test_after_a_restart_what_was_said_in_every_room_is_read_back_and_nothing_of_before(clock: FakeClock) -> None:
    kept = SqlKept(RamDatabase())
    async with DiscordServer(clock) as server:
        await server.says(ANA, f"{ME} antes de o bot existir", room=OTHER_ROOM, age_s=5)
        async with running(server, clock, kept=kept) as bot:
            await server.says(ANA, f"{ME} antes", room=ROOM)
            await server.says(ANA, "conversa alheia", room=OTHER_ROOM)
            await server.says(ANA, "conversa alheia", room=SILENT_ROOM)
            await flow(server, clock, lambda: bot.handler.answered == 1)
        await server.says(ANA, f"{ME} numa sala onde nunca falamos", room=OTHER_ROOM)
        await server.says(ANA, f"{ME} durante", room=ROOM)
        await server.says(BIA, f"{ME} mais uma", room=ROOM)
        async with running(server, clock, kept=kept) as bot:
            await flow(server, clock, lambda: bot.handler.answered == 3)
            await clock.advance(10)
            said = [incoming.text for incoming in bot.handler.received]
            assert sorted(said) == ["durante", "mais uma", "numa sala onde nunca falamos"]
            assert said.index("durante") < said.index("mais uma")
            assert not server.done("GET", f"{SILENT_ROOM}/messages")
            assert not bot.unread


async def test_a_session_that_is_invalid_costs_exactly_one_page_of_each_room_in_which_something_was_said() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        for room in (ROOM, OTHER_ROOM, SILENT_ROOM):
            server.room(room)
        async with running(server, clock) as bot:
            await server.says(BIA, "conversa alheia", room=OTHER_ROOM)
            await server.says(ANA, f"{ME} antes", room=SILENT_ROOM)
            await flow(server, clock, lambda: bot.handler.answered == 1)
            await server.gateway.drop()
            await bot.answers(server.says(ANA, f"{ME} retomada", room=ROOM))
            assert server.gateway.resumed == 1
            assert not server.done("GET", "/messages")

            for number in (3, 4):  # twice in one process: each session begins where the one before ended
                await server.gateway.drop(resumable=False)
                await server.says(BIA, f"{ME} durante {number}", room=OTHER_ROOM)
                await flow(server, clock, partial(_answered, bot, number))
                await clock.advance(10)
            reads = [call.path for call in server.done("GET", "/messages")]
            assert reads == [f"/channels/{OTHER_ROOM}/messages"] * 2
            assert len(server.gateway.identified) == 3


async def test_what_cannot_be_read_back_is_told_once_with_how_many_channels_and_when(clock: FakeClock) -> None:
    kept = SqlKept(RamDatabase())
    config = set_by(discord_max_age_s=3600)
    async with DiscordServer(clock) as server:
        locked = server.room(THREAD)
        for room in (ROOM, OTHER_ROOM, SILENT_ROOM):
            server.room(room)
        async with running(server, clock, config=config, kept=kept) as bot:
            await bot.answers(server.says(ANA, f"{ME} antes", room=THREAD))
        await clock.advance(60)
        left, locked.no_history = clock.now(), True
        await server.says(ANA, f"{ME} de manhã", room=OTHER_ROOM)
        await clock.advance(2 * 3600)
        await server.says(ANA, f"{ME} sem direito", room=THREAD)
        await server.says(ANA, f"{ME} antes da enxurrada", room=ROOM)
        for _ in range(600):
            await server.says(BIA, "conversa alheia", room=ROOM)
        await server.says(BIA, f"{ME} depois da enxurrada", room=ROOM)
        server.room(10**17 + 103).no_history = True
        await server.says(ANA, f"{ME} onde nunca pude ler", room=10**17 + 103)
        async with running(server, clock, config=config, kept=kept) as bot:
            await flow(server, clock, lambda: bot.unread and bot.handler.answered)
            assert [one.text for one in bot.handler.received] == ["depois da enxurrada"]
            (unread,) = bot.unread
        assert unread.counts == {Why.NO_RIGHT: 1, Why.TOO_MUCH: 1, Why.TOO_OLD: 1}
        assert set(unread.names) == {f"#sala-{room}" for room in (THREAD, ROOM, OTHER_ROOM)}
        assert left - unread.since < timedelta(minutes=2)
        assert timedelta(0) <= clock.now() - unread.until < timedelta(minutes=1)
        assert len(server.done("GET", f"{ROOM}/messages")) == 5
        async with running(server, clock, config=config, kept=kept) as bot:
            await clock.advance(10)
            await idle(server)
            assert not bot.unread


async def test_what_was_being_read_back_when_the_process_died_is_read_back_by_the_next(clock: FakeClock) -> None:
    kept = SqlKept(RamDatabase())
    config = DiscordConfig(TOKEN, drain_s=0)
    async with DiscordServer(clock) as server:
        for room in (ROOM, OTHER_ROOM):
            server.room(room)
        async with running(server, clock, config=config, kept=kept) as bot:
            await bot.answers(server.says(ANA, f"{ME} antes", room=ROOM))
        for room in (ROOM, OTHER_ROOM):
            await server.says(ANA, f"{ME} durante", room=room)
        failing = refusing(500, 0)
        server.faults.append(lambda m, p: failing(m, p) if m == "GET" and "/messages" in p else None)
        async with running(server, clock, config=config, kept=kept) as bot:
            await server.says(BIA, f"{ME} agora", room=ROOM)  # waits for what was said before, but not for long
            await flow(server, clock, lambda: bot.handler.answered == 1, limit_s=10)
        server.faults.clear()
        async with running(server, clock, config=config, kept=kept) as bot:
            await flow(server, clock, lambda: bot.handler.answered == 3)
            assert sorted(one.text for one in bot.handler.received) == ["agora", "durante", "durante"]


async def test_a_message_waits_until_what_was_said_before_it_in_its_room_is_taken(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        await bot.answers(server.says(ANA, f"{ME} antes", room=ROOM))
        await server.gateway.drop(resumable=False)
        await server.says(ANA, f"{ME} durante", room=ROOM)
        failures = [refusing(500, 0)]
        server.faults.append(
            lambda m, p: failures.pop()(m, p) if failures and m == "GET" and "/messages" in p else None
        )
        await flow(server, clock, lambda: not failures)
        await server.says(ANA, f"{ME} depois", room=ROOM)
        await flow(server, clock, lambda: bot.handler.answered == 3)
        assert [one.text for one in bot.handler.received] == ["antes", "durante", "depois"]


async def test_a_server_that_discord_lost_for_a_while_is_read_back_when_it_is_there_again(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        await bot.answers(server.says(ANA, "oi"))
        await server.gateway.tell("GUILD_DELETE", {"id": str(GUILD_ID), "unavailable": True})
        await idle(server)
        note = Note(server.snowflake(), ROOM, BIA, f"{ME} durante")
        server.channels[ROOM].notes[note.id] = note
        await server.gateway.tell("GUILD_CREATE", server.guild_json())
        await flow(server, clock, lambda: bot.handler.answered == 2)
        assert [one.text for one in bot.handler.received] == ["oi", "durante"]


async def test_what_was_asked_long_before_the_restart_is_read_back_as_too_old_to_answer(clock: FakeClock) -> None:
    kept = SqlKept(RamDatabase())
    async with DiscordServer(clock) as server:
        async with running(server, clock, kept=kept) as bot:
            await bot.answers(server.says(ANA, f"{ME} antes", room=ROOM))
        await server.says(ANA, f"{ME} ontem", room=ROOM)
        await server.says(ANA, f"{ME} ontem ainda", room=ROOM)
        await clock.advance(24 * 3600)
        async with running(server, clock, kept=kept) as bot:
            await flow(server, clock, lambda: bot.handler.answered == 2)
            assert [(one.text, one.stale) for one in bot.handler.received] == [("ontem", True), ("ontem ainda", True)]


async def test_a_server_that_fails_while_a_room_is_read_back_is_asked_again(clock: FakeClock) -> None:
    kept = SqlKept(RamDatabase())
    config = set_by(discord_auto_thread=True, discord_max_age_s=60)
    async with DiscordServer(clock) as server:
        async with running(server, clock, config=config, kept=kept) as bot:
            await bot.answers(server.says(ANA, f"{ME} antes", room=ROOM))
        await server.says(ANA, f"{ME} um", room=ROOM, age_s=3600)
        for text in ("dois", "três"):
            await server.says(ANA, f"{ME} {text}", room=ROOM)
        failures = [refusing(500, 0), refusing(502, 0)]
        server.faults.append(
            lambda m, p: failures.pop()(m, p) if failures and m == "GET" and "/messages" in p else None
        )
        async with running(server, clock, config=config, kept=kept) as bot:
            await flow(server, clock, lambda: bot.handler.answered == 2)
            assert [incoming.text for incoming in bot.handler.received] == ["dois", "três"]
            assert not failures


async def test_a_room_that_is_gone_when_it_is_read_back_is_forgotten(clock: FakeClock) -> None:
    kept = SqlKept(RamDatabase())
    async with DiscordServer(clock) as server:
        async with running(server, clock, kept=kept) as bot:
            await bot.answers(server.says(ANA, f"{ME} antes", room=ROOM))
        del server.channels[ROOM]
        async with running(server, clock, kept=kept) as bot:
            await bot.answers(server.says(ANA, "ainda aí?"))
        rooms = json.loads(await kept.get("discord.read") or "")["rooms"]
        assert [room["private"] for room in rooms] == [True]


async def test_what_was_accepted_and_never_answered_goes_on_in_the_message_it_was_begun_in(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server:
        asked = await _ask(server, "qual é a senha?")
        incoming = _incoming(str(asked.id), "qual é a senha?", private=True, chat=str(asked.channel))
        async with running(server, clock, slowly(clock, "Pala" * 10, 5.0), DiscordConfig(TOKEN, drain_s=0.0)):
            await server.says(ANA, "qual é a senha?", id=str(asked.id))
            await flow(server, clock, lambda: server.writes)
        begun = server.writes[0].message
        async with running(server, clock, owed=[incoming]) as bot:
            await flow(server, clock, lambda: bot.handler.answered)
            assert server.direct(ANA).screen() == ["Você disse: qual é a senha?"]
            assert server.writes[-1].message == begun


async def test_a_private_command_owed_from_before_a_crash_is_answered_directly_not_in_the_room() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        server.direct(ANA)
        owed = [
            _incoming("i123", "/memories", private=True, chat=str(ROOM)),
            _incoming("i124", "qual é?", private=False, chat=str(ROOM)),
        ]
        async with running(server, clock, owed=owed) as bot:
            await flow(server, clock, lambda: bot.handler.answered == 2)
            assert server.direct(ANA).screen() == ["Você disse: /memories"]
            assert server.room(ROOM).screen() == ["Você disse: qual é?"]


async def test_as_many_shards_as_discord_recommends_or_the_owner_wants_and_each_reads_back_its_own() -> None:
    clock, kept = FakeClock(), SqlKept(RamDatabase())
    begun = [[0, 2], [1, 2]] * 2 + [[0, 3], [1, 3], [2, 3]]
    async with DiscordServer(clock) as server:
        for shards, wanted, sessions, missed in ((2, 0, 2, []), (2, 0, 4, ["durante"]), (3, 3, 7, ["ainda"])):
            server.gateway.shards, server.recommended = shards, 2
            for text in missed:
                await server.says(BIA, f"{ME} {text}", room=ROOM)
            async with running(server, clock, config=DiscordConfig(TOKEN, shards=wanted), kept=kept) as bot:
                await flow(server, clock, partial(_sessions, server, sessions))
                await server.says(ANA, "em particular")
                await server.says(ANA, f"{ME} na sala", room=ROOM)
                await flow(server, clock, partial(_has_taken, bot, {*missed, "em particular", "na sala"}))
        assert [one["shard"] for one in server.gateway.identified] == begun
        for (shard, earlier_s), (_, later_s) in pairwise(zip(begun, server.gateway.identified_s, strict=True)):
            assert later_s - earlier_s >= 5.0 or shard[0] == shard[1] - 1, "one after another, at Discord's pace"


@pytest.mark.long
async def test_damage_to_what_is_kept_costs_reading_back_and_nothing_else() -> None:
    clock, kept = FakeClock(), SqlKept(RamDatabase())
    await kept.put("discord.read", '{"rooms": [{"id"')
    async with DiscordServer(clock) as server, running(server, clock, kept=kept) as bot:
        await bot.answers(server.says(ANA, "oi"))
    assert json.loads(await kept.get("discord.read") or "")["rooms"][0]["private"] is True


async def _ask(server: DiscordServer, text: str) -> Note:
    channel = server.direct(ANA)
    note = Note(server.snowflake(), channel.id, ANA, text)
    channel.notes[note.id] = note
    return note


def _incoming(message_id: str, text: str, *, private: bool, chat: str) -> Incoming:
    user = UserKey("discord", str(ANA.id))
    at = FakeClock().now()
    return Incoming(ChatKey("discord", chat), user, "Ana", message_id, text, at, private=private, language="pt-BR")


def _sessions(server: DiscordServer, count: int) -> bool:
    return len(server.gateway.sessions) == count


def _has_taken(bot: Bot, texts: set[str]) -> bool:
    """Whether all of these came; after another number of shards more is read back, which the inbox knows already."""
    return {incoming.text for incoming in bot.handler.received} >= texts


def _answered(bot: Bot, count: int) -> bool:
    return bot.handler.answered == count
