"""The database: private, whole, current, or refused with a reason."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from core.errors import Damaged, StorageError
from core.storage.database import Database, Query
from core.storage.sqlite import open_copy, open_database
from core.storage.sqlite_schema import APPLICATION_ID

Opener: TypeAlias = Callable[..., Awaitable[Database]]

NOTES = (("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)",),)


def modes(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}


async def texts(database: Database) -> list[str]:
    return [text for (text,) in await database.rows("SELECT text FROM notes ORDER BY id")]


async def write(database: Database, *notes: str) -> None:
    rows = [(note,) for note in notes]
    await database.write(lambda query: query.run_many("INSERT INTO notes (text) VALUES (?)", rows))


def note(*notes: str) -> Callable[[Query], list[str]]:
    """Return the job that writes notes and returns all there are."""

    def job(query: Query) -> list[str]:
        query.run_many("INSERT INTO notes (text) VALUES (?)", ((each,) for each in notes))
        return [text for (text,) in query.run("SELECT text FROM notes ORDER BY id")]

    return job


def fail(query: Query) -> None:
    note("half")(query)
    raise KeyError


async def test_every_file_of_it_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "deep" / "er" / "elefante.db", NOTES)
    await write(database, "secret")
    assert list(modes(tmp_path / "deep" / "er").values()) == [0o600] * 3
    assert modes(tmp_path / "deep") == {"er": 0o700}
    await database.close()


async def test_a_file_that_others_could_read_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / "elefante.db"
    path.write_bytes(b"")
    path.chmod(0o644)
    await (await open_database(path, NOTES)).close()
    assert modes(tmp_path) == {"elefante.db": 0o600}


async def test_it_writes_through_to_the_disk_and_keeps_its_promises(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db", NOTES)
    names = ("journal_mode", "synchronous", "foreign_keys", "secure_delete", "application_id")
    values = await database.write(lambda query: [query.run(f"PRAGMA {name}")[0][0] for name in names])
    assert values == ["wal", 2, 1, 1, APPLICATION_ID]
    await database.close()


async def test_after_closing_everything_stands_in_the_one_file(tmp_path: Path) -> None:
    path = tmp_path / "elefante.db"
    database = await open_database(path, NOTES)
    await write(database, "kept")
    await database.close()
    await database.close()
    assert list(modes(tmp_path)) == [path.name]
    assert b"kept" in path.read_bytes()


async def test_writers_wait_for_each_other_and_readers_see_only_what_is_committed(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db", NOTES)
    begun, go_on = threading.Event(), threading.Event()

    def job(query: Query) -> None:
        query.run("INSERT INTO notes (text) VALUES ('first')")
        begun.set()
        go_on.wait()

    first = asyncio.create_task(database.write(job))
    await asyncio.to_thread(begun.wait)
    second = asyncio.create_task(write(database, "second"))
    assert await texts(database) == []
    assert not second.done()
    go_on.set()
    await asyncio.gather(first, second)
    assert await texts(database) == ["first", "second"]
    await database.close()


async def test_reading_never_writes(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db", NOTES)
    with pytest.raises(StorageError, match="READONLY"):
        await database.rows("DELETE FROM notes")
    await database.close()


async def test_a_copy_holds_everything_and_changes_nothing_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "elefante.db"
    database = await open_database(path, NOTES)
    await write(database, "there")  # still in the log, not in the file
    copy = await open_copy(path, NOTES)
    await write(copy, "only in the copy")
    assert await texts(copy) == ["there", "only in the copy"]
    assert await texts(database) == ["there"]
    await copy.scrub()
    await copy.close()
    await database.close()


async def test_in_a_copy_a_read_waits_for_the_transaction_to_end(tmp_path: Path) -> None:
    copy = await open_copy(tmp_path / "elefante.db", NOTES)
    writing = asyncio.create_task(copy.write(fail))
    await asyncio.sleep(0)
    assert await texts(copy) == []
    with pytest.raises(KeyError):
        await writing
    await copy.close()


async def test_a_copy_of_nothing_is_empty_and_makes_no_file(tmp_path: Path) -> None:
    copy = await open_copy(tmp_path / "elefante.db", NOTES)
    assert await texts(copy) == []
    await copy.close()
    assert modes(tmp_path) == {}


async def test_a_copy_of_a_damaged_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elefante.db").write_bytes(b"no database at all" * 99)
    with pytest.raises(Damaged):
        await open_copy(tmp_path / "elefante.db", NOTES)


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elefante.db").write_bytes(b"no database at all" * 99)
    with pytest.raises(Damaged, match="backup"):
        await open_database(tmp_path / "elefante.db", NOTES)
    assert (tmp_path / "elefante.db").read_bytes() == b"no database at all" * 99


async def test_another_programs_database_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "elefante.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()
    with pytest.raises(Damaged, match="another program"):
        await open_database(path, NOTES)
    with sqlite3.connect(path) as other:
        assert other.execute("SELECT name FROM sqlite_schema").fetchall() == [("theirs",)]
    other.close()


async def test_a_place_that_cannot_be_written_is_named_as_such(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="written"):
        await open_database(tmp_path / "file" / "elefante.db", NOTES)
    (tmp_path / "folder").mkdir()
    with pytest.raises(StorageError):
        await open_database(tmp_path / "folder", NOTES)


# --- jobs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("opener", [open_database, open_copy])
async def test_a_job_is_one_transaction_and_returns_what_it_found(tmp_path: Path, opener: Opener) -> None:
    database = await opener(tmp_path / "elefante.db", NOTES)
    assert await database.write(note("a", "b")) == ["a", "b"]
    assert await database.write(note()) == await database.read(note()) == ["a", "b"]
    with pytest.raises(StorageError, match="SQLITE_CONSTRAINT_UNIQUE") as caught:
        await database.write(note("my password", "a"))
    assert "password" not in str(caught.value)

    with pytest.raises(KeyError):
        await database.write(fail)
    assert await texts(database) == ["a", "b"]
    await database.close()
    for call in (database.read(note()), database.write(note()), database.scrub(), texts(database)):
        with pytest.raises(StorageError, match="closed"):
            await call


async def test_a_reading_job_cannot_write_and_sees_one_state(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db", NOTES)
    with pytest.raises(StorageError, match="READONLY"):
        await database.read(note("no"))
    other = sqlite3.connect(tmp_path / "elefante.db", isolation_level=None, check_same_thread=False)

    def twice(query: Query) -> list[list[str]]:
        before = note()(query)
        other.execute("INSERT INTO notes (text) VALUES ('meanwhile')")
        return [before, note()(query)]

    assert await database.read(twice) == [[], []]
    assert await database.read(note()) == ["meanwhile"]
    other.close()
    await database.close()


async def test_a_job_whose_caller_is_gone_is_done_whole_and_the_next_comes_after_it(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db", NOTES)
    begun, go_on = threading.Event(), threading.Event()

    def slow(query: Query) -> None:
        note("a")(query)
        begun.set()
        go_on.wait()
        note("b")(query)

    task = asyncio.create_task(database.write(slow))
    await asyncio.to_thread(begun.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    following = asyncio.create_task(database.write(note("c")))
    transaction = asyncio.create_task(write(database, "d"))
    await asyncio.sleep(0)
    go_on.set()
    assert await following == ["a", "b", "c"]
    await transaction
    assert await texts(database) == ["a", "b", "c", "d"]
    await database.close()


@pytest.mark.parametrize("steps", range(12))
async def test_cancelling_a_job_at_any_moment_leaves_all_or_nothing(tmp_path: Path, steps: int) -> None:
    database = await open_database(tmp_path / "elefante.db", NOTES)
    task = asyncio.create_task(database.write(note("a", "b")))
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert await database.write(note("c")) in (["c"], ["a", "b", "c"])
    await database.close()


HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
connection.execute("INSERT INTO notes (text) VALUES ('theirs')")
connection.execute("COMMIT")
"""


async def test_another_process_that_writes_is_waited_for(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db", NOTES)
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLDER, str(tmp_path / "elefante.db"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    assert await holder.stdout.readline() == b"held\n"
    waiting = asyncio.create_task(database.write(note("ours")))
    assert await database.read(note()) == [], "who reads does not wait"
    await asyncio.sleep(0)
    assert not waiting.done()
    holder.stdin.write(b"\n")
    assert await waiting == ["theirs", "ours"]
    await holder.wait()
    assert await database.write(lambda query: query.run("PRAGMA busy_timeout")) == [(60_000,)]
    await database.truncate_log()
    assert await database.write(lambda query: query.run("PRAGMA busy_timeout")) == [(60_000,)]
    await database.close()


async def test_one_that_holds_it_longer_than_anybody_waits_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.storage.sqlite._BUSY_TIMEOUT_S", 0.01)
    database = await open_database(tmp_path / "elefante.db", NOTES)
    other = sqlite3.connect(tmp_path / "elefante.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError, match="another program holds it"):
        await database.write(note("ours"))
    other.execute("COMMIT")
    other.close()
    assert await database.write(note("ours")) == ["ours"]
    await database.close()
