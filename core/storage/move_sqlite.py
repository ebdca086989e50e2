"""A SQLite file as one end of a move: opened alone to be copied, or made beside its place and put there when whole."""

# ruff: noqa: S608 - SQL is put together from constants and the names of our tables and columns
from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from core.errors import StorageError
from core.storage.database import Row
from core.storage.move import LEFT_BEHIND, Columns, Target
from core.storage.sqlite_backup import SIDES, InUse, alone, settle, unwritten
from core.storage.sqlite_migrations import MIGRATIONS
from core.storage.sqlite_schema import migrate, translated

PART: Final = ".moving"
"""What the name of a file in the making ends in, beside the place of the database."""

_READ_ROWS: Final = 1_000
_PRAGMAS: Final = (
    "locking_mode = EXCLUSIVE",
    "journal_mode = OFF",  # what is broken off is made anew
    "synchronous = OFF",  # the whole is written through before it gets its name
    "temp_store = MEMORY",
)


class SqliteEnd(Target):
    """A file that nobody else has open.

    What `stays` with this engine is copied with every table of it, and texts as they are.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, *, stays: bool = False) -> None:
        self.name = str(path)
        self.replaced = 0
        self._connection = connection
        self._path = path
        self._left_behind = frozenset[str]() if stays else LEFT_BEHIND
        if not stays:
            connection.text_factory = self._text

    def columns(self) -> Columns:
        """Map each table that goes along to its columns."""
        tables = self.stream("SELECT name FROM sqlite_schema WHERE type = 'table' AND name != 'sqlite_sequence'")
        names = [name for (name,) in tables if name not in self._left_behind]
        return {name: [row[1] for row in self.stream(f'PRAGMA table_info("{name}")')] for name in names}

    def references(self) -> Mapping[str, set[str]]:
        """Map each table to the others that its rows refer to."""
        return {
            name: {row[2] for row in self.stream(f'PRAGMA foreign_key_list("{name}")')} - {name}
            for name in self.columns()
        }

    def stream(self, sql: str) -> Generator[Row]:
        """Yield the rows of a query."""
        with translated(), closing(self._connection.cursor()) as cursor:
            cursor.execute(sql)
            while rows := cursor.fetchmany(_READ_ROWS):
                yield from rows

    def last_ids(self) -> Mapping[str, int]:
        """Map tables that number their rows to the last number that was given."""
        given: dict[str, int] = dict(self.stream("SELECT name, seq FROM sqlite_sequence"))
        numbers = {}
        for table in self.columns():
            if ("id", "INTEGER") in {row[1:3] for row in self.stream(f'PRAGMA table_info("{table}")')}:
                [(last,)] = self.stream(f'SELECT coalesce(max(id), 0) FROM "{table}"')
                numbers[table] = max(last, given.get(table, 0))
        return numbers

    def put(self, table: str, columns: Sequence[str], rows: Generator[Row]) -> None:
        """Add rows to a table."""
        names, marks = ", ".join(f'"{column}"' for column in columns), ", ".join("?" * len(columns))
        self.run_many(f'INSERT INTO "{table}" ({names}) VALUES ({marks})', rows)

    def set_last_ids(self, numbers: Mapping[str, int]) -> None:
        """Let the next numbers be above these; a table without a list of them goes by its greatest."""
        listed = self.run("SELECT name FROM sqlite_schema WHERE sql LIKE '%AUTOINCREMENT%'")
        self.run("DELETE FROM sqlite_sequence")
        rows = [(name, numbers[name]) for (name,) in listed if numbers.get(name)]
        self.run_many("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", rows)

    def in_the_way(self, tables: Sequence[str]) -> StorageError:
        """Return the error that says that other data is there, and what to do."""
        return StorageError(
            f"{self._path} holds data ({', '.join(tables[:3])}), and nothing is put over it. "
            f"Move it away: mv {self._path} {self._path}.old, then run this again"
        )

    def run(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """Run a statement, and return its rows."""
        with translated():
            return self._connection.execute(sql, values).fetchall()

    def run_many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement for each row of values."""
        with translated():
            self._connection.executemany(sql, rows)

    def is_empty(self) -> bool:
        """Return whether there is no row in it that would go along."""
        return not any(list(self.stream(f'SELECT 1 FROM "{table}" LIMIT 1')) for table in self.columns())

    def _text(self, raw: bytes) -> str:
        """Return a text as PostgreSQL can hold it, and count it if that is not what it was."""
        text = raw.decode("utf-8", "replace").replace("\0", "\ufffd")
        if "\ufffd" in text and text.encode() != raw:
            self.replaced += 1
        return text


@contextmanager
def sqlite_source(path: Path, *, stays: bool = False) -> Iterator[SqliteEnd]:
    """Give the file, of the present schema; nobody else can open it meanwhile, and it stays as it is, byte for byte.

    Raises:
        StorageError: another process has it open, or it cannot be read.
    """
    with translated():
        try:
            connection = alone(path)
        except InUse as error:
            raise StorageError(f"{error} has {path} open: stop it first, then run this again") from error
    with translated(), closing(connection):
        yield SqliteEnd(connection, path, stays=stays)


@contextmanager
def sqlite_target(path: Path) -> Iterator[SqliteEnd]:
    """Give a file beside `path` to move into, which is at `path` when the block ends; what holds data stays as it is.

    Raises:
        StorageError: another process has `path` open, or the file cannot be written.
    """
    if path.exists():
        with sqlite_source(path) as there:
            if not (is_empty := there.is_empty()):
                yield there
        if not is_empty:
            return
    part = path.with_name(f"{path.name}{PART}")
    try:
        part.unlink(missing_ok=True)  # of a move that was broken off
        with new_database(part) as connection:
            yield SqliteEnd(connection, path)
        for side in ("", *SIDES):  # an empty database stood there
            Path(f"{path}{side}").unlink(missing_ok=True)
        settle(part)
        part.replace(path)
        settle(path.parent)
    except OSError as error:
        raise unwritten(part, error) from error
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def new_database(path: Path) -> Iterator[sqlite3.Connection]:
    """Give a new file of the present schema in a transaction that ends with the block, if all refers to what is there.

    Raises:
        OSError, StorageError: it cannot be written, or it is there already.
    """
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with translated(), closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        migrate(connection, MIGRATIONS)
        connection.execute("PRAGMA foreign_keys = OFF")  # rows may come before those that they refer to
        connection.execute("BEGIN IMMEDIATE")
        yield connection
        if broken := connection.execute("PRAGMA foreign_key_check").fetchone():
            raise StorageError(f"rows of {broken[0]} refer to what is not there")
        connection.execute("COMMIT")
