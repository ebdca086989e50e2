"""How far a database came: by that a start notices a file that lost what a backup of it holds.

Numbers of rows are given once, in ascending order, and deleting a row gives none back (sqlite.org/autoinc.html): who
forgets everything does not look like a loss. A database that is put back from an older backup goes on above the numbers
that were given since, so that no button or list in a chat names something else by one of them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from core.storage.kept import FIND_MARK, Mark, mark_in
from core.storage.sqlite_backup import is_lost, open_to_read
from core.storage.sqlite_schema import schema_version, tables_of, translated

_PATIENCE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Marks:
    """The schema of a database, when it was made (microseconds since 1970), and the last number of each table."""

    schema: int
    made: int
    numbers: Mapping[str, int] = field(default_factory=dict)

    def lacks(self, other: Marks) -> bool:
        """Return whether that is an earlier state of this database's own, which came further."""
        is_same = (self.schema, self.made) == (other.schema, other.made)
        return is_same and any(self.numbers.get(name, 0) < number for name, number in other.numbers.items())


def marks_of(path: Path) -> Marks:
    """Read the marks of a database file, of any version; others may have it open, or be migrating it.

    Raises:
        Damaged, StorageError: it cannot be read.
    """
    with translated(), closing(open_to_read(path, _PATIENCE_S)) as connection:
        schema = schema_version(connection)
        tables = tables_of(connection)
        made, numbers = 0, {}
        if "schema_history" in tables:
            [made] = connection.execute("SELECT coalesce(min(at), 0) FROM schema_history").fetchone()
        if "sqlite_sequence" in tables:
            numbers = dict(connection.execute("SELECT name, seq FROM sqlite_sequence"))
        return Marks(schema, made, numbers)


def seal_mark_of(path: Path) -> Mark | None:
    """Return the mark of a database file that is sealed; None of one that is not, or not there.

    Raises:
        Damaged, StorageError: it cannot be read.
    """
    if is_lost(path):
        return None
    with translated(), closing(open_to_read(path, _PATIENCE_S)) as connection:
        schema_version(connection)
        return mark_in(connection.execute(FIND_MARK).fetchall()) if "kept" in tables_of(connection) else None


def raise_marks(path: Path, known: Iterable[Marks]) -> None:
    """Let the next numbers of a database that nobody has open be above those of its other states.

    Raises:
        StorageError: it cannot be written.
    """
    own = marks_of(path)
    numbers: dict[str, int] = {}
    for marks in known:
        if marks.made == own.made:
            numbers |= {name: max(number, numbers.get(name, 0)) for name, number in marks.numbers.items()}
    with translated(), closing(sqlite3.connect(path)) as connection, connection:
        for name, number in numbers.items():
            if name not in own.numbers:
                connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (name, number))
            elif number > own.numbers[name]:
                connection.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = ?", (number, name))
