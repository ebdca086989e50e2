"""The storage engines that the contract of every store is run over, each unsealed and sealed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from functools import partial
from pathlib import Path
from typing import Final

from core.sealing.sealed import KeyFile, Sealed
from core.storage.database import Database
from core.storage.sqlite import open_database
from tests.pgbouncer import open_pooled
from tests.postgres import open_test_database

MASTER: Final = bytes(range(32))
"""The master key of every test."""

_opened: list[KeyFile] = []


def sealing_beside(path: Path, left_open: Collection[str] = ()) -> Sealed:
    """Return a sealing by the key file that belongs to a database; `close_key_files` closes it."""
    _opened.append(KeyFile(path.with_name("keys") / "keys.db", MASTER))
    return Sealed(_opened[-1], left_open)


def close_key_files() -> None:
    """Close every key file that a test has opened."""
    while _opened:
        _opened.pop().close()


async def _open_sealed(opened: Callable[..., Awaitable[Database]], path: Path) -> Database:
    return await opened(path, sealing=sealing_beside(path))


ENGINES: Final[dict[str, Callable[[Path], Awaitable[Database]]]] = {
    "sqlite": open_database,
    "sealed sqlite": partial(_open_sealed, open_database),
    "postgres": open_test_database,
    "sealed postgres": partial(_open_sealed, open_test_database),
}

AND_POOLED: Final = {**ENGINES, "pgbouncer": open_pooled}
"""The same, and PostgreSQL through a pooler in transaction mode."""
