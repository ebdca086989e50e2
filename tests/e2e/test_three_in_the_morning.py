"""Trouble at night, real processes: the owner knows once, from whichever process and platform still can tell."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from core.clock import SystemClock
from tests.e2e.command import Running, start
from tests.fakes import telegram_server
from tests.fakes.discord_server import TOKEN as DISCORD_TOKEN
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import OWNER_ID
from tests.fakes.discord_world import Person as Member
from tests.fakes.http_server import Answer, LoopbackServer
from tests.fakes.openai_server import fails, says
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TelegramServer

ROOT = Path(__file__).parents[2]
ANA, EVE = Person(7, "Ana", "en"), Member(OWNER_ID, "Eve", "en-US")
WORDS = "What colour is the jabuticaba?"
KEY = "sk-SECRET-KEY"


@dataclass
class House:
    """One machine: the settings file, the worlds around it, and the process that runs now."""

    folder: Path
    telegram: TelegramServer
    discord: DiscordServer
    model: LoopbackServer
    webhook: LoopbackServer
    settings: dict[str, str] = field(default_factory=dict)
    process: Running | None = None

    def write(self, **settings: str) -> None:
        """Write the settings file."""
        self.settings |= settings
        (self.folder / ".env").write_text("".join(f"{name}={value}\n" for name, value in self.settings.items()))

    async def start(self) -> Running:
        """Start `elefante run` on it."""
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "PYTHONPATH": str(ROOT)}
        env["ELEFANTE_ENV"] = str(self.folder / ".env")
        self.process = await start("run", environment=env, folder=self.folder)
        return self.process

    async def status(self) -> tuple[int | None, str]:
        """Return the exit code and the words of `elefante status`, once it knows of what changed."""
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "PYTHONPATH": str(ROOT)}
        env["ELEFANTE_ENV"] = str(self.folder / ".env")
        async with asyncio.timeout(120):
            while True:
                process = await start("status", environment=env, folder=self.folder)
                said, _ = await process.communicate()
                if process.returncode:
                    return process.returncode, said.decode()

    async def claim(self) -> None:
        """Open the link that the first start prints, and answer a first question."""
        assert self.process is not None
        assert self.process.stderr is not None
        async with asyncio.timeout(120):
            while not (link := re.search(r"t\.me/\w+\?start=(\S+)", (await self.process.stderr.readline()).decode())):
                assert not self.process.stderr.at_eof()
        self.telegram.says(ANA, f"/start {link[1]}")
        await self.telegram.until(self.screen)
        await self.ask("Purple.")

    async def ask(self, expected: str) -> None:
        """Ask a question on Telegram, and wait for what is expected."""
        before = len(self.screen())
        self.telegram.says(ANA, WORDS)
        await self.telegram.until(lambda: any(expected in text for text in self.screen()[before:]))

    def screen(self) -> list[str]:
        """What Ana sees of the bot."""
        return self.telegram.chat(ANA.id).screen()

    def told(self, words: str) -> int:
        """How many messages with those words Ana has."""
        return sum(words in text for text in self.screen())

    async def kill(self) -> None:
        """Kill the process, as a power cut would."""
        assert self.process is not None
        self.process.kill()
        await self.process.wait()

    @property
    def log(self) -> str:
        return (self.folder / "data" / "elefante.log").read_text("utf-8")


@asynccontextmanager
async def house(folder: Path, *, discord: bool = False, **settings: str) -> AsyncIterator[House]:
    """Open the worlds; whatever is left of the process in the end is killed."""
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        telegram = await stack.enter_async_context(TelegramServer(clock, patience_s=60.0))
        there = await stack.enter_async_context(DiscordServer(clock, patience_s=60.0))
        model, webhook = LoopbackServer([says("Purple.")]), LoopbackServer([Answer(200, body=b"ok")])
        for server in (model, webhook):
            await stack.enter_async_context(server.running())
        own = House(folder, telegram, there, model, webhook)
        if discord:
            own.write(DISCORD_TOKEN=DISCORD_TOKEN, DISCORD_API_BASE_URL=there.api_url)
        own.write(
            TELEGRAM_TOKEN=telegram_server.TOKEN,
            TELEGRAM_API_BASE_URL=telegram.url,
            DATA_DIR=str(folder / "data"),
            LANGUAGE="en",
            MODEL="openai:gpt-5",
            OPENAI_API_KEY=KEY,
            OPENAI_BASE_URL=f"{model.url}/v1",
            **settings,
        )
        try:
            yield own
        finally:
            if own.process is not None and own.process.returncode is None:
                await own.kill()


@pytest.mark.long
async def test_a_refused_key_is_told_once_though_the_process_dies_and_ends(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        await home.start()
        await home.claim()
        home.model.answers = [fails(401, f"Incorrect API key provided: {KEY}")]
        await home.ask("did not accept this bot's key")
        await home.telegram.until(lambda: home.told("OPENAI_API_KEY"))
        await home.ask("did not accept this bot's key")  # meanwhile it notes on the disk who was told
        code, said = await home.status()
        assert code == 1
        assert "FAIL  key-refused:openai" in said
        assert "OPENAI_API_KEY" in said
        await home.kill()
        await home.start()
        await home.ask("did not accept this bot's key")
        home.model.answers = [says("Purple.")]
        await home.ask("Purple.")
        await home.telegram.until(lambda: "alarm over" in home.log)  # it is told when it has held for a while
        assert home.told("OPENAI_API_KEY") == 1
        assert home.told("answers again") <= 1
        assert not re.search(r"in a little while|try again in", " ".join(home.screen()))
        lines = [json.loads(line) for line in home.log.splitlines()]
        assert any("openai" in line["event"] for line in lines if line["level"] == "ERROR")
        assert KEY not in home.log + " ".join(home.screen())
        assert "jabuticaba" not in home.log


@pytest.mark.long
async def test_a_token_that_is_revoked_at_night_and_mended_in_the_settings_file_needs_no_restart(
    tmp_path: Path,
) -> None:
    async with house(tmp_path, discord=True) as home:
        process = await home.start()
        await home.claim()
        await home.discord.until(lambda: home.discord.gateway.online)
        screen = home.discord.direct(EVE).screen
        home.telegram.token = "999:another"
        home.telegram.push({"message": None})
        await home.discord.until(lambda: any("TELEGRAM_TOKEN" in text for text in screen()))
        home.write(TELEGRAM_TOKEN="999:another")
        await home.discord.until(lambda: any("Telegram" in text and "again" in text for text in screen()[1:]))
        await home.ask("Purple.")
        assert sum("TELEGRAM_TOKEN" in text for text in screen()) == 1
        assert process.returncode is None


@pytest.mark.long
async def test_a_bot_that_cannot_start_tells_the_webhook_once_however_often_it_is_started(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        home.write(ALERT_URL=f"{home.webhook.url}/SECRET-PATH", TELEGRAM_TOKEN="999:revoked")
        for _ in range(2):
            process = await home.start()
            _, said = await process.communicate()
            assert process.returncode == 2
            assert b"TELEGRAM_TOKEN" in said
            assert b"SECRET-PATH" not in said
        [posted] = home.webhook.bodies
        assert "TELEGRAM_TOKEN" in posted["text"]
        assert "999:revoked" not in posted["text"]
        home.write(TELEGRAM_TOKEN=telegram_server.TOKEN)
        await home.start()
        await home.claim()
        async with asyncio.timeout(60):
            while len(home.webhook.asked) < 2:  # that it has started
                await asyncio.wait_for(home.webhook.hung_up.wait(), 60)
                home.webhook.hung_up.clear()
        assert len(home.webhook.asked) == 2
        assert "SECRET-PATH" not in home.log


@pytest.mark.long
async def test_a_database_damaged_while_it_runs_is_told_once_and_nobody_is_put_off(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        await home.start()
        await home.claim()
        path = tmp_path / "data" / "elefante.db"
        with sqlite3.connect(path) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with path.open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(2 * 4096)
            file.write(os.urandom(size - 2 * 4096))
        for _ in range(20):  # what SQLite still holds in RAM may answer at first
            before = len(home.screen())
            home.telegram.says(ANA, WORDS)
            await home.telegram.until(lambda before=before: len(home.screen()) > before)  # type: ignore[misc]
            if home.told("will not help"):
                break
        await home.telegram.until(lambda: home.told("elefante restore"))
        assert home.told("elefante restore") == 1
        assert home.told("⚠️") == 1
