"""Each trouble of docs/operating.md, provoked: every line that is typed there does what the page shows."""

from __future__ import annotations

import json
import os
import re
import shlex
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest

from bot.run import serving
from bot.settings.settings import load
from bot.status_file import RUN
from bot.supervisor import ENDED, ON_NONE
from core.clock import SystemClock
from core.text.catalogue import filled, sentences
from core.types import Locale
from tests.architecture.tree import ROOT
from tests.e2e.command import Elefante
from tests.fakes.service_manager import Machine
from tests.profile import long
from tests.unit.test_storage_url import closed_port

PAGE: Final = (ROOT / "docs" / "operating.md").read_text("utf-8")
SECTION: Final = PAGE.partition("## At 3 a.m.\n")[2].partition("\n## ")[0]
TROUBLES: Final = dict(re.findall(r"^### (.+?)\n(.*?)(?=^### |\Z)", SECTION, re.MULTILINE | re.DOTALL))
NOW: Final = SystemClock().now()


@dataclass
class Night:
    """A machine with a bot's data and a backup of them, on which a trouble begins and is mended."""

    machine: Machine
    stack: ExitStack
    mend: Callable[[], None] = lambda: None
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        return self.machine.home / "data"

    @property
    def backup(self) -> Path:
        [made] = (self.data / "backups").glob("elefante-*.zip")
        return made

    def write(self, **settings: str) -> None:
        """Write lines of the settings file."""
        self.settings |= settings
        lines = "".join(f"{name}={value}\n" for name, value in self.settings.items())
        (self.machine.home / ".env").write_text(lines)

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return Elefante(self.machine.home)(*arguments, **self.machine.environment(LANG="en_US.UTF-8"))

    def type(self, line: str) -> str:
        """Do one line of the page, and return all that it printed."""
        if line.startswith("› "):
            return self.call("as", "telegram:7", line.removeprefix("› ")).stdout
        typed = line.removeprefix("$ ")
        if typed.startswith("elefante "):
            arguments = shlex.split(typed)[1:]
            done = self.call(*(str(self.backup) if "elefante-…" in each else each for each in arguments))
            return done.stdout + done.stderr
        done = subprocess.run(["sh", "-c", typed], cwd=self.machine.home, capture_output=True, text=True, check=True)
        return done.stdout

    def running(self, *alarms: Mapping[str, object], **platform: object) -> None:
        """Have a bot that runs tell of its one platform, and of its alarms."""
        told: dict[str, object] = {
            "name": "telegram",
            "link": "connected",
            "since": NOW.isoformat(),
            "reason": "",
            "setting": "",
        }
        told |= {"next_try": None} | platform
        report = {"pid": os.getpid(), "version": "1", "since": NOW.isoformat(), "platforms": [told], "alarms": alarms}
        report |= {"last_backup": None, "at": SystemClock().now().isoformat()}
        (self.data / "status.json").write_text(json.dumps(report))


@pytest.fixture
def night(tmp_path: Path) -> Iterator[Night]:
    with ExitStack() as stack:
        found = Night(Machine(tmp_path), stack)
        found.write(TELEGRAM_TOKEN="123456:abcdefghijklmnopqrstuvwxyz012345678", LANGUAGE="en")
        assert found.call("as", "telegram:7", "/remember the gate code is 4417").returncode == 0
        assert found.call("users", "role", "telegram:7", "owner").returncode == 0
        assert found.call("backup").returncode == 0
        assert found.call("service", "install", "--yes").returncode == 0
        yield found


def nobody(night: Night) -> None:
    (night.machine.home / "running").unlink()


def wrong_setting(night: Night) -> None:
    night.write(MAX_STEPS="eight")
    night.mend = lambda: night.write(MAX_STEPS="8")


def revoked(night: Night) -> None:
    settings = load(night.machine.home / ".env", data_dir=night.data)
    night.stack.enter_context(serving(settings, RUN, ["telegram"]))
    text = filled(ENDED, platform="Telegram", setting="TELEGRAM_TOKEN", meanwhile=ON_NONE)[Locale.EN]
    night.running(
        {"key": "platform:telegram", "since": NOW.isoformat(), "text": text, "stops_answers": True},
        link="ended", reason="TELEGRAM_TOKEN: Telegram refused it", setting="TELEGRAM_TOKEN",
        next_try=(NOW + timedelta(minutes=5)).isoformat(),
    )  # fmt: skip
    night.mend = night.running


