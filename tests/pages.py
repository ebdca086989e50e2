"""Write what pages take from the code: `.env.example`, the tables of docs/commands.md, the README's example.

`make fix` runs it.
"""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from adapters.console.channel import Page
from adapters.console.output import Output
from adapters.console.person import Person
from adapters.console.pipe import PipeChannel
from bot.cli.think import StoppedClock
from bot.settings.env_example import render
from bot.settings.settings import load
from bot.wiring import build
from core.chatbot import ChatBot
from core.types import Locale
from tests.fakes.commands import COMMANDS, VERBS

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
EXAMPLE = re.compile(r"(?<=^```\n)› .*?(?=^```$)", re.MULTILINE | re.DOTALL)
SAID_AT = datetime(2026, 11, 21, 15, 10, tzinfo=UTC)
COLUMNS = 100
ENV_EXAMPLE = ROOT / ".env.example"
PAGE = ROOT / "docs" / "commands.md"


def with_tables(page: str) -> str:
    """Return the page of commands with its two tables as the commands are."""
    everybodys = [
        _row(f"{each.name}{each.usage}", each.about[Locale.EN], "in private" if each.in_private else "anywhere")
        for each in COMMANDS.values()
    ]
    staffs = [
        _row(f"admin {each.name}{each.usage}", each.about[Locale.EN], "owners" if each.for_owners else "owners, admins")
        for each in VERBS.values()
    ]
    page = _put(page, "command | what it does | where", everybodys)
    return _put(page, "command | what it does | who", staffs)


def _row(name: str, about: str, where: str) -> str:
    usage = name.replace("|", "\\|")
    return f"| `/{usage}` | {about} | {where} |\n"


def _put(page: str, head: str, rows: list[str]) -> str:
    table = f"| {head} |\n| --- | --- | --- |\n" + "".join(rows)
    pattern = rf"^\| {re.escape(head)} \|\n(?:\|.*\n)*"
    found, count = re.subn(pattern, lambda _: table, page, flags=re.MULTILINE)
    if count != 1:
        raise ValueError(f"docs/commands.md has no table of {head}")
    return found


def with_example(page: str) -> str:
    """Return the README with what `make chat` answers to the messages of its example, those lines that begin with ›."""
    if (found := EXAMPLE.search(page)) is None:
        raise ValueError("README.md has no example")
    said = [line.removeprefix("› ") for line in found[0].splitlines() if line.startswith("› ")]
    return page[: found.start()] + asyncio.run(_talk(said)) + page[found.end() :]


async def _talk(messages: Sequence[str]) -> str:
    """Return what a terminal shows of a new bot without a model that is sent those messages, a minute apart."""
    settings = load(None, storage_url="memory:", model="", timezone="America/New_York", console_user="ana")
    clock, layout, shown = StoppedClock(SAID_AT), Page(COLUMNS, colour=False), io.StringIO()
    person, channel = Person(settings.console_owner, "en_US.UTF-8", clock), PipeChannel(Output(shown))
    async with build(settings, clock=clock) as app, ChatBot(app.parts) as chatbot:
        for message in messages:
            shown.write(f"› {message}\n")
            await (await chatbot.receive(person.says(channel.buttons.pressed(message)), channel))
            shown.write("\n")
            clock.at += timedelta(minutes=1)
    return "".join(f"{row.text}\n" for row in layout.rows(shown.getvalue().rstrip("\n")))


if __name__ == "__main__":
    ENV_EXAMPLE.write_text(render(), encoding="utf-8")
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    README.write_text(with_example(README.read_text(encoding="utf-8")), encoding="utf-8")
