"""What deleted rows left in a database file is zeroed while others go on using it."""

from __future__ import annotations

import asyncio
import gc
import random
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from core.errors import StorageError
from core.storage.database import Database, Query
from core.storage.sqlite import open_database
from core.storage.sqlite_scrub import remains

NOTES = (("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)", "CREATE INDEX notes_text ON notes (text)"),)
WORD = re.compile(rb"zq\d{5}")


def on_disk(folder: Path) -> set[bytes]:
    return set(WORD.findall(b"".join(file.read_bytes() for file in folder.iterdir())))


async def fill(database: Database, seed: int = 1, count: int = 400) -> None:
    """Write and delete rows of many lengths in no order, so that pages are divided and joined."""
    dice = random.Random(seed)  # noqa: S311 - data

    def job(query: Query) -> None:
        for number in range(count // 10):
            text = f"zq{dice.randrange(10**5):05} " * dice.choice([1, 5, 40, 900])
            row = dice.randrange(count) if number % 2 else None
            query.run("INSERT OR REPLACE INTO notes VALUES (?, ?)", (row, text))

    for _ in range(10):
        await database.write(job)


async def delete(database: Database) -> None:
    await database.write(lambda query: query.run("DELETE FROM notes"))


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Read in another connection, which needs the log for as long as that takes."""
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM notes").fetchone()
        yield


async def test_no_byte_is_left_and_the_file_stays_sound(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db", NOTES)
    await fill(database)
    await database.write(lambda query: query.run("DELETE FROM notes WHERE id % 3"))
    kept = {word.encode() for (text,) in await database.rows("SELECT text FROM notes") for word in text.split()}
    await database.truncate_log()
    assert on_disk(tmp_path) > kept, "pages that were divided keep copies"
    await database.scrub()
    assert on_disk(tmp_path) == kept
    assert await database.rows("PRAGMA integrity_check") == [("ok",)]
    await database.close()


async def test_what_is_written_meanwhile_is_kept_and_what_was_deleted_does_not_come_back(tmp_path: Path) -> None:
    """Connections keep pages in memory, and write them whole: with what was zeroed on the disk, if nobody told them."""
    database = await open_database(tmp_path / "elefante.db", NOTES)
    await fill(database)
    await database.write(lambda query: query.run("DELETE FROM notes WHERE id % 3"))
    kept = {word.encode() for (text,) in await database.rows("SELECT text FROM notes") for word in text.split()}
    scrubbing = asyncio.create_task(database.scrub())
    written = 0

    def beside(query: Query) -> None:
        query.run("UPDATE notes SET text = text || '' WHERE id % 7 = ?", (written % 7,))
        query.run("INSERT INTO notes (text) VALUES (?)", (f"meanwhile {written} " * (written % 50),))

    while not scrubbing.done():
        await database.write(beside)
        written += 1
    await scrubbing
    await database.write(lambda query: query.run("UPDATE notes SET text = text || ' more'"))
    assert on_disk(tmp_path) == kept
    assert await database.rows("SELECT count(*) FROM notes WHERE text GLOB 'meanwhile*' OR text = ' more'") == [
        (written,)
    ]
    assert await database.rows("PRAGMA integrity_check") == [("ok",)]
    await database.close()


async def test_a_save_does_not_wait_for_a_scrub_that_waits_for_a_reader(tmp_path: Path) -> None:
    path = tmp_path / "elefante.db"
    database = await open_database(path, NOTES)
    await fill(database)
    with reading(path):
        await delete(database)
        scrubbing = asyncio.create_task(database.scrub())
        for _ in range(20):
            await database.write(lambda query: query.run("INSERT INTO notes (text) VALUES ('saved')"))
        assert not scrubbing.done()
    await scrubbing
    assert on_disk(tmp_path) == set()
    assert await database.rows("SELECT count(*) FROM notes") == [(20,)]
    await database.close()


async def test_a_scrub_finds_no_moment_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.storage.sqlite_scrub._PATIENCE_S", 0.0)
    path = tmp_path / "elefante.db"
    database = await open_database(path, NOTES)
    await fill(database)
    with reading(path):
        await delete(database)
        with pytest.raises(StorageError, match="in use"):
            await database.scrub()
    await database.scrub()
    assert on_disk(tmp_path) == set()
    await database.close()


async def test_closing_ends_a_scrub(tmp_path: Path) -> None:
    path = tmp_path / "elefante.db"
    database = await open_database(path, NOTES)
    await fill(database)
    with reading(path):
        await delete(database)
        scrubbing = asyncio.create_task(database.scrub())
        await asyncio.sleep(0)
        closing_ = asyncio.create_task(database.close())
        with pytest.raises(StorageError, match="stopped"):
            await scrubbing
    await closing_


async def test_a_scrub_that_is_cancelled_leaves_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "elefante.db"
    database = await open_database(path, NOTES)
    await fill(database)
    logged: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: logged.append(context))
    with reading(path):
        await delete(database)
        scrubbing = asyncio.create_task(database.scrub())
        await asyncio.sleep(0)
        scrubbing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await scrubbing
    del scrubbing
    gc.collect()
    assert logged == []
    await database.close()


async def test_those_who_ask_together_are_served_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[object] = []
    monkeypatch.setattr("core.storage.sqlite.scrub", lambda *given: runs.append(given))
    database = await open_database(tmp_path / "elefante.db", NOTES)
    await asyncio.gather(*(database.scrub() for _ in range(9)))
    assert len(runs) <= 2
    runs.clear()
    async with database.scrubbing_once():
        await database.scrub()
        await database.scrub()
        assert runs == []
    assert len(runs) == 1
    await database.close()


@pytest.mark.parametrize("page", [bytes(4096), bytes([13, 255]) * 2048, b"\x0d" + b"\xff" * 4095, b"\x05" * 4096])
def test_a_page_that_is_no_sound_b_tree_page_is_left_alone(page: bytes) -> None:
    assert remains(page, 4096) == []
