"""A database of an older version is backed up, migrated while nobody else has it open, or left as it was."""

from __future__ import annotations

import asyncio
import gzip
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from bot.settings.settings import Settings
from bot.wiring import build
from core.errors import DiskFull, SchemaTooNew, StorageError
from core.storage.record import program_version
from core.storage.sqlite import open_database
from core.storage.sqlite_migrations import MIGRATIONS
from core.storage.sqlite_upgrade import KEPT, inspect
from core.types import ChatKey, ConversationKey, Role, UserKey

DATA = Path(__file__).parents[1] / "data"
FIRST, MIDDLE = 3, 14
NOTES: tuple[tuple[str, ...], ...] = (("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)",),)
ANA, BIA, OLGA, EVE = (
    UserKey(*name) for name in (("console", "ana"), ("telegram", "7"), ("telegram", "5"), ("telegram", "9"))
)


def old_folder(folder: Path, version: int) -> Path:
    """Put the database of that version into the folder and return its path."""
    path = folder / "elefante.db"
    path.write_bytes(gzip.decompress((DATA / f"database_v{version}.db.gz").read_bytes()))
    return path


class Found(NamedTuple):
    ana: list[str]
    bia: list[str]
    said: list[str]


async def found(folder: Path) -> Found:
    """Open the bot as a start does, and return what it knows."""
    async with build(Settings(data_dir=folder)) as app:
        memories = app.features.memories
        talk = ConversationKey(ChatKey("console", "terminal"), ANA)
        thread = (await app.conversations.store.threads(ANA))[0]
        assert thread.conversation == talk
        messages = await app.conversations.store.tail(thread.id, 50)
        mine = memories.of(ANA)
        question = "what is the wifi password?"
        hits = await mine.search([question], await mine.embed_queries([question]))
        assert "abc123" in hits[0].item.content, "it is found by words and by what it means"
        kept = {who: sorted([item.content for item in await memories.of(who).page(limit=9)]) for who in (ANA, BIA)}
        return Found(kept[ANA], kept[BIA], [str(message.content) for message in messages])


def backups(folder: Path) -> list[Path]:
    return sorted((folder / "backups").glob("*"))


