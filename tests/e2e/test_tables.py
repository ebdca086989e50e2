"""An answer with tables that grows word by word: nobody ever reads a bar, and no row is lost. Over real sockets."""

from __future__ import annotations

import re

from tests.e2e import discord_kit, telegram_kit
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import Person as DiscordPerson
from tests.fakes.handler import slowly
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TelegramServer

NARROW_ROWS, WIDE_ROWS = 300, 30
NARROW = "\n".join(f"| n{n:03} | **{n}** | v{n:03} |" for n in range(NARROW_ROWS))
WIDE = "\n".join(f"| n{n:03} | {'palavra ' * 6}| v{n:03} |" for n in range(WIDE_ROWS))
ANSWER = (
    f"Veja:\n\n| Nome | Nota | Valor |\n|---|--:|---|\n{NARROW}\n\n"
    f"E:\n\n| Nome | Texto | Valor |\n|---|---|---|\n{WIDE}\nFim."
)


def check(written: list[str], screen: list[str]) -> None:
    assert not [text for text in written if "|" in text]
    seen = "\n".join(screen)
    assert re.findall(r"[nv]\d{3}", seen) == [
        f"{mark}{n:03}" for rows in (NARROW_ROWS, WIDE_ROWS) for n in range(rows) for mark in "nv"
    ]
    parts = [text for text in screen if re.search(r"n\d{3} +\d", text)]
    assert len(parts) > 1
    assert all("Nome  Nota  Valor" in text for text in parts)


async def test_telegram_shows_tables_that_grow_over_several_messages(clock: FakeClock) -> None:
    script = slowly(clock, ANSWER, 0.05)
    async with TelegramServer(clock) as server, telegram_kit.running(server, clock, script) as bot:
        server.says(Person(7, "Ana"), "tabelas?")
        await telegram_kit.flow(server, clock, lambda: bot.handler.answered == 1)
        check([call.text for call in server.done("sendmessage", "editmessagetext")], server.chats[7].screen())


async def test_discord_shows_tables_that_grow_over_several_messages(clock: FakeClock) -> None:
    script, ana = slowly(clock, ANSWER, 0.05), DiscordPerson(100, "Ana")
    async with DiscordServer(clock) as server, discord_kit.running(server, clock, script) as bot:
        await server.says(ana, "tabelas?")
        await discord_kit.flow(server, clock, lambda: bot.handler.answered == 1)
        check([write.content for write in server.writes], server.direct(ana).screen())


async def test_the_first_line_of_a_table_is_not_shown_before_it_is_known_to_be_one(clock: FakeClock) -> None:
    script, ana = slowly(clock, "Veja: \n| a | b |\n|---|---|\n| 1 | 2 |", 5.0), DiscordPerson(100, "Ana")
    async with TelegramServer(clock) as server, telegram_kit.running(server, clock, script) as bot:
        server.says(Person(7, "Ana"), "tabelas?")
        await telegram_kit.flow(server, clock, lambda: bot.handler.answered == 1)
        said = [call.text for call in server.done("sendmessage", "editmessagetext")]
    assert "Veja:" in said
    assert not [text for text in said if "|" in text]
    async with DiscordServer(clock) as other, discord_kit.running(other, clock, script) as bot:
        await other.says(ana, "tabelas?")
        await discord_kit.flow(other, clock, lambda: bot.handler.answered == 1)
        said = [write.content for write in other.writes]
    assert "Veja:" in said
    assert not [text for text in said if "|" in text]
