"""A stranger asks, the owner presses a button on a card, before and after a restart. Real core, sockets and SQLite."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from core.dialogue import Task
from core.features.access.storage import Account, People
from core.features.access.storage import Person as Known
from core.features.admin.storage import Decisions
from core.storage.history import SqlHistory
from core.storage.inbox import SqlInbox
from core.storage.sqlite import open_database
from core.types import Role, UserKey
from tests.e2e.telegram_kit import idle, serving
from tests.fakes.clock import FakeClock
from tests.fakes.house import House
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TelegramServer

ANA, BIA = Person(7, "Ana"), Person(8, "Bia *_* `x`", "en", username="bia_x")
OWNER = UserKey("telegram", "7")
SECRET = "the wifi password is swordfish"
CARD = (
    "🔔 Alguém que eu não conheço me escreveu (horário UTC):\n"
    "14 mar. 2026, 15:09 · telegram:8 · Bia *_* x · @bia_x · en\n"
    "Não guardei nada do que escreveu. Posso falar com essa pessoa?"
)
TOLD_OFF = "This bot is private and does not know you yet. Ask its owner to let you in."


@asynccontextmanager
async def at_work(folder: Path, server: TelegramServer, clock: FakeClock) -> AsyncIterator[None]:
    """Run a closed bot of Ana's on what is in the folder."""
    database = await open_database(folder / "elefante.db")
    house = House(
        {Task.DECIDE: lambda _: "Finish", Task.FINISH: lambda _: "Hello"},
        clock=clock,
        trusted=(),
        people=People(database),
        inbox=SqlInbox(database),
        history=SqlHistory(database),
    )
    house.decisions = Decisions(database)
    await house.people.put(Known(OWNER, Role.OWNER, "Ana", clock.now()))
    await house.people.put_account(Account(OWNER, language="pt-br"))
    async with house.chatbot() as bot, serving(server, clock, bot):
        yield
    await database.close()


def on_disk(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


async def until(server: TelegramServer, clock: FakeClock, condition: Callable[[], object]) -> None:
    """Return when it holds. The disk works in a thread of its own, so that rest does not mean that nothing follows."""
    async with asyncio.timeout(120):
        while not condition():
            await idle(server)
            if not condition():
                await clock.advance(0.05)


async def test_a_card_is_pressed_after_a_restart_and_tells_what_was_decided_by_whom(tmp_path: Path) -> None:
    clock = FakeClock()
    async with TelegramServer(clock) as server:
        async with at_work(tmp_path, server, clock):
            server.says(BIA, SECRET)
            await until(server, clock, lambda: server.chat(7).screen() and server.chat(8).screen())
            assert server.chat(8).screen() == [TOLD_OFF]
            [card] = server.chat(7).ours()
            assert card.text == CARD
            assert [label for row in card.labels for label in row] == ["Deixar entrar", "Recusar", "Bloquear"]
            server.says(BIA, SECRET)
        async with at_work(tmp_path, server, clock):
            server.presses(ANA, "Deixar entrar")
            await until(server, clock, lambda: len(server.chat(8).screen()) == 2 and server.chat(7).screen() != [CARD])
            [card] = server.chat(7).ours()
            assert card.text.startswith(
                "Feito. @bia_x (Bia *_* x): desconhecido → membro\nQuem decidiu: Ana, 14 mar. 2026, "
            )
            assert card.labels == []
            assert server.chat(8).screen()[1].startswith("Good news: you can talk to me now.")
            server.says(BIA, "hello there")
            await until(server, clock, lambda: server.chat(8).screen()[2:] == ["Hello"])
    left = on_disk(tmp_path)
    assert b"swordfish" not in left
    assert b"hello there" in left
