"""A bot is copied by one command and goes on elsewhere by another; a full disk spoils nothing."""

from __future__ import annotations

import json
import os
import re
import resource
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.command import execute
from tests.postgres import database_of

ROOT = Path(__file__).parents[2]
TOKEN = "123:abc_DEF-9"


class Home:
    """A machine: a home with settings and data."""

    def __init__(self, folder: Path, **settings: str) -> None:
        folder.mkdir()
        self.folder, self.data = folder, folder / "data"
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "DATA_DIR": str(self.data), "CONSOLE_USER": "ana",
            "PYTHONPATH": str(ROOT), "LANG": "en_US.UTF-8", "ELEFANTE_ENV": str(folder / ".env"),
        } | settings  # fmt: skip

    def call(self, *arguments: str, before: Callable[[], object] | None = None) -> tuple[int, str]:
        """Run a verb and return its exit code and all that it printed."""
        done = execute(arguments, self.folder, self.environment, before=before)
        return done.returncode, done.stdout + done.stderr

    def done(self, *arguments: str) -> str:
        code, said = self.call(*arguments)
        assert code == 0, said
        return said

    def write_settings(self, settings: Mapping[str, str]) -> None:
        (self.folder / ".env").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))

    def files(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.folder)): path.read_bytes() for path in self.folder.rglob("*") if path.is_file()
        }


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "old")
    made.write_settings({"LANGUAGE": "es", "TELEGRAM_TOKEN": TOKEN, "MAX_REMINDERS": "7"})
    return made


def kept(data: Path, name: str) -> str:
    """Return what the database keeps under a name."""
    with closing(sqlite3.connect(data / "elefante.db")) as database:
        [(value,)] = database.execute("SELECT value FROM kept WHERE name = ?", (name,))
    return str(value)


def test_a_bot_is_moved_to_an_empty_machine_by_one_command_there(home: Home, tmp_path: Path) -> None:
    home.done("as", "me", "/remember the wifi password is abc123")
    home.done("users", "role", "telegram:5", "owner")
    with closing(sqlite3.connect(home.data / "elefante.db")) as database, database:
        database.execute("INSERT INTO kept (name, value) VALUES (?, ?)", ("telegram", '{"moved": {"-1": -2}}'))
    home.done("backup", str(tmp_path / "move.zip"))
    other = Home(tmp_path / "new")
    said = other.done("restore", str(tmp_path / "move.zip"))
    settings = other.folder / ".env"
    assert f"The settings were written into {settings}." in said
    assert "Fill in there: TELEGRAM_TOKEN." in said
    assert settings.stat().st_mode & 0o777 == 0o600
    assert TOKEN not in settings.read_text()
    assert {"LANGUAGE=es", "MAX_REMINDERS=7", "TELEGRAM_TOKEN="} <= set(settings.read_text().splitlines())
    assert "abc123" in other.done("as", "me", "/memories")
    assert "owner    telegram:5" in other.done("users", "list")
    assert json.loads(kept(other.data, "telegram"))["moved"] == {"-1": -2}
    assert "elefante.db is sound; people with memories: 1" in other.done("check")
    assert list((other.data / "backups").iterdir()) == [], "there was nothing to put aside"


@pytest.mark.long
def test_what_is_replaced_is_asked_about_and_kept_whole(home: Home, tmp_path: Path) -> None:
    home.done("as", "me", "/remember first")
    home.done("backup", "first.zip")
    home.done("as", "me", "/remember second")
    before = home.files()
    code, asked = home.call("restore", "first.zip")
    assert code == 2
    assert "Replace" in asked
    assert "--yes" in asked
    assert home.files() | {"data/elefante.log": b""} == before | {"data/elefante.log": b""}
    done = json.loads(home.done("restore", "first.zip", "--yes", "--json"))
    assert (done["settings"], done["secrets"]) == (None, []), "they stand in .env"
    assert "second" not in home.done("as", "me", "/memories")
    [database] = done["aside"]
    home.done("restore", database, "--yes")
    assert "second" in home.done("as", "me", "/memories")


