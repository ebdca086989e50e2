"""Memory of a bot over a day of talk, hour by hour: `elefante run` on both platforms, and what one chart leaves.

An hour is some messages of ten people, as fast as they are answered: what counts is how many there were, not how
long it took. Linux: memory is read from /proc.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.start import rss_mib
from bench.table import show
from core.clock import SystemClock
from tests.fakes.discord_server import TOKEN as DISCORD_TOKEN
from tests.fakes.discord_server import DiscordServer
from tests.fakes.http_server import LoopbackServer
from tests.fakes.openai_server import says
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TOKEN, TelegramServer

HOURS: Final = 24
CHART_AT: Final = 12
CHART_S: Final = 3.0
NOTED: Final = (1, 6, 12, 24)
PEOPLE: Final = 10
_OWNER: Final = Person(7, "Ana", "en")
_GUESTS: Final = tuple(Person(100 + number, f"Guest {number}", "en") for number in range(PEOPLE - 1))
_SAID: Final = (
    "Remember that my locker code is {n}",
    "What is my locker code?",
    "Remember that aunt {n} lives in Lisbon",
    "Remind me to water the plants tomorrow at 9",
    "/memories",
    "What do I have tomorrow?",
)
_PATIENCE_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class Town:
    """The bot that runs, and where people write to it."""

    process: asyncio.subprocess.Process
    telegram: TelegramServer

    async def ask(self, person: Person, text: str) -> None:
        """Write, and wait until something new stands there."""
        chat = self.telegram.chat(person.id)
        before = len(chat.screen())
        self.telegram.says(person, text)
        async with asyncio.timeout(_PATIENCE_S):
            await self.telegram.until(lambda: len(chat.screen()) > before)

    async def hour(self, number: int) -> None:
        """Have everybody say everything once."""
        for at, text in enumerate(_SAID):
            await asyncio.gather(*(self.ask(each, text.format(n=number * 100 + at)) for each in (_OWNER, *_GUESTS)))


@asynccontextmanager
async def town(folder: Path, *, model: bool) -> AsyncIterator[Town]:
    """Run a bot that Ana owns and everybody may ask, with a model behind a loopback server or without one."""
    async with AsyncExitStack() as stack:
        telegram = await stack.enter_async_context(TelegramServer(SystemClock(), patience_s=_PATIENCE_S))
        discord = await stack.enter_async_context(DiscordServer(SystemClock(), patience_s=_PATIENCE_S))
        server = LoopbackServer([says("Purple.")])
        await stack.enter_async_context(server.running())
        environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        environment |= {
            "DATA_DIR": str(folder), "ELEFANTE_ENV": os.devnull, "ACCESS": "open", "LANGUAGE": "en",
            "TELEGRAM_TOKEN": TOKEN, "TELEGRAM_API_BASE_URL": telegram.url,
            "DISCORD_TOKEN": DISCORD_TOKEN, "DISCORD_API_BASE_URL": discord.api_url,
            "QUOTA_PERSON": "none", "QUOTA_GUEST": "none", "QUOTA_BOT": "none",
        }  # fmt: skip
        if model:
            environment |= {"MODEL": "openai:gpt-5", "OPENAI_API_KEY": "x", "OPENAI_BASE_URL": f"{server.url}/v1"}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bot", "run", env=environment, stderr=asyncio.subprocess.PIPE
        )
        try:
            assert process.stderr is not None
            while not (link := re.search(r"\?start=(\S+)", (await process.stderr.readline()).decode())):
                assert not process.stderr.at_eof()
            await discord.until(lambda: discord.gateway.online)
            found = Town(process, telegram)
            await found.ask(_OWNER, f"/start {link[1]}")
            yield found
        finally:
            process.terminate()
            await process.wait()


async def day(*, model: bool) -> list[tuple[str, str, str]]:
    """Live a day, and return what was resident when, without a model or with one."""
    rows: list[tuple[str, str, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        async with town(Path(folder), model=model) as there:

            def note(when: str) -> None:
                rows.append(("OpenAI's" if model else "none", when, f"{rss_mib(there.process.pid):.0f} MiB"))

            note("connected, and owned")
            for number in range(1, HOURS + 1):
                await there.hour(number)
                if number in NOTED:
                    note(f"hour {number}, {number * PEOPLE * len(_SAID):,} messages")
                if number == CHART_AT:
                    await there.ask(_OWNER, "/admin usage")
                    await asyncio.sleep(CHART_S)
                    note("after /admin usage")
    return rows


def main() -> None:
    """Measure and print."""
    rows = [row for model in (False, True) for row in asyncio.run(day(model=model))]
    show("A day", ("language model", "when", "resident"), rows)
