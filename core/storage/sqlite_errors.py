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
    """Turn SQLite's errors into ours.

    Raises:
        StorageError: that of `as_ours`.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise as_ours(error) from error


def as_ours(error: sqlite3.Error) -> StorageError:
    """Return our error for SQLite's; it carries SQLite's error name and nothing that anybody wrote.

    It is Damaged if the file is no database, or broken, DiskFull if there is no room, StorageError for anything else.
    """
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _DAMAGE:
        return Damaged(f"the database cannot be read ({name}): {RESTORE}")
    if code == sqlite3.SQLITE_FULL:
        return DiskFull(f"the disk is full ({name}): make room where the data folder is")
    advice = _ADVICE.get(code)
    return StorageError(f"the database refused ({name})" + (f": {advice}" if advice else ""))
