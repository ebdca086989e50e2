"""Sealing of a database that was not sealed, and opening of it again: what becomes of rows, files and traces."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.sealing import KEYS, convert, finish_conversion, make_key, mark_of, opened_keys
from bot.settings.settings import Settings, load
from bot.wiring import storage
from core.errors import StorageError, Unreadable
from core.sealing.sealed import Sealed
from core.storage import convert as conversions
from core.storage import convert_sqlite
from core.storage.convert import opened, sealed_tables
from core.storage.move_postgres import TABLES
from core.storage.sealed_columns import FEATURES, HISTORY, MEMORIES, SEALED_COLUMNS
from core.storage.sqlite import open_database
from tests.fakes.canaries import PEOPLE, filled, found, with_files

ROWS = 6
Told = Callable[[str, int, int], None]


def quiet(_what: str, _done: int, _rows: int) -> None:
    """Tell nobody."""


@pytest.fixture
async def settings(tmp_path: Path) -> Settings:
    """Return the settings of a bot with a key, over a database and files that are not sealed yet."""
    given = load(None, data_dir=tmp_path / "data", memory_key_file=tmp_path / "etc" / "key")
    make_key(tmp_path / "etc" / "key")
    database = await open_database(given.database_path)
    await database.write(lambda query: filled(query, ROWS))
    await database.close()
    with_files(given.files_folder, 2)
    return given


def rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return all rows of all tables, but the mark."""
    with closing(sqlite3.connect(path)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {
            name: sorted(
                (row for row in connection.execute(f'SELECT * FROM "{name}"') if row[0] != "sealed"),  # noqa: S608
                key=repr,
            )
            for name in names
        }


@pytest.fixture
def keys(settings: Settings) -> Iterator[Sealed]:
    with opened_keys(settings, make=True) as sealed:
        assert sealed is not None
        yield sealed


def seal(settings: Settings, keys: Sealed, told: Told = quiet) -> int:
    return convert(settings, keys, told, opens=False).rows


def test_a_column_is_sealed_once_and_its_table_is_known() -> None:
    assert SEALED_COLUMNS == MEMORIES + HISTORY + FEATURES
    names = [each.name for each in SEALED_COLUMNS]
    assert len(set(names)) == len(names)
    assert {each.table for each in SEALED_COLUMNS} <= {table.name for table in TABLES} | {"files"}
    for table in sealed_tables():
        assert {(each.joined, each.key) for each in table.columns} == {(table.columns[0].joined, table.key)}
        assert not set(table.key) & {each.column for each in table.columns}


async def test_every_word_is_sealed_and_opened_again(settings: Settings, keys: Sealed) -> None:
    before, files = rows(settings.database_path), list(found([settings.files_folder]))
    assert len(files) == 2 * len(PEOPLE)
    assert seal(settings, keys)
    mark = mark_of(settings)
    assert mark is not None
    assert (mark.file, mark.state) == (keys.id, "sealed")
    assert found([settings.data_dir, settings.people_keys.parent]) == []
    after = rows(settings.database_path)
    assert {name: len(those) for name, those in after.items()} == {name: len(those) for name, those in before.items()}
    assert after != before
    with closing(sqlite3.connect(settings.database_path)) as connection:
        whole = opened(connection.execute, keys)
    assert whole.values > ROWS * len(PEOPLE) * 8
    assert not whole.unreadable
    async with storage(settings) as database:
        assert database.sealing.is_on

    assert convert(settings, keys, quiet, opens=True).rows
    assert mark_of(settings) is None
    again = rows(settings.database_path)
    found_again = {"message_terms", "unindexed"}  # by the searches to come
    assert {name: those for name, those in again.items() if name not in found_again} == {
        name: those for name, those in before.items() if name not in found_again
    }
    assert again["message_terms"] == []
    assert len(again["unindexed"]) == ROWS * len(PEOPLE)
    assert sorted(found([settings.files_folder])) == sorted(files)


def test_a_second_time_does_nothing(settings: Settings, keys: Sealed) -> None:
    assert seal(settings, keys)
    before = settings.database_path.read_bytes()
    assert seal(settings, keys) == 0
    assert settings.database_path.read_bytes() == before


@pytest.mark.long
async def test_it_is_refused_while_the_bot_runs(settings: Settings, keys: Sealed) -> None:
    database = await open_database(settings.database_path)
    try:
        with pytest.raises(StorageError, match="stop it first"):
            seal(settings, keys)
    finally:
        await database.close()
    assert seal(settings, keys)


def test_what_a_conversion_replaced_is_gone_under_each_of_its_names(settings: Settings, keys: Sealed) -> None:
    """Another name of the old file, as a crash leaves one, holds no word either."""
    kept, wal = settings.data_dir / "kept", settings.data_dir / "elefante.db-wal"
    kept.hardlink_to(settings.database_path)
    with closing(sqlite3.connect(settings.database_path)) as other:  # a bot that was killed leaves its log
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("UPDATE reminders SET name = 'zqincanary'")
        other.commit()
        copy = settings.data_dir / "copy-wal"
        shutil.copyfile(wal, copy)
        stale = settings.data_dir / "copy.db"
        shutil.copyfile(settings.database_path, stale)
    shutil.copyfile(copy, wal)
    (settings.data_dir / "log").hardlink_to(wal)
    copy.unlink()
    stale.unlink()
    assert seal(settings, keys)
    assert not wal.exists()
    assert found([kept, settings.data_dir / "log"]) == []
    assert sorted(path.name for path in settings.data_dir.iterdir() if path.is_file()) == ["elefante.db", "kept", "log"]


def test_a_value_that_does_not_open_changes_nothing(
    settings: Settings, keys: Sealed, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = rows(settings.database_path)

    def refuse(*_: object) -> str:
        raise Unreadable("a broken key")

    monkeypatch.setattr(Sealed, "open", refuse)
    with pytest.raises(Unreadable):
        seal(settings, keys)
    assert rows(settings.database_path) == before
    assert sorted(path.name for path in settings.data_dir.iterdir()) == ["elefante.db", "files"]


@pytest.mark.parametrize("opens", [False, True])
def test_a_conversion_killed_between_two_steps_is_ended_by_the_next_start(
    settings: Settings, keys: Sealed, opens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call that changes names is the last of a process once; then the data are of one side, whole."""
    if opens:
        seal(settings, keys)
    calls = 0
    at = -1

    class Killed(BaseException):
        pass

    def counted(function: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **named: object) -> object:
            nonlocal calls
            calls += 1
            if calls == at:
                raise Killed
            return function(*args, **named)

        return call

    whole = settings.data_dir.with_name("whole")
    shutil.copytree(settings.data_dir, whole)
    for name in ("rename", "replace", "unlink", "mkdir"):
        monkeypatch.setattr(Path, name, counted(getattr(Path, name)))
    for module in (convert_sqlite, conversions):
        monkeypatch.setattr(module, "settle", counted(module.settle))
    monkeypatch.setattr(os, "link", counted(os.link))
    convert(settings, keys, quiet, opens=opens)
    steps = calls
    assert steps > 10
    for at in range(1, steps + 1):
        shutil.rmtree(settings.data_dir)
        shutil.copytree(whole, settings.data_dir)
        calls = 0
        with pytest.raises(Killed):
            convert(settings, keys, quiet, opens=opens)
        calls = steps + 1
        finish_conversion(settings)
        is_sealed = mark_of(settings) is not None
        assert len(list(settings.files_folder.rglob("*"))) == 3 * len(PEOPLE)
        if is_sealed:
            assert found([settings.data_dir]) == [], at
        else:
            assert len(found([settings.files_folder])) == 2 * len(PEOPLE), at
        assert sorted(path.name for path in settings.data_dir.iterdir()) == ["elefante.db", "files"]
        convert(settings, keys, quiet, opens=opens)
        assert (mark_of(settings) is None) is opens


def test_a_key_file_of_another_database_is_refused(settings: Settings, keys: Sealed, tmp_path: Path) -> None:
    seal(settings, keys)
    other = settings.model_copy(update={"people_keys_file": tmp_path / "other" / "keys.db"})
    with opened_keys(other, make=True) as sealed:
        assert sealed is not None
        with pytest.raises(StorageError, match="another key file"):
            convert(other, sealed, quiet, opens=True)
    assert KEYS
