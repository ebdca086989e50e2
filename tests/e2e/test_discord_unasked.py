"""What the bot says in Discord without being asked: where it is, how often, who is notified, whose its buttons are."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from adapters.discord.config import DiscordConfig
from core.delivery.notifier import Delivery
from core.delivery.view import View
from core.outgoing import Button, Mention, OutgoingMessage
from core.text.markdown import time_link
from core.types import ChatKey, Incoming, UserKey
from tests.e2e.discord_kit import ANA, BIA, ME, OTHER_ROOM, ROOM, THREAD, Bot, flow, refusing, running
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import TOKEN, DiscordServer
from tests.fakes.discord_world import BOT_ID

OWNER = UserKey("discord", str(ANA.id))
FOR_ANA = Mention(str(ANA.id), "Ana")
DONE = Button("Feito", "/remind done 1", in_place=True)
RENT = OutgoingMessage("⏰ pagar o aluguel", choices=(DONE,), mention=FOR_ANA)
HERE = ChatKey("discord", str(ROOM))
AT = datetime(2026, 11, 27, 8, tzinfo=UTC)


async def say(
    server: DiscordServer,
    clock: FakeClock,
    bot: Bot,
    shown: OutgoingMessage = RENT,
    *,
    room: ChatKey | None = HERE,
    once: str = "1/1",
) -> Delivery:
    """Say it in a room, or (None) to Ana in private."""
    writing = asyncio.create_task(bot.handler.notifier.write(OWNER, room, shown, once))
    await flow(server, clock, writing.done)
    return await writing


async def test_only_the_person_is_notified_whoever_else_the_text_names(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        room = server.room(ROOM)
        text = f"avisar <@{BIA.id}>, @everyone, @here e <@&{ROOM}>"
        await say(server, clock, bot, OutgoingMessage(text, mention=Mention(str(ANA.id), "*A*na\n@everyone")))
        [note] = room.notes.values()
        assert note.pinged == {ANA.id}
        assert note.content == f"<@{ANA.id}> {text}"
        assert note.reply_to is None
        await say(server, clock, bot, OutgoingMessage("de novo", mention=FOR_ANA), once="2/1")
        await say(server, clock, bot, OutgoingMessage(f"<@{ANA.id}> <@{BIA.id}> @everyone"), once="3/1")
        assert not list(room.notes.values())[-1].pinged
        assert [call.body["allowed_mentions"] for call in server.done("POST", "/messages")] == [
            {"parse": [], "users": [ANA.id]},
            {"parse": [], "users": [ANA.id]},
            {"parse": []},
        ]


async def test_a_time_is_a_mark_that_every_reader_sees_in_their_own_zone_except_in_code(clock: FakeClock) -> None:
    at = int(AT.timestamp())
    link = time_link("sexta, 27 de novembro, 8:00", AT)
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        room = server.room(ROOM)
        hours = f"{time_link('8:00', AT)} {time_link('8:00 AM', AT)}"
        await say(server, clock, bot, OutgoingMessage(f"até {link} || {hours} `{link}` ``` {link} ```"))
        assert room.screen() == [f"até <t:{at}:F> \\|\\| <t:{at}:t> <t:{at}:t> `{link}` ``` {link} ```"]
        await say(server, clock, bot, OutgoingMessage(f"{'x' * 1975} {link}"), once="2/1")
        assert room.screen()[1:] == [f"{'x' * 1975} <t:{at}:F>"]  # what is counted is what is sent
        await say(server, clock, bot, OutgoingMessage(f"{'x' * 1990} {link}"), once="3/1")
        assert room.screen()[2:] == ["x" * 1990, f"<t:{at}:F>"]


@pytest.mark.parametrize("private", [False, True])
async def test_what_is_said_again_after_a_lost_answer_or_a_crash_within_five_minutes_is_there_once(
    *, private: bool
) -> None:
    clock = FakeClock()
    where = None if private else HERE
    async with DiscordServer(clock) as server:
        channel = server.direct(ANA) if private else server.room(ROOM)
        lost: list[str] = []

        def lose(method: str, path: str) -> bool:
            loses = not lost and (method, path) == ("POST", f"/channels/{channel.id}/messages")
            lost.extend([path] * loses)
            return loses

        server.swallow = lose
        async with running(server, clock) as bot:
            assert await say(server, clock, bot, room=where) is Delivery.ARRIVED
        assert lost
        async with running(server, clock) as bot:  # the crash came before it was noted as said
            repeat = replace(RENT, text=f"↻ {RENT.text}")
            assert await say(server, clock, bot, repeat, room=where) is Delivery.ARRIVED
            assert channel.screen() == [f"<@{ANA.id}> ⏰ pagar o aluguel"]
            await say(server, clock, bot, room=where, once="1/2")  # the next instant of the same reminder
            await say(server, clock, bot, room=where, once="2/1")
            assert len(channel.screen()) == 3
            await clock.advance(301)
            await say(server, clock, bot, repeat, room=where)
            assert channel.screen()[3:] == [f"<@{ANA.id}> ↻ ⏰ pagar o aluguel"]
    nonces = [call.body["nonce"] for call in server.done("POST", f"/channels/{channel.id}/messages")]
    assert all(len(str(nonce)) <= 25 for nonce in nonces)


async def test_a_room_that_is_gone_is_told_from_one_that_refuses_and_a_talk_aside_is_private(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        room = server.room(ROOM)
        for refusal, told in {
            (404, 10003): Delivery.GONE,  # the channel was deleted
            (403, 50001): Delivery.GONE,  # the bot left the server, or may not look into the channel
            (403, 50013): Delivery.REFUSED,  # it may not write there
        }.items():
            room.refusal = refusal
            assert await say(server, clock, bot) is told, refusal
        assert await say(server, clock, bot, room=ChatKey("discord", "404")) is Delivery.GONE
        assert await say(server, clock, bot, room=ChatKey("discord", "?")) is Delivery.GONE
        room.refusal = None
        assert await say(server, clock, bot, room=replace(HERE, thread=f"@{ANA.id}")) is Delivery.ARRIVED
        assert (room.screen(), len(server.direct(ANA).screen())) == ([], 1)
        server.faults.append(refusing(403, 50007))
        assert await say(server, clock, bot, room=None) is Delivery.GONE


async def test_an_archived_thread_is_opened_by_what_is_said_there_and_a_locked_one_refuses_it(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        server.room(ROOM)
        thread = server.thread(THREAD, ROOM, BOT_ID)
        thread.archived = True
        place = replace(HERE, thread=str(THREAD))
        assert await say(server, clock, bot, room=place) is Delivery.ARRIVED
        assert (len(thread.screen()), thread.archived) == (1, False)
        thread.archived = thread.locked = True
        assert await say(server, clock, bot, room=place, once="2/1") is Delivery.REFUSED


async def test_nothing_is_said_where_the_owner_does_not_let_the_bot_answer_any_more(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server:
        room, other = server.room(ROOM), server.room(OTHER_ROOM)
        async with running(server, clock, config=DiscordConfig(TOKEN, rooms=frozenset({OTHER_ROOM}))) as bot:
            await flow(server, clock, lambda: server.commands)
            assert await say(server, clock, bot) is Delivery.GONE
            assert await say(server, clock, bot, room=ChatKey("discord", str(OTHER_ROOM))) is Delivery.ARRIVED
        assert (len(room.screen()), len(other.screen())) == (0, 1)


async def test_an_answer_that_begins_with_somebodys_name_gives_them_no_right_to_replace_it(clock: FakeClock) -> None:
    async def name(incoming: Incoming, view: View) -> None:
        await view.show(OutgoingMessage(f"<@{BIA.id}> {incoming.text}", choices=(DONE,)))

    async with DiscordServer(clock) as server, running(server, clock, name) as bot:
        room = server.room(ROOM)
        await bot.answers(server.says(ANA, f"{ME} oi", room=ROOM))
        [answer] = [note for note in room.notes.values() if note.by.id == BOT_ID]
        await bot.answers(server.interactions.press(BIA, answer, "Feito"))
        assert room.screen() == [f"<@{BIA.id}> oi"]
