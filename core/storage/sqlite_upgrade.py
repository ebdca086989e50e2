"""Migrate a database file: nobody else has it open meanwhile, and a verified backup is made before.

Whoever has the file open holds SQLite's shared lock on it, programs of every version alike; a migration takes the
exclusive one, so that no program ever works on a schema that changes under it.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from core.clock import SystemClock
from core.errors import Damaged, StorageError
from core.storage.sqlite_backup import (
    PART,
    InUse,
    alone,
    free_path,
    new_file,
    open_to_read,
    unwritten,
    verified,
    write_copy,
)
from core.storage.sqlite_migrations import MIGRATIONS, Migration
from core.storage.sqlite_schema import PRAGMAS, RESTORE, migrate, translated, usable_version

BEFORE_UPDATE: Final = "before-update-"
"""What the names of backups that migrations make begin with."""

KEPT: Final = 3
"""How many of them stay; the oldest go."""

_PATIENCE_S: Final = 5.0  # for verbs that have the file open for a moment

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Migrated:
    """Versions of the schema before and after a migration, and the backup made before; None of an empty file."""

    before: int
    after: int
    backup: Path | None


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a look at a database file found: its schema version, the present one, people with memories."""

    version: int
    known: int
    people: int


@dataclass(frozen=True, slots=True)
class Table:
    """The names of a table's columns, and how many rows it has."""

    columns: frozenset[str]
    rows: int


def tables(path: Path) -> dict[str, Table]:
    """Return the tables of a database file by their names; nothing is written.

    Raises:
        Damaged, StorageError: it cannot be read.
    """
    with translated(), closing(open_to_read(path)) as connection:
        names = [str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        found = {}
        for name in names:
            columns = connection.execute("SELECT name FROM pragma_table_info(?)", (name,))
            [rows] = connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()  # noqa: S608 - of the file itself
            found[name] = Table(frozenset(str(column) for (column,) in columns), rows)
        return found


def upgrade(path: Path, migrations: Sequence[Migration], backups: Path, *, wait_s: float) -> Migrated | None:
    """Run the migrations that an existing file lacks, and return what was done; None if it lacks none.

    Another migration is waited for, `wait_s` at most; so is, for a few seconds, another program that has it open.

    Raises:
        SchemaTooNew, SchemaTooOld, Damaged: the file cannot be used.
        DiskFull, StorageError: another process has it open, the backup failed or a migration; nothing was changed.
    """
    give_up_s = time.monotonic() + min(_PATIENCE_S, wait_s)
    with translated():
        while (version := _version(path, migrations, wait_s)) != len(migrations):
            try:
                connection = alone(path)
            except InUse as error:
                if time.monotonic() < give_up_s:
                    continue
                raise StorageError(
                    f"{error} has the database open, and this program must migrate it first (schema {version} to "
                    f"{len(migrations)}). Stop that process, then start this one again"
                ) from error
            with closing(connection):
                return _upgraded(connection, migrations, backups)
    return None


def inspect(path: Path, migrations: Sequence[Migration] = MIGRATIONS) -> Inspection:
    """Read a whole database file, which others may have open, and return what it is; nothing is written.

    Raises:
        SchemaTooNew, SchemaTooOld, Damaged, StorageError: it cannot be used.
    """
    with translated(), closing(open_to_read(path)) as connection:
        connection.execute("PRAGMA query_only = ON")
        version = usable_version(connection, migrations)
        if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",) or (
            connection.execute("PRAGMA foreign_key_check").fetchone()
        ):
            raise Damaged(f"{path} is not sound: {RESTORE}")
        [has_memories] = connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'memories'").fetchone()
        people = connection.execute("SELECT count(DISTINCT owner) FROM memories").fetchone() if has_memories else (0,)
        return Inspection(version, len(migrations), people[0])


def _version(path: Path, migrations: Sequence[Migration], wait_s: float) -> int:
    with closing(sqlite3.connect(path, isolation_level=None, timeout=wait_s)) as connection:
        return usable_version(connection, migrations)


def _upgraded(connection: sqlite3.Connection, migrations: Sequence[Migration], backups: Path) -> Migrated | None:
    for pragma in PRAGMAS:
        connection.execute(pragma)
    known = len(migrations)
    if (version := usable_version(connection, migrations)) == known:  # another process was first
        return None
    backup = _backup(connection, migrations, backups) if version else None
    try:
        with translated():
            migrate(connection, migrations, str(backup or ""))
    except StorageError as error:
        kept = f". A backup of it lies in {backup}" if backup else ""
        raise type(error)(f"schema {version} could not become {known}, and is as it was: {error}{kept}") from error
    if backup:
        _log.info("database migrated", extra={"before": version, "after": known, "backup": backup.name})
        for old in sorted(backups.glob(f"{BEFORE_UPDATE}*.db"))[:-KEPT]:
            old.unlink(missing_ok=True)
    return Migrated(version, known, backup)


def _backup(connection: sqlite3.Connection, migrations: Sequence[Migration], folder: Path) -> Path:
    """Make and verify a copy of what the connection holds alone, and return its path.

    Raises:
        DiskFull, Damaged, StorageError: there is none.
    """
    path = free_path(folder, f"{BEFORE_UPDATE}{SystemClock().now():%Y%m%d-%H%M%S}", ".db")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for left in folder.glob(f"{BEFORE_UPDATE}*{PART}*"):
            left.unlink(missing_ok=True)
        with translated(), new_file(path) as part:
            write_copy(connection, part, threading.Event())
            verified(part, migrations=migrations)
    except (OSError, StorageError) as error:
        failure = unwritten(path, error) if isinstance(error, OSError) else error
        raise type(failure)(f"not migrated, as no backup could be made before: {failure}") from error
    return path
