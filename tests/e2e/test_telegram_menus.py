"""The commands of staff are offered to staff alone, in their languages, and taken away with the role. Real sockets."""

from __future__ import annotations

import asyncio

import pytest

from adapters.telegram.menu import Staff
from core.errors import StorageError
from core.storage.kept import SqlKept
from tests.e2e.telegram_kit import flow, idle, running
from tests.fakes.clock import FakeClock
from tests.fakes.commands import STAFF_COMMANDS
from tests.fakes.ram import RamDatabase
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TelegramServer
from tests.fakes.telegram_wire import Refused

ANA, BIA = Person(7, "Ana"), Person(8, "Bia")


class Roles:
    """Who is staff, as a test says."""

    def __init__(self, *ids: int) -> None:
        self.now = set(ids)
        self.failure: StorageError | None = None
        self.staff = Staff(self._ids, asyncio.Event())

    async def _ids(self) -> set[int]:
        if self.failure is not None:
            raise self.failure
        return self.now

    def become(self, *ids: int) -> None:
        self.now = set(ids)
        self.staff.changed.set()


def offered(server: TelegramServer, person: Person) -> set[str]:
    """The languages in which that person is offered the commands of staff."""
    return {
        tag
        for (scope, tag), menu in server.commands.items()
        if scope == f"chat:{person.id}" and set(STAFF_COMMANDS) <= {offer["command"] for offer in menu}
    }


ALL = {"", "pt", "en", "es"}


async def test_staff_alone_are_offered_their_commands_and_lose_them_with_the_role() -> None:
    clock, kept = FakeClock(), SqlKept(RamDatabase())
    roles = Roles(7)
    async with TelegramServer(clock) as server:
        server.chat(7), server.chat(8)
        async with running(server, clock, kept=kept, staff=roles.staff):
            await flow(server, clock, lambda: offered(server, ANA) == ALL)
            assert not offered(server, BIA)
            roles.become(7, 8)
            await flow(server, clock, lambda: offered(server, BIA) == ALL)
            roles.become(8)
            await flow(server, clock, lambda: not any(scope == "chat:7" for scope, _ in server.commands))
        assert not any(set(STAFF_COMMANDS) & {offer["command"] for offer in menu}
                       for (scope, _), menu in server.commands.items() if scope != "chat:8")  # fmt: skip


async def test_what_staff_were_offered_is_not_offered_again_and_a_role_lost_meanwhile_is_noticed() -> None:
    clock, kept = FakeClock(), SqlKept(RamDatabase())
    async with TelegramServer(clock) as server:
        server.chat(7), server.chat(8)
        given = list[int]()
        for roles in (Roles(7, 8), Roles(7, 8), Roles(8)):
            server.polled = False
            async with running(server, clock, kept=kept, staff=roles.staff):
                await flow(server, clock, lambda: server.polled)
                await idle(server)
            given.append(len(server.done("setmycommands")))
        assert len(set(given)) == 1
        assert (offered(server, ANA), offered(server, BIA)) == (set(), ALL)


async def test_one_of_the_staff_who_never_wrote_to_the_bot_is_no_failure_and_gets_the_menu_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, kept = FakeClock(), SqlKept(RamDatabase())
    roles = Roles(7, 8)
    async with TelegramServer(clock) as server:
        server.chat(8)
        async with running(server, clock, kept=kept, staff=roles.staff) as bot:
            await flow(server, clock, lambda: offered(server, BIA) == ALL)
            assert not offered(server, ANA)
            assert not [record for record in caplog.records if record.levelname in {"WARNING", "ERROR"}]
            server.says(ANA, "/start abc")  # whoever comes by a link may just have become the owner
            await flow(server, clock, lambda: offered(server, ANA) == ALL)
            await flow(server, clock, lambda: bot.handler.answered == 1)


async def test_a_menu_of_staff_that_cannot_be_set_now_is_set_at_the_next_change() -> None:
    clock, kept = FakeClock(), SqlKept(RamDatabase())
    roles = Roles(7)

    def fault(method: str, params: dict[str, object]) -> None:
        if method == "setmycommands" and "chat_id" in str(params["scope"]):
            raise Refused(429, "Too Many Requests: retry after 5", retry_after=5)

    async with TelegramServer(clock) as server:
        server.chat(7)
        server.faults.append(fault)
        async with running(server, clock, kept=kept, staff=roles.staff):
            await flow(server, clock, lambda: server.polled)
            server.faults.clear()
            roles.failure = StorageError("locked")
            roles.become(7)
            await idle(server)
            assert not offered(server, ANA)
            roles.failure = None
            roles.become(7)
            await flow(server, clock, lambda: offered(server, ANA) == ALL)
