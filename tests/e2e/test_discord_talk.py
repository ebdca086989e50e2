"""Talking in Discord: real discord.py over real sockets, against a gateway and a REST of ours."""

from __future__ import annotations

from tests.e2e.discord_kit import ANA, BIA, ROOM, flow, running
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import DiscordServer


async def test_a_direct_message_is_answered_in_one_message_that_replaces_the_status() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        await server.says(ANA, "oi")
        await flow(server, clock, lambda: bot.door.answered)
        assert server.direct(ANA).screen() == ["Você disse: oi"]
        assert server.writes[0].text == "IA está pensando..."
        assert len({write.message for write in server.writes}) == 1


async def test_a_mention_in_a_room_is_answered_with_a_reply_and_without_the_bots_name() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        server.room(ROOM)
        async with running(server, clock) as bot:
            await server.says(BIA, "just chatting", room=ROOM)
            asked = await server.says(ANA, "<@42> qual é a senha?", room=ROOM)
            await flow(server, clock, lambda: bot.door.answered)
            answer = list(server.room(ROOM).notes.values())[-1]
            assert (answer.text, answer.reply_to) == ("Você disse: qual é a senha?", asked.id)
            assert [incoming.text for incoming in bot.door.received] == ["qual é a senha?"]
