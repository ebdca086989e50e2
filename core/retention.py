"""Remove answered messages from the inbox once no platform delivers them again."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Final

from core.errors import StorageError
from core.ports import Clock
from core.stores import Inbox

KEPT_FOR: Final = timedelta(days=7)
"""Telegram delivers an update for 24 hours (core.telegram.org/bots/api#getting-updates), webhooks included; Discord is
read back from bookmarks that are seconds old."""

FIRST_S: Final = 600.0
"""After a start: by then what was missed meanwhile was read back, however old it is."""

EVERY_S: Final = 86_400.0
_BATCH: Final = 500  # rows of one transaction: other writes wait for no more than these
_PAUSE_S: Final = 0.1
_log = logging.getLogger(__name__)


async def forget_answered(inbox: Inbox, clock: Clock) -> None:
    """Remove old rows shortly after the start and once a day, until cancelled."""
    wait_s = FIRST_S
    while True:
        await clock.sleep(wait_s)
        wait_s = EVERY_S
        try:
            while await inbox.purge(clock.now() - KEPT_FOR, _BATCH) == _BATCH:
                await clock.sleep(_PAUSE_S)
        except StorageError as error:
            _log.warning("inbox not purged", extra={"error": type(error).__name__})
