"""`elefante run` with both tokens: one process, one memory for who linked two accounts, and no shared fate."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.clock import SystemClock
from tests.e2e.command import Running, start
from tests.fakes import discord_server, telegram_server
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import BOT_ID, OWNER_ID
from tests.fakes.discord_world import Person as DiscordPerson
from tests.fakes.telegram_people import Person as TelegramPerson
from tests.fakes.telegram_server import TelegramServer

HERE, THERE = TelegramPerson(7, language_code="en"), DiscordPerson(OWNER_ID, "Ana", "en-US")


@dataclass
class Bot:
    """The bot's process, and the two worlds that it lives in."""

    telegram: TelegramServer
    discord: DiscordServer
    process: Running

    async def tell_telegram(self, text: str, expected: str) -> str:
        """Write on Telegram, and return the message that says what is expected."""
        before = len(self.telegram.chat(HERE.id).screen())
        self.telegram.says(HERE, text)
        return await self._answer(self.telegram, lambda: self.telegram.chat(HERE.id).screen()[before:], expected)

    async def tell_discord(self, text: str, expected: str) -> str:
        """Write on Discord, and return the message that says what is expected."""
        before = len(self.discord.direct(THERE).screen())
        await self.discord.says(THERE, text)
        return await self._answer(self.discord, lambda: self.discord.direct(THERE).screen()[before:], expected)

    async def until_told(self, expected: str) -> str:
        """Return the line that the process tells its owner in the terminal."""
        assert self.process.stderr is not None
        async with asyncio.timeout(180):
            while expected not in (line := (await self.process.stderr.readline()).decode()):
                assert line, "it has ended"
        return line

    @staticmethod
    async def _answer(server: TelegramServer | DiscordServer, screen: Callable[[], list[str]], expected: str) -> str:
        await server.until(lambda: any(expected in text for text in screen()))
        return next(text for text in screen() if expected in text)


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[Bot]:
    """Run the bot on both platforms until it listens, owned by Ana on each; whatever is left of it is killed."""
    clock = SystemClock()
    async with TelegramServer(clock, patience_s=60.0) as telegram, DiscordServer(clock, patience_s=60.0) as discord:
        settings = {
            "TELEGRAM_TOKEN": telegram_server.TOKEN,
            "TELEGRAM_API_BASE_URL": telegram.url,
            "DISCORD_TOKEN": discord_server.TOKEN,
            "DISCORD_API_BASE_URL": discord.api_url,
            "DATA_DIR": str(folder),
            "LANGUAGE": "en",
        }
        process = await start("run", environment=os.environ | settings)
        bot = Bot(telegram, discord, process)
        try:
            link = re.search(r"\?start=(\S+)", await bot.until_told("?start="))
            assert link is not None
            await discord.until(lambda: discord.gateway.online)
            await bot.tell_telegram(f"/start {link[1]}", "yours now")
            yield bot
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


@pytest.mark.long
async def test_two_linked_accounts_have_one_memory_until_they_are_parted(tmp_path: Path) -> None:
    async with running(tmp_path) as bot:
        await bot.tell_telegram("Remember that the wifi password is abc123", "Saved")
        await bot.tell_discord("Remember that the garage code is 4471", "Saved")

        code = re.search(r"[A-Z]{4}-[A-Z]{4}", await bot.tell_telegram("/link", "/link "))
        assert code is not None
        asked = await bot.tell_discord(f"/link {code[0]}", "Only say yes")
        assert "1 memory of this account" in asked
        await bot.tell_discord(f"/link {code[0]} yes", "one memory")
        await bot.telegram.until(lambda: "one memory" in bot.telegram.chat(HERE.id).screen()[-1])

        await bot.tell_discord("What is the wifi password?", "abc123")
        await bot.tell_telegram("What is the garage code?", "4471")
        await bot.tell_discord("Remember that the bike is green", "Saved")

        keeps = await bot.tell_telegram("/unlink", "/unlink yes")
        assert "Telegram: Ana: 1 memory" in keeps
        assert "Discord: @Ana (Ana): 2 memories" in keeps
        await bot.tell_telegram("/unlink yes", "separate now")
        assert "abc123" not in await bot.tell_discord("/recall wifi password", "")
        await bot.tell_discord("/recall bike", "green")
        await bot.tell_telegram("/recall wifi", "abc123")


@pytest.mark.long
async def test_the_failure_of_one_platform_does_not_stop_the_other(tmp_path: Path) -> None:
    async with running(tmp_path) as bot:
        bot.telegram.token = "999:another"  # whoever owns the bot asked BotFather for a new one
        bot.telegram.push({"message": None})  # the poll that was under way ends; the next one is refused
        await bot.until_told("TELEGRAM_TOKEN")
        await bot.discord.until(lambda: "Telegram: I have stopped" in "".join(bot.discord.direct(THERE).screen()))
        await bot.tell_discord("Remember that the wifi password is abc123", "Saved")
        assert bot.process.returncode is None
        bot.process.terminate()
        assert await asyncio.wait_for(bot.process.wait(), 120) == 0


async def test_what_a_room_refuses_is_said_in_private_and_what_cannot_be_said_is_told_to_the_owner_once(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as bot:
        room = bot.discord.room(10**17 + 100)
        room.refusal = (403, 50013)
        await bot.discord.says(THERE, f"<@{BOT_ID}> hello", room=room.id)
        await bot.discord.until(lambda: len(bot.discord.direct(THERE).screen()) == 2)
        assert "not allowed to write" in bot.discord.direct(THERE).screen()[0]

        direct = bot.discord.direct(THERE)
        direct.refusal = (403, 50007)
        for _ in range(2):
            await bot.discord.says(THERE, f"<@{BOT_ID}> hello", room=room.id)
        before = len(bot.telegram.chat(HERE.id).screen())
        await bot.telegram.until(lambda: len(bot.telegram.chat(HERE.id).screen()) > before)
        assert "Discord: I could not deliver answers in “" in bot.telegram.chat(HERE.id).screen()[-1]
        direct.refusal = None
        await bot.tell_discord("Remember that the wifi password is abc123", "Saved")
        told = [text for text in bot.telegram.chat(HERE.id).screen() if "could not deliver" in text]
        assert len(told) == 1
        assert bot.process.returncode is None
