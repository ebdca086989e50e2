"""Seal a SQLite file, or open it: into a new file, which takes the old one's place when all of it was read back.

Until then nothing is changed; broken off anywhere, the same call begins anew, and `finish` clears away what was left.
What is replaced is overwritten with zeros before it is removed.
"""

# ruff: noqa: S608 - SQL is put together from constants and the names of our tables and columns
from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from core.errors import Damaged, StorageError
from core.storage.convert import Conversion, Run, RunMany, SealedTable, found_again, sealed_tables
from core.storage.kept import DROP_MARK, KEPT_AS, PUT_MARK, Mark
from core.storage.move import Progress
from core.storage.sealed_columns import SEALED_COLUMNS, SealedColumn
from core.storage.sqlite_backup import InUse, alone, ensure_room, settle, unwritten, verified
from core.storage.sqlite_migrations import MIGRATIONS
from core.storage.sqlite_schema import tables_of, translated
from core.storage.sqlite_upgrade import upgrade

_PART: Final = ".converting"
_BEFORE: Final = ".converted"
"""What the names of the file in the making, and of the replaced one, end in."""

_LOCKED_FOR_S: Final = 60.0  # a migration by another process is waited for
_ROWS: Final = 1_000
_CHUNK_BYTES: Final = 1 << 20
_PRAGMAS: Final = ("locking_mode = EXCLUSIVE", "journal_mode = OFF", "synchronous = OFF", "temp_store = MEMORY")


def convert(
    path: Path,
    conversion: Conversion,
    progress: Progress,
    *,
    backups: Path,
    before_switch: Callable[[], None] = lambda: None,
    columns: Sequence[SealedColumn] = SEALED_COLUMNS,
) -> int:
    """Convert the file, which nobody else may have open, and return how many rows it has.

    One of an older version is migrated first, with a backup in `backups`. `before_switch` is called when the new file
    is whole and read back.

    Raises:
        StorageError: another process has it open, there is no room, or the copy is not equal; nothing was changed.
    """
    part, before = _beside(path)
    try:
        ensure_room(path.parent, 2 * path.stat().st_size)
        with _kept_open(path, Path(f"{path}-wal")) as replaced, translated(), closing(_alone(path, backups)) as source:
            rows = _written(source, part, conversion, progress, columns)
            before_switch()
            os.link(path, before)
            part.replace(path)
            settle(path.parent)
            for descriptor in replaced:  # while the lock is held: who waits for the old file finds nothing in it
                _zero(descriptor)
            before.unlink()
            settle(path.parent)
    except OSError as error:
        raise unwritten(path, error) from error
    finally:
        if part.exists():
            erase(part)
    return rows


def finish(path: Path) -> None:
    """Clear away what a killed conversion of the file left: what it had replaced, or the new file in the making.

    Raises:
        StorageError: it cannot be removed.
    """
    part, before = _beside(path)
    try:
        if part.exists():
            erase(part)
        if before.exists():
            if before.samefile(path):  # it had replaced nothing
                before.unlink()
            else:
                erase(before)
        settle(path.parent)
    except OSError as error:
        raise unwritten(before, error) from error


def is_unfinished(path: Path) -> bool:
    """Return whether a conversion of the file was killed, and `finish` has to clear away."""
    return any(each.exists() for each in _beside(path))


