"""Move all that is stored to another engine: copy every table in one transaction, compare all rows, then commit.

What is broken off anywhere leaves the target as it was, and is run again. The source is only read.
"""

# ruff: noqa: S608 - SQL is put together from constants and the names of our tables and columns
from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from graphlib import TopologicalSorter
from hashlib import blake2b
from typing import Final, Protocol, TypeAlias

from core.errors import StorageError
from core.storage.database import Row

LEFT_BEHIND: Final = frozenset({"schema_history", "workers", "claims", "files"})
"""Tables of one engine, or of the workers that run, and files, which move by themselves (`move_files`)."""

_MADE: Final = {("vectors", "owner"): "(SELECT owner FROM phrases WHERE id = t.phrase)"}
"""Columns that only one engine has, with the SQL of their values in the other."""

_PEOPLE: Final = """
SELECT count(*) FROM (
    SELECT platform, "user" FROM owners UNION SELECT platform, "user" FROM accounts
    UNION SELECT platform, "user" FROM people UNION SELECT platform, "user" FROM threads
) AS everybody
"""
_STEP_ROWS: Final = 1_000

Columns: TypeAlias = Mapping[str, Sequence[str]]
Progress: TypeAlias = Callable[[str, int, int], None]
"""Is told what is done ("copying"), how many rows of it are, and of how many."""


class Source(Protocol):
    """A database of our schema, which nobody else writes to meanwhile. Its SQL is what both engines take."""

    name: str
    """What people call it, without a password."""

    replaced: int
    """How many texts were read with a replacement character for what is no text, such as NUL."""

    def columns(self) -> Columns:
        """Map each table that goes along to its columns."""
        ...

    def references(self) -> Mapping[str, set[str]]:
        """Map each table to the others that its rows refer to."""
        ...

    def stream(self, sql: str) -> Generator[Row]:
        """Yield the rows of a query, of which only some are in RAM. A vector is float32, little-endian."""
        ...

    def last_ids(self) -> Mapping[str, int]:
        """Map tables that number their rows to the last number that was given."""
        ...


class Target(Source, Protocol):
    """A database in a transaction, which the end of its context commits."""

    def put(self, table: str, columns: Sequence[str], rows: Generator[Row]) -> None:
        """Add rows to a table."""
        ...

    def set_last_ids(self, numbers: Mapping[str, int]) -> None:
        """Let the next numbers be above these."""
        ...

    def in_the_way(self, tables: Sequence[str]) -> StorageError:
        """Return the error that says that other data is there, and what to do."""
        ...


@dataclass(frozen=True, slots=True)
class Moved:
    """What is at the target: people, rows by table, and how many texts were replaced."""

    people: int
    rows: Mapping[str, int]
    replaced: int


def move(source: Source, target: Target, progress: Progress) -> Moved:
    """Copy all rows into an empty target, and compare them; a target that holds the very same is only compared.

    Raises:
        StorageError: the target holds other data, the copy is not equal, or one of them failed.
    """
    here, there = source.columns(), target.columns()
    order = [table for table in TopologicalSorter(target.references()).static_order() if table in there]
    given = {table: _given(table, here.get(table, ()), there[table]) for table in order}
    if here.keys() != there.keys():
        raise _other_version(next(iter(here.keys() ^ there.keys())))
    counts, held = _counts(source, order), _counts(target, order)
    whole = sum(counts.values())
    if is_empty := not any(held.values()):
        told = _RowCounter(progress, "copying", whole)
        for table, columns in given.items():
            sql = f'SELECT {", ".join(columns.values())} FROM "{table}" AS t'
            target.put(table, list(columns), told.passing(source.stream(sql)))
        target.set_last_ids(source.last_ids())
    source.replaced = 0
    told = _RowCounter(progress, "comparing", 2 * whole)
    same = {table: [column for column in here[table] if column in there[table]] for table in order}
    unequal = [
        table for table in order if len({_digest(end, table, same[table], told) for end in (source, target)}) > 1
    ]
    if unequal and not is_empty:
        raise target.in_the_way([table for table in unequal if held[table]] or unequal)
    numbers = target.last_ids()
    unequal += [f"the next number of {name}" for name, last in source.last_ids().items() if numbers.get(name, 0) < last]
    if unequal:
        raise StorageError(f"the copy is not equal, and nothing was switched: {', '.join(unequal)}")
    [(people,)] = source.stream(_PEOPLE)
    return Moved(people, counts, source.replaced)


def _given(table: str, here: Sequence[str], there: Sequence[str]) -> Mapping[str, str]:
    """Map the columns of the target to the SQL of their values in the source."""
    made = {column for of, column in _MADE if of == table}
    if set(here) - made != set(there) - made:
        raise _other_version(table)
    return {column: f't."{column}"' if column in here else _MADE[table, column] for column in there}


def _other_version(table: str) -> StorageError:
    return StorageError(f"the table {table} has other columns there: are both of this version of the program?")


def _counts(end: Source, tables: Sequence[str]) -> Mapping[str, int]:
    return {table: count for table in tables for (count,) in end.stream(f'SELECT count(*) FROM "{table}"')}


def _digest(end: Source, table: str, columns: Sequence[str], told: _RowCounter) -> int:
    """Return the sum of the digests of a table's rows, which is the same in any order."""
    names = ", ".join(f't."{column}"' for column in columns)
    total = 0
    for row in told.passing(end.stream(f'SELECT {names} FROM "{table}" AS t')):
        total += int.from_bytes(blake2b(repr(row).encode(), digest_size=16).digest())
    return total


class _RowCounter:
    """Tells a Progress of the rows that pass."""

    def __init__(self, progress: Progress, what: str, rows: int) -> None:
        self._progress, self._what, self._rows, self._done = progress, what, rows, 0
        progress(what, 0, rows)

    def passing(self, rows: Generator[Row]) -> Generator[Row]:
        """Yield the rows."""
        with closing(rows) as stream:
            for row in stream:
                yield row
                self._done += 1
                if self._done % _STEP_ROWS == 0 or self._done == self._rows:
                    self._progress(self._what, self._done, self._rows)
