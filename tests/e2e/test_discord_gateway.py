"""Staying connected to Discord: lost lines, lost sessions, restarts, malformed events, tokens, intents, budgets."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from adapters.discord.config import DiscordConfig
from adapters.discord.texts import AWAY
from core.errors import ConfigError
from core.types import ChatKey, Incoming, Locale, UserKey
from tests.e2e.discord_kit import ANA, BIA, ME, OTHER_ROOM, ROOM, Bot, flow, idle, refusing, running
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import TOKEN, DiscordServer
from tests.fakes.discord_world import OWNER_ID, Note, Person
from tests.fakes.door import slowly


async def test_the_start_says_who_the_bot_is_who_owns_it_and_how_to_invite_it() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        said = "\n".join(bot.said)
        assert "connected as Elefante; owner: Dona" in said
        assert "scope=bot+applications.commands" in said
        assert "permissions=274877991936" in said  # view, send, send in threads, history, embeds
        assert "intent" not in said


@pytest.mark.parametrize("as_team", [False, True])
async def test_who_owns_the_application_owns_the_bot(*, as_team: bool) -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        if as_team:
            server.team = [(ANA, "developer"), (BIA, "admin"), (Person(10**17 + 9, "Caio"), "read_only")]
        async with running(server, clock) as bot:
            owners = {user.user: name for user, name in bot.owners.items()}
            assert owners == ({str(ANA.id): "Ana", str(BIA.id): "Bia"} if as_team else {str(OWNER_ID): "Dona"})


async def test_a_dropped_line_is_resumed_and_nothing_said_meanwhile_is_lost() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        await server.says(ANA, "antes")
        await flow(server, clock, lambda: bot.door.answered == 1)
        await server.gateway.drop()
        await server.says(ANA, "durante")
        await flow(server, clock, lambda: bot.door.answered == 2)
        assert server.gateway.resumed == 1
        assert len(server.gateway.identified) == 1
        assert server.direct(ANA).screen() == ["Você disse: antes", "Você disse: durante"]


async def test_after_a_lost_session_what_was_asked_meanwhile_is_read_back_and_answered_once() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        server.room(ROOM)
        async with running(server, clock) as bot:
            await server.says(ANA, "antes")
            await server.says(ANA, f"{ME} antes", room=ROOM)
            await flow(server, clock, lambda: bot.door.answered == 2)
            await server.gateway.drop(resumable=False)
            await server.says(ANA, "durante, em particular")
            await server.says(BIA, f"{ME} durante, na sala", room=ROOM)
            await server.says(BIA, "para ninguém", room=ROOM)
            await flow(server, clock, lambda: bot.door.answered == 4)
            await server.says(ANA, "depois")
            await flow(server, clock, lambda: bot.door.answered == 5)
            said = [incoming.text for incoming in bot.door.received]
            assert sorted(said) == ["antes", "antes", "depois", "durante, em particular", "durante, na sala"]
            assert len(server.gateway.identified) == 2
            assert server.room(ROOM).screen() == ["Você disse: antes", "Você disse: durante, na sala"]


async def test_after_a_restart_open_conversations_are_read_back_and_others_are_left_alone(tmp_path: Path) -> None:
    clock = FakeClock()
    config = DiscordConfig(TOKEN, state_path=tmp_path / "discord.json")
    async with DiscordServer(clock) as server:
        server.room(ROOM)
        server.room(OTHER_ROOM)
        async with running(server, clock, config=config) as bot:
            await server.says(ANA, f"{ME} antes", room=ROOM)
            await server.says(ANA, "conversa alheia", room=OTHER_ROOM)
            await flow(server, clock, lambda: bot.door.answered == 1)
        await server.says(ANA, f"{ME} durante", room=ROOM)
        await server.says(BIA, f"{ME} há dois dias", room=ROOM, age_s=-1)
        await server.says(ANA, f"{ME} numa sala onde nunca falamos", room=OTHER_ROOM)
        async with running(server, clock, config=config) as bot:
            await flow(server, clock, lambda: bot.door.answered == 2)
            await idle(server)
            assert [incoming.text for incoming in bot.door.received] == ["durante", "há dois dias"]
            assert not server.done("GET", f"{OTHER_ROOM}/messages")


async def test_what_was_asked_long_before_the_restart_gets_one_line_a_room(tmp_path: Path) -> None:
    clock = FakeClock()
    config = DiscordConfig(TOKEN, state_path=tmp_path / "discord.json")
    async with DiscordServer(clock) as server:
        server.room(ROOM)
        async with running(server, clock, config=config) as bot:
            await server.says(ANA, f"{ME} antes", room=ROOM)
            await flow(server, clock, lambda: bot.door.answered == 1)
        await server.says(ANA, f"{ME} ontem", room=ROOM)
        await server.says(ANA, f"{ME} ontem ainda", room=ROOM)
        await clock.advance(24 * 3600)
        async with running(server, clock, config=config) as bot:
            await flow(server, clock, lambda: server.room(ROOM).screen()[-1] == AWAY[Locale.PT])
            await idle(server)
            assert server.room(ROOM).screen().count(AWAY[Locale.PT]) == 1
            assert not bot.door.received


async def test_a_room_that_is_gone_when_it_is_read_back_is_forgotten(tmp_path: Path) -> None:
    clock = FakeClock()
    config = DiscordConfig(TOKEN, state_path=tmp_path / "discord.json")
    async with DiscordServer(clock) as server:
        server.room(ROOM)
        async with running(server, clock, config=config) as bot:
            await server.says(ANA, f"{ME} antes", room=ROOM)
            await flow(server, clock, lambda: bot.door.answered == 1)
        del server.channels[ROOM]
        async with running(server, clock, config=config) as bot:
            await server.says(ANA, "ainda aí?")
            await flow(server, clock, lambda: bot.door.answered == 1)
        assert str(ROOM) not in (tmp_path / "discord.json").read_text()


async def test_what_was_accepted_and_never_answered_goes_on_in_the_message_it_was_begun_in() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        asked = await _ask(server, "qual é a senha?")
        incoming = _incoming(str(asked.id), "qual é a senha?", private=True, chat=str(asked.channel))
        async with running(server, clock, slowly(clock, "Pala" * 10, 5.0), DiscordConfig(TOKEN, drain_s=0.0)):
            await server.says(ANA, "qual é a senha?", id=str(asked.id))
            await flow(server, clock, lambda: server.writes)
        begun = server.writes[0].message
        async with running(server, clock, owed=[incoming]) as bot:
            await flow(server, clock, lambda: bot.door.answered)
            assert server.direct(ANA).screen() == ["Você disse: qual é a senha?"]
            assert server.writes[-1].message == begun


async def test_a_private_command_owed_from_before_a_crash_is_answered_directly_not_in_the_room() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        server.room(ROOM)
        server.direct(ANA)
        owed = [
            _incoming("i123", "/memories", private=True, chat=str(ROOM)),
            _incoming("i124", "qual é?", private=False, chat=str(ROOM)),
        ]
        async with running(server, clock, owed=owed) as bot:
            await flow(server, clock, lambda: bot.door.answered == 2)
            assert server.direct(ANA).screen() == ["Você disse: /memories"]
            assert server.room(ROOM).screen() == ["Você disse: qual é?"]


async def test_as_many_shards_as_the_gateway_asks_for_and_each_reads_back_its_own(tmp_path: Path) -> None:
    clock = FakeClock()
    config = DiscordConfig(TOKEN, state_path=tmp_path / "discord.json")
    async with DiscordServer(clock) as server:
        server.room(ROOM)
        server.gateway.shards = 2
        for sessions in (2, 4):
            async with running(server, clock, config=config) as bot:
                await flow(server, clock, partial(_sessions, server, sessions))
                await server.says(ANA, "em particular")
                await server.says(ANA, f"{ME} na sala", room=ROOM)
                await flow(server, clock, partial(_answered, bot, 2))
        assert [one["shard"] for one in server.gateway.identified] == [[0, 2], [1, 2]] * 2
        reads = [call.path for call in server.done("GET", "/messages")]
        assert len(reads) == len(set(reads)) == 2


async def test_a_gateway_named_by_the_owner_is_used_instead_of_the_apis() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        named, server.gateway.url = server.gateway.url, "ws://127.0.0.1:1/"
        async with running(server, clock, config=DiscordConfig(TOKEN, gateway_url=named)) as bot:
            await server.says(ANA, "oi")
            await flow(server, clock, lambda: bot.door.answered)


async def test_malformed_events_end_nothing() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        await server.gateway.tell("MESSAGE_CREATE", {"channel_id": "x"})
        await server.gateway.tell("GUILD_CREATE", {"id": None})
        await server.gateway.tell("INTERACTION_CREATE", {"id": "1", "type": 2})
        await server.gateway.tell("CHANNEL_UPDATE", {})
        await server.gateway.tell("SOMETHING_NEW", {"a": [1]})
        await server.says(ANA, "oi")
        await flow(server, clock, lambda: bot.door.answered)
        assert len(server.gateway.identified) == 1


@pytest.mark.spec("D3")
async def test_a_wrong_token_stops_the_start_and_names_the_setting() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server, running(server, clock, config=DiscordConfig("a.wrong.one")) as bot:
        with pytest.raises(ConfigError, match="DISCORD_TOKEN: ") as raised:
            await bot.task
        assert "a.wrong.one" not in str(raised.value)
        assert not server.gateway.identified


async def test_a_token_revoked_while_running_ends_the_run_with_the_same_words() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        server.gateway.token = "another"
        await server.gateway.drop(resumable=False)
        await flow(server, clock, bot.task.done)
        with pytest.raises(ConfigError, match="DISCORD_TOKEN: "):
            await bot.task


async def test_an_intent_that_is_turned_off_while_running_is_done_without() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        server.gateway.content_allowed = False
        await server.gateway.drop(resumable=False)
        await flow(server, clock, lambda: server.gateway.online)
        await server.says(ANA, "oi")
        await flow(server, clock, lambda: bot.door.answered)
        assert [bool(one["intents"] & (1 << 15)) for one in server.gateway.identified] == [True, True, False]


async def test_a_used_up_session_budget_is_waited_for_not_broken() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        server.sessions_left = 3
        async with running(server, clock):
            assert clock.monotonic() >= 3600
            assert len(server.gateway.identified) == 1


async def test_a_gateway_that_wants_new_sessions_all_the_time_is_left_alone_longer_and_longer() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        began_s = clock.monotonic()
        for _ in range(30):
            await server.gateway.drop(resumable=False)
            await flow(server, clock, lambda: server.gateway.online)
        assert clock.monotonic() - began_s > 30 * 4.5
        assert not bot.task.done()
        await server.says(ANA, "ainda aí?")
        await flow(server, clock, lambda: bot.door.answered)


async def test_a_server_that_is_down_at_the_start_is_waited_for() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        down = [refusing(503, 0)] * 3
        server.faults.append(lambda m, p: down.pop()(m, p) if down else None)
        async with running(server, clock) as bot:
            await server.says(ANA, "oi")
            await flow(server, clock, lambda: bot.door.answered)
            assert clock.monotonic() >= 2 + 4


async def test_a_stop_lets_an_answer_finish_and_hears_nothing_more() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        async with running(server, clock, slowly(clock, "uma resposta que demora", 1.0)) as bot:
            await server.says(ANA, "conte")
            await flow(server, clock, lambda: server.writes)
            bot.stop.set()
            await idle(server)
            await server.says(ANA, "mais uma")
            await flow(server, clock, bot.task.done)
            assert server.direct(ANA).screen() == ["uma resposta que demora"]
            assert len(bot.door.received) == 1
        assert not server.gateway.online


async def test_a_damaged_state_file_costs_reading_back_and_nothing_else(tmp_path: Path) -> None:
    clock = FakeClock()
    path = tmp_path / "discord.json"
    path.write_text('{"rooms": [{"id"')
    async with (
        DiscordServer(clock) as server,
        running(server, clock, config=DiscordConfig(TOKEN, state_path=path)) as bot,
    ):
        await server.says(ANA, "oi")
        await flow(server, clock, lambda: bot.door.answered)
    assert json.loads(path.read_text())["rooms"][0]["private"] is True


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


def _answered(bot: Bot, count: int) -> bool:
    return bot.door.answered == count
