"""A PostgreSQL database as one end of a move: read by cursors of the server, written by COPY."""

# ruff: noqa: S608 - SQL is put together from constants and the names of our tables and columns
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, LiteralString

import numpy as np
import psycopg
from pgvector import HalfVector
from pgvector.psycopg import register_vector

from core.errors import StorageDown, StorageError
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
from core.storage.postgres_connection import parameters
from core.storage.postgres_errors import reason, translated
from core.storage.postgres_migrations import MIGRATIONS
from core.storage.postgres_schema import connected, prepare

_READ_ROWS: Final = 1_000
_BEAT_S: Final = 10
"""A worker that was not heard of for so long does not run; the lease of one is half of it."""

_NAMES: Final = [table.name for table in TABLES]


class _Server:
    """What both have in common."""

    def __init__(self, connection: psycopg.Connection, name: str) -> None:
        self._connection = connection
        self.name = name
        self.replaced = 0

    def columns(self) -> Columns:
        """Map each table to its columns."""
        found: dict[str, list[str]] = {}
        for table, column in self._all(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema() "
            "ORDER BY table_name, ordinal_position"
        ):
            found.setdefault(table, []).append(column)
        return found

    def stream(self, sql: str, values: Sequence[object] = ()) -> Iterator[Row]:
        """Yield the rows of a query."""
        with translated(), self._connection.transaction(), self._connection.cursor("move", binary=True) as cursor:
            cursor.itersize = _READ_ROWS
            cursor.execute(_query(sql), values)
            halves = [
                place for place, column in enumerate(cursor.description or ()) if column.type_display == "halfvec"
            ]
            for row in cursor:
                yield _whole(row, halves) if halves else row

    def last_ids(self) -> Mapping[str, int]:
        """Map tables that number their rows to the last number that was given."""
        numbers = {}
        for table, sequence in self._sequences().items():
            [(last,)] = self._all(f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {sequence}")
            numbers[table] = last
        return numbers

    def state(self) -> str:
        """Return how many rows were ever written, by the server's own count."""
        refuse_workers(self._connection, self.name)
        [(database, written)] = self._all(
            "SELECT current_database(), coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint "
            "FROM pg_stat_user_tables WHERE schemaname = current_schema() AND relname = ANY(?)",
            (_NAMES,),
        )
        return f"{self.name} {database} {written}"

    def _sequences(self) -> Mapping[str, str]:
        """Map tables that number their rows to the sequence that does it."""
        rows = self._all(
            "SELECT relname, pg_get_serial_sequence(quote_ident(relname), attname) FROM pg_class "
            "JOIN pg_attribute ON attrelid = pg_class.oid "
            "WHERE attidentity != '' AND relname = ANY(?) AND pg_table_is_visible(pg_class.oid)",
            (_NAMES,),
        )
        return dict(rows)

    def _all(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        with translated():
            return self._connection.execute(_query(sql), values).fetchall()


class PostgresSource(_Server, Source):
    """A database that no worker uses."""


class PostgresTarget(_Server, Target):
    """A database of our schema, without rows at first."""

    def begin(self, state: str) -> Mapping[str, Position]:
        """Return how far a move from a source in that state is; without one, or from another state, begin anew."""
        with self._writing(SOURCE_STEP) as connection:
            is_moved = MOVING in self.columns()
            connection.execute(CREATE_MOVING)
            noted = {
                step: Position(after, rows)
                for step, after, rows in self._all(f"SELECT step, after, rows FROM {MOVING}")
            }
            if noted.get(SOURCE_STEP, Position("", 0)).after == state:
                return noted
            if not is_moved or self.is_verified():
                self._refuse_data()
            tables = ", ".join(f'"{name}"' for name in (*_NAMES, MOVING) if name in self.columns())
            connection.execute(_query(f"TRUNCATE {tables} RESTART IDENTITY CASCADE"))
            connection.execute(_query(NOTE), (SOURCE_STEP, state, 0))
        return {}

    def put(self, table: str, columns: Sequence[str], rows: Sequence[Row], step: str, position: Position) -> None:
        """Add rows, and note the position of the step, in one transaction."""
        types = self._types(table)
        halves = [place for place, column in enumerate(columns) if types[column] == "halfvec"]
        names = ", ".join(f'"{column}"' for column in columns)
        with self._writing(table) as connection, connection.cursor() as cursor:
            with cursor.copy(_query(f'COPY "{table}" ({names}) FROM STDIN (FORMAT BINARY)')) as copy:
                copy.set_types([types[column] for column in columns])
                for row in rows:
                    copy.write_row(_half(row, halves) if halves else row)
            connection.execute(_query(NOTE), (step, position.after, position.rows))

    def change(self, sql: str, rows: Sequence[Row], step: str, position: Position) -> None:
        """Run a statement for each row, and note the position of the step, in one transaction."""
        with self._writing(step) as connection, connection.cursor() as cursor:
            cursor.executemany(_query(sql), rows)
            cursor.execute(_query(NOTE), (step, position.after, position.rows))

    def set_last_ids(self, numbers: Mapping[str, int]) -> None:
        """Let the next numbers be above these."""
        with self._writing("sequences") as connection:
            for table, sequence in self._sequences().items():
                if last := numbers.get(table, 0):
                    connection.execute("SELECT setval(%s, %s)", (sequence, last))

    def is_verified(self) -> bool:
        """Return whether the move was compared and is whole."""
        return (VERIFIED,) in self._all(f"SELECT rows FROM {MOVING} WHERE step = ?", (SOURCE_STEP,))

    def note(self, state: str, *, verified: bool) -> None:
        """Note from which state of the source this is, and whether it was compared and is whole."""
        with self._writing(SOURCE_STEP) as connection:
            connection.execute("SET LOCAL synchronous_commit = on")
            connection.execute(_query(NOTE), (SOURCE_STEP, state, VERIFIED if verified else 0))
        if verified:
            with translated():
                self._connection.execute("ANALYZE")

    def _refuse_data(self) -> None:
        held = [name for name in _NAMES if name in self.columns() and self._all(f'SELECT FROM "{name}" LIMIT 1')]
        if held:
            raise StorageError(
                f"{self.name} holds other data ({', '.join(held[:3])}), and nothing is put among it. Name an empty "
                "database, made by: CREATE DATABASE elefante;"
            )

    def _types(self, table: str) -> Mapping[str, str]:
        rows = self._all(
            "SELECT column_name, udt_name FROM information_schema.columns "
            "WHERE table_schema = current_schema() AND table_name = ?",
            (table,),
        )
        return dict(rows)

    @contextmanager
    def _writing(self, what: str) -> Iterator[psycopg.Connection]:
        """Begin a transaction; it may be lost by a crash of the server, with the position that is noted in it."""
        with translated():
            try:
                with self._connection.transaction():
                    self._connection.execute("SET LOCAL synchronous_commit = off")
                    yield self._connection
            except psycopg.IntegrityError as error:
                raise StorageError(
                    f"{self.name} refused rows of {what} ({type(error).__name__}): `elefante check` says whether what "
                    "is moved is sound"
                ) from error


@contextmanager
def postgres_source(url: str, name: str) -> Iterator[PostgresSource]:
    """Connect to a database that no worker uses, which is migrated first if it is of an older version.

    Raises:
        ConfigError, StorageError: it cannot be reached, a worker uses it, or it has a newer schema.
    """
    with _connected(url) as connection:
        refuse_workers(connection, name)
        prepare(parameters(url), MIGRATIONS)
        register_vector(connection)
        yield PostgresSource(connection, name)


@contextmanager
def postgres_target(url: str, name: str) -> Iterator[PostgresTarget]:
    """Connect to a database to move into, and make the tables that it lacks.

    Raises:
        ConfigError: something is missing that somebody has to give; the advice names the command.
        StorageError: it cannot be reached, a worker uses it, or it is another program's.
    """
    with _connected(url) as connection:
        target = PostgresTarget(connection, name)
        if (held := target.columns()) and "schema_history" not in held:
            raise StorageError(
                f"{name} holds tables of another program. Name an empty database, made by: CREATE DATABASE elefante;"
            )
        refuse_workers(connection, name)
        prepare(parameters(url), MIGRATIONS, half_moved=True)
        register_vector(connection)
        yield target


def forget_move(url: str) -> None:
    """Remove from the database what it keeps of the move that filled it."""
    with _connected(url) as connection:
        connection.execute(_query(f"DROP TABLE IF EXISTS {MOVING}"))


@contextmanager
def _connected(url: str) -> Iterator[psycopg.Connection]:
    """Connect, and say of a connection that broke what to do: there is nobody here who tries again."""
    connection = connected(parameters(url))
    try:
        with connection, translated():
            yield connection
    except StorageDown as error:
        why = reason(error.__cause__ or error)
        raise StorageError(
            f"the database server went away ({why}): run this again when it is back, and it goes on where it was"
        ) from error


def refuse_workers(connection: psycopg.Connection, name: str) -> None:
    """Return if no worker uses the database.

    Raises:
        StorageError: one does.
    """
    [(table,)] = connection.execute("SELECT to_regclass('workers')").fetchall()
    if table is None:
        return
    [(alive,)] = connection.execute(
        "SELECT count(*) FROM workers WHERE beat > (extract(epoch FROM clock_timestamp()) - %s) * 1000000", (_BEAT_S,)
    ).fetchall()
    if alive:
        raise StorageError(f"workers that run on {name}: {alive}. Stop them first, then run this again")


def _whole(row: Row, halves: Iterable[int]) -> Row:
    """Return a row with vectors as float32, little-endian."""
    given = list(row)
    for place in halves:
        half: HalfVector = given[place]
        given[place] = half.to_numpy().astype("<f4").tobytes()
    return tuple(given)


def _half(row: Row, halves: Iterable[int]) -> Row:
    """Return a row with vectors as PostgreSQL takes them."""
    given: list[Any] = list(row)
    for place in halves:
        given[place] = HalfVector(np.frombuffer(given[place], "<f4"))
    return tuple(given)


def _query(sql: str) -> LiteralString:
    """Return a statement of both engines as psycopg takes it."""
    return sql.replace("?", "%s")
