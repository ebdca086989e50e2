"""The storage engines that the contract of every store is run over."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from core.storage.database import Database
from core.storage.sqlite import open_database
from tests.pgbouncer import open_pooled
from tests.postgres import open_test_database

ENGINES: Final[dict[str, Callable[[Path], Awaitable[Database]]]] = {
    "sqlite": open_database,
    "postgres": open_test_database,
}

AND_POOLED: Final = {**ENGINES, "pgbouncer": open_pooled}
"""The same, and PostgreSQL through a pooler in transaction mode."""
