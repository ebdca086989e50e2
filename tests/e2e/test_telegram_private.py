"""A private chat over real sockets: real python-telegram-bot, a Bot API on loopback."""

from __future__ import annotations

from tests.e2e.telegram_kit import running
from tests.fakes.clock import FakeClock
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TelegramServer

ANA = Person(7)


async def test_a_private_message_is_answered_in_the_message_that_was_its_status() -> None:
    clock = FakeClock(auto=True)
    async with TelegramServer(clock) as server, running(server, clock):
        server.says(ANA, "oi, tudo bem?")
        await server.until(lambda: server.chats[7].screen() == ["Você disse: oi, tudo bem?"])
    sent = server.done("sendmessage", chat_id=7)
    assert [call.text for call in sent] == ["IA está pensando..."]
    assert "reply_parameters" not in sent[0].params
