"""Tell the owners of a database that is damaged, or a disk that is full: what happened, and what to do."""

from __future__ import annotations

import logging

from core.delivery.alerts import OwnerAlerts
from core.errors import Damaged, DiskFull, StorageError
from core.text.catalogue import text

_log = logging.getLogger(__name__)

DAMAGED, FULL = "database-damaged", "disk-full"


async def report(alerts: OwnerAlerts, error: StorageError) -> None:
    """Log the error, and tell the owners once if they can end it."""
    _log.log(logging.ERROR if isinstance(error, Damaged | DiskFull) else logging.WARNING, "storage: %s", error)
    try:
        if isinstance(error, Damaged):
            await alerts.tell(DAMAGED, IS_DAMAGED)
        elif isinstance(error, DiskFull):
            await alerts.tell(FULL, IS_FULL)
    except StorageError as failure:
        _log.error("the owners cannot be told: %s", failure)


async def written(alerts: OwnerAlerts) -> None:
    """End the trouble with a full disk: something could be written."""
    if alerts.is_open(FULL):
        await alerts.over(FULL, HAS_ROOM)


IS_DAMAGED = text("disk.is_damaged")
IS_FULL = text("disk.is_full")
HAS_ROOM = text("disk.has_room")
