"""Look after the database while a bot runs: at the start and once a day, beside everything else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from core.delivery.alerts import OwnerAlerts
from core.errors import Damaged, StorageError
from core.ports import Clock
from core.storage.sqlite import Database

_DAY_S: Final = 86_400.0


@asynccontextmanager
async def upkeep(database: Database, alerts: OwnerAlerts, clock: Clock) -> AsyncIterator[None]:
    """Check that the file is sound, and scrub what a crash or a busy moment left of the deleted, until the end."""
    task = asyncio.get_running_loop().create_task(_every_day(database, alerts, clock))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _every_day(database: Database, alerts: OwnerAlerts, clock: Clock) -> None:
    while True:
        try:
            if found := await database.integrity():
                raise Damaged(f"the database is not sound: {len(found)} faults")  # they may quote what is stored
            await database.scrub()
        except StorageError as error:
            await alerts.storage_failed(error)
        await clock.sleep(_DAY_S)
