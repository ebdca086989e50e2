"""A database of an older version is backed up, migrated while nobody else has it open, or left as it was."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from core.errors import DiskFull, SchemaTooNew, SchemaTooOld, StorageError
from core.features.preferences.storage import PreferenceStore
from core.storage.database import Row
from core.storage.memories import SqlMemories
from core.storage.record import program_version
from core.storage.sqlite import open_copy, open_database
from core.storage.sqlite_backup import verified
from core.storage.sqlite_migrations import MIGRATIONS, Migration
from core.storage.sqlite_upgrade import KEPT, inspect
from core.types import Locale, Preferences, UserKey

NOW = len(MIGRATIONS)
LATER: tuple[Migration, ...] = (
    *MIGRATIONS,
    (
        "ALTER TABLE preferences ADD COLUMN tone TEXT NOT NULL DEFAULT ''",
        "UPDATE preferences SET tone = 'warm' WHERE language = 'es'",
    ),
)
"""What follows, made up: a column, and what the rows of before have in it."""

ANA, BIA = UserKey("telegram", "7"), UserKey("telegram", "5")


async def old_folder(folder: Path) -> Path:
    """Put a database of the version before `LATER` into the folder and return its path."""
    database = await open_database(folder / "elefante.db")
    for user, language in ((ANA, Locale.ES), (BIA, Locale.EN)):
        await PreferenceStore(database).put(user, Preferences(language, zone="Asia/Kathmandu"))
    await database.close()
    return folder / "elefante.db"


async def tones(path: Path) -> list[Row]:
    """Open the database as a program of the next version does, and return what it knows."""
    database = await open_database(path, LATER)
    rows = await database.rows("SELECT user, language, zone, tone FROM preferences ORDER BY user")
    await database.close()
    return rows


AFTER = [("5", "en", "Asia/Kathmandu", ""), ("7", "es", "Asia/Kathmandu", "warm")]


def backups(folder: Path) -> list[Path]:
    return sorted((folder / "backups").glob("*"))


def history(path: Path) -> list[tuple[int, str, str]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT version, program, backup FROM schema_history ORDER BY version").fetchall()


async def test_an_old_database_is_brought_to_the_next_version_with_all_that_is_in_it(tmp_path: Path) -> None:
    path = await old_folder(tmp_path)
    assert await tones(path) == AFTER
    [_, (migrated, program, backup)] = history(path)
    assert (migrated, program) == (NOW + 1, program_version())
    [kept] = backups(tmp_path)
    assert backup == str(kept)
    assert kept.stat().st_mode & 0o777 == 0o600
    assert inspect(kept).version == NOW
    with closing(sqlite3.connect(kept)) as connection:
        assert connection.execute("SELECT user, zone FROM preferences ORDER BY user").fetchall() == [
            (user, zone) for user, _, zone, _ in AFTER
        ]


@pytest.mark.parametrize(
    ("program", "said"), [("0.1.0", "with Elefante 0.1.0 ("), ("", "with the version that wrote it (")]
)
async def test_a_database_of_before_the_baseline_is_refused_and_left_as_it_is(
    tmp_path: Path, program: str, said: str
) -> None:
    path = await old_folder(tmp_path)
    baseline = next(number for number, step in enumerate(MIGRATIONS, 1) if step)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE schema_history SET program = ?", (program,))
        connection.execute(f"PRAGMA user_version = {baseline - 1}")
    before = path.read_bytes()
    for look in (inspect, verified):
        with pytest.raises(SchemaTooOld, match=rf"schema {baseline - 1} of an older Elefante"):
            look(path)
    with pytest.raises(SchemaTooOld) as refused:
        await open_database(path)
    assert said in str(refused.value)
    assert "`elefante export --user PLATFORM:ID`" in str(refused.value)
    assert "`elefante import FILE`" in str(refused.value)
    assert path.read_bytes() == before
    assert not backups(tmp_path)


@pytest.mark.long
async def test_nothing_is_migrated_while_another_program_has_it_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.storage.sqlite_upgrade._PATIENCE_S", 0.1)
    path = await old_folder(tmp_path)
    holding = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("PRAGMA journal_mode = WAL")
print(connection.execute("SELECT count(*) FROM preferences").fetchone(), flush=True)
sys.stdin.read()
"""
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", holding, str(path), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdout is not None
    await other.stdout.readline()
    with pytest.raises(StorageError) as refused:
        await open_database(path, LATER)
    assert inspect(path).version == NOW
    assert not (tmp_path / "backups").exists()
    await other.communicate(b"")
    assert f"process {other.pid} has the database open" in str(refused.value)
    assert "Stop that process" in str(refused.value)
    assert await tones(path) == AFTER


