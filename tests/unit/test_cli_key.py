"""`elefante key`, as an owner types it: each verb, what it prints, and what it refuses before anything is changed."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bot.cli.key import check
from bot.cli.main import app
from bot.settings.settings import load
from bot.wiring import storage
from core.errors import ConfigError, StorageError, WrongKey
from core.storage.sqlite import open_database
from tests.fakes.canaries import PEOPLE, filled, found, with_files

Elefante = Callable[..., Result]


@pytest.fixture
def elefante(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Elefante:
    """Run the command with its settings and data in a folder of its own; an error is raised as it is."""
    (tmp_path / ".env").write_text(f"DATA_DIR={tmp_path / 'data'}\n")
    monkeypatch.setenv("ELEFANTE_ENV", str(tmp_path / ".env"))
    monkeypatch.setattr("bot.cli.shell.logs.configure", lambda *_: None)  # it would take the place of pytest's own
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    return lambda *arguments: runner.invoke(app, ["key", *arguments], catch_exceptions=False)


def fill(folder: Path) -> None:
    async def write() -> None:
        database = await open_database(folder / "elefante.db")
        await database.write(lambda query: filled(query, 3))
        await database.close()

    asyncio.run(write())
    with_files(folder / "files", 1)


def let(folder: Path, line: str) -> None:
    """Write a line into the settings file."""
    with (folder / ".env").open("a") as file:
        file.write(f"{line}\n")


def test_a_life_with_a_key(elefante: Elefante, tmp_path: Path) -> None:
    fill(tmp_path / "data")
    with pytest.raises(ConfigError, match="key make PATH"):
        elefante("seal", "--yes")
    told = elefante("make", "etc/key").stdout
    assert "reads nothing" in told
    assert "keep a copy of both" in told
    let(tmp_path, told.rpartition("Write ")[2].partition(" into")[0])
    assert elefante("check").exit_code == 1
    assert "is not sealed: stop the bot, then `elefante key seal`" in elefante("check").stdout
    told = elefante("seal", "--yes").stdout
    assert "is sealed: " in told
    assert "files: 3" in told
    assert found([tmp_path / "data"]) == []
    assert "is sealed already" in elefante("seal", "--yes").stdout
    ok = elefante("check")
    assert ok.exit_code == 0, ok.stdout
    assert f"people's keys: {len(PEOPLE)} in" in ok.stdout
    assert "and 3 files, and each opens" in ok.stdout

    (tmp_path / "copy").mkdir()
    assert "opens with no older copy" in elefante("backup", "copy/keys.db").stdout
    assert (tmp_path / "copy" / "keys.db").stat().st_mode & 0o777 == 0o600
    told = elefante("rotate", "etc/key-2").stdout
    assert "names the new one" in told
    assert load(tmp_path / ".env").memory_key_file == tmp_path / "etc" / "key-2"
    assert elefante("check").exit_code == 0
    let(tmp_path, "MEMORY_KEY_FILE=etc/key")
    with pytest.raises(WrongKey, match="not the one"):
        elefante("check")
    let(tmp_path, "MEMORY_KEY_FILE=etc/key-2")

    assert "is open: " in elefante("unseal", "--yes").stdout
    assert len(found([tmp_path / "data" / "files"])) == len(PEOPLE)
    assert "is not sealed" in elefante("unseal", "--yes").stdout


def test_programs_read_json(elefante: Elefante, tmp_path: Path) -> None:
    fill(tmp_path / "data")
    made = json.loads(elefante("make", "etc/key", "--json").stdout)
    let(tmp_path, made["setting"])
    assert json.loads(elefante("seal", "--yes", "--json").stdout)["rows"] > 0
    report = json.loads(elefante("check", "--json").stdout)
    assert (report["ok"], report["state"], report["unreadable"], report["plain"]) == (True, "sealed", {}, [])
    assert json.loads(elefante("backup", "copy.db", "--json").stdout)["people"] == len(PEOPLE)
    assert json.loads(elefante("rotate", "etc/key-2", "--json").stdout)["settings"] == str(tmp_path / ".env")
    assert json.loads(elefante("unseal", "--yes", "--json").stdout)["files"] == len(PEOPLE)


def test_what_is_refused_changes_nothing(elefante: Elefante, tmp_path: Path) -> None:
    fill(tmp_path / "data")
    for path in ("data/key", "data/backups/key"):
        with pytest.raises(ConfigError, match="whoever copies"):
            elefante("make", path)
    elefante("make", "etc/key")
    with pytest.raises(StorageError, match="never written over"):
        elefante("make", "etc/key")
    let(tmp_path, "MEMORY_KEY_FILE=etc/key")
    with pytest.raises(ConfigError, match="say --yes"):
        elefante("seal")
    assert found([tmp_path / "data"])
    elefante("seal", "--yes")
    with pytest.raises(ConfigError, match="whoever copies"):
        elefante("backup", "data/keys.db")
    with pytest.raises(ConfigError, match="no receipt"):
        elefante("check", "--forgotten", "banana")
    shutil.rmtree(tmp_path / "data.keys")
    for verb in (("check",), ("rotate", "etc/key-2"), ("backup", "copy.db"), ("unseal", "--yes"), ("seal", "--yes")):
        with pytest.raises(StorageError, match="the people's keys are gone"):
            elefante(*verb)
    assert not (tmp_path / "data.keys").exists()


@pytest.mark.long
def test_a_key_is_rotated_only_while_no_bot_runs(elefante: Elefante, tmp_path: Path) -> None:
    elefante("make", "etc/key")
    let(tmp_path, "MEMORY_KEY_FILE=etc/key")
    settings = load(tmp_path / ".env")

    async def run() -> None:
        async with storage(settings):
            with pytest.raises(StorageError, match="stop it first"):
                await asyncio.to_thread(elefante, "rotate", "etc/key-2")
            assert (await asyncio.to_thread(check, settings))["ok"], "a look at it disturbs nobody"

    asyncio.run(run())
    assert not (tmp_path / "etc" / "key-2").exists()
    assert elefante("rotate", "etc/key-2").exit_code == 0


def test_values_that_do_not_open_are_told_with_whose_they_are(elefante: Elefante, tmp_path: Path) -> None:
    fill(tmp_path / "data")
    elefante("make", "etc/key")
    let(tmp_path, "MEMORY_KEY_FILE=etc/key")
    elefante("seal", "--yes")
    older = tmp_path / "older.db"
    elefante("backup", str(older))
    settings = load(tmp_path / ".env")

    async def add() -> None:
        async with storage(settings) as database:
            await database.change(
                "UPDATE threads SET title = ? WHERE id = 'thread-0'",
                (database.sealing.seal(PEOPLE[0], "threads.title", "thread-1", "moved"),),
            )

    asyncio.run(add())
    done = elefante("check")
    assert done.exit_code == 1
    assert f"values that do not open: {PEOPLE[0]}: 1" in done.stdout
    next(path for path in (tmp_path / "data" / "files").rglob("*") if path.is_file()).write_bytes(b"broken")
    assert "files that do not open: 1" in elefante("check").stdout


def test_there_is_nothing_to_give_up_where_every_key_is_there(elefante: Elefante, tmp_path: Path) -> None:
    fill(tmp_path / "data")
    elefante("make", "etc/key")
    let(tmp_path, "MEMORY_KEY_FILE=etc/key")
    elefante("seal", "--yes")
    assert elefante("drop").stdout == "No key is lost.\n"
    assert json.loads(elefante("drop", "--json").stdout) == {"keys": 0}
