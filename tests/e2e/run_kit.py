"""`elefante run` as a process of its own on loopback platforms: what the scenarios of real processes share."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.clock import SystemClock
from tests.e2e.command import Elefante, Running, start
from tests.fakes import discord_server
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import OWNER_ID
from tests.fakes.discord_world import Person as Member
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TOKEN, TelegramServer

ANA = Person(7)
THERE = Member(OWNER_ID, "Ana", "en-US")
"""Ana on Discord, whose application is hers."""

_START_S = 180.0


@asynccontextmanager
async def running(**settings: str) -> AsyncIterator[Running]:
    """Run the bot with these settings; whatever is left of it in the end is killed."""
    child = await start("run", environment=os.environ | settings)
    try:
        yield child
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


def bot(server: TelegramServer, folder: Path, **more: str) -> AbstractAsyncContextManager[Running]:
    """Run the bot on Telegram and its data."""
    return running(TELEGRAM_TOKEN=TOKEN, TELEGRAM_API_BASE_URL=server.url, DATA_DIR=str(folder), **more)


async def until_told(child: Running, expected: str) -> str:
    """Return the line with these words that the process tells its owner in the terminal."""
    assert child.stderr is not None
    async with asyncio.timeout(_START_S):
        while expected not in (line := (await child.stderr.readline()).decode()):
            assert line, "it has ended"
    return line


async def link_of(child: Running) -> str:
    """Return the code of the link that the bot prints at its first start."""
    link = re.search(r"t\.me/\w+\?start=(\S+)", await until_told(child, "?start="))
    assert link is not None
    return link[1]


async def own(server: TelegramServer, child: Running) -> None:
    """Let Ana open that link."""
    server.says(ANA, f"/start {await link_of(child)}")
    await server.until(server.chat(ANA.id).screen)


async def _answer(server: TelegramServer | DiscordServer, told: Callable[[], Sequence[str]], expected: str) -> str:
    await server.until(lambda: any(expected in text for text in told()))
    return next(text for text in told() if expected in text)


@dataclass
class Machine:
    """A machine: its settings file, the platforms around it, and the process that runs there now."""

    folder: Path
    telegram: TelegramServer
    discord: DiscordServer
    settings: dict[str, str] = field(default_factory=dict)
    child: Running | None = None

    @property
    def file(self) -> Path:
        return self.folder / "bot.env"

    @property
    def environment(self) -> dict[str, str]:
        """That of a person in another folder, where everything stands in the settings file."""
        usual = Elefante(self.folder).environment(ELEFANTE_ENV=str(self.file))
        return {name: value for name, value in usual.items() if name != "DATA_DIR"}

    @property
    def process(self) -> Running:
        assert self.child is not None
        return self.child

    @property
    def log(self) -> str:
        return (self.folder / "data" / "elefante.log").read_text("utf-8")

    def write(self, **settings: str) -> None:
        """Write lines of the settings file; an empty one goes."""
        self.settings |= settings
        lines = [f"{name}={value}\n" for name, value in self.settings.items() if value]
        self.file.write_text("".join(lines), "utf-8")

    async def start(self) -> Running:
        """Start the bot, in a folder of its own."""
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir(exist_ok=True)
        self.child = await start("run", environment=self.environment, folder=elsewhere)
        return self.child

    async def owned(self) -> None:
        """Start the bot for the first time, and wait until Ana owns it and each platform is connected."""
        child = await self.start()
        await self.tell(f"/start {await link_of(child)}", "yours now")
        if self.settings.get("DISCORD_TOKEN"):
            await self.discord.until(lambda: self.discord.gateway.online)

    async def kill(self) -> None:
        """Kill the process, as a power cut would."""
        self.process.kill()
        await self.process.wait()

    async def stop(self) -> None:
        """Stop the process, which ends in order."""
        self.process.terminate()
        assert await self.process.wait() == 0

    def screen(self, person: Person = ANA) -> list[str]:
        """What that person sees of the bot on Telegram."""
        return self.telegram.chat(person.id).screen()

    def direct(self) -> list[str]:
        """What Ana sees of the bot on Discord."""
        return self.discord.direct(THERE).screen()

    async def tell(self, text: str, expected: str, person: Person = ANA) -> str:
        """Write on Telegram, and return the message that says what is expected."""
        before = len(self.screen(person))
        self.telegram.says(person, text)
        return await _answer(self.telegram, lambda: self.screen(person)[before:], expected)

    async def tell_discord(self, text: str, expected: str) -> str:
        """Write on Discord, and return the message that says what is expected."""
        before = len(self.direct())
        await self.discord.says(THERE, text)
        return await _answer(self.discord, lambda: self.direct()[before:], expected)

    async def revoke(self, token: str) -> None:
        """Have Telegram know another token, and end the poll that was under way."""
        self.telegram.token = token
        self.telegram.push({"message": None})

    async def status(self) -> tuple[int, Mapping[str, Any]]:
        """Return the exit code and the document of `elefante status`."""
        asked = await start("status", "--json", environment=self.environment, folder=self.folder)
        said, _ = await asked.communicate()
        assert asked.returncode is not None
        return asked.returncode, json.loads(said)

    async def until_status(self, *, ok: bool) -> Mapping[str, Any]:
        """Return the status once the bot is well, or is not."""
        async with asyncio.timeout(120):
            while (told := await self.status())[0] is not (0 if ok else 1):
                pass
        assert told[1]["ok"] is ok
        return told[1]


@asynccontextmanager
async def machine(folder: Path, **settings: str) -> AsyncIterator[Machine]:
    """Open the platforms, and write the settings of both; whatever is left of the process in the end is killed."""
    clock = SystemClock()
    async with TelegramServer(clock, patience_s=60.0) as telegram, DiscordServer(clock, patience_s=60.0) as discord:
        here = Machine(folder, telegram, discord)
        both = {
            "TELEGRAM_TOKEN": TOKEN, "TELEGRAM_API_BASE_URL": telegram.url, "DISCORD_TOKEN": discord_server.TOKEN,
            "DISCORD_API_BASE_URL": discord.api_url, "DATA_DIR": "data", "LANGUAGE": "en",
        }  # fmt: skip
        here.write(**both | settings)
        try:
            yield here
        finally:
            if here.child is not None:
                await here.kill()
