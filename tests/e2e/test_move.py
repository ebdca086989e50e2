"""A bot is copied by one command and goes on elsewhere by another; a full disk spoils nothing."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from bot.archive import unpack
from core.storage.sqlite_migrations import MIGRATIONS
from core.storage.sqlite_upgrade import inspect
from tests.e2e.command import execute
from tests.unit.test_http import free_port

ROOT = Path(__file__).parents[2]
OLD = ROOT / "tests" / "data" / "database_v14.db.gz"
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

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "bot", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.folder,
            env=self.environment,
        )

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

    def put_old_database(self) -> Path:
        self.data.mkdir()
        path = self.data / "elefante.db"
        path.write_bytes(gzip.decompress(OLD.read_bytes()))
        return path

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
    (home.data / "telegram.json").write_text('{"moved": {"-1": -2}, "menus": {}}')
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


def test_what_is_replaced_is_asked_about_and_kept_whole(home: Home, tmp_path: Path) -> None:
    home.done("as", "me", "/remember first")
    (home.data / "telegram.json").write_text('{"moved": {}, "menus": {"1": "old"}}')
    home.done("backup", "first.zip")
    home.done("as", "me", "/remember second")
    (home.data / "telegram.json").write_text('{"moved": {}, "menus": {"1": "new"}}')
    (home.data / "discord.json").write_text("{}")
    before = home.files()
    code, asked = home.call("restore", "first.zip")
    assert code == 2
    assert "Replace" in asked
    assert "--yes" in asked
    assert home.files() | {"data/elefante.log": b""} == before | {"data/elefante.log": b""}
    done = json.loads(home.done("restore", "first.zip", "--yes", "--json"))
    assert (done["settings"], done["secrets"]) == (None, ["TELEGRAM_TOKEN"])
    assert "second" not in home.done("as", "me", "/memories")
    assert "old" in kept(home.data, "telegram")
    assert not (home.data / "discord.json").exists()
    database, *state = (Path(path) for path in done["aside"])
    assert ["new" in path.read_text() for path in state] == [False, True]
    home.done("restore", str(database), "--yes")
    assert "second" in home.done("as", "me", "/memories")


def let_files_grow_no_further_than(size_bytes: int) -> Callable[[], object]:
    return partial(resource.setrlimit, resource.RLIMIT_FSIZE, (size_bytes, size_bytes))


@pytest.mark.long
@pytest.mark.parametrize("share", [0.5, 1.02])
def test_a_disk_that_fills_in_the_middle_of_a_backup_leaves_no_half_file(home: Home, share: float) -> None:
    for number in range(4):
        home.done("as", "me", f"/remember noise {number} {os.urandom(12_000).hex()}")
    size_bytes = (home.data / "elefante.db").stat().st_size
    (home.data / "discord.json").write_text(json.dumps(os.urandom(size_bytes).hex()))  # the archive is larger, then
    code, said = home.call("backup", before=let_files_grow_no_further_than(int(size_bytes * share)))
    assert code == 1
    assert "Traceback" not in said
    assert len(said.strip().splitlines()) == 1
    assert "disk" in said or "File too large" in said
    assert list((home.data / "backups").iterdir()) == []
    home.done("backup")


@pytest.mark.long
def test_a_verb_does_not_migrate_under_a_bot_that_runs(home: Home) -> None:
    path = home.put_old_database()
    reading = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[2], isolation_level=None)
connection.execute("PRAGMA journal_mode = WAL")
print(connection.execute("SELECT count(*) FROM memories").fetchone()[0], flush=True)
sys.stdin.read()
"""
    command = [sys.executable, "-c", reading, "elefante", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as older:
        assert older.stdout is not None
        assert older.stdout.readline() == "3\n"
        code, said = home.call("as", "me", "/memories")
        checked = home.done("check")
        older.communicate("")
    assert code == 1
    assert f"(process {older.pid}) has the database open" in said
    assert f"schema 14: the next start backs it up and migrates it to {len(MIGRATIONS)}" in checked
    assert f"is migrated from schema 14 to {len(MIGRATIONS)}" in home.done("migrate")
    assert "nothing to migrate" in home.done("migrate")
    assert "abc123" in home.done("as", "me", "/memories")


@pytest.mark.long
@pytest.mark.parametrize("stored", [False, True])
def test_check_writes_nothing_and_migrates_nothing(home: Home, *, stored: bool) -> None:
    if stored:
        home.put_old_database()
    before = home.files()
    said = home.done("check")
    assert home.files() == before
    assert home.data.exists() == stored
    assert ("migrates it to" if stored else "there is no database yet") in said


@pytest.mark.long
def test_check_reads_the_database_of_a_bot_that_runs(home: Home) -> None:
    with home.start("chat") as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write("Remember that the wifi password is abc123\n")
        running.stdin.flush()
        assert running.stdout.readline()
        assert "elefante.db is sound; people with memories: 1" in home.done("check")
        running.communicate("", timeout=180)
    assert running.returncode == 0


@pytest.mark.long
def test_several_verbs_that_start_together_on_an_old_folder_migrate_it_once(home: Home) -> None:
    path = home.put_old_database()
    started = [home.start("as", "me", "/memories") for _ in range(3)]
    told = [process.communicate("", timeout=180)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0, 0], told
    [backup] = (home.data / "backups").iterdir()
    assert unpack(backup, home.folder / "scratch").about is None
    assert (inspect(backup).version, inspect(path).version) == (14, len(MIGRATIONS))


@pytest.mark.long
async def test_a_bot_that_starts_on_an_old_folder_migrates_it_and_makes_the_backup_of_the_day(tmp_path: Path) -> None:
    home = Home(
        tmp_path / "old", HTTP_PORT=str(free_port()), HTTP_TOKEN="a-secret-of-this-test", ELEFANTE_ENV=os.devnull
    )
    path = home.put_old_database()
    running = await asyncio.to_thread(home.start, "run")
    try:
        async with asyncio.timeout(120):
            while not (made := sorted((home.data / "backups").glob("elefante-*.zip"))):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    finally:
        running.send_signal(signal.SIGTERM)
        said, _ = await asyncio.to_thread(running.communicate)
    assert running.returncode == 0, said
    [before] = (home.data / "backups").glob("before-update-*.db")
    assert inspect(before).version == 14
    held = unpack(made[0], tmp_path / "scratch")
    assert inspect(held.database).people == inspect(path).people == 2
    assert inspect(path).version == len(MIGRATIONS)
