"""Seal the rows and files of a database that was not sealed, or open them again: what both engines share.

What is found by hashes of words cannot be opened: terms and digests are made anew from the texts (`found_again`).

Files are converted into a folder beside theirs, which takes its place when the database is done. It has its name only
when it is whole, and the name says which way the conversion goes: by that and by the mark of the database,
`finish_files` knows whether it counts.
"""

# ruff: noqa: S608 - SQL is put together from constants and the names of our tables and columns
from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from core.enclosures import attachments_from_json
from core.errors import Damaged, Unreadable
from core.sealing.port import BLANKS, PLAIN, Sealing
from core.storage.database import Row
from core.storage.files import CONTENT, file_content, file_name, names_in
from core.storage.lexicon import index_terms
from core.storage.move import Target
from core.storage.record import digest
from core.storage.sealed_columns import SEALED_COLUMNS, SealedColumn
from core.storage.sqlite_backup import ensure_room, erase, settle
from core.types import UserKey

HASHED: Final = ("word", "digest")
"""The kinds that cannot be opened: they are made anew."""


@dataclass(frozen=True, slots=True)
class SealedTable:
    """A table with sealed columns."""

    name: str
    columns: tuple[SealedColumn, ...]

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that find its rows."""
        return self.columns[0].key

    @property
    def told_apart(self) -> tuple[str, ...]:
        """The columns that find one row; of those, which are converted have the value of before."""
        return (*self.key, *(each.column for each in self.columns if each.is_key))

    @property
    def has_words(self) -> bool:
        """Whether its rows are hashes of words, and nothing else is sealed."""
        return all(each.kind == "word" for each in self.columns)

    def select(self, columns: Sequence[str], rest: str = "") -> str:
        """Return a query of those columns of each row `t`, and of all that `Conversion.row` needs beside them."""
        besides = []
        for each in self.columns:
            besides += [each.owned, *each.row, f"CASE WHEN {each.only} THEN 1 ELSE 0 END" if each.only else "1"]
        names = ", ".join((*(f't."{column}"' for column in columns), *besides))
        return f'SELECT {names} FROM "{self.name}" AS t {self.columns[0].joined} {rest}'


def sealed_tables(columns: Sequence[SealedColumn] = SEALED_COLUMNS) -> tuple[SealedTable, ...]:
    """Return the tables of the registry, each once."""
    by_name: dict[str, list[SealedColumn]] = {}
    for each in columns:
        by_name.setdefault(each.table, []).append(each)
    return tuple(SealedTable(name, tuple(those)) for name, those in by_name.items())


@dataclass(frozen=True, slots=True)
class _Cell:
    """A value that is sealed, or is to be: at which place of the row, whose it is, and what the row is named."""

    place: int
    column: SealedColumn
    owner: UserKey
    row: str
    value: Any


def _cells(table: SealedTable, columns: Sequence[str], row: Sequence[Any]) -> Iterator[_Cell]:
    """Yield what is to be sealed in a row that `SealedTable.select` found of those columns."""
    at = len(columns)
    for each in table.columns:
        (platform, user), parts = row[at : at + 2], row[at + 2 : at + 2 + len(each.row)]
        is_theirs, at = row[at + 2 + len(each.row)], at + 3 + len(each.row)
        if each.column not in columns or not is_theirs:
            continue
        place = columns.index(each.column)
        if (value := row[place]) is None or value in BLANKS:
            continue
        if platform is None:
            raise Damaged(f"a row of {table.name} is nobody's")
        yield _Cell(place, each, UserKey(platform, user), "|".join(map(str, parts)), value)


@dataclass(slots=True)
class Opened:
    """How many sealed values a database has that open, and whose do not, and how many."""

    values: int = 0
    unreadable: Counter[UserKey] = field(default_factory=Counter)


def opened(stream: Callable[[str], Iterable[Row]], sealing: Sealing) -> Opened:
    """Open every sealed value of a database, of which `stream` yields the rows of a query."""
    found, conversion = Opened(), Conversion(sealing, opens=True)
    for table in sealed_tables():
        columns = [each.column for each in table.columns if each.kind not in HASHED and sealing.seals(each.name)]
        for row in stream(table.select(columns)) if columns else ():
            for cell in _cells(table, columns, row):
                try:
                    conversion.opened(cell.column, cell.row, cell.value)
                except Unreadable:
                    found.unreadable[cell.owner] += 1
                else:
                    found.values += 1
    return found


class Conversion:
    """Seals values of rows, or opens them."""

    def __init__(self, sealing: Sealing, *, opens: bool) -> None:
        self.sealing = sealing
        self.opens = opens

    def row(self, table: SealedTable, columns: Sequence[str], row: Sequence[Any]) -> list[Any]:
        """Return the values of the columns in the row that `SealedTable.select` found, sealed or opened.

        Hashes stay as they are when they would be opened.

        Raises:
            Unreadable: a value does not open.
            Damaged: nobody is known whose the row is, or what was sealed does not open.
        """
        values = list(row[: len(columns)])
        for cell in _cells(table, columns, row):
            values[cell.place] = self._value(cell.column, cell.owner, cell.row, cell.value)
        return values

    def _value(self, column: SealedColumn, owner: UserKey, row: str, value: Any) -> Any:
        if column.kind in HASHED:
            return value if self.opens else self._hashed(column, owner, value)
        if self.opens:
            return self.opened(column, row, value)
        seal = self.sealing.seal if column.kind == "text" else self.sealing.seal_bytes
        sealed = seal(owner, column.name, row, value)
        if self.opened(column, row, sealed) != value:
            raise Damaged(f"a value of {column.name} does not open again")
        return sealed

    def opened(self, column: SealedColumn, row: str, value: Any) -> Any:
        """Return a sealed value opened.

        Raises:
            Unreadable: it does not open there.
        """
        if column.kind == "text":
            return self.sealing.open(column.name, row, value)
        return self.sealing.open_bytes(column.name, row, bytes(value))

    def _hashed(self, column: SealedColumn, owner: UserKey, value: Any) -> Any:
        if column.kind == "word":
            return self.sealing.hashed(owner, [value])[0]
        if isinstance(value, str):  # of hexadecimal digits
            return self.sealing.digest(owner, bytes.fromhex(value)).hex()
        return self.sealing.digest(owner, bytes(value))


def found_again(end: Target) -> None:
    """Make anew what an opened database is found by: digests and terms of memories, terms of messages."""
    contents = end.run("SELECT id, kind, content, enclosed FROM memories")
    end.run_many(
        "UPDATE memories SET digest = ? WHERE id = ?",
        (
            (digest(kind, content, attachments_from_json(json.loads(held)) if held else ()), number)
            for number, kind, content, held in contents
        ),
    )
    end.run("DELETE FROM terms")
    phrases = end.run(
        "SELECT m.id, coalesce(m.account, m.owner), p.text FROM memories AS m JOIN phrases AS p ON p.memory = m.id "
        "ORDER BY m.id, p.id",
    )
    for (number, account), those in groupby(phrases, key=lambda row: row[:2]):
        terms = index_terms([text for _, _, text in those])
        end.run_many(
            "INSERT INTO terms (account, term, memory) VALUES (?, ?, ?)", ((account, term, number) for term in terms)
        )
    end.run(
        "INSERT INTO unindexed (message, thread) SELECT m.id, m.thread FROM messages AS m WHERE EXISTS "
        "(SELECT 1 FROM message_terms AS w WHERE w.message = m.id) ON CONFLICT DO NOTHING",
    )
    end.run("DELETE FROM message_terms")


# --- files in a folder ------------------------------------------------------------------------------------------------

_PART: Final = ".converting"
_WHOLE: Final = {False: ".sealed", True: ".opened"}


def convert_files(folder: Path, owners: Mapping[str, UserKey], sealing: Sealing, *, opens: bool) -> int:
    """Convert the files below a folder into another beside it, for `finish_files`; return how many.

    `owners` are whose they are, by the name of their folder.

    Raises:
        OSError, DiskFull: there is no room, or they cannot be read.
        Unreadable: one does not open.
        Damaged: one is nobody's.
    """
    part, count = _beside(folder, _PART), 0
    _remove(part)
    if not folder.is_dir():
        return 0
    files = [(owner, name) for owner in folder.iterdir() if owner.is_dir() for name in sorted(names_in(owner))]
    ensure_room(folder.parent, sum((owner / name).stat().st_size for owner, name in files))
    part.mkdir(mode=0o700)
    for owner, name in files:
        if (whose := owners.get(owner.name)) is None:
            raise Damaged(f"the folder {owner} is nobody's: `elefante check` says more")
        stored, times = (owner / name).read_bytes(), (owner / name).stat()
        if (converted := converted_file(sealing, whose, name, stored, opens=opens)) is None:
            continue  # its bytes were lost before, and it is not found now either
        there, content = converted
        path = part / owner.name / there
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(content)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        settle(path)
        count += 1
    whole = _beside(folder, _WHOLE[opens])
    _remove(whole)
    part.rename(whole)
    settle(folder.parent)
    return count


def converted_file(
    sealing: Sealing, owner: UserKey, name: str, stored: bytes, *, opens: bool
) -> tuple[str, bytes] | None:
    """Return name and bytes of a file, sealed or opened; None if its bytes are not what they were."""
    content = file_content(sealing if opens else PLAIN, name, stored)
    if content is None:
        return None
    sha256 = hashlib.sha256(content).hexdigest()
    if opens:
        return sha256, content
    there = file_name(sealing, owner, sha256)
    return there, sealing.seal_bytes(owner, CONTENT, there, content)


def finish_files(folder: Path, *, is_sealed: bool) -> None:
    """Put the converted files in place if the database is converted, or remove what was converted in vain.

    What is replaced is overwritten first. Broken off, it goes on where it stopped.
    """
    _remove(_beside(folder, _PART))
    _remove(_beside(folder, _WHOLE[is_sealed]))  # the database did not follow
    if (whole := _beside(folder, _WHOLE[not is_sealed])).is_dir():
        _remove(folder)
        whole.rename(folder)
        settle(folder.parent)


def are_files_unfinished(folder: Path) -> bool:
    """Return whether there is something for `finish_files` to do."""
    return any(_beside(folder, end).exists() for end in (_PART, *_WHOLE.values()))


def _beside(folder: Path, end: str) -> Path:
    return folder.with_name(f"{folder.name}{end}")


def _remove(folder: Path) -> None:
    """Overwrite the files below a folder, and remove it."""
    if not folder.is_dir():
        return
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            erase(path)
    shutil.rmtree(folder)
