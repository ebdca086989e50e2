"""Seal a SQLite file, or open it: into a new file, which takes the old one's place when all of it was read back.

Until then nothing is changed; broken off anywhere, the same call begins anew, and `finish` clears away what was left.
What is replaced is overwritten with zeros before it is removed.
"""

# ruff: noqa: S608 - SQL is put together from constants and the names of our tables and columns
from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from core.errors import Damaged
from core.storage.convert import HASHED, Conversion, SealedTable, found_again, sealed_tables
from core.storage.database import Row
from core.storage.kept import DROP_MARK, KEPT_AS, PUT_MARK, SealMark
from core.storage.move import Progress, digest_of
from core.storage.move_sqlite import SqliteEnd, new_database, sqlite_source
from core.storage.sealed_columns import SEALED_COLUMNS, SealedColumn
from core.storage.sqlite_backup import ensure_room, erase, settle, unwritten, verified, zero
from core.storage.sqlite_migrations import MIGRATIONS
from core.storage.sqlite_upgrade import upgrade

_PART: Final = ".converting"
_BEFORE: Final = ".converted"
"""What the names of the file in the making, and of the replaced one, end in."""

_LOCKED_FOR_S: Final = 60.0  # a migration by another process is waited for


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
        with _kept_open(path, Path(f"{path}-wal")) as replaced:
            upgrade(path, MIGRATIONS, backups, wait_s=_LOCKED_FOR_S)
            with sqlite_source(path, stays=True) as source:
                source.run("PRAGMA journal_mode = DELETE")  # with nothing beside it
                rows = _written(source, part, conversion, progress, columns)
                before_switch()
                os.link(path, before)
                part.replace(path)
                settle(path.parent)
                for descriptor in replaced:  # while the lock is held: who waits for the old file finds nothing in it
                    zero(descriptor)
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


def _beside(path: Path) -> tuple[Path, Path]:
    return path.with_name(f"{path.name}{_PART}"), path.with_name(f"{path.name}{_BEFORE}")


@contextmanager
def _kept_open(*paths: Path) -> Iterator[list[int]]:
    """Give descriptors of those files that exist: closing one earlier would drop the locks of this process."""
    descriptors = [os.open(path, os.O_WRONLY) for path in paths if path.exists()]
    try:
        yield descriptors
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _written(
    source: SqliteEnd, part: Path, conversion: Conversion, progress: Progress, columns: Sequence[SealedColumn]
) -> int:
    """Write the whole of the source, converted, into a new file, and read it back; return how many rows it has."""
    sealed, tables = {table.name: table for table in sealed_tables(columns)}, source.columns()
    counts: dict[str, int] = {
        table: count for table in tables for (count,) in source.stream(f'SELECT count(*) FROM "{table}"')
    }
    done, whole = 0, sum(counts.values())
    with new_database(part) as connection:
        target = SqliteEnd(connection, part, stays=True)
        target.run("DELETE FROM schema_history")  # it comes along
        for table, names in tables.items():
            target.put(table, names, _rows(source, table, names, sealed.get(table), conversion))
            done += counts[table]
            progress("opening" if conversion.opens else "sealing", done, whole)
        target.set_last_ids(source.last_ids())
        if conversion.opens:
            found_again(target)
            target.run(DROP_MARK)
        else:
            target.run(PUT_MARK, (SealMark(conversion.sealing.id).to_json(),))
        _compare(source, target, sealed, conversion)
    settle(part)
    verified(part)
    return whole


def _rows(
    end: SqliteEnd, table: str, names: Sequence[str], sealed: SealedTable | None, conversion: Conversion | None
) -> Generator[Row]:
    """Yield the rows of a table, converted where there is what for."""
    if sealed is None or conversion is None:
        columns = ", ".join(f'"{name}"' for name in names)
        yield from end.stream(f'SELECT {columns} FROM "{table}"')
        return
    for row in end.stream(sealed.select(names)):
        yield tuple(conversion.row(sealed, names, row))


def _compare(source: SqliteEnd, target: SqliteEnd, sealed: Mapping[str, SealedTable], conversion: Conversion) -> None:
    """Read back what was written, and compare all of it, opened, with the source; but for hashes, and the mark.

    Raises:
        Damaged: it is not equal.
    """
    opened = Conversion(conversion.sealing, opens=True)
    ends = ((source, opened), (target, None)) if conversion.opens else ((source, None), (target, opened))
    for table, names in source.columns().items():
        known = sealed.get(table)
        if conversion.opens and (table == "unindexed" or (known is not None and known.has_words)):
            continue  # they are made anew
        hashed = {each.column for each in known.columns if each.kind in HASHED} if known else set()
        compared = [name for name in names if name not in hashed]
        sums = {
            digest_of(row for row in _rows(end, table, compared, known, how) if (table, row[0]) != ("kept", KEPT_AS))
            for end, how in ends
        }
        if len(sums) > 1:
            raise Damaged(f"the copy of {table} is not equal, and nothing was switched")
