"""SQLite's errors as ours."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from core.errors import Damaged, DiskFull, StorageError

RESTORE: Final = "stop the bot, see `elefante backup --list`, and restore a backup with `elefante restore FILE`"
_DAMAGE: Final = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_ADVICE: Final = {
    sqlite3.SQLITE_BUSY: "another program holds it: stop that one, or wait",
    sqlite3.SQLITE_LOCKED: "another program holds it: stop that one, or wait",
    sqlite3.SQLITE_READONLY: "it cannot be written to: see who owns the file and its folder",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: see who owns the file and its folder",
    sqlite3.SQLITE_PERM: "it cannot be opened: see who owns the file and its folder",
    sqlite3.SQLITE_IOERR: "the disk failed: see that it has room, and is sound",
}
"""What the owner can do, by SQLite's primary error code."""


@contextmanager
def translated() -> Iterator[None]:
    """Turn SQLite's errors into ours; they carry SQLite's error name and nothing that anybody wrote.

    Raises:
        Damaged: the file is no database, or broken.
        DiskFull: there is no room.
        StorageError: anything else.
    """
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _DAMAGE:
            raise Damaged(f"the database cannot be read ({name}): {RESTORE}") from error
        if code == sqlite3.SQLITE_FULL:
            raise DiskFull(f"the disk is full ({name}): make room where the data folder is") from error
        advice = _ADVICE.get(code)
        raise StorageError(f"the database refused ({name})" + (f": {advice}" if advice else "")) from error
