"""`elefante run`, a real process: staff are offered their commands, and what a person chose is what is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.clock import SystemClock
from tests.e2e.run_kit import ANA, bot, own
from tests.fakes.commands import STAFF_COMMANDS
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TelegramServer

pytestmark = pytest.mark.long

BIA = Person(8, "Bia")
CHAT = 7


def offered(server: TelegramServer, person: Person) -> bool:
    """Whether that person is offered the commands of staff, in every language."""
    menus = [server.commands.get((f"chat:{person.id}", tag), []) for tag in ("", "en", "es")]
    return all(set(STAFF_COMMANDS) <= {offer["command"] for offer in menu} for menu in menus)


async def test_roles_and_choices_reach_a_person_as_wired(tmp_path: Path) -> None:
    async with TelegramServer(SystemClock(), patience_s=60.0) as server:
        screen = server.chat(CHAT).screen
        server.chat(BIA.id)
        async with bot(server, tmp_path) as first:
            await own(server, first)
            await server.until(lambda: offered(server, ANA))
            server.says(ANA, "/admin role telegram:8 admin")
            await server.until(lambda: offered(server, BIA))
            server.says(ANA, "/language pt")
            await server.until(lambda: len(screen()) > 2)
            first.terminate()
            assert await first.wait() == 0
        async with bot(server, tmp_path) as second:
            server.says(ANA, "/admin role telegram:8 member")
            await server.until(lambda: not any(scope == "chat:8" for scope, _ in server.commands))
            given = len(server.done("setmycommands"))
            server.says(ANA, "/help all")
            await server.until(lambda: "/admin" in screen()[-1])
            assert len(server.done("setmycommands")) == given  # Ana's was known from before
            second.terminate()
            assert await second.wait() == 0
