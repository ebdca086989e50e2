"""The schema of a database file: which version it has, who brought it there, and the way to the present one.

The table `schema_history` has a row for each migration: the version that it led to, the version of the program, when
(microseconds since 1970), and the backup made before ("" if there was nothing to lose). It is not a migration itself,
so that every program that finds the schema too new can tell by it what to do.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import numpy as np

from core.errors import Damaged, DiskFull, SchemaTooNew, SchemaTooOld, StorageError
from core.storage.record import program_version, to_blob
from core.storage.sqlite_migrations import Migration

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


APPLICATION_ID: Final = 0x456C6566
"""`Elef`: what the file says it is, so that another program's database is not taken for ours."""

PRAGMAS: Final = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",  # what is deleted is overwritten with zeros
    "PRAGMA temp_store = MEMORY",  # sorting never writes anybody's words into a temporary file
)
"""What every connection that writes begins with."""

_HISTORY: Final = """
CREATE TABLE IF NOT EXISTS schema_history (
    version INTEGER NOT NULL, program TEXT NOT NULL, at INTEGER NOT NULL, backup TEXT NOT NULL
)
"""


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the schema version of a database; 0 if it is empty.

    Raises:
        Damaged: it is another program's database.
        sqlite3.Error: it cannot be read.
    """
    [version] = connection.execute("PRAGMA user_version").fetchone()
    [application] = connection.execute("PRAGMA application_id").fetchone()
    [tables] = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if application != APPLICATION_ID and (application or tables):
        raise Damaged("this file is another program's database")
    return int(version)


def tables_of(connection: sqlite3.Connection) -> frozenset[str]:
    """Return the names of the tables that there are."""
    rows = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
    return frozenset(str(name) for (name,) in rows)


def usable_version(connection: sqlite3.Connection, migrations: Sequence[Migration]) -> int:
    """Return the schema version of a database that these migrations lead on from; 0 if it is empty.

    Raises:
        SchemaTooNew, SchemaTooOld: they do not; the message says which program wrote it, and what to do.
        Damaged, sqlite3.Error: as `schema_version`.
    """
    version, known = schema_version(connection), len(migrations)
    if version > known:
        raise SchemaTooNew(_too_new(connection, version, known))
    if version and not migrations[version - 1]:  # before the baseline
        raise SchemaTooOld(version, _writer(connection))
    return version


def migrate(connection: sqlite3.Connection, migrations: Sequence[Migration], backup: str = "") -> None:
    """Run the missing migrations in one transaction, and record them with the path of the backup made before.

    Raises:
        SchemaTooNew, SchemaTooOld, Damaged, sqlite3.Error: nothing was changed.
    """
    connection.create_function("halved", 1, _halved, deterministic=True)
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = usable_version(connection, migrations)
        if version < len(migrations):
            for statement in (statement for migration in migrations[version:] for statement in migration):
                connection.execute(statement)
            connection.execute(_HISTORY)
            connection.execute(
                "INSERT INTO schema_history VALUES (?, ?, CAST(strftime('%s', 'now') AS INTEGER) * 1000000, ?)",
                (len(migrations), program_version(), backup),
            )
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {len(migrations)}")
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def _halved(vector: bytes) -> bytes:
    """Return a vector of float32 as half floats, for the migration that stores these."""
    return to_blob(np.frombuffer(vector, "<f4"))


def _writer(connection: sqlite3.Connection) -> str:
    """Return the version of the program that wrote the database last; "" if it does not say."""
    try:
        [writer] = connection.execute("SELECT program FROM schema_history ORDER BY version DESC LIMIT 1").fetchone()
    except (sqlite3.Error, TypeError):  # no such table, or no row in it
        return ""
    return str(writer)


def _too_new(connection: sqlite3.Connection, version: int, known: int) -> str:
    """Return what to do about a database of a newer program, as far as it says which."""
    here = f"this is Elefante {program_version()}, which knows {known}"
    if not (writer := _writer(connection)):
        return f"the database has schema {version} of a newer Elefante; {here}: update the program"
    backup = connection.execute(
        "SELECT backup FROM schema_history WHERE version > ? ORDER BY version LIMIT 1", (known,)
    ).fetchone()
    return (
        f"the database has schema {version} of Elefante {writer}; {here}. Update the program to {writer} or newer"
        + (f"; or go back to what was there before: `elefante restore {backup[0]}`" if backup and backup[0] else "")
    )