def history(path: Path) -> list[tuple[int, str, str]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT version, program, backup FROM schema_history ORDER BY version").fetchall()


def said_in(path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT * FROM messages ORDER BY id").fetchall()


@pytest.mark.parametrize("version", [FIRST, MIDDLE])
async def test_an_old_folder_is_brought_to_today_with_all_that_is_in_it(tmp_path: Path, version: int) -> None:
    path = old_folder(tmp_path, version)
    now = await found(tmp_path)
    assert sorted(now.ana) == ["my dog is called Rex", "the wifi password is abc123"]
    assert now.bia == ["Meu voo sai às 9h15"]
    assert any("What is the wifi password?" in said for said in now.said)
    [(migrated, program, backup)] = history(path)
    assert (migrated, program) == (len(MIGRATIONS), program_version())
    assert inspect(path).version == len(MIGRATIONS)
    [kept] = backups(tmp_path)
    assert backup == str(kept)
    assert kept.stat().st_mode & 0o777 == 0o600
    assert inspect(kept).version == version
    assert said_in(kept) == said_in(old_folder(tmp_path, version))


async def test_roles_of_an_old_folder_hold(tmp_path: Path) -> None:
    old_folder(tmp_path, MIDDLE)
    async with build(Settings(data_dir=tmp_path)) as app:
        roles = {person.user: person.role for person in await app.features.access.people()}
    assert roles == {BIA: Role.MEMBER, OLGA: Role.OWNER, EVE: Role.BLOCKED}


async def test_nothing_is_migrated_while_another_program_has_it_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.storage.sqlite_upgrade._PATIENCE_S", 0.1)
    path = old_folder(tmp_path, MIDDLE)
    holding = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("PRAGMA journal_mode = WAL")
print(connection.execute("SELECT count(*) FROM memories").fetchone(), flush=True)
sys.stdin.read()
"""
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", holding, str(path), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdout is not None
    await other.stdout.readline()
    with pytest.raises(StorageError) as refused:
        await open_database(path)
    assert inspect(path).version == MIDDLE
    assert not (tmp_path / "backups").exists()
    await other.communicate(b"")
    assert f"process {other.pid} has the database open" in str(refused.value)
    assert "Stop that process" in str(refused.value)
    assert "abc123" in "".join((await found(tmp_path)).ana)


def failing() -> tuple[tuple[str, ...], ...]:
    return (*MIGRATIONS, ("CREATE TABLE half (x)", "SELECT nonsense"))


async def test_a_migration_that_fails_leaves_all_as_it_was_and_says_where_the_backup_is(tmp_path: Path) -> None:
    path = old_folder(tmp_path, MIDDLE)
    with pytest.raises(StorageError) as failed:
        await open_database(path, failing())
    [backup] = backups(tmp_path)
    assert f"schema {MIDDLE} could not become {len(MIGRATIONS) + 1}, and is as it was" in str(failed.value)
    assert str(backup) in str(failed.value)
    assert inspect(path).version == inspect(backup).version == MIDDLE
    assert "abc123" in "".join((await found(tmp_path)).ana)


def no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    def usage(folder: Path) -> object:
        return shutil._ntuple_diskusage(10**9, 10**9 - 10**6, 10**6)

    monkeypatch.setattr(shutil, "disk_usage", usage)


def somebodys_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "mkdir", refuse)


def refuse(*_: object, **__: object) -> None:
    raise PermissionError(13, "Permission denied")


@pytest.mark.parametrize(
    ("trouble", "kind", "said"),
    [(no_room, DiskFull, "BACKUP_DIR"), (somebodys_file, StorageError, "Permission denied")],
)
async def test_without_a_backup_nothing_is_migrated(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    trouble: Callable[[pytest.MonkeyPatch], None],
    kind: type[StorageError],
    said: str,
) -> None:
    path = old_folder(tmp_path, MIDDLE)
    with monkeypatch.context() as here:
        here.setattr("core.storage.sqlite._make_private", lambda _: None)
        trouble(here)
        with pytest.raises(kind, match=said) as refused:
            await open_database(path)
    assert "not migrated, as no backup could be made" in str(refused.value)
    assert inspect(path).version == MIDDLE


async def test_a_new_file_is_made_without_a_backup_and_says_who_made_it(tmp_path: Path) -> None:
    await (await open_database(tmp_path / "elefante.db")).close()
    assert history(tmp_path / "elefante.db") == [(len(MIGRATIONS), program_version(), "")]
    assert not backups(tmp_path)


async def test_backups_of_the_last_migrations_stay_and_older_ones_go(tmp_path: Path) -> None:
    path, steps = tmp_path / "elefante.db", NOTES
    for number in range(KEPT + 2):
        await (await open_database(path, steps)).close()
        steps = (*steps, (f"CREATE TABLE later_{number} (x)",))
    await (await open_database(path, steps)).close()
    versions = sorted(inspect(backup).version for backup in backups(tmp_path))
    assert versions == [KEPT, KEPT + 1, KEPT + 2]
    assert [version for version, _, _ in history(path)] == list(range(1, KEPT + 4))


async def test_an_older_program_says_which_is_needed_and_where_the_backup_lies(tmp_path: Path) -> None:
    path = old_folder(tmp_path, MIDDLE)
    await (await open_database(path)).close()
    [(_, _, backup)] = history(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE schema_history SET program = '7.1.0'")
    with pytest.raises(SchemaTooNew) as refused:
        await open_database(path, MIGRATIONS[:MIDDLE])
    assert str(refused.value) == (
        f"the database has schema {len(MIGRATIONS)} of Elefante 7.1.0; this is Elefante {program_version()}, which "
        f"knows {MIDDLE}. Update the program to 7.1.0 or newer; or go back to what was there before: "
        f"`elefante restore {backup}`"
    )
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE schema_history")
    with pytest.raises(SchemaTooNew, match=r"of a newer Elefante; .*: update the program"):
        await open_database(path, MIGRATIONS[:MIDDLE])


async def test_two_programs_that_start_together_migrate_once(tmp_path: Path) -> None:
    path = old_folder(tmp_path, FIRST)
    opened = await asyncio.gather(*(open_database(path) for _ in range(4)))
    for database in opened:
        await database.close()
    assert len(history(path)) == len(backups(tmp_path)) == 1
