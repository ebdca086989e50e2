"""A worker's row in the database: as long as it is renewed in time, the other workers leave its work alone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from core.errors import StorageError
from core.ports import Clock
from core.workers.port import Claim
from core.workers.store import Peer, ShareOut, Shares, SqlWorkers

LEASE_S: Final = 5.0
"""A worker that did not renew its row for so long counts as dead."""

_AGAIN_S: Final = 1.0
_FAR_OFF: Final = timedelta(seconds=2)

_log = logging.getLogger(__name__)


class Lease:
    """The worker's row, and how long it still holds by the worker's own monotonic clock."""

    def __init__(self, store: SqlWorkers, clock: Clock, program: str, lease_s: float) -> None:
        self.id = 0
        """The worker's number; 0 while it has none."""

        self.lease_s = lease_s
        self.beaten_s = 0.0
        """When the row was renewed last (monotonic)."""

        self.former = 0
        """The number that it had last, also once it is dead."""

        self._store = store
        self._clock = clock
        self._program = program

    @property
    def is_held(self) -> bool:
        """Whether the worker lives, as far as the others know."""
        return bool(self.id) and self._left_s() > 0

    def claim(self, name: str, epoch: int) -> Claim:
        """Return a claim that ends with this life of the worker."""
        return Claim(name, epoch, partial(self._lasts, self.id))

    async def join(self) -> None:
        """Become a worker.

        Raises:
            StorageError: the database cannot be used.
        """
        while True:
            sent_s = self._clock.monotonic()
            self.former = await self._store.join(self._program, self.former)
            if self._clock.monotonic() - sent_s < self.lease_s / 2:  # else it had to wait for the database
                break
        self.id, self.beaten_s = self.former, sent_s

    async def join_again(self) -> None:
        """Become a worker anew, as soon as that can be."""
        while not self.id:
            try:
                await self.join()
            except StorageError as error:
                _log.warning("not joined yet", extra={"error": type(error).__name__})
                await self._clock.sleep(_AGAIN_S)

    async def beat(self, chats: int, used: Shares, share_out: ShareOut) -> Sequence[Peer] | None:
        """Renew the row, and set the shares of limits; return all workers, None if others have deleted this row.

        Raises:
            StorageError: it was not renewed.
        """
        sent_s = self._clock.monotonic()
        peers = await self._store.beat(self.id, chats, used, share_out)
        if peers is not None:
            self.beaten_s = sent_s
        return peers

    async def outlive(self) -> None:
        """Return when the lease is over."""
        while (left_s := self._left_s()) > 0:
            await self._clock.sleep(left_s)

    async def leave(self) -> None:
        """Delete the row, and with it all claims."""
        worker, self.id = self.id, 0
        with suppress(StorageError):  # all is free when the lease is over
            await self._store.leave(worker)

    def _left_s(self) -> float:
        return self.beaten_s + self.lease_s - self._clock.monotonic()

    def _lasts(self, worker: int) -> bool:
        return worker == self.id and self._left_s() > 0


async def set_by_database(store: SqlWorkers, set_clock: Callable[[datetime], timedelta]) -> None:
    """Set the clock by the database's, so that all workers go by one; log how far the machine's is off if it is far."""
    try:
        off = set_clock(await store.now())
    except StorageError as error:
        _log.warning("the clock was not set", extra={"error": type(error).__name__})
        return
    if abs(off) > _FAR_OFF:
        _log.warning("this machine's clock is %+.1f s off the database's", -off.total_seconds())
