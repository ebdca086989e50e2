"""A private chat over real sockets: real python-telegram-bot, a Bot API on loopback."""

from __future__ import annotations

import asyncio

import pytest

from core.outgoing import Button, OutgoingMessage
from core.types import UserKey
from tests.e2e.telegram_kit import flow, running, serving
from tests.fakes.clock import FakeClock
from tests.fakes.house import House
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TelegramServer

ANA = Person(7)
HELP = Button("Ajuda", "/help")


async def test_a_private_message_is_answered_in_the_message_that_was_its_status() -> None:
    clock = FakeClock(auto=True)
    async with TelegramServer(clock) as server, running(server, clock):
        server.says(ANA, "oi, tudo bem?")
        await server.until(lambda: server.chats[7].screen() == ["Você disse: oi, tudo bem?"])
    sent = server.done("sendmessage", chat_id=7)
    assert [call.text for call in sent] == ["IA está pensando..."]
    assert "reply_parameters" not in sent[0].params


# --- writing to somebody who has not just written ---


async def told(server: TelegramServer, clock: FakeClock, user: str) -> bool:
    """Whether that person has a notice in their private chat."""
    house = House(clock=clock, trusted=("telegram",))
    async with house.chatbot() as handler, serving(server, clock, handler):
        await flow(server, clock, lambda: server.polled)
        telling = asyncio.create_task(
            handler.parts.reach.notifier.tell(UserKey("telegram", user), OutgoingMessage("**Olá**", choices=(HELP,)))
        )
        await flow(server, clock, telling.done)
        return bool(await telling)


async def test_a_notice_is_written_into_the_private_chat_with_its_buttons_and_waits_out_a_flood() -> None:
    clock = FakeClock()
    async with TelegramServer(clock) as server:
        server.chat(7)
        server.flood(7, 30)
        assert await told(server, clock, "7")
        [post] = server.chats[7].ours()
    assert (post.text, post.labels) == ("Olá", [["Ajuda"]])


@pytest.mark.parametrize("why", ["blocked", "never wrote", "unknown", "no number"])
async def test_who_cannot_be_written_to_is_told_as_that(clock: FakeClock, why: str) -> None:
    async with TelegramServer(clock) as server:
        if why == "blocked":
            server.chat(7).refusal = "403: Forbidden: bot was blocked by the user"
        elif why == "never wrote":
            server.seen.add(7)  # in a group, say
        assert not await told(server, clock, "seven" if why == "no number" else "7")
        refused = [(call.code, call.refusal) for call in server.calls if call.method == "sendmessage"]
    assert (
        refused
        == {
            "blocked": [(403, "Forbidden: bot was blocked by the user")],
            "never wrote": [(403, "Forbidden: bot can't initiate conversation with a user")],
            "unknown": [(400, "Bad Request: chat not found")],
            "no number": [(400, "Bad Request: chat not found")],
        }[why]
    )
