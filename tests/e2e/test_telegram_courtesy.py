"""What is said to people who are not answered holds nobody else up."""

from __future__ import annotations

import pytest

from core.dialogue import Task
from core.features.access.storage import Person as Known
from core.types import Role, UserKey
from tests.e2e.telegram_kit import flow, serving
from tests.fakes.clock import FakeClock
from tests.fakes.house import House
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TelegramServer

ANA, XENIA = Person(7), Person(9, "Xênia")


@pytest.mark.parametrize(("role", "age_s"), [(None, 0.0), (Role.MEMBER, 7 * 3600.0)])
async def test_a_line_that_waits_for_a_flood_to_end_keeps_no_other_chat_waiting(
    role: Role | None, age_s: float
) -> None:
    clock = FakeClock()
    house = House({Task.DECIDE: lambda _: "Finish", Task.FINISH: lambda _: "ok"}, clock=clock, trusted=())
    await house.people.put(Known(UserKey("telegram", "7"), Role.OWNER, "Ana", clock.now()))
    if role is not None:
        await house.people.put(Known(UserKey("telegram", "9"), role, "Xênia", clock.now()))
    async with TelegramServer(clock) as server, house.chatbot() as handler, serving(server, clock, handler):
        server.chat(ANA.id)
        server.chat(XENIA.id)
        server.flood(XENIA.id, 300)
        server.says(XENIA, "oi", age_s=age_s)
        server.says(ANA, "oi")
        await flow(server, clock, lambda: "ok" in server.chats[ANA.id].screen())
        assert clock.monotonic() < 20
        await flow(server, clock, server.chats[XENIA.id].screen)
        assert clock.monotonic() >= 300
