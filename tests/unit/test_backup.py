"""A backup is sound, complete and its owner's only; what is put back is what was copied."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from bot.data_folder import DataFolder
from bot.settings.settings import Settings
from core.errors import Damaged, StorageError
from core.storage.database import Database
from core.storage.memories import SqlMemories
from core.storage.sqlite import open_database
from core.storage.sqlite_backup import copied, in_thread, restore_database, verified
from core.types import MemoryDraft, MemoryKind, UserKey
from tests.fakes.clock import START, FakeClock
from tests.fakes.memories import add

ANA = UserKey("telegram", "1")


async def keep(database: Database, *contents: str) -> None:
    drafts = [MemoryDraft(MemoryKind.TEXT, content, (content,)) for content in contents]
    await add(SqlMemories(database), ANA, drafts, at=START)


async def contents(path: Path) -> set[str]:
    database = await open_database(path)
    try:
        return {item.content for item in await SqlMemories(database).page(ANA, limit=10_000)}
    finally:
        await database.close()


async def copy_database(source: Path, target: Path) -> None:
    await in_thread(partial(copied, source, target))


async def filled(path: Path, *said: str) -> None:
    database = await open_database(path)
    await keep(database, *said)
    await database.close()


async def test_a_copy_made_while_the_bot_writes_is_one_sound_file_of_a_moment(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db")
    await keep(database, *(f"before {n}" for n in range(300)))

    async def write() -> None:
        for number in range(40):
            await keep(database, f"pair {number} a", f"pair {number} b")

    copy = tmp_path / "copies" / "copy.db"
    copy.parent.mkdir()
    await asyncio.gather(copy_database(tmp_path / "elefante.db", copy), write())
    await database.close()
    assert [path.name for path in copy.parent.iterdir()] == ["copy.db"]
    assert copy.stat().st_mode & 0o777 == 0o600
    held = await contents(copy)
    assert {f"before {n}" for n in range(300)} <= held
    assert len([text for text in held if text.startswith("pair")]) % 2 == 0, "a transaction is in it whole or not"


async def test_two_backups_are_not_made_at_once_and_that_is_said(tmp_path: Path) -> None:
    await filled(tmp_path / "elefante.db", "x")
    folders = [DataFolder(Settings(data_dir=tmp_path), FakeClock()) for _ in range(2)]
    with folders[0].alone(), pytest.raises(StorageError, match="another backup is being made"):
        await folders[1].make()
    assert list((tmp_path / "backups").iterdir()) == []
    assert (await folders[1].make()).path.exists()


async def test_a_copy_takes_nobodys_place(tmp_path: Path) -> None:
    await filled(tmp_path / "elefante.db", "x")
    (tmp_path / "copy.db").write_text("mine")
    with pytest.raises(StorageError, match="there already"):
        await copy_database(tmp_path / "elefante.db", tmp_path / "copy.db")
    with pytest.raises(StorageError, match="cannot be written"):
        await copy_database(tmp_path / "elefante.db", tmp_path / "nowhere" / "copy.db")
    assert (tmp_path / "copy.db").read_text() == "mine"


async def test_of_a_broken_database_there_is_no_copy(tmp_path: Path) -> None:
    path = tmp_path / "elefante.db"
    await filled(path, *(f"fact {n}" for n in range(500)))
    raw = bytearray(path.read_bytes())
    raw[4096 * 20 : 4096 * 24] = os.urandom(4096 * 4)
    path.write_bytes(raw)
    with pytest.raises(Damaged):
        await copy_database(path, tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()
    assert not (tmp_path / "copy.db.part").exists()


async def test_what_is_put_back_is_what_was_copied_and_what_was_there_is_kept(tmp_path: Path) -> None:
    path, copy, aside = (tmp_path / name for name in ("elefante.db", "copy.db", "aside.db"))
    await filled(path, "first")
    await copy_database(path, copy)
    await filled(path, "second")
    assert await restore_database(copy, path, aside)
    assert await contents(path) == {"first"}
    assert await contents(aside) == {"first", "second"}
    assert aside.stat().st_mode & 0o777 == 0o600
    assert await contents(copy) == {"first"}


@pytest.mark.long
async def test_nothing_is_put_back_while_the_bot_runs(tmp_path: Path) -> None:
    path, copy = tmp_path / "elefante.db", tmp_path / "copy.db"
    await filled(path, "first")
    await copy_database(path, copy)
    database = await open_database(path)
    await keep(database, "second")
    with pytest.raises(StorageError, match="has the database open: stop it first"):
        await restore_database(copy, path, tmp_path / "aside.db")
    await keep(database, "third")
    await database.close()
    assert await contents(path) == {"first", "second", "third"}
    assert not (tmp_path / "aside.db").exists()


async def test_a_backup_is_put_back_where_there_is_nothing_and_in_place_of_what_nobody_can_read(tmp_path: Path) -> None:
    path, copy, aside = (tmp_path / name for name in ("elefante.db", "copy.db", "aside.db"))
    await filled(path, "first")
    await copy_database(path, copy)
    path.unlink()
    assert not await restore_database(copy, path, aside)
    assert await contents(path) == {"first"}
    path.write_bytes(b"no database at all, for certain" * 1000)
    assert await restore_database(copy, path, aside)
    assert await contents(path) == {"first"}
    assert aside.read_bytes().startswith(b"no database")


async def test_a_database_in_which_a_row_points_nowhere_is_not_sound(tmp_path: Path) -> None:
    path = tmp_path / "elefante.db"
    await filled(path, "x")
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO sources (memory, message) VALUES (999, 1)")
    connection.close()
    with pytest.raises(Damaged, match="not sound"):
        verified(path)


async def test_of_the_backups_in_the_data_folder_the_newest_stay(tmp_path: Path) -> None:
    clock = FakeClock()
    settings = Settings(data_dir=tmp_path, backups_kept=2)
    folder = DataFolder(settings, clock)
    await filled(settings.database_path, "x")
    (tmp_path / "exports").mkdir()
    (tmp_path / "exports" / "elefante-ana.json").write_text("{}")
    made = [await folder.make(), await folder.make()]
    await clock.advance(timedelta(days=1).total_seconds())
    made.append(await folder.make())
    assert made[2].removed == (made[0].path,)
    left = await folder.paths()
    assert [path.name for path in left] == [made[1].path.name, made[2].path.name, "elefante-ana.json"]
    assert made[1].path.name.endswith("_02.zip"), "made within the same second"


async def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "backups").write_text("in the way")
    with pytest.raises(StorageError, match="cannot be made"):
        await DataFolder(Settings(data_dir=tmp_path), FakeClock()).make()
