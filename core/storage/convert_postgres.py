"""Seal a PostgreSQL database in place, or open it: some rows at a time, each batch with a note of how far it came.

Workers refuse to start meanwhile. Broken off anywhere, the same call goes on where it stopped.
"""

# ruff: noqa: S608 - SQL is put together from constants and the names of our tables and columns
from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

from pgvector.psycopg import register_vector

from core.errors import Damaged, StorageError
from core.storage import postgres_vectors
from core.storage.convert import Conversion, SealedTable, converted_file, found_again, sealed_tables
from core.storage.database import Row
from core.storage.files import owner_name
from core.storage.kept import DROP_MARK, FIND_MARK, PUT_MARK, SealMark, State, mark_in
from core.storage.memory_rows import VECTORS
from core.storage.move import Progress
from core.storage.move_postgres import PostgresEnd, refuse_workers
from core.storage.postgres_connection import parameters, translated
from core.storage.postgres_schema import MIGRATIONS, connected, prepare
from core.storage.sealed_columns import SEALED_COLUMNS, SealedColumn
from core.types import UserKey

_BATCH: Final = 500


def convert(
    url: str,
    name: str,
    conversion: Conversion,
    progress: Progress,
    columns: Sequence[SealedColumn] = SEALED_COLUMNS,
) -> int:
    """Convert the database of a URL, which is called `name`, and return how many rows were; 0 if it was done before.

    Raises:
        ConfigError, StorageError: it cannot be reached, a worker uses it, or it is being converted the other way.
    """
    state: State = "unsealing" if conversion.opens else "sealing"
    with translated(), connected(parameters(url)) as connection:
        refuse_workers(connection, name)
        register_vector(connection)
        prepare(parameters(url), MIGRATIONS)
        end = PostgresEnd(connection, name)
        mark = mark_in(end.run(FIND_MARK))
        if (mark is None) if conversion.opens else (mark is not None and mark.state == "sealed"):
            return 0
        if mark is not None and mark.state not in {state, "sealed"}:
            verb = mark.state.removesuffix("ing")
            raise StorageError(f"{name} was being converted the other way: `elefante key {verb}` has to end first")
        with connection.transaction():
            connection.execute("LOCK TABLE workers IN SHARE MODE")
            refuse_workers(connection, name)
            if mark is None or mark.state != state:
                mark = SealMark(conversion.sealing.id, state)
                end.run(PUT_MARK, (mark.to_json(),))
        return _Tables(end, conversion, progress, mark, columns).run()


