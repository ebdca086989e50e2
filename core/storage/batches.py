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
        await database.checkpoint()
        await asyncio.sleep(spent_s)  # for other processes: they poll


def _timed(step: Step, size: int, query: Query) -> tuple[int, float]:
    began_s = time.perf_counter()
    return step(query, size), time.perf_counter() - began_s


async def each_batch(database: Database, rows: Sequence[T], write: Callable[[Query, Sequence[T]], None]) -> None:
    """Write rows some at a time, each batch in a transaction of its own."""
    at = 0

    def step(query: Query, size: int) -> int:
        nonlocal at
        batch = rows[at : at + size]
        if batch:
            write(query, batch)
        at += len(batch)
        return len(batch)

    await in_batches(database, step)


def statement(sql: str, *parameters: object) -> Step:
    """Return the step that runs a statement which returns what it changed; its last parameter is how many it may."""
    return lambda query, size: len(query.run(sql, (*parameters, size)))
