"""`elefante run`, a real process: what ended is taken up again, and other processes see how it does."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pty
import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from core.clock import SystemClock
from tests.e2e.command import Elefante, start
from tests.e2e.test_both_platforms import HERE, THERE, Bot
from tests.fakes import discord_server, telegram_server
from tests.fakes.discord_server import DiscordServer
from tests.fakes.telegram_server import TelegramServer

NEW = "222:another_Token"


def write_env(folder: Path, servers: tuple[TelegramServer, DiscordServer], token: str, **more: str) -> Path:
    settings = {
        "TELEGRAM_TOKEN": token,
        "TELEGRAM_API_BASE_URL": servers[0].url,
        "DISCORD_TOKEN": discord_server.TOKEN,
        "DISCORD_API_BASE_URL": servers[1].api_url,
        "DATA_DIR": "data",
        "LANGUAGE": "en",
    }
    path = folder / "bot.env"
    path.write_text("".join(f"{name}={value}\n" for name, value in (settings | more).items()), "utf-8")
    return path


def environment(folder: Path, path: Path, **more: str) -> dict[str, str]:
    """Return that of a person in another folder, where everything stands in the settings file."""
    usual = Elefante(folder).environment(ELEFANTE_ENV=str(path), **more)
    return {name: value for name, value in usual.items() if name != "DATA_DIR"}


@asynccontextmanager
async def running(folder: Path, **more: str) -> AsyncIterator[Bot]:
    """Run the bot on both platforms until both are connected, owned by Ana; whatever is left of it is killed."""
    clock = SystemClock()
    async with TelegramServer(clock, patience_s=60.0) as telegram, DiscordServer(clock, patience_s=60.0) as discord:
        path = write_env(folder, (telegram, discord), telegram_server.TOKEN, **more)
        elsewhere = folder / "elsewhere"
        elsewhere.mkdir()
        process = await start("run", environment=environment(folder, path), folder=elsewhere)
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


async def status(folder: Path) -> tuple[int, Mapping[str, Any]]:
    """Return the exit code and the document of `elefante status`, asked from another folder."""
    process = await start("status", "--json", environment=environment(folder, folder / "bot.env"), folder=folder)
    said, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, json.loads(said)


async def until_status(folder: Path, ok: bool) -> Mapping[str, Any]:
    async with asyncio.timeout(120):
        while (told := await status(folder))[0] is not (0 if ok else 1):
            pass
    assert told[1]["ok"] is ok
    return told[1]


@pytest.mark.long
async def test_a_token_that_was_revoked_is_mended_in_the_file_and_taken_up(tmp_path: Path) -> None:
    async with running(tmp_path) as bot:
        told = await until_status(tmp_path, ok=True)
        assert told["pid"] == bot.process.pid

        bot.telegram.token = NEW  # whoever owns the bot asked BotFather for another one
        bot.telegram.says(HERE, "Remember that the wifi password is abc123")  # came by the last poll
        direct = bot.discord.direct(THERE)
        await bot.discord.until(lambda: "Telegram: I have stopped" in "".join(direct.screen()))
        told = await until_status(tmp_path, ok=False)
        states = {each["name"]: each for each in told["platforms"]}
        assert (told["state"], states["telegram"]["link"]) == ("running", "ended")
        assert "TELEGRAM_TOKEN" in states["telegram"]["reason"]
        assert states["discord"]["link"] == "connected"
        assert [alarm["key"] for alarm in told["alarms"]] == ["platform:telegram"]
        shown = await bot.tell_discord("/admin status", "telegram: stopped")
        assert "TELEGRAM_TOKEN in .env is refused" in shown
        assert "discord: connected" in shown

        write_env(tmp_path, (bot.telegram, bot.discord), NEW)
        bot.process.send_signal(signal.SIGHUP)
        await bot.telegram.until(lambda: "Saved" in "".join(bot.telegram.chat(HERE.id).screen()))
        await bot.discord.until(lambda: "Telegram: I am connected again" in "".join(direct.screen()))
        await bot.tell_telegram("What is the wifi password?", "abc123")
        assert "".join(bot.telegram.chat(HERE.id).screen()).count("Saved") == 1
        assert "".join(direct.screen()).count("Telegram: I have stopped") == 1
        await until_status(tmp_path, ok=True)
        log = (tmp_path / "data" / "elefante.log").read_text("utf-8")
        assert NEW not in log
        assert '"event": "telegram ended"' in log

        bot.process.kill()
        await bot.process.wait()
        assert (await status(tmp_path))[1]["state"] == "stopped"  # though its file lies there, fresh


@pytest.mark.long
@pytest.mark.parametrize("ends", ["", "exit"])
async def test_the_process_ends_with_a_platform_only_if_that_is_wanted(tmp_path: Path, ends: str) -> None:
    async with running(tmp_path, ON_PLATFORM_END=ends) as bot:
        bot.telegram.token = NEW
        bot.telegram.push({"message": None})
        await bot.discord.until(lambda: "Telegram: I have stopped" in "".join(bot.discord.direct(THERE).screen()))
        if not ends:
            bot.process.terminate()
        async with asyncio.timeout(120):
            assert await bot.process.wait() == (1 if ends else 0)
        assert not (tmp_path / "data" / "status.json").exists()


@pytest.mark.long
async def test_it_goes_on_when_its_terminal_is_closed_and_says_where_everything_lies(tmp_path: Path) -> None:
    clock = SystemClock()
    async with TelegramServer(clock, patience_s=60.0) as telegram, DiscordServer(clock, patience_s=60.0) as discord:
        path = write_env(tmp_path, (telegram, discord), telegram_server.TOKEN, DISCORD_TOKEN="", TELEGRAM_TOKN="1:a")
        ours, theirs = pty.openpty()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bot", "run", env=environment(tmp_path, path),
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        said = b""
        while b"?start=" not in said:
            said += await asyncio.to_thread(os.read, ours, 4096)
        os.close(ours)
        process.send_signal(signal.SIGHUP)
        shown = said.decode()
        assert f"TELEGRAM_TOKN in {path} is not a setting; write TELEGRAM_TOKEN" in shown
        assert f", settings in {path}" in shown
        assert f"data in {tmp_path / 'data'}, log {tmp_path / 'data' / 'elefante.log'}" in shown
        assert "platforms: telegram" in shown
        assert "limited mode" in shown

        telegram.token = NEW
        telegram.push({"message": None})
        while (told := (await status(tmp_path))[1])["ok"]:
            pass
        assert told["platforms"][0]["link"] == "ended"
        assert process.returncode is None
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        async with asyncio.timeout(120):
            assert await process.wait() == 0


def test_without_a_platform_the_misspelled_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bot.env"
    path.write_text("TELEGRAM_TOKN=1:a\n", "utf-8")
    done = Elefante(tmp_path)("run", ELEFANTE_ENV=str(path))
    assert done.returncode == 2
    assert f"TELEGRAM_TOKN in {path} is not a setting; write TELEGRAM_TOKEN" in done.stderr
    done = Elefante(tmp_path)("status", ELEFANTE_ENV=str(path))
    assert done.returncode == 1
    assert f"no `elefante run` runs on {tmp_path / 'data'}" in done.stdout
