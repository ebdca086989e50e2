"""Ten people ask at once in one room: each sees within moments that they were heard, and each is answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest

from core.clock import SystemClock
from tests.e2e import discord_kit, telegram_kit
from tests.e2e.discord_kit import ANA, ME
from tests.fakes.clock import FakeClock
from tests.fakes.discord_limits import Limits as DiscordLimits
from tests.fakes.discord_server import DiscordServer
from tests.fakes.room import ROOM, Asked, house, on_discord, on_telegram
from tests.fakes.telegram_limits import Limits
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TelegramServer


async def test_in_a_telegram_group_all_are_heard_at_once_and_answered_within_what_it_bears() -> None:
    seen, refused = await on_telegram(FakeClock(), Limits())
    assert refused == 0
    assert max(one.sign_s for one in seen) < 2.0
    assert max(one.whole_s for one in seen) < 40.0
    assert [one.whole_s for one in seen] == sorted(one.whole_s for one in seen), "in the order they asked"


async def test_in_a_discord_channel_all_are_heard_at_once_and_answered_side_by_side() -> None:
    seen, refused = await on_discord(FakeClock())
    assert refused == 0
    assert max(one.sign_s for one in seen) < 2.0
    assert max(one.whole_s for one in seen) < 10.0  # two rounds, of eight and of two
    assert [one.whole_s for one in seen] == sorted(one.whole_s for one in seen), "in the order they asked"


async def test_who_waits_for_the_pace_of_a_telegram_group_alone_has_the_eyes_until_the_answer_comes() -> None:
    """Thirty are thought about at once, of whom Telegram lets twenty be answered in a minute."""
    seen, refused = await on_telegram(FakeClock(), Limits(), think_s=1.0, word_s=0.0, people=30, at_once=30)
    _wait_for_the_pace(seen, refused)


@pytest.mark.long
async def test_who_waits_for_the_pace_of_a_discord_channel_alone_has_the_eyes_until_the_answer_comes() -> None:
    """Ten are thought about at once, of whom Discord lets five be answered in five seconds of the library's clock."""
    seen, refused = await on_discord(SystemClock(), DiscordLimits(), think_s=0.1, word_s=0.0, people=10, at_once=10)
    _wait_for_the_pace(seen, refused)


def _wait_for_the_pace(seen: Sequence[Asked], refused: int) -> None:
    assert refused == 0
    assert [one.whole_s for one in seen] == sorted(one.whole_s for one in seen), "in the order they asked"
    begun_s = seen[0].whole_s
    assert [one.eyes for one in seen] == [one.whole_s - begun_s >= 1.0 for one in seen], seen
    assert any(one.eyes for one in seen)
    assert all(one.gone for one in seen if one.eyes), "and not before the answer came"


async def test_a_telegram_group_that_takes_no_reactions_is_asked_once_and_answered_all_the_same() -> None:
    clock = FakeClock()
    async with TelegramServer(clock) as server:
        server.chat(-1000).reactions = ""
        async with (
            house(clock, "telegram", 5.0, 0.0).chatbot() as handler,
            telegram_kit.serving(server, clock, handler),
        ):
            flow = partial(telegram_kit.flow, server, clock)
            for number in range(3):
                server.says(Person(7), f"@elefante_bot {number}?", chat_id=-1000)
                await telegram_kit.idle(server)
            await flow(lambda: sum(text.endswith("fim") for text in server.chat(-1000).screen()) == 3)
        assert [call.code for call in server.calls if call.method == "setmessagereaction"] == [400]


async def test_a_discord_channel_without_the_right_to_react_is_asked_once_and_answered_all_the_same() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        server.room(ROOM).no_reactions = True
        async with house(clock, "discord", 5.0, 0.0).chatbot() as handler, discord_kit.serving(server, clock, handler):
            for number in range(3):
                await server.says(ANA, f"{ME} {number}?", room=ROOM)
            flow = partial(discord_kit.flow, server, clock)
            await flow(lambda: sum(text.endswith("fim") for text in server.room(ROOM).screen()) == 3)
        assert len(server.invalid) == 1


async def test_who_waits_in_private_for_their_own_answer_sees_that_the_bot_is_typing(clock: FakeClock) -> None:
    slow = house(clock, "telegram", 5.0, 0.0)
    async with (
        TelegramServer(clock) as server,
        slow.chatbot() as handler,
        telegram_kit.serving(server, clock, handler),
    ):
        server.says(Person(7), "um")
        server.says(Person(7), "dois")
        chat = server.chat(7)
        await telegram_kit.flow(server, clock, lambda: sum(text.endswith("fim") for text in chat.screen()) == 2)
        assert [call.at_s for call in server.done("sendchataction")][:2] == [0.0, 4.0]
        assert not server.done("setmessagereaction")


async def test_who_asked_in_a_telegram_group_is_notified_of_an_answer_that_took_long(clock: FakeClock) -> None:
    slow = house(clock, "telegram", 15.0, 0.0)
    async with (
        TelegramServer(clock, Limits()) as server,
        slow.chatbot() as handler,
        telegram_kit.serving(server, clock, handler),
    ):
        asked = server.says(Person(7), "@elefante_bot e então?", chat_id=-1000)
        chat = server.chat(-1000)
        await telegram_kit.flow(server, clock, lambda: server.done("deletemessage"))
        [answer] = chat.ours()
        assert (answer.reply_to, answer.text.endswith("fim")) == (asked["message_id"], True)
    first, second = server.done("sendmessage")
    assert (first.text, second.message_id) == ("IA está pensando...", answer.id)


async def test_who_asked_in_a_discord_channel_is_pinged_alone_when_an_answer_took_long_or_waited() -> None:
    clock = FakeClock()
    slow = house(clock, "discord", 15.0, 0.0)
    slow.limits = replace(slow.limits, answers_at_once=1)
    async with DiscordServer(clock) as server:
        room = server.room(ROOM)
        async with slow.chatbot() as handler, discord_kit.serving(server, clock, handler):
            await server.says(ANA, f"{ME} e então?", room=ROOM)
            asked = await server.says(discord_kit.BIA, f"{ME} and me?", room=ROOM)
            await discord_kit.flow(server, clock, lambda: [text[-3:] for text in room.screen()] == ["fim", "fim"])
            await discord_kit.idle(server)
            mine, theirs = (note for note in room.notes.values() if note.by.bot)
            assert (mine.pinged, theirs.pinged) == ({ANA.id}, {discord_kit.BIA.id})
            assert theirs.reply_to == asked.id
            assert len(server.done("PUT", f"/messages/{asked.id}/reactions")) == 1
            await discord_kit.flow(server, clock, lambda: not asked.reactions)  # it goes when the answer comes
