"""Long work on a database in transactions so short that no other writer waits long for its turn."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias, TypeVar

from core.storage.database import Database, Query

FIRST_ROWS: Final = 32
"""What has no more rows than these is written in one transaction: all of it, or nothing."""

_TURN_S: Final = 0.02
_MAX_ROWS: Final = 2000

T = TypeVar("T")
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
