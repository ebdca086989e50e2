"""Copy what PostgreSQL stores of one person into a database in RAM, for a bot that writes nothing."""

# ruff: noqa: S608 - SQL is put together from constants and the names of our tables and columns
from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from pgvector.psycopg import register_vector

from core.sealing.port import PLAIN, Sealing
from core.storage.database import Database, Query, Row
from core.storage.move_postgres import PostgresEnd
from core.storage.postgres_connection import parameters
from core.storage.postgres_errors import translated
from core.storage.postgres_migrations import MIGRATIONS
from core.storage.postgres_schema import connected, prepare
from core.storage.sqlite import open_copy
from core.storage.tables import OF_NOBODY, TABLES, OwnedTable
from core.types import UserKey

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
