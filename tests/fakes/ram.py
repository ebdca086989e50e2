"""The real SQLite engine over a database in RAM that answers at once: for tests of everything but storage."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import cache, partial
from typing import TypeVar

from core.sealing.port import PLAIN, Sealing
from core.storage.database import Database
from core.storage.sqlite import Connection, SqliteDatabase
from core.storage.sqlite_migrations import MIGRATIONS
from core.storage.sqlite_schema import PRAGMAS, as_ours, migrate

T = TypeVar("T")


class RamConnection(Connection):
    """A connection that runs functions on the thread of whoever asks: a job is over before another task goes on."""

    def __init__(self, image: bytes) -> None:
        super().__init__(partial(_open, image), iter_chunk_size=1)
        self.raw = _open(image)

    async def call(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """Return what a function of the connection returns."""
        try:
            return function(self.raw)
        except sqlite3.Error as error:
            raise as_ours(error) from error

    async def close(self) -> None:
        """Let go of the database and all that is in it."""
        self.raw.close()


class RamDatabase(SqliteDatabase):
    """A database in RAM. It need not be closed: it is gone when nobody holds it."""

    def __init__(self, image: bytes | None = None, *, sealing: Sealing = PLAIN) -> None:
        self.connection = RamConnection(_without_rows() if image is None else image)
        super().__init__(self.connection, sealing=sealing)


def copy_of(database: Database) -> RamDatabase:
    """Return another database with the same rows, as a process finds them that starts after a kill."""
    assert isinstance(database, RamDatabase)
    return RamDatabase(database.connection.raw.serialize(), sealing=database.sealing)


def _open(image: bytes = b"") -> sqlite3.Connection:
    raw = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    for pragma in PRAGMAS:  # before there are tables, which SQLite would read for them
        raw.execute(pragma)
    if image:
        raw.deserialize(image)
    return raw


@cache
def _without_rows() -> bytes:
    """Return the image of a database without rows: creating its tables takes 6 ms, opening the image 0.1."""
    with closing(_open()) as raw:
        migrate(raw, MIGRATIONS)
        return raw.serialize()
