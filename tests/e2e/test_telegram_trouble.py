"""What seldom happens and must not matter: refusals of all kinds, strange updates, a long life."""

from __future__ import annotations

from core.delivery.view import View
from core.outgoing import OutgoingMessage
from core.types import Incoming
from tests.e2e.telegram_kit import flow, idle, running
from tests.fakes.clock import FakeClock
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TelegramServer
from tests.fakes.telegram_wire import Refused

ANA, BIA = Person(7, "Ana"), Person(8, "Bia")
GROUP = -1001
KICKED = "403: Forbidden: bot was kicked from the supergroup chat"


async def test_a_flood_wait_of_the_poll_itself_is_obeyed(clock: FakeClock) -> None:
    waits = iter([Refused(429, "Too Many Requests: retry after 35", retry_after=35)])

    def fault(method: str, _: object) -> None:
        if method == "getupdates" and (refusal := next(waits, None)):
            raise refusal

    async with TelegramServer(clock) as server:
        server.faults.append(fault)
        async with running(server, clock) as bot:
            await bot.answers(server.says(ANA, "oi"))
            assert 35.0 <= clock.monotonic() < 37.0


async def test_a_greeting_in_a_group_that_let_nobody_write_harms_nobody(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock) as bot:
        server.chat(GROUP).refusal = KICKED
        server.invites(ANA, GROUP)
        await bot.answers(server.says(BIA, "oi"))
        await flow(server, clock, lambda: any(call.code == 403 for call in server.calls))


async def test_an_edit_of_a_message_long_forgotten_is_taken_as_news(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock) as bot:
        first = server.says(ANA, "@elefante_bot a senha é 12", chat_id=-1001)
        for number in range(1100):
            server.says(BIA, f"conversa {number}", chat_id=-1001)
        await flow(server, clock, lambda: len(bot.handler.received) == 1101)
        server.edits(first, "@elefante_bot a senha é 12")
        await flow(server, clock, lambda: len(bot.handler.received) == 1102)


async def test_a_message_that_is_all_marks_is_shown_rather_than_refused(clock: FakeClock) -> None:
    async def script(_: Incoming, view: View) -> None:
        await view.show(OutgoingMessage("```\n```"))

    async with TelegramServer(clock) as server, running(server, clock, script) as bot:
        await bot.answers(server.says(ANA, "oi"))
        await idle(server)
        assert len(server.chats[7].screen()) == 1
    assert not bot.handler.failures
