"""Alert the owners to trouble that only they can end, once until it is over."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field

from core.delivery.notifier import Notifier
from core.errors import Damaged, DiskFull, StorageError
from core.language_choice import Locales
from core.outgoing import OutgoingMessage
from core.text.catalogue import text
from core.types import Localized, UserKey

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Alert:
    text: Localized
    told: set[UserKey] = field(default_factory=set)


class OwnerAlerts:
    """Open alerts, held in RAM: after a restart, trouble that is not over is told again.

    Owners whose platform is not connected yet are told when it is.
    """

    def __init__(
        self, owners: Callable[[], Awaitable[Collection[UserKey]]], notifier: Notifier, locales: Locales
    ) -> None:
        self._owners = owners
        self._notifier = notifier
        self._locales = locales
        self._open: dict[str, _Alert] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        notifier.on_connect(self._connected)

    async def tell(self, key: str, text: Localized) -> None:
        """Open the alert `key` and tell every owner who can be reached; nobody is told twice while it is open.

        The text says what happened and what to do, without secrets or people's words.

        Raises:
            StorageError: the list of owners cannot be read, and never was.
        """
        alert = self._open.setdefault(key, _Alert(text))
        for user in await self._owners():
            if user in alert.told:
                continue
            alert.told.add(user)  # before the await, so that two tasks do not tell twice
            if not await self._notifier.tell(user, OutgoingMessage(text[await self._locales.known(user)])):
                alert.told.discard(user)

    async def over(self, key: str, text: Localized | None = None) -> None:
        """Close an alert, if it is open; with a `text`, tell those who were told of it."""
        alert = self._open.pop(key, None)
        if alert is None or text is None:
            return
        for user in alert.told:
            await self._notifier.tell(user, OutgoingMessage(text[await self._locales.known(user)]))

    async def storage_failed(self, error: StorageError) -> None:
        """Log the error, and alert the owners to a damaged database or a full disk."""
        _log.log(logging.ERROR if isinstance(error, Damaged | DiskFull) else logging.WARNING, "storage: %s", error)
        try:
            if isinstance(error, Damaged):
                await self.tell(_DAMAGED, IS_DAMAGED)
            elif isinstance(error, DiskFull):
                await self.tell(_FULL, IS_FULL)
        except StorageError as failure:
            _log.error("the owners cannot be told: %s", failure)

    async def storage_written(self) -> None:
        """Close the alert for a full disk after a successful write."""
        await self.over(_FULL, HAS_ROOM)

    def _connected(self) -> None:
        task = asyncio.get_running_loop().create_task(self._tell_again())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tell_again(self) -> None:
        with suppress(StorageError):
            await self._owners()  # read also without alerts: the list may be damaged later
            for key, alert in tuple(self._open.items()):
                await self.tell(key, alert.text)


IS_DAMAGED = text("disk.is_damaged")
IS_FULL = text("disk.is_full")
HAS_ROOM = text("disk.has_room")
_DAMAGED, _FULL = "database-damaged", "disk-full"