def failing() -> tuple[tuple[str, ...], ...]:
    return (*MIGRATIONS, ("CREATE TABLE half (x)", "SELECT nonsense"))


async def test_a_migration_that_fails_leaves_all_as_it_was_and_says_where_the_backup_is(tmp_path: Path) -> None:
    path = await old_folder(tmp_path)
    with pytest.raises(StorageError) as failed:
        await open_database(path, failing())
    [backup] = backups(tmp_path)
    assert f"schema {NOW} could not become {NOW + 1}, and is as it was" in str(failed.value)
    assert str(backup) in str(failed.value)
    assert inspect(path).version == inspect(backup).version == NOW
    assert await tones(path) == AFTER


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
    path = await old_folder(tmp_path)
    with monkeypatch.context() as here:
        here.setattr("core.storage.sqlite._make_private", lambda _: None)
        trouble(here)
        with pytest.raises(kind, match=said) as refused:
            await open_database(path, LATER)
    assert "not migrated, as no backup could be made" in str(refused.value)
    assert inspect(path).version == NOW


async def test_a_new_file_is_made_without_a_backup_and_says_who_made_it(tmp_path: Path) -> None:
    await (await open_database(tmp_path / "elefante.db")).close()
    assert history(tmp_path / "elefante.db") == [(NOW, program_version(), "")]
    assert not backups(tmp_path)


async def test_backups_of_the_last_migrations_stay_and_older_ones_go(tmp_path: Path) -> None:
    path, steps = tmp_path / "elefante.db", MIGRATIONS
    for number in range(KEPT + 2):
        await (await open_database(path, steps)).close()
        steps = (*steps, (f"CREATE TABLE later_{number} (x)",))
    await (await open_database(path, steps)).close()
    versions = sorted(inspect(backup, steps).version for backup in backups(tmp_path))
    assert versions == [NOW + KEPT - 1, NOW + KEPT, NOW + KEPT + 1]
    assert [version for version, _, _ in history(path)] == list(range(NOW, NOW + KEPT + 3))


async def test_an_older_program_says_which_is_needed_and_where_the_backup_lies(tmp_path: Path) -> None:
    path = await old_folder(tmp_path)
    await tones(path)
    [_, (_, _, backup)] = history(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE schema_history SET program = '7.1.0'")
    with pytest.raises(SchemaTooNew) as refused:
        await open_database(path)
    with pytest.raises(SchemaTooNew, match=r"7\.1\.0"):
        await open_copy(path)
    assert str(refused.value) == (
        f"the database has schema {NOW + 1} of Elefante 7.1.0; this is Elefante {program_version()}, which "
        f"knows {NOW}. Update the program to 7.1.0 or newer; or go back to what was there before: "
        f"`elefante restore {backup}`"
    )
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE schema_history")
    with pytest.raises(SchemaTooNew, match=r"of a newer Elefante; .*: update the program"):
        await open_database(path)


async def test_two_programs_that_start_together_migrate_once(tmp_path: Path) -> None:
    path = await old_folder(tmp_path)
    opened = await asyncio.gather(*(open_database(path, LATER) for _ in range(4)))
    for database in opened:
        await database.close()
    assert (len(history(path)), len(backups(tmp_path))) == (2, 1)


async def test_vectors_of_before_become_halves_and_find_as_they_did(tmp_path: Path) -> None:
    path, vector = tmp_path / "elefante.db", np.array([0.6, -0.8, 1 / 3], np.float32)
    before = MIGRATIONS[: next(number for number, step in enumerate(MIGRATIONS, 1) if step)]
    await (await open_database(path, before)).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO owners (id, platform, user) VALUES (1, ?, ?)", (ANA.platform, ANA.user))
        connection.execute(
            "INSERT INTO memories (id, key, owner, kind, content, digest, created_at, updated_at)"
            " VALUES (1, 'm', 1, 'text', 'tea', x'', 0, 0)"
        )
        connection.execute("INSERT INTO phrases VALUES (7, 1, 1, 'tea', 0)")
        connection.execute("INSERT INTO spaces VALUES (1, 'made@3')")
        connection.execute("INSERT INTO vectors VALUES (7, 1, ?)", (vector.tobytes(),))
    database = await open_database(path)
    ids, vectors = await SqlMemories(database).vectors(ANA, "made@3")
    [(length,)] = await database.rows("SELECT length(vector) FROM vectors")
    await database.close()
    assert (ids, length) == ([7], 2 * len(vector))
    assert np.abs(vectors - vector).max() < 0.0005