def refused_key(night: Night) -> None:
    night.write(MODEL="openai:gpt-5", OPENAI_API_KEY="sk-old", OPENAI_BASE_URL="http://127.0.0.1:9")
    night.mend = lambda: night.write(MODEL="limited", OPENAI_API_KEY="sk-new")


def nothing(_night: Night) -> None:
    pass


def damaged(night: Night) -> None:
    database = night.data / "elefante.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = database.stat().st_size
    with database.open("r+b") as file:
        file.seek(8192)
        file.write(os.urandom(size - 8192))


def gone(night: Night) -> None:
    for path in night.data.glob("elefante.db*"):
        path.unlink()


def server_away(night: Night) -> None:
    port = night.stack.enter_context(closed_port())
    night.write(STORAGE_URL=f"postgresql://ana:secret@127.0.0.1:{port}/bot")


def no_backup(night: Night) -> None:
    (night.machine.home / "no-folder").touch()
    night.write(BACKUP_DIR="no-folder/backups")
    night.mend = lambda: night.write(BACKUP_DIR="elsewhere")


def locked_out(night: Night) -> None:
    """Have a stranger have written: what a card to the owners would tell of."""
    row = ("telegram", "222222", int(NOW.timestamp() * 1_000_000), "Ana")
    with closing(sqlite3.connect(night.data / "elefante.db")) as connection, connection:
        connection.execute("INSERT INTO strangers (platform, user, at, name) VALUES (?, ?, ?, ?)", row)


def paused(night: Night) -> None:
    assert night.call("as", "telegram:7", "/admin pause").returncode == 0


def without_its_key(night: Night) -> None:
    key, away = night.machine.home / "etc" / "memory-key", night.machine.home / "copy"
    assert night.call("key", "make", str(key)).returncode == 0
    night.write(MEMORY_KEY_FILE=str(key))
    assert night.call("key", "seal", "--yes").returncode == 0
    key.rename(away)
    night.mend = lambda: key.hardlink_to(away)


PROVOKED: Final[dict[str, Callable[[Night], None]]] = {
    "Nobody is answered": nobody,
    "It does not start: a setting is wrong": wrong_setting,
    "A token was revoked": revoked,
    "It answers with apologies: the model's key, credit or name": refused_key,
    "Two programs with one token": nothing,
    "The disk is full": nothing,
    "The database is damaged": damaged,
    "The database is gone, or lacks what a backup holds": gone,
    "The database server is away": server_away,
    "The backup failed": no_backup,
    "The owner is locked out": locked_out,
    "It answers some people and not others": paused,
    "It is sealed, and there is no key": without_its_key,
    "None of these": nothing,
}


def test_every_trouble_of_the_page_is_provoked() -> None:
    assert list(TROUBLES) == list(PROVOKED)


QUICK: Final = {"Nobody is answered", "The database is damaged", "The owner is locked out"}


@pytest.mark.parametrize("trouble", [each if each in QUICK else long(each) for each in TROUBLES])
def test_what_is_typed_shows_what_the_page_shows(night: Night, trouble: str) -> None:
    PROVOKED[trouble](night)
    told: list[str] = []
    for line in "\n".join(re.findall(r"```console\n(.*?)```", TROUBLES[trouble], re.DOTALL)).splitlines():
        if line.startswith(("$ ", "› ")):
            told = night.type(line).splitlines()
        elif line.startswith("("):
            night.mend()
        else:
            assert any(_like(line).fullmatch(" ".join(each.split())) for each in told), (line, told)


@pytest.mark.parametrize("trouble", TROUBLES)
def test_each_notice_on_the_page_is_one_that_is_sent(trouble: str) -> None:
    templates = [text for text in sentences(Locale.EN).values() if isinstance(text, str)]
    for notice in re.findall(r"^> (.+)$", TROUBLES[trouble], re.MULTILINE):
        assert any(_filled(text).fullmatch(notice) for text in templates if len(text) > len("{platform}")), notice


def _like(line: str) -> re.Pattern[str]:
    """Return what matches a line of the page, in which … stands for anything."""
    return re.compile(".*".join(re.escape(part) for part in " ".join(line.split()).split("…")))


def _filled(sentence: str) -> re.Pattern[str]:
    """Return what matches a sentence whose gaps are filled."""
    gaps = re.split(r"\{\w+\}", sentence.strip())
    return re.compile(".+".join(re.escape(part) for part in gaps))