def erase(path: Path) -> None:
    """Overwrite a file with zeros, and remove it."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        _zero(descriptor)
    finally:
        os.close(descriptor)
    path.unlink()


def _beside(path: Path) -> tuple[Path, Path]:
    return path.with_name(f"{path.name}{_PART}"), path.with_name(f"{path.name}{_BEFORE}")


def _zero(descriptor: int) -> None:
    size, at = os.fstat(descriptor).st_size, 0
    while at < size:
        at += os.pwrite(descriptor, bytes(min(_CHUNK_BYTES, size - at)), at)
    os.fsync(descriptor)


@contextmanager
def _kept_open(*paths: Path) -> Iterator[list[int]]:
    """Give descriptors of those files that exist: closing one earlier would drop the locks of this process."""
    descriptors = [os.open(path, os.O_WRONLY) for path in paths if path.exists()]
    try:
        yield descriptors
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _alone(path: Path, backups: Path) -> sqlite3.Connection:
    """Open the file, of the present schema, for us alone, with nothing beside it."""
    upgrade(path, MIGRATIONS, backups, wait_s=_LOCKED_FOR_S)
    try:
        connection = alone(path)
    except InUse as error:
        raise StorageError(f"{error} has {path} open: stop it first, then run this again") from error
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA journal_mode = DELETE")
    return connection


def _written(
    source: sqlite3.Connection,
    part: Path,
    conversion: Conversion,
    progress: Progress,
    columns: Sequence[SealedColumn],
) -> int:
    """Write the whole of the source, converted, into a new file, and read it back; return how many rows it has."""
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(sqlite3.connect(part, isolation_level=None)) as target:
        for pragma in _PRAGMAS:
            target.execute(f"PRAGMA {pragma}")
        copy = _Copy(source, target, conversion, columns)
        whole = copy.count()
        target.execute("PRAGMA foreign_keys = OFF")
        target.execute("BEGIN IMMEDIATE")
        copy.schema()
        done = 0
        for table in copy.tables:
            done += copy.fill(table)
            progress("opening" if conversion.opens else "sealing", done, whole)
        if conversion.opens:
            found_again(_runs(target), _runs_many(target))
            target.execute(DROP_MARK)
        else:
            target.execute(PUT_MARK, (Mark(conversion.sealing.id).to_json(),))
        target.execute("COMMIT")
        copy.compare()
    settle(part)
    verified(part)
    return whole


class _Copy:
    """The tables of a file, copied into another of the same schema."""

    def __init__(
        self,
        source: sqlite3.Connection,
        target: sqlite3.Connection,
        conversion: Conversion,
        columns: Sequence[SealedColumn],
    ) -> None:
        self._source = source
        self._target = target
        self._conversion = conversion
        self._sealed = {table.name: table for table in sealed_tables(columns)}
        self.tables = sorted(tables_of(source) - {"sqlite_sequence"})

    def count(self) -> int:
        """Return how many rows the source has."""
        return sum(self._source.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0] for table in self.tables)

    def schema(self) -> None:
        """Make what the source is made of: its tables and indexes, and what it says of itself."""
        made = self._source.execute(
            "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type DESC, rowid"
        )
        for (sql,) in made.fetchall():
            self._target.execute(sql)
        for pragma in ("application_id", "user_version"):
            [value] = self._source.execute(f"PRAGMA {pragma}").fetchone()
            self._target.execute(f"PRAGMA {pragma} = {value}")

    def fill(self, table: str) -> int:
        """Copy the rows of a table, converted, and return how many they are."""
        columns, count = self._columns(table), 0
        names, marks = ", ".join(f'"{each}"' for each in columns), ", ".join("?" * len(columns))

        def rows() -> Iterator[Sequence[Any]]:
            nonlocal count
            for row in self._converted(self._source, table, columns, self._conversion):
                count += 1
                yield row

        self._target.executemany(f'INSERT INTO "{table}" ({names}) VALUES ({marks})', rows())
        if self._source.execute("SELECT 1 FROM sqlite_sequence WHERE name = ?", (table,)).fetchone():
            self._target.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
            [last] = self._source.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
            self._target.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table, last))
        return count

    def compare(self) -> None:
        """Read back what was written, and compare all of it, opened, with the source.

        Raises:
            Damaged: it is not equal.
        """
        sealed, plain = (self._target, self._source) if not self._conversion.opens else (self._source, self._target)
        for table in self.tables:
            opened = Conversion(self._conversion.sealing, opens=True)
            sums = [self._sum(sealed, table, opened), self._sum(plain, table, None)]
            if sums[0] != sums[1]:
                raise Damaged(f"the copy of {table} is not equal, and nothing was switched")

    def _sum(self, end: sqlite3.Connection, table: str, opened: Conversion | None) -> int:
        """Return the sum of the digests of a table's rows, opened, without hashes."""
        known = self._sealed.get(table)
        hashed = {each.column for each in known.columns if each.kind in {"word", "digest"}} if known else set()
        if known is not None and known.has_words and self._conversion.opens:
            return 0  # they are made anew
        if table == "unindexed" and self._conversion.opens:
            return 0
        columns = [each for each in self._columns(table) if each not in hashed]
        total = 0
        for row in self._converted(end, table, columns, opened):
            if table != "kept" or row[0] != KEPT_AS:
                total += int.from_bytes(blake2b(repr(list(row)).encode("utf-8", "replace"), digest_size=16).digest())
        return total

    def _columns(self, table: str) -> list[str]:
        return [row[1] for row in self._source.execute(f'PRAGMA table_info("{table}")')]

    def _converted(
        self, end: sqlite3.Connection, table: str, columns: Sequence[str], conversion: Conversion | None
    ) -> Iterator[Sequence[Any]]:
        known: SealedTable | None = self._sealed.get(table)
        if known is None or conversion is None:
            names = ", ".join(f't."{column}"' for column in columns)
            yield from _stream(end, f'SELECT {names} FROM "{table}" AS t')
            return
        for row in _stream(end, known.select(columns)):
            yield conversion.row(known, columns, row)


def _runs(connection: sqlite3.Connection) -> Run:
    return lambda sql, values: connection.execute(sql, values).fetchall()


def _runs_many(connection: sqlite3.Connection) -> RunMany:
    def run_many(sql: str, rows: Iterable[Sequence[object]]) -> None:
        connection.executemany(sql, rows)

    return run_many


def _stream(connection: sqlite3.Connection, sql: str) -> Iterator[Sequence[Any]]:
    with closing(connection.cursor()) as cursor:
        cursor.execute(sql)
        while rows := cursor.fetchmany(_ROWS):
            yield from rows