def test_on_the_same_machine_nothing_is_asked_for_that_stands_there(home: Home) -> None:
    home.write_settings({"TELEGRAM_TOKEN": TOKEN, "OPENAI_API_KEY": "sk-abc", "LOG_DIR": "logs"})
    home.done("as", "me", "/remember the gate code is 4417")
    home.done("backup", "mine.zip")
    env = home.folder / ".env"
    before = env.read_bytes()
    said = home.done("restore", "mine.zip", "--yes")
    assert said.splitlines()[-1] == f"{env} was left as it is."
    assert env.read_bytes() == before
    home.write_settings({"TELEGRAM_TOKEN": TOKEN, "OPENAI_API_KEY": ""})
    said = home.done("restore", "mine.zip", "--yes")
    assert f"{env} was left as it is. It needs: OPENAI_API_KEY.\n" in said
    assert "there it had set LOG_DIR." in said, "where it is not set now"


def test_a_backup_of_sqlite_gets_into_postgresql_by_the_commands_that_are_told(home: Home, tmp_path: Path) -> None:
    home.done("as", "me", "/remember the gate code is 4417")
    home.done("backup", "x.zip")
    there = {"STORAGE_URL": database_of(str(tmp_path))}
    home.write_settings({"LANGUAGE": "en", **there})
    code, said = home.call("restore", "x.zip")
    assert code == 1
    assert "pg_restore" not in said
    first, second = re.findall(r"`STORAGE_URL=sqlite: elefante (.+?)`", said)
    home.environment["STORAGE_URL"] = "sqlite:"
    home.done(*first.split(), "--yes")
    home.done(*second.split(), there["STORAGE_URL"])
    del home.environment["STORAGE_URL"]
    assert "4417" in home.done("as", "me", "/memories")
    code, said = home.call("backup", "copy.zip")
    assert (code, "pg_dump --format=custom --file=copy.dump --dbname=" in said) == (1, True), "pg_dump writes no ZIP"


def let_files_grow_no_further_than(size_bytes: int) -> Callable[[], object]:
    return partial(resource.setrlimit, resource.RLIMIT_FSIZE, (size_bytes, size_bytes))


@pytest.mark.long
def test_a_disk_that_fills_in_the_middle_of_a_backup_leaves_no_half_file(home: Home) -> None:
    for number in range(4):
        home.done("as", "me", f"/remember noise {number} {os.urandom(12_000).hex()}")
    size_bytes = (home.data / "elefante.db").stat().st_size
    code, said = home.call("backup", before=let_files_grow_no_further_than(size_bytes // 2))
    assert code == 1
    assert "Traceback" not in said
    assert len(said.strip().splitlines()) == 1
    assert "disk" in said or "File too large" in said
    assert list((home.data / "backups").iterdir()) == []
    home.done("backup")


@pytest.mark.long
@pytest.mark.parametrize("stored", [False, True])
def test_check_writes_nothing(home: Home, *, stored: bool) -> None:
    if stored:
        home.done("as", "me", "/remember first")
    before = home.files()
    said = home.done("check")
    assert home.files() == before
    assert home.data.exists() == stored
    assert ("is sound; people with memories: 1" if stored else "there is no database yet") in said


@pytest.mark.long
def test_a_database_that_is_too_old_is_left_alone_and_every_verb_says_what_to_do(home: Home) -> None:
    home.done("as", "me", "/remember first")
    with closing(sqlite3.connect(home.data / "elefante.db")) as database, database:
        database.execute("UPDATE schema_history SET program = '0.1.0'")
        database.execute("PRAGMA user_version = 14")
    before = (home.data / "elefante.db").read_bytes()
    for verb in (["check"], ["migrate"], ["as", "me", "/memories"]):
        code, said = home.call(*verb)
        assert code == 1, said
        assert "has schema 14 of an older Elefante" in said
        assert "with Elefante 0.1.0 (`elefante export --user PLATFORM:ID`)" in said
        assert (home.data / "elefante.db").read_bytes() == before
