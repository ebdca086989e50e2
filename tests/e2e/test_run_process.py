"""`elefante run`, a real process: two platforms and no shared fate; what ends is taken up; owners are told once."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pty
import re
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.command import Elefante
from tests.e2e.run_kit import THERE, machine, until_told
from tests.fakes import telegram_server
from tests.fakes.discord_world import BOT_ID
from tests.fakes.http_server import Answer, LoopbackServer
from tests.fakes.openai_server import fails, says
from tests.fakes.telegram_people import Person

BIA = Person(8, "Bia", "en")
NEW = "222:another_Token"
MODEL, KEY = "openai:gpt-5", "sk-SECRET-KEY"
WORDS = "What colour is the jabuticaba?"


# --- two platforms


@pytest.mark.long
async def test_two_linked_accounts_have_one_memory_until_they_are_parted(tmp_path: Path) -> None:
    async with machine(tmp_path) as here:
        await here.owned()
        await here.tell("Remember that the wifi password is abc123", "Saved")
        await here.tell_discord("Remember that the garage code is 4471", "Saved")

        code = re.search(r"[A-Z]{4}-[A-Z]{4}", await here.tell("/link", "/link "))
        assert code is not None
        asked = await here.tell_discord(f"/link {code[0]}", "Only say yes")
        assert "1 memory of this account" in asked
        await here.tell_discord(f"/link {code[0]} yes", "one memory")
        await here.telegram.until(lambda: "one memory" in here.screen()[-1])

        await here.tell_discord("What is the wifi password?", "abc123")
        await here.tell("What is the garage code?", "4471")
        await here.tell_discord("Remember that the bike is green", "Saved")

        keeps = await here.tell("/unlink", "/unlink yes")
        assert "Telegram: Ana: 1 memory" in keeps
        assert "Discord: @Ana (Ana): 2 memories" in keeps
        await here.tell("/unlink yes", "separate now")
        assert "abc123" not in await here.tell_discord("/recall wifi password", "")
        await here.tell_discord("/recall bike", "green")
        await here.tell("/recall wifi", "abc123")


async def test_what_a_room_refuses_is_said_in_private_and_what_cannot_be_said_is_told_to_the_owner_once(
    tmp_path: Path,
) -> None:
    async with machine(tmp_path) as here:
        await here.owned()
        room = here.discord.room(10**17 + 100)
        room.refusal = (403, 50013)
        await here.discord.says(THERE, f"<@{BOT_ID}> hello", room=room.id)
        await here.discord.until(lambda: len(here.direct()) == 2)
        assert "not allowed to write" in here.direct()[0]

        direct = here.discord.direct(THERE)
        direct.refusal = (403, 50007)
        for _ in range(2):
            await here.discord.says(THERE, f"<@{BOT_ID}> hello", room=room.id)
        before = len(here.screen())
        await here.telegram.until(lambda: len(here.screen()) > before)
        assert "Discord: I could not deliver answers in “" in here.screen()[-1]
        direct.refusal = None
        await here.tell_discord("Remember that the wifi password is abc123", "Saved")
        assert sum("could not deliver" in text for text in here.screen()) == 1
        assert here.process.returncode is None


# --- a platform that ends


@pytest.mark.long
@pytest.mark.parametrize("by_itself", [False, True])
async def test_a_token_that_was_revoked_is_mended_in_the_file_and_taken_up(tmp_path: Path, *, by_itself: bool) -> None:
    async with machine(tmp_path) as here:
        await here.owned()
        told = await here.until_status(ok=True)
        assert told["pid"] == here.process.pid

        here.telegram.token = NEW  # whoever owns the bot asked BotFather for another one
        here.telegram.says(Person(7), "Remember that the wifi password is abc123")  # came by the last poll
        await here.discord.until(lambda: "Telegram: I have stopped" in "".join(here.direct()))
        told = await here.until_status(ok=False)
        states = {each["name"]: each for each in told["platforms"]}
        assert (told["state"], states["telegram"]["link"]) == ("running", "ended")
        assert "TELEGRAM_TOKEN" in states["telegram"]["reason"]
        assert states["discord"]["link"] == "connected"
        assert [alarm["key"] for alarm in told["alarms"]] == ["platform:telegram"]
        shown = await here.tell_discord("/admin status", "telegram: stopped")
        assert "TELEGRAM_TOKEN in .env is refused" in shown
        assert "discord: connected" in shown

        here.write(TELEGRAM_TOKEN=NEW)
        if not by_itself:
            here.process.send_signal(signal.SIGHUP)
        await here.telegram.until(lambda: "Saved" in "".join(here.screen()))
        await here.discord.until(lambda: "Telegram: I am connected again" in "".join(here.direct()))
        await here.tell("What is the wifi password?", "abc123")
        assert "".join(here.screen()).count("Saved") == 1
        assert "".join(here.direct()).count("Telegram: I have stopped") == 1
        await here.until_status(ok=True)
        assert NEW not in here.log
        assert '"event": "telegram ended"' in here.log

        await here.kill()
        assert (await here.status())[1]["state"] == "stopped"  # though its file lies there, fresh


@pytest.mark.long
@pytest.mark.parametrize("ends", ["", "exit"])
async def test_the_process_ends_with_a_platform_only_if_that_is_wanted(tmp_path: Path, ends: str) -> None:
    async with machine(tmp_path, ON_PLATFORM_END=ends) as here:
        await here.owned()
        await here.revoke(NEW)
        await until_told(here.process, "TELEGRAM_TOKEN")
        await here.discord.until(lambda: "Telegram: I have stopped" in "".join(here.direct()))
        if not ends:
            await here.tell_discord("Remember that the wifi password is abc123", "Saved")
            assert here.process.returncode is None
            here.process.terminate()
        async with asyncio.timeout(120):
            assert await here.process.wait() == (1 if ends else 0)
        assert not (tmp_path / "data" / "status.json").exists()


@pytest.mark.long
async def test_it_goes_on_when_its_terminal_is_closed_and_says_where_everything_lies(tmp_path: Path) -> None:
    async with machine(tmp_path, DISCORD_TOKEN="", TELEGRAM_TOKN="1:a") as here:
        ours, theirs = pty.openpty()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bot", "run", env=here.environment,
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        said = b""
        while b"?start=" not in said:
            said += await asyncio.to_thread(os.read, ours, 4096)
        os.close(ours)
        process.send_signal(signal.SIGHUP)
        shown = said.decode()
        assert f"TELEGRAM_TOKN in {here.file} is not a setting; write TELEGRAM_TOKEN" in shown
        assert f", settings in {here.file}" in shown
        assert f"data in {tmp_path / 'data'}, log {tmp_path / 'data' / 'elefante.log'}" in shown
        assert "platforms: telegram" in shown
        assert "limited mode" in shown

        await here.revoke(NEW)
        async with asyncio.timeout(120):
            while "ended" not in [each["link"] for each in (await here.status())[1]["platforms"]]:
                pass
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


# --- at night


@pytest.mark.long
async def test_a_key_that_is_wrong_is_one_message_to_the_owner_over_a_kill_and_a_restart_and_ends(
    tmp_path: Path,
) -> None:
    alarm, read = "refuses my key", "did not accept this bot's key"
    model = LoopbackServer([says("Purple.")])
    async with (
        model.running(),
        machine(tmp_path, DISCORD_TOKEN="", MODEL=MODEL, OPENAI_API_KEY=KEY, OPENAI_BASE_URL=f"{model.url}/v1") as here,
    ):
        await here.owned()
        await here.tell("/admin allow telegram:8", "8")
        await here.tell(WORDS, "Purple.", BIA)
        model.answers = [fails(401, f"Incorrect API key provided: {KEY}")]
        for _ in range(12):
            said = await here.tell(WORDS, "trying again now will not help", BIA)
            assert read in said
        await here.telegram.until(lambda: any(alarm in text for text in here.screen()))
        assert "1 error in the last 24 h" in await here.tell("/admin status", "in the last 24 h")
        assert MODEL in await here.tell("/admin logs", "key-refused:openai")
        told = await here.until_status(ok=False)
        assert [each["about"] for each in told["problems"]] == ["key-refused:openai"]
        with closing(sqlite3.connect(tmp_path / "data" / "elefante.db")) as database:
            [(kept,)] = database.execute("SELECT value FROM kept WHERE name = 'alarms'")
        assert list(json.loads(kept)) == ["key-refused:openai"]
        for end in (here.kill, here.stop):
            await end()
            await here.start()
            await here.tell(WORDS, read, BIA)
        model.answers = [says("Purple.")]
        await here.tell(f"/admin model chat {MODEL}", "gpt-5")
        await here.tell(WORDS, "Purple.", BIA)
        await here.telegram.until(lambda: "alarm over key-refused:openai" in here.log)  # told when it has held
        assert sum(text.startswith("⚠") and alarm in text for text in here.screen()) == 1
        assert sum(f"{MODEL} answers again" in text for text in here.screen()) <= 1
        lines = [json.loads(line) for line in here.log.splitlines()]
        assert any("openai" in line["event"] for line in lines if line["level"] == "ERROR")
        assert KEY not in here.log + kept + " ".join(here.screen())
        assert "jabuticaba" not in here.log


@pytest.mark.long
async def test_a_bot_that_cannot_start_tells_the_webhook_once_however_often_it_is_started(tmp_path: Path) -> None:
    hook = LoopbackServer([Answer(200, body=b"ok")])
    async with hook.running(), machine(tmp_path, DISCORD_TOKEN="", TELEGRAM_TOKEN="999:revoked") as here:
        here.write(ALERT_URL=f"{hook.url}/SECRET-PATH")
        for _ in range(2):
            process = await here.start()
            _, said = await process.communicate()
            assert process.returncode == 2
            assert b"TELEGRAM_TOKEN" in said
            assert b"SECRET-PATH" not in said
        [posted] = hook.bodies
        assert "TELEGRAM_TOKEN" in posted["text"]
        assert "999:revoked" not in posted["text"]
        here.write(TELEGRAM_TOKEN=telegram_server.TOKEN)
        await here.owned()
        async with asyncio.timeout(60):
            while len(hook.asked) < 2:  # that it has started
                await asyncio.wait_for(hook.hung_up.wait(), 60)
                hook.hung_up.clear()
        assert len(hook.asked) == 2
        assert "SECRET-PATH" not in here.log


@pytest.mark.long
async def test_a_database_damaged_while_it_runs_is_told_once_and_nobody_is_put_off(tmp_path: Path) -> None:
    async with machine(tmp_path, DISCORD_TOKEN="") as here:
        await here.owned()
        path = tmp_path / "data" / "elefante.db"
        with sqlite3.connect(path) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with path.open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(2 * 4096)
            file.write(os.urandom(size - 2 * 4096))
        for _ in range(20):  # what SQLite still holds in RAM may answer at first
            if "will not help" in await here.tell(WORDS, ""):
                break
        await here.telegram.until(lambda: any("elefante restore" in text for text in here.screen()))
        assert sum("elefante restore" in text for text in here.screen()) == 1
        assert sum("⚠️" in text for text in here.screen()) == 1


@pytest.mark.long
async def test_a_disk_with_little_room_is_told_to_the_owner_and_to_the_webhook(tmp_path: Path) -> None:
    hook = LoopbackServer([Answer()])
    async with hook.running(), machine(tmp_path, DISCORD_TOKEN="", DISK_ALERT_MB="999999999") as here:
        here.write(ALERT_URL=f"{hook.url}/SECRET")
        await here.owned()
        await here.stop()
        await here.start()  # who became the owner a moment ago is told by the next start
        await here.telegram.until(lambda: any("999999999 MB" in text for text in here.screen()))
        await here.stop()
        [posted] = [body["text"] for body in hook.bodies]
        assert "999999999 MB" in posted
        assert "SECRET" not in here.log
