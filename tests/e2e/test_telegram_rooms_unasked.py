"""What the bot says in groups of Telegram without being asked: where it is, who is notified, whose its buttons are."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from core.delivery.notifier import Delivery
from core.outgoing import Button, Mention, OutgoingMessage
from core.storage.kept import SqlKept
from core.text.markdown import time_link
from core.types import ChatKey, UserKey
from tests.e2e.telegram_kit import Bot, flow, running
from tests.fakes.clock import FakeClock
from tests.fakes.ram import RamDatabase
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TelegramServer
from tests.fakes.telegram_wire import notified

ANA, BIA = Person(7, "Ana"), Person(8, "Bia")
GROUP, SUPER = -55, -1001
OWNER = UserKey("telegram", "7")
FOR_ANA = Mention("7", "Ana")
DONE = Button("Feito", "/remind done 1", in_place=True)
RENT = OutgoingMessage("⏰ pagar o aluguel", choices=(DONE,), mention=FOR_ANA)
HERE = ChatKey("telegram", str(SUPER))
AT = datetime(2026, 11, 27, 8, tzinfo=UTC)


async def say(
    server: TelegramServer,
    clock: FakeClock,
    bot: Bot,
    shown: OutgoingMessage,
    *,
    room: ChatKey | None = HERE,
) -> Delivery:
    """Say it in a room, or (None) to Ana in private."""
    notifier = bot.handler.notifier
    await flow(server, clock, lambda: notifier.platforms)
    writing = asyncio.create_task(notifier.write(OWNER, room, shown, "1/1"))
    await flow(server, clock, writing.done)
    return await writing


def place(chat: int | str, topic: str = "") -> ChatKey:
    return ChatKey("telegram", str(chat), topic)


@pytest.mark.parametrize(
    "name", ["Ana", "*A*na_ [x](tg://user?id=9)", "a\n# b\n@carla_x", "@everyone", "`", "👩🏽‍🚀" * 40, ""]
)
async def test_only_the_person_is_notified_whatever_they_and_the_text_are_called(clock: FakeClock, name: str) -> None:
    text = "avisar @bia_silva, [Bia](tg://user?id=8) e [ela](tg:user?id=8): *já*"
    async with TelegramServer(clock) as server, running(server, clock) as bot:
        room = server.chat(SUPER)
        assert await say(server, clock, bot, OutgoingMessage(text, mention=Mention("7", name))) is Delivery.ARRIVED
        [post] = room.ours()
    assert notified(post.text, post.entities) == {7}
    assert post.entities[0]["offset"] == 0
    assert post.text.endswith(" avisar ＠bia_silva, Bia e ela: já")
    assert "\n" not in post.text
    assert post.reply_to is None


async def test_a_topic_is_written_into_and_one_that_is_deleted_or_closed_is_gone(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock) as bot:
        room = server.chat(SUPER)
        assert await say(server, clock, bot, RENT, room=place(SUPER, "5")) is Delivery.ARRIVED
        assert room.ours()[-1].thread == 5
        await bot.answers(server.presses(ANA, "Feito", chat_id=SUPER))
        assert bot.handler.received[-1].chat == place(SUPER, "5")
        for refusal, told in {
            "400: Bad Request: message thread not found": Delivery.GONE,
            "400: Bad Request: TOPIC_CLOSED": Delivery.GONE,
            "403: Forbidden: bot was kicked from the supergroup chat": Delivery.GONE,
            "403: Forbidden: the group chat was deleted": Delivery.GONE,
            "400: Bad Request: not enough rights to send text messages to the chat": Delivery.REFUSED,
        }.items():
            room.refusal = refusal
            assert await say(server, clock, bot, RENT, room=place(SUPER, "5")) is told, refusal
        assert await say(server, clock, bot, RENT, room=place(-404)) is Delivery.GONE
        assert await say(server, clock, bot, RENT, room=place("?")) is Delivery.GONE


@pytest.mark.parametrize("told", [False, True])
async def test_a_group_that_became_a_supergroup_is_found_by_the_id_it_had(*, told: bool) -> None:
    clock, kept = FakeClock(), SqlKept(RamDatabase())
    async with TelegramServer(clock) as server:
        old = server.chat(GROUP)
        old.type = "group"
        async with running(server, clock, kept=kept) as bot:
            await bot.answers(server.says(ANA, "@elefante_bot oi", chat_id=GROUP))
            server.grows_up(old, SUPER)
            if not told:
                server.updates.clear()
            await flow(server, clock, lambda: not server.updates or server.offset > server.updates[-1]["update_id"])
        async with running(server, clock, kept=kept) as bot:
            assert await say(server, clock, bot, RENT, room=place(GROUP)) is Delivery.ARRIVED
        assert server.chat(SUPER).screen() == ["Ana ⏰ pagar o aluguel"]


async def test_a_time_is_shown_as_its_words_which_tell_every_reader_their_own_hour(clock: FakeClock) -> None:
    text = f"às 8 ({time_link('sexta, 27 de novembro, 8:00', AT)}), não `[x](time:1)`, [y](time:999999999999)"
    async with TelegramServer(clock) as server, running(server, clock) as bot:
        room = server.chat(SUPER)
        await say(server, clock, bot, OutgoingMessage(text, mention=FOR_ANA))
        [post] = room.ours()
    assert post.text == "Ana às 8 (sexta, 27 de novembro, 8:00), não [x](time:1), y"
    times = [one for one in post.entities if one["type"] == "date_time"]
    assert times == [
        {"type": "date_time", "offset": 10, "length": 27, "unix_time": int(AT.timestamp())},
        {"type": "date_time", "offset": 57, "length": 1, "unix_time": 2**31 - 1},
    ]
