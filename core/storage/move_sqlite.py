"""A SQLite file as one end of a move: opened alone to be copied, or made beside its place and put there when whole."""

# ruff: noqa: S608 - SQL is put together from constants and the names of our tables and columns
from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from core.errors import StorageError
from core.storage.database import Row
from core.storage.move import (
    CREATE_MOVING,
    MOVING,
    NOTE,
    SOURCE_STEP,
    TABLES,
    VERIFIED,
    Columns,
    Position,
    Source,
    Target,
)
from core.storage.sqlite_backup import SIDES, InUse, alone, settle, unwritten
from core.storage.sqlite_errors import translated
from core.storage.sqlite_migrations import MIGRATIONS
from core.storage.sqlite_schema import migrate

PART: Final = ".moving"
"""What the name of a file in the making ends in, beside the place of the database."""

_READ_ROWS: Final = 1_000
_PRAGMAS: Final = (
    "locking_mode = EXCLUSIVE",
    "journal_mode = WAL",
    "synchronous = NORMAL",  # a crash of the machine loses the last batches, and their positions with them
    "foreign_keys = ON",
)


class _File:
    """What both have in common."""

    def __init__(self, connection: sqlite3.Connection, name: Path) -> None:
        self._connection = connection
        self._path = name
        self.name = str(name)
        self.replaced = 0
        connection.text_factory = self._text

    def columns(self) -> Columns:
        """Map each table to its columns."""
        names = [name for (name,) in self.stream("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {name: [row[1] for row in self.stream(f'PRAGMA table_info("{name}")')] for name in names}

    def stream(self, sql: str, values: Sequence[object] = ()) -> Iterator[Row]:
        """Yield the rows of a query."""
        with translated(), closing(self._connection.cursor()) as cursor:
            cursor.execute(sql, values)
            while rows := cursor.fetchmany(_READ_ROWS):
                yield from rows

    def last_ids(self) -> Mapping[str, int]:
        """Map tables that number their rows to the last number that was given."""
        given: dict[str, int] = dict(self.stream("SELECT name, seq FROM sqlite_sequence"))
        numbers = {}
        for table in TABLES:
            if ("id", "INTEGER") in {row[1:3] for row in self.stream(f'PRAGMA table_info("{table.name}")')}:
                [(last,)] = self.stream(f'SELECT coalesce(max(id), 0) FROM "{table.name}"')
                numbers[table.name] = max(last, given.get(table.name, 0))
        return numbers

    def state(self) -> str:
        """Return the file's size and when it was written: as it is open alone, all that was committed is in it."""
        about = self._path.stat()
        return f"{self.name} {about.st_size} {about.st_mtime_ns}"

    def _text(self, raw: bytes) -> str:
        """Return a text as PostgreSQL can hold it, and count it if that is not what it was."""
        text = raw.decode("utf-8", "replace").replace("\0", "\ufffd")
        if "\ufffd" in text and text.encode() != raw:
            self.replaced += 1
        return text


class SqliteSource(_File, Source):
    """A file that nobody else has open."""


class SqliteTarget(_File, Target):
    """A file in the making beside its place."""

    def begin(self, state: str) -> Mapping[str, Position]:
        """Return how far a move from a source in that state is; without one, or from another state, begin anew."""
        with self._transaction() as connection:
            connection.execute(CREATE_MOVING)
            noted = {step: Position(after, rows) for step, after, rows in connection.execute(f"SELECT * FROM {MOVING}")}
            if noted.get(SOURCE_STEP, Position("", 0)).after == state:
                return noted
            if self.is_verified():
                raise _in_the_way(self._path)
            for name in (*(table.name for table in reversed(TABLES)), MOVING):
                if name in self.columns():
                    connection.execute(f'DELETE FROM "{name}"')
            connection.execute(NOTE, (SOURCE_STEP, state, 0))
        return {}

    def put(self, table: str, columns: Sequence[str], rows: Sequence[Row], step: str, position: Position) -> None:
        """Add rows, and note the position of the step, in one transaction."""
        names, marks = ", ".join(f'"{column}"' for column in columns), ", ".join("?" * len(columns))
        self.change(f'INSERT INTO "{table}" ({names}) VALUES ({marks})', rows, step, position)

    def change(self, sql: str, rows: Sequence[Row], step: str, position: Position) -> None:
        """Run a statement for each row, and note the position of the step, in one transaction."""
        with self._transaction() as connection:
            connection.executemany(sql, rows)
            connection.execute(NOTE, (step, position.after, position.rows))

    def set_last_ids(self, numbers: Mapping[str, int]) -> None:
        """Let the next numbers be above these; a table without a list of them goes by its greatest."""
        with self._transaction() as connection:
            listed = connection.execute("SELECT name FROM sqlite_schema WHERE sql LIKE '%AUTOINCREMENT%'").fetchall()
            rows = [(name, numbers[name]) for (name,) in listed if numbers.get(name)]
            connection.execute("DELETE FROM sqlite_sequence")
            connection.executemany("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", rows)

    def is_verified(self) -> bool:
        """Return whether the move was compared and is whole."""
        return (VERIFIED,) in self.stream(f"SELECT rows FROM {MOVING} WHERE step = ?", (SOURCE_STEP,))

    def note(self, state: str, *, verified: bool) -> None:
        """Note from which state of the source this is, and whether it was compared and is whole."""
        with self._transaction() as connection:
            connection.execute(NOTE, (SOURCE_STEP, state, VERIFIED if verified else 0))

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with translated():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.rollback()


@contextmanager
def sqlite_source(path: Path) -> Iterator[SqliteSource]:
    """Give the file, of the present schema; nobody else can open it meanwhile, and it stays as it is, byte for byte.

    Raises:
        StorageError: another process has it open, or it cannot be read.
    """
    with translated():
        try:
            connection = alone(path)
        except InUse as error:
            raise StorageError(f"{error} has {path} open: stop it first, then run this again") from error
    with closing(connection):
        yield SqliteSource(connection, path)


@contextmanager
def sqlite_target(path: Path) -> Iterator[SqliteTarget]:
    """Give a file beside `path` to move into; when the block ends, and it was compared, it is at `path`.

    Raises:
        StorageError: there is a database with something in it at `path`, another process has one of the two open, or
            they cannot be written.
    """
    is_there = path.exists() and _is_moved(path)  # and what was to be done after that was not
    if path.exists() and not is_there and _rows(path):
        raise _in_the_way(path)
    part = path if is_there else path.with_name(f"{path.name}{PART}")
    try:
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT, 0o600))
        with translated(), closing(sqlite3.connect(part, isolation_level=None, timeout=1.0)) as connection:
            for pragma in _PRAGMAS:
                connection.execute(f"PRAGMA {pragma}")
            migrate(connection, MIGRATIONS)
            target = SqliteTarget(connection, path)
            yield target
            is_whole = target.is_verified()
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.execute("PRAGMA journal_mode = DELETE")
        if is_whole and not is_there:
            if path.exists():
                _remove_empty(path)
            settle(part)
            part.replace(path)
            settle(path.parent)
    except OSError as error:
        raise unwritten(part, error) from error


def forget_move(path: Path) -> None:
    """Remove from the file what it keeps of the move that made it."""
    with translated(), closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"DROP TABLE IF EXISTS {MOVING}")


def _is_moved(path: Path) -> bool:
    """Return whether a move put the file there, and did not end."""
    with translated(), closing(sqlite3.connect(path)) as connection:
        [tables] = connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = ?", (MOVING,)).fetchone()
        return bool(tables)


def _rows(path: Path) -> bool:
    """Return whether there is a row in the file that would go along in a move."""
    with translated(), closing(alone(path)) as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        return any(
            connection.execute(f'SELECT EXISTS (SELECT 1 FROM "{table.name}")').fetchone()[0]
            for table in TABLES
            if table.name in names
        )


def _remove_empty(path: Path) -> None:
    """Remove a file that was empty when the move began.

    Raises:
        StorageError: it is not empty any more.
    """
    if _rows(path):
        raise _in_the_way(path)
    for each in (path, *(Path(f"{path}{side}") for side in SIDES)):
        each.unlink(missing_ok=True)


def _in_the_way(path: Path) -> StorageError:
    return StorageError(
        f"{path} holds data, and nothing is put over it. Move it away: mv {path} {path}.old, then run this again"
    )