class _Tables:
    """One table after another, in the order of their keys."""

    def __init__(
        self,
        end: PostgresEnd,
        conversion: Conversion,
        progress: Progress,
        mark: SealMark,
        columns: Sequence[SealedColumn],
    ) -> None:
        self._end = end
        self._conversion = conversion
        self._progress = progress
        self._mark = mark
        self._tables = sealed_tables(columns)
        self._done = 0

    def run(self) -> int:
        """Convert what is left, and return how many rows that was."""
        whole = sum(self._count(table) for table in self._tables)
        for number, table in enumerate(self._tables):
            if table.name == "vectors":
                if number >= self._mark.table and self._conversion.sealing.seals(VECTORS):
                    self._vectors(number, table)
            elif number >= self._mark.table:
                after = tuple(self._mark.after) if number == self._mark.table else ()
                while after := self._batch(number, table, after):
                    self._progress(self._mark.state, min(self._done, whole), whole)
        while self._file():
            self._progress(self._mark.state, min(self._done, whole), whole)
        with self._end.connection.transaction():
            if self._conversion.opens:
                found_again(self._end)
                self._end.run(DROP_MARK)
            else:
                self._end.run(PUT_MARK, (SealMark(self._mark.file).to_json(),))
        self._progress(self._mark.state, whole, whole)
        return max(whole, 1)

    def _count(self, table: SealedTable) -> int:
        [(count,)] = self._end.run(f'SELECT count(*) FROM "{table.name}"')
        return int(count)

    def _batch(self, number: int, table: SealedTable, after: Sequence[Any]) -> tuple[Any, ...]:
        """Convert the rows of the next keys, in one transaction; return the last key, or nothing if there was none."""
        names = [*table.key, *(each.column for each in table.columns)]
        with self._end.connection.transaction():
            rows = self._next(table, names, after)
            if not rows:
                return ()
            last = tuple(rows[-1][: len(table.key)])
            self._put(table, names, rows)
            note = SealMark(self._mark.file, self._mark.state, number, last)
            self._end.run(PUT_MARK, (note.to_json(),))
        self._done += len(rows)
        return last

    def _next(self, table: SealedTable, names: Sequence[str], after: Sequence[Any]) -> list[Row]:
        """Return the rows that follow a key, as `SealedTable.select` has them; those of one key come together."""
        key, marks = ", ".join(f't."{each}"' for each in table.key), ", ".join("?" * len(table.key))
        behind = f"WHERE ({key}) > ({marks})" if after else ""
        rows = self._end.run(table.select(names, f"{behind} ORDER BY {key} LIMIT {_BATCH}"), tuple(after))
        if len(rows) < _BATCH:
            return rows
        last = rows[-1][: len(table.key)]
        whole = self._end.run(table.select(names, f"WHERE ({key}) = ({marks})"), last)
        return [row for row in rows if row[: len(table.key)] != last] + whole

    def _put(self, table: SealedTable, names: Sequence[str], rows: Sequence[Row]) -> None:
        """Write what became of the rows, each found by its key, and by its word where several have one key."""
        width = len(table.key)
        sets = ", ".join(f'"{each.column}" = ?' for each in table.columns)
        where = " AND ".join(f'"{each}" = ?' for each in table.told_apart)
        places = [names.index(each) for each in table.told_apart]
        changed = []
        for row in rows:
            new = self._conversion.row(table, names, row)[width:]
            if new != list(row[width : len(names)]):
                changed.append((*new, *(row[place] for place in places)))
        if changed:
            self._end.run_many(f'UPDATE "{table.name}" SET {sets} WHERE {where}', changed)

    def _vectors(self, number: int, table: SealedTable) -> None:
        """Convert all vectors in one transaction: the column holds them, or bytes, and never both."""
        end, connection = self._end, self._end.connection
        names = ("phrase", "space", "owner", "vector")
        with connection.transaction():
            self._end.run("CREATE TEMP TABLE converted (phrase BIGINT, space BIGINT, owner BIGINT, vector BYTEA)")
            for rows in _batches(end.stream(table.select(names))):
                put = "INSERT INTO converted VALUES (?, ?, ?, ?)"
                self._end.run_many(put, (self._conversion.row(table, names, row) for row in rows))
                self._done += len(rows)
            self._end.run("TRUNCATE vectors")
            postgres_vectors.fit(connection, sealed=not self._conversion.opens)
            for rows in _batches(end.stream("SELECT * FROM converted")):
                end.put("vectors", names, (row for row in rows))
            self._end.run("DROP TABLE converted")
            self._end.run(PUT_MARK, (SealMark(self._mark.file, self._mark.state, number + 1).to_json(),))

    def _file(self) -> int:
        """Convert the next file, in one transaction; return its number, or 0 if there was none."""
        after = self._mark.after[0] if self._mark.table == len(self._tables) else 0
        owners = {
            owner_name(UserKey(*row)): UserKey(*row) for row in self._end.run('SELECT platform, "user" FROM owners')
        }
        with self._end.connection.transaction():
            rows = self._end.run(
                "SELECT id, owner, sha256, content FROM files WHERE id > ? ORDER BY id LIMIT 1", (after,)
            )
            for number, owner, name, stored in rows:
                if (whose := owners.get(owner)) is None:
                    raise Damaged(f"the file {number} is nobody's: `elefante check` says more")
                opens = self._conversion.opens
                if new := converted_file(self._conversion.sealing, whose, name, bytes(stored), opens=opens):
                    self._end.run("UPDATE files SET sha256 = ?, content = ? WHERE id = ?", (*new, number))
                self._mark = SealMark(self._mark.file, self._mark.state, len(self._tables), (number,))
                self._end.run(PUT_MARK, (self._mark.to_json(),))
                return int(number)
        return 0


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while batch := list(islice(rows, _BATCH)):
        yield batch
