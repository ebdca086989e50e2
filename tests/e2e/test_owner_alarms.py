"""`elefante run`, a real process: members talk while its model's key expires, and the owner reads of it once."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from core.clock import SystemClock
from tests.crash.test_telegram_kill import ANA, bot, own
from tests.fakes import openai_server
from tests.fakes.http_server import Answer, LoopbackServer
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TelegramServer
from tests.unit.test_doctor import well

pytestmark = pytest.mark.long

BIA = Person(8, "Bia", language_code="en")
MODEL = "openai:gpt-x"
QUESTIONS = 12


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The settings of the process, beside those of its platform."""
    for name, value in {"MODEL": MODEL, "OPENAI_API_KEY": "sk-SECRET", "LANGUAGE": "en"}.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


class Town:
    """What the owner and a member write and read."""

    def __init__(self, telegram: TelegramServer) -> None:
        self.telegram = telegram
        self.telegram.chat(BIA.id)

    def screen(self, person: Person) -> list[str]:
        return self.telegram.chat(person.id).screen()

    async def says(self, person: Person, text: str, expected: str) -> str:
        """Write, and return the new message that holds what is expected."""
        before = len(self.screen(person))
        self.telegram.says(person, text)

        def found() -> list[str]:
            return [said for said in self.screen(person)[before:] if expected in said]

        await self.telegram.until(found)
        return found()[0]

    def alarms(self) -> list[str]:
        return [said for said in self.screen(ANA) if said.startswith(("⚠", MODEL))]


async def test_a_key_that_is_wrong_is_one_message_to_the_owner_over_a_restart_and_ends(
    tmp_path: Path, environment: pytest.MonkeyPatch
) -> None:
    key, alarm, read = "key-refused:openai", "refuses my key", "did not accept this bot's key"
    models = LoopbackServer([well])
    async with models.running(), TelegramServer(SystemClock(), patience_s=60.0) as server:
        environment.setenv("OPENAI_BASE_URL", models.url)
        town = Town(server)
        async with bot(server, tmp_path) as first:
            await own(server, first)
            await town.says(ANA, "/admin allow telegram:8", "8")
            await town.says(BIA, "hello", "Olá")
            models.answers = [openai_server.fails(401)]
            for _ in range(QUESTIONS):
                said = await town.says(BIA, "hello again", "trying again now will not help")
                assert read in said
            await server.until(town.alarms)
            figures = await town.says(ANA, "/admin status", "in the last 24 h")
            assert "1 error in the last 24 h" in figures
            logs = await town.says(ANA, "/admin logs", key)
            assert MODEL in logs
            [told] = town.alarms()
            assert alarm in told
            first.terminate()
            assert await first.wait() == 0
        with closing(sqlite3.connect(tmp_path / "elefante.db")) as database:
            [(kept,)] = database.execute("SELECT value FROM kept WHERE name = 'alarms'")
        assert list(json.loads(kept)) == [key]
        async with bot(server, tmp_path) as second:
            await town.says(BIA, "and now?", read)
            assert town.alarms() == [told]
            models.answers = [well]
            await town.says(ANA, f"/admin model chat {MODEL}", "gpt-x")
            await town.says(BIA, "and now?", "Olá")
            ended = f"alarm over {key}"  # it is told when it has held for a while
            await server.until(lambda: ended in (tmp_path / "elefante.log").read_text("utf-8"))
            assert town.alarms() in ([told], [told, f"{MODEL} answers again."])
            second.terminate()
            assert await second.wait() == 0
    log = (tmp_path / "elefante.log").read_text("utf-8")
    assert "sk-SECRET" not in log + json.dumps(kept)


async def test_a_disk_with_little_room_is_told_to_the_owner_and_to_the_webhook(
    tmp_path: Path, environment: pytest.MonkeyPatch
) -> None:
    hook = LoopbackServer([Answer()])
    async with hook.running(), TelegramServer(SystemClock(), patience_s=60.0) as server:
        environment.setenv("MODEL", "limited")
        environment.setenv("DISK_ALERT_MB", "999999999")
        environment.setenv("ALERT_URL", f"{hook.url}/SECRET")
        town = Town(server)
        async with bot(server, tmp_path) as first:
            await own(server, first)
            first.terminate()
            assert await first.wait() == 0
        async with bot(server, tmp_path) as second:  # who became the owner a moment ago is told by the next start
            await server.until(town.alarms)
            second.terminate()
            assert await second.wait() == 0
    [told] = town.alarms()
    assert "999999999 MB" in told
    [posted] = [body["text"] for body in hook.bodies]
    assert "999999999 MB" in posted
    assert "SECRET" not in (tmp_path / "elefante.log").read_text("utf-8")
