"""A PostgreSQL database as one end of a move: read by cursors of the server, written by COPY, in one transaction.

What is stored of one person can be copied into a database in RAM, for a bot that writes nothing (`copy_of_person`).
"""

# ruff: noqa: S608 - SQL is put together from constants and the names of our tables and columns
from __future__ import annotations

# ruff: noqa: S608 - SQL is put together from constants and the names of our tables and columns
import asyncio
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, LiteralString

import numpy as np
import psycopg
from pgvector import HalfVector
from pgvector.psycopg import register_vector

from core.errors import StorageDown, StorageError
from core.sealing.port import PLAIN, Sealing
from core.storage.database import Database, Query, Row
from core.storage.memory_rows import VECTORS
from core.storage.move import LEFT_BEHIND, Columns, Target
from core.storage.postgres_connection import parameters, reason, translated
from core.storage.postgres_schema import MIGRATIONS, connected, inspect, prepare
from core.storage.postgres_vectors import fit
from core.storage.sqlite import open_copy
from core.types import UserKey

_READ_ROWS: Final = 1_000
_BEAT_S: Final = 10
"""A worker that was not heard of for so long does not run; the lease of one is half of it."""


class PostgresEnd(Target):
    """A database in a transaction, during which no worker starts."""

    def __init__(self, connection: psycopg.Connection, name: str) -> None:
        self.connection = connection
        self.name = name
        self.replaced = 0

    def columns(self) -> Columns:
        """Map each table that goes along to its columns."""
        found: dict[str, list[str]] = {}
        for table, column in self.run(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema() "
            "ORDER BY table_name, ordinal_position"
        ):
            if table not in LEFT_BEHIND:
                found.setdefault(table, []).append(column)
        return found

    def references(self) -> Mapping[str, set[str]]:
        """Map each table to the others that its rows refer to."""
        found: dict[str, set[str]] = {table: set() for table in self.columns()}
        for table, other in self.run(
            "SELECT of.relname, other.relname FROM pg_constraint JOIN pg_class AS of ON of.oid = conrelid "
            "JOIN pg_class AS other ON other.oid = confrelid WHERE contype = 'f' AND pg_table_is_visible(conrelid)"
        ):
            if table in found and table != other:
                found[table].add(other)
        return found

    def stream(self, sql: str, values: Sequence[object] = ()) -> Generator[Row]:
        """Yield the rows of a query."""
        with translated(), self.connection.transaction(), self.connection.cursor("move", binary=True) as cursor:
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
            [(last,)] = self.run(f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {sequence}")
            numbers[table] = last
        return numbers

    def put(self, table: str, columns: Sequence[str], rows: Generator[Row]) -> None:
        """Add rows to a table."""
        types = self._types(table)
        halves = [place for place, column in enumerate(columns) if types[column] == "halfvec"]
        names = ", ".join(f'"{column}"' for column in columns)
        with translated(), self.connection.cursor() as cursor:
            try:
                with cursor.copy(_query(f'COPY "{table}" ({names}) FROM STDIN (FORMAT BINARY)')) as copy:
                    copy.set_types([types[column] for column in columns])
                    for row in rows:
                        copy.write_row(_half(row, halves) if halves else row)
            except psycopg.IntegrityError as error:
                raise StorageError(
                    f"{self.name} refused rows of {table} ({type(error).__name__}): `elefante check` says whether what "
                    "is moved is sound"
                ) from error

    def set_last_ids(self, numbers: Mapping[str, int]) -> None:
        """Let the next numbers be above these. What is not committed keeps them all the same."""
        for table, sequence in self._sequences().items():
            if last := numbers.get(table, 0):
                self.run("SELECT setval(?, ?)", (sequence, last))

    def in_the_way(self, tables: Sequence[str]) -> StorageError:
        """Return the error that says that other data is there, and what to do."""
        return StorageError(
            f"{self.name} holds other data ({', '.join(tables[:3])}), and nothing is put among it. Name an empty "
            "database, made by: CREATE DATABASE elefante;"
        )

    def _sequences(self) -> Mapping[str, str]:
        """Map tables that number their rows to the sequence that does it."""
        rows = self.run(
            "SELECT relname, pg_get_serial_sequence(quote_ident(relname), attname) FROM pg_class "
            "JOIN pg_attribute ON attrelid = pg_class.oid "
            "WHERE attidentity != '' AND relname = ANY(?) AND pg_table_is_visible(pg_class.oid)",
            (list(self.columns()),),
        )
        return dict(rows)

    def _types(self, table: str) -> Mapping[str, str]:
        rows = self.run(
            "SELECT column_name, udt_name FROM information_schema.columns "
            "WHERE table_schema = current_schema() AND table_name = ?",
            (table,),
        )
        return dict(rows)

    def run(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """Run a statement, and return its rows."""
        with translated():
            cursor = self.connection.execute(_query(sql), values)
            return cursor.fetchall() if cursor.description else []

    def run_many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement for each row of values."""
        with translated(), self.connection.cursor() as cursor:
            cursor.executemany(_query(sql), rows)


@contextmanager
def postgres_source(url: str, name: str) -> Iterator[PostgresEnd]:
    """Connect to a database that no worker uses, which is migrated first if it is of an older version.

    Raises:
        ConfigError, StorageError: it cannot be reached, a worker uses it, or it has a newer schema.
    """
    with _connected(url) as connection:
        refuse_workers(connection, name)
        prepare(parameters(url), MIGRATIONS)
        with _alone(connection, name) as end:
            yield end


@contextmanager
def postgres_target(url: str, name: str, sealing: Sealing = PLAIN) -> Iterator[PostgresEnd]:
    """Connect to a database to move into, and make the tables that it lacks; what is put there is committed at the end.

    Raises:
        ConfigError: something is missing that somebody has to give; the advice names the command.
        StorageError: it cannot be reached, a worker uses it, or it is another program's.
    """
    with _connected(url) as connection:
        if (held := PostgresEnd(connection, name).columns()) and not _is_ours(connection):
            raise StorageError(
                f"{name} holds tables of another program ({', '.join(list(held)[:3])}). Name an empty database, made "
                "by: CREATE DATABASE elefante;"
            )
        refuse_workers(connection, name)
        prepare(parameters(url), MIGRATIONS)
        fit(connection, sealed=sealing.seals(VECTORS))
        with _alone(connection, name) as end:
            yield end
        connection.execute("ANALYZE")


@contextmanager
def postgres_reader(url: str) -> Iterator[PostgresEnd | None]:
    """Give what is committed now of a database in use; None if it has not the present schema.

    Raises:
        ConfigError, StorageError: it cannot be reached.
    """
    with _connected(url) as connection:
        if inspect(parameters(url), MIGRATIONS).version != len(MIGRATIONS):
            yield None
            return
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield PostgresEnd(connection, "")


@contextmanager
def _alone(connection: psycopg.Connection, name: str) -> Iterator[PostgresEnd]:
    """Begin a transaction that sees one state; a worker that starts meanwhile waits for its end."""
    register_vector(connection)
    with translated(), connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.execute("LOCK TABLE workers IN SHARE MODE")
        refuse_workers(connection, name)
        yield PostgresEnd(connection, name)


def _is_ours(connection: psycopg.Connection) -> bool:
    [(table,)] = connection.execute("SELECT to_regclass('schema_history')").fetchall()
    return table is not None


@contextmanager
def _connected(url: str) -> Iterator[psycopg.Connection]:
    """Connect, and say of a connection that broke what to do: there is nobody here who tries again."""
    connection = connected(parameters(url))
    try:
        with connection, translated():
            yield connection
    except StorageDown as error:
        why = reason(error.__cause__ or error)
        raise StorageError(f"the database server went away ({why}): run this again when it is back") from error


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
    """Return a row with vectors as half floats, little-endian."""
    given = list(row)
    for place in halves:
        half: HalfVector = given[place]
        given[place] = half.to_numpy().astype("<f2").tobytes()
    return tuple(given)


def _half(row: Row, halves: Iterable[int]) -> Row:
    """Return a row with vectors as PostgreSQL takes them."""
    given: list[Any] = list(row)
    for place in halves:
        given[place] = HalfVector(np.frombuffer(given[place], "<f2"))
    return tuple(given)


def _query(sql: str) -> LiteralString:
    """Return a statement of both engines as psycopg takes it."""
    return sql.replace("?", "%s")


# --- one person -------------------------------------------------------------------------------------------------------


OF_NOBODY: Final = "'', ''"


@dataclass(frozen=True, slots=True)
class OwnedTable:
    """A table, with the SQL of whose a row `t` is: platform and user. `joined` is what that SQL needs."""

    name: str
    owned: str = 't.platform, t."user"'
    joined: str = ""


def _of(joined: str, *names: str) -> tuple[OwnedTable, ...]:
    return tuple(OwnedTable(name, 'o.platform, o."user"', joined) for name in names)


def _nobodys(*names: str) -> tuple[OwnedTable, ...]:
    return tuple(OwnedTable(name, OF_NOBODY) for name in names)


_OWNER: Final = "LEFT JOIN owners AS o ON o.id = t.{}"
_PHRASE: Final = "LEFT JOIN phrases AS p ON p.id = t.phrase LEFT JOIN owners AS o ON o.id = p.owner"
_MEMORY: Final = "LEFT JOIN memories AS m ON m.id = t.memory LEFT JOIN owners AS o ON o.id = m.owner"
_THREAD: Final = "LEFT JOIN threads AS o ON o.id = t.thread"

TABLES: Final = (
    *map(OwnedTable, ("owners", "people", "accounts", "strangers", "preferences", "threads")),
    *_of(_THREAD, "messages", "summaries", "transitions", "told_memories", "unindexed"),
    *map(OwnedTable, ("places", "inbox")),
    *_of("LEFT JOIN places AS o ON o.id = t.place", "message_terms"),
    *_of(_OWNER.format("owner"), "memories", "phrases", "rooms", "changes"),
    *_nobodys("spaces"),
    *_of(_PHRASE, "vectors"),
    *_of(_OWNER.format("account"), "terms"),
    *_of(_MEMORY, "sources"),
    *map(OwnedTable, ("reminders", "link_codes", "awaited", "confirmations", "calls", "asked", "call_payers")),
    *_nobodys("call_quarters", "told"),
    *map(OwnedTable, ("broadcasts", "recipients")),
    *_nobodys("decided"),
    *map(OwnedTable, ("decisions",)),
    *_nobodys("kept"),
)
"""Every table that both engines have, each after the tables that it refers to."""


_NOT_NEEDED: Final = frozenset({"broadcasts", "recipients", "kept"})
"""What no answer reads: what was said to everybody, and what workers keep."""

_ACCOUNTS: Final = """
SELECT platform, "user" FROM owners WHERE coalesce(linked, id) =
(SELECT coalesce(linked, id) FROM owners WHERE platform = ? AND "user" = ?)
"""

_Copied = Mapping[str, tuple[Sequence[str], Sequence[Row]]]
"""Of each table the columns and rows."""


async def copy_of_person(url: str, user: UserKey, sealing: Sealing = PLAIN) -> Database:
    """Return a database in RAM with what is stored of all accounts of that person, and what is nobody's.

    It is one state of what is committed. What others say is not in it: not even they are.

    Raises:
        ConfigError, StorageError: the database cannot be used.
    """
    copy = await open_copy(None, sealing=sealing)
    try:
        columns = {
            table.name: [str(row[1]) for row in await copy.rows(f'PRAGMA table_info("{table.name}")')]
            for table in TABLES
            if table.name not in _NOT_NEEDED
        }
        copied = await asyncio.to_thread(_read, url, user, columns)

        def fill(query: Query) -> None:
            query.run("PRAGMA defer_foreign_keys = ON")
            for name, (names, rows) in copied.items():
                quoted, marks = ", ".join(f'"{each}"' for each in names), ", ".join("?" * len(names))
                query.run_many(f'INSERT INTO "{name}" ({quoted}) VALUES ({marks})', rows)

        await copy.write(fill)
    except BaseException:
        await copy.close()
        raise
    return copy


def _read(url: str, user: UserKey, columns: Mapping[str, Sequence[str]]) -> _Copied:
    named = parameters(url)
    prepare(named, MIGRATIONS)
    with translated(), connected(named) as connection:
        register_vector(connection)
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        source = PostgresEnd(connection, "")
        accounts = list(source.stream(_ACCOUNTS, (user.platform, user.user))) or [(user.platform, user.user)]
        return {
            table.name: (columns[table.name], list(_rows(source, table, columns[table.name], accounts)))
            for table in TABLES
            if table.name in columns
        }


def _rows(source: PostgresEnd, table: OwnedTable, columns: Sequence[str], accounts: Sequence[Row]) -> Sequence[Row]:
    """Return the rows of these accounts; all of a table that is nobody's."""
    names = ", ".join(f't."{column}"' for column in columns)
    asked = f'SELECT {names} FROM "{table.name}" AS t {table.joined}'
    if table.owned == OF_NOBODY:
        return list(source.stream(asked))
    marks = ", ".join(["(?, ?)"] * len(accounts))
    values = [part for account in accounts for part in account]
    return list(source.stream(f"{asked} WHERE ({table.owned}) IN ({marks})", values))
