"""Copies of the database file: made while it is in use, verified, and put back.

Everything here is in threads of its own: a copy of gigabytes holds nobody up.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from core.errors import Damaged, SchemaTooNew, StorageError
from core.storage.sqlite import APPLICATION_ID, translated
from core.storage.sqlite_migrations import MIGRATIONS

_SIDES: Final = ("-wal", "-shm")  # what SQLite keeps beside a file that is in use
PART: Final = ".part"
"""What the name of a copy ends in until it is whole."""


async def copy_database(source: Path, target: Path) -> int:
    """Write what is committed now to a new file, readable by its owner only, and return its size in bytes.

    It is a single file, sound and complete, or it is not there.

    Raises:
        Damaged, StorageError: there is no copy: `target` exists, there is no room, or the source is not sound.
    """
    return await asyncio.to_thread(_copied, source, target)


async def verify(path: Path) -> None:
    """Read the whole file and return if it is a sound database of this program, of this version or an older one.

    Raises:
        SchemaTooNew: a newer version of this program wrote it.
        Damaged, StorageError: it is none, or cannot be read.
    """
    await asyncio.to_thread(_verify, path)


async def restore_database(copy: Path, database: Path, aside: Path) -> bool:
    """Put the copy in the database's place, and what was there in `aside`; return whether there was anything.

    Raises:
        SchemaTooNew, Damaged: the copy cannot be used; nothing was changed.
        StorageError: somebody has the database open, or there is no room; nothing was changed.
    """
    return await asyncio.to_thread(_restored, copy, database, aside)


def _copied(source: Path, target: Path) -> int:
    try:
        if target.exists():
            raise StorageError(f"{target} is there already; name another file")
        with _new_file(target) as part:
            with translated(), closing(_open(source, "rw")) as live:
                _write(live, part)
            _verify(part)
    except OSError as error:
        raise StorageError(f"{target} cannot be written: {error.strerror}") from error
    return target.stat().st_size


def _write(live: sqlite3.Connection, part: Path) -> None:
    with closing(_open(part, "rw")) as copy:
        live.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it


@contextmanager
def _new_file(path: Path) -> Iterator[Path]:
    """Give a file to write to, its owner's only: it is at `path` when all went well, or nowhere."""
    part = path.with_name(f"{path.name}{PART}")
    part.unlink(missing_ok=True)
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        yield part
        _settle(part)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _verify(path: Path) -> None:
    if not path.is_file():
        raise StorageError(f"there is no file {path}")
    with translated(), closing(_open(path, "ro")) as connection:
        [application] = connection.execute("PRAGMA application_id").fetchone()
        [version] = connection.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION_ID:
            raise Damaged(f"{path.name} is no database of this program")
        if version > len(MIGRATIONS):
            raise SchemaTooNew(f"{path.name} has version {version}, this program knows {len(MIGRATIONS)}: update it")
        [found] = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if found != "ok" or connection.execute("PRAGMA foreign_key_check").fetchone():
            raise Damaged(f"{path.name} is not sound")


def _restored(copy: Path, database: Path, aside: Path) -> bool:
    _verify(copy)
    if not database.exists():
        _copied(copy, database)
        return False
    try:
        with translated(), closing(_alone(database)) as present:
            with _new_file(aside) as part:
                _write(present, part)
            with closing(_open(copy, "ro")) as source:
                source.backup(present)
    except Damaged:  # what is there cannot even be opened: it is put aside as it is
        aside.unlink(missing_ok=True)
        database.replace(aside)
        for side in _SIDES:
            Path(f"{database}{side}").unlink(missing_ok=True)
        _copied(copy, database)
    return True


def _alone(database: Path) -> sqlite3.Connection:
    """Open the file for this connection only.

    Whoever has a file in WAL mode open holds a shared lock on it, so that an exclusive one shows that nobody does.
    Source: sqlite.org/wal.html, "Use of WAL Without Shared-Memory".
    """
    connection = _open(database, "rw")
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")  # the lock stays
    except sqlite3.OperationalError as error:
        connection.close()
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
            raise StorageError("the bot is running: stop it first, then restore") from error
        raise
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _settle(path: Path) -> None:
    """Write the file through to the disk, so that a crash of the machine does not lose it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _open(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, timeout=1.0)
