"""Move all that is stored to another engine: copy every table in one transaction, compare all rows, then commit.

What is broken off anywhere leaves the target as it was, and is run again. The source is only read.
"""

# ruff: noqa: S608 - SQL is put together from constants and the names of our tables and columns
from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from graphlib import TopologicalSorter
from hashlib import blake2b
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from core.errors import StorageError
from core.sealing.port import PLAIN, Sealing
from core.storage.database import Row
from core.storage.files import file_content, file_names, names_in, owner_name, write_file
from core.storage.record import microseconds
from core.types import UserKey

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

    def run(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """Run a statement, and return its rows."""
        ...

    def run_many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement for each row of values."""
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
    return digest_of(told.passing(end.stream(f'SELECT {names} FROM "{table}" AS t')))


def digest_of(rows: Iterable[Sequence[object]]) -> int:
    """Return the sum of the digests of rows, which is the same in any order."""
    encoded = (repr(tuple(row)).encode("utf-8", "replace") for row in rows)
    return sum(int.from_bytes(blake2b(each, digest_size=16).digest()) for each in encoded)


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


# --- files ------------------------------------------------------------------------------------------------------------

FilesListed: TypeAlias = Mapping[tuple[str, str], int]
"""The files that there are, by the names of owner and file, and when each was last put, in microseconds since 1970."""

_COLUMNS: Final = ("owner", "sha256", "at", "content")
_Row: TypeAlias = tuple[str, str, int, bytes]


@dataclass(frozen=True, slots=True)
class MovedFiles:
    """How many files are at the target, and how many of the source are not, as their bytes are not what they were."""

    files: int
    broken: int


def in_folder(folder: Path) -> FilesListed:
    """Return the files below a folder; none if it is not there."""
    owners = [path for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []
    return {
        (owner.name, sha256): int((owner / sha256).stat().st_mtime * 1e6)
        for owner in sorted(owners)
        for sha256 in sorted(names_in(owner))
    }


def in_table(rows: Callable[[str], Iterable[Row]]) -> FilesListed:
    """Return the files in a database, of which `rows` yields those of a query."""
    return {(owner, sha256): at for owner, sha256, at in rows("SELECT owner, sha256, at FROM files")}


def move_files(source: Source | Path, target: Target | Path, sealing: Sealing = PLAIN) -> MovedFiles:
    """Copy the files that the target lacks, one in RAM at a time, as they are stored, and compare what was written.

    Raises:
        StorageError: a copy is not equal, or one of the two failed.
    """
    here, there = (in_folder(end) if isinstance(end, Path) else in_table(end.stream) for end in (source, target))
    missing, broken = {key: at for key, at in here.items() if key not in there}, list[str]()
    copied: dict[tuple[str, str], str] = {}
    rows = _of_folder(source, missing) if isinstance(source, Path) else _of_table(source, missing)
    rows = _sound(sealing, rows, broken, copied)
    if isinstance(target, Path):
        for owner, name, at, content in rows:
            write_file(target, owner, name, content, at / 1e6, sha256=copied[owner, name])
    elif missing:
        target.put("files", _COLUMNS, rows)
        written = target.stream("SELECT owner, sha256, encode(sha256(content), 'hex') FROM files")
        if copied != {key: digest for owner, name, digest in written if (key := (owner, name)) in copied}:
            raise StorageError("the copy of the files is not equal, and nothing was switched")
    return MovedFiles(len(here) - len(broken), len(broken))


def _sound(
    sealing: Sealing, rows: Generator[_Row], broken: list[str], copied: dict[tuple[str, str], str]
) -> Generator[_Row]:
    """Yield the rows whose bytes are what they were, and note their digests; note the others' names."""
    for row in rows:
        owner, name, _, stored = row
        if file_content(sealing, name, stored) is None:
            broken.append(name)
        else:
            copied[owner, name] = hashlib.sha256(stored).hexdigest()
            yield row


def _of_folder(folder: Path, files: FilesListed) -> Generator[_Row]:
    for (owner, sha256), at in files.items():
        yield owner, sha256, at, (folder / owner / sha256).read_bytes()


def _of_table(source: Source, files: FilesListed) -> Generator[_Row]:
    for (owner, sha256), at in files.items():  # both are hexadecimal digits
        sql = f"SELECT content FROM files WHERE owner = '{owner}' AND sha256 = '{sha256}'"
        for (content,) in source.stream(sql):
            yield owner, sha256, at, bytes(content)


def judged(
    named: Mapping[UserKey, Collection[str]], listed: FilesListed, before: datetime, sealing: Sealing = PLAIN
) -> tuple[int, int]:
    """Return how many files are named and not there, and how many are older than that, and named by nothing."""
    wanted = {
        (owner_name(owner), name) for owner, digests in named.items() for name in file_names(sealing, owner, digests)
    }
    old = {key for key, at in listed.items() if at < microseconds(before)}
    return len(wanted - listed.keys()), len(old - wanted)
