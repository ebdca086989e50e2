"""What the stores ask of a storage engine: queries, jobs that are transactions, and the removal of deleted bytes.

The stores write SQL that SQLite and PostgreSQL both take; `tests/portable_sql.py` judges every statement that they run
by PostgreSQL's grammar. A value is a `?`; `"user"` is quoted; a query in `FROM (...)` has a name; a condition is a
comparison, never a number; `ON CONFLICT` that updates names its columns. Four functions are the engine's own:

- `numbers(?)`, `texts(?)`: a table with a column `value`, one row for each item of a JSON list.
- `tuples(?)`: the same of a JSON list of lists; `value ->> 0` is an item of one as text, or a number to be cast.
- `json_list(x)`: an aggregate, the values as a JSON list.

A unary plus (`+owner = ...`) keeps SQLite from using the column's index, and means nothing in PostgreSQL.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from core.sealing.port import PLAIN, Sealing

T = TypeVar("T")
Row: TypeAlias = tuple[Any, ...]
Statement: TypeAlias = tuple[str, Sequence[object]]
"""SQL, and its parameters."""


class Query(Protocol):
    """Statements of one job, run on the engine's thread. Given by `Database.read` and `Database.write`.

    An engine on another machine waits for an answer only where there are rows to return: what is sent before that, and
    what fails there, it hears with them, or when the job ends.

    `sealing`: what seals and opens the values of the rows.
    """

    sealing: Sealing = PLAIN

    def run(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Run one statement and return its rows."""
        ...

    def together(self, *statements: Statement) -> list[Row]:
        """Run statements that change different rows, none of which sees what another changes; return the last's rows.

        All but the last return none. An engine may run them as one.
        """
        return [self.run(*statement) for statement in statements][-1]

    def run_many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run one statement for each row of parameters; none for no rows."""
        ...

    def lock(self, *names: object) -> None:
        """Wait until no other transaction of any process holds this name; it is held until this one ends.

        A job that reads before it writes takes one first: what it has read, nobody who takes the same changes before it
        ends. The names, joined, are one. Do nothing where transactions run one after another anyway.
        """
        ...


@dataclass(frozen=True, slots=True)
class PoolUse:
    """Use of a pool of connections: how many may be open, are open, are idle; how many jobs wait for one."""

    limit: int
    size: int
    idle: int
    waiting: int


class Database(Protocol):
    """An open database. `close` it.

    `searches_vectors`: it finds the nearest vectors itself (`PostgresVectors`), and no index in RAM has to; never where
        vectors are sealed.
    `sealing`: that of its queries.
    """

    searches_vectors: bool = False
    sealing: Sealing = PLAIN

    async def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Return the rows of a query over what is committed.

        Raises:
            StorageError: the query failed, or the database is closed.
        """
        ...

    async def read(self, job: Callable[[Query], T]) -> T:
        """Return what a function of statements returns, all over one state of what is committed.

        The function runs on the engine's thread, in one piece: it neither waits nor takes long.

        Raises:
            StorageError: a statement failed, or the database is closed.
        """
        ...

    async def write(self, job: Callable[[Query], T]) -> T:
        """Run a function of statements as one transaction and return what it returns; on an exception change nothing.

        It runs as for `read`. Other processes may write at the same time, so what it reads before it writes it takes a
        `Query.lock` for; and the engine may undo it and run it again, so it changes nothing outside but by what it
        returns. Whoever is cancelled meanwhile leaves no half of it: once begun, the job runs to its end.

        Raises:
            StorageError: the engine refused; nothing was changed.
        """
        ...

    async def change(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Run one statement as a transaction of its own, and return its rows; run twice, it changes what once would.

        For the engine may run it again when it lost the answer.

        Raises:
            StorageError: as `write`.
        """
        return await self.write(lambda query: query.run(sql, parameters))

    async def checkpoint(self) -> None:
        """Do between the transactions of long work what would hold up others' commits later, such as emptying a log."""
        ...

    async def truncate_log(self) -> None:
        """Remove what was deleted from the engine's log, if nobody is in the way. It may be left elsewhere: `scrub`."""
        ...

    async def scrub(self) -> None:
        """Return when no byte of what was deleted before this call is left on the disk.

        It may take seconds; nobody else waits, and those who ask together are served together.

        Raises:
            StorageError: it could not be done whole.
        """
        ...

    def scrubbing_once(self) -> AbstractAsyncContextManager[None]:
        """Put off every scrub that is asked for inside to one at the end; none after an exception."""
        ...

    async def maintain(self) -> None:
        """Bring up to date what large searches are fast by. Nobody waits for it, and nothing needs it to be right.

        Raises:
            StorageError: it could not be done whole; the next call goes on with it.
        """
        ...

    async def describe(self) -> tuple[str, int]:
        """Return the engine's name with its version, for people, and how many bytes the database takes."""
        ...

    async def integrity(self) -> list[str]:
        """Return what is wrong with what is stored; nothing, if it is sound. Nobody waits for it.

        Raises:
            Damaged: it cannot even be read.
        """
        ...

    def pool(self) -> PoolUse | None:
        """Return how the engine's connections are used now; None if it has no pool of them."""
        ...

    def away(self) -> str:
        """Return why the database server cannot be reached now; "" if it can, as far as is known."""
        ...

    async def close(self) -> None:
        """Write everything and let go of it. Closing twice is fine."""
        ...


# --- long work in short transactions ----------------------------------------------------------------------------------

FIRST_ROWS: Final = 32
"""What has no more rows than these is written in one transaction: all of it, or nothing."""

_TURN_S: Final = 0.02
_MAX_ROWS: Final = 2000

R = TypeVar("R")
S = TypeVar("S")
Step: TypeAlias = Callable[[Query, int], int]
"""Changes at most so many rows, and returns how many it did."""


def fitted(rows: int, spent_s: float) -> int:
    """Return how many rows the next transaction takes, after one of so many took that long."""
    return max(1, min(int(rows * _TURN_S / max(spent_s, 1e-6)), 2 * rows, _MAX_ROWS))


async def in_batches(database: Database, step: Step) -> int:
    """Take a step in a transaction of its own, again and again until it finds no more rows; return how many in all.

    What a crash, or an exception, leaves undone is done by the same call later.
    """
    total, size = 0, FIRST_ROWS
    while True:
        done, spent_s = await database.write(partial(_timed, step, size))
        total += done
        if done < size:
            return total
        size = fitted(size, spent_s)
        await _make_way(database, spent_s)


async def _make_way(database: Database, spent_s: float) -> None:
    """Let others write after a batch that took so long."""
    await database.checkpoint()
    await asyncio.sleep(spent_s)  # for other processes: they poll


def _timed(step: Callable[[Query, S], R], size: S, query: Query) -> tuple[R, float]:
    began_s = time.perf_counter()
    return step(query, size), time.perf_counter() - began_s


async def each_batch(
    database: Database, rows: Sequence[T], write: Callable[[Query, Sequence[T]], R], *, first: int = FIRST_ROWS
) -> list[R]:
    """Write rows some at a time, each batch in a transaction of its own; return what `write` returned for each."""
    results: list[R] = []
    at, size = 0, first
    while at < len(rows):
        batch = rows[at : at + size]
        result, spent_s = await database.write(partial(_timed, write, batch))
        results.append(result)
        at += len(batch)
        if at < len(rows):
            size = fitted(size, spent_s)
            await _make_way(database, spent_s)
    return results


def statement(sql: str, *parameters: object) -> Step:
    """Return the step that runs a statement which returns what it changed; its last parameter is how many it may.

    Of two who do the same at once, each takes the rows that the other one has left.
    """

    def step(query: Query, size: int) -> int:
        query.lock(sql, *parameters)
        return len(query.run(sql, (*parameters, size)))

    return step
