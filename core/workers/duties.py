"""Duties, which one of several workers does at a time under a claim, and shares of limits that all have together."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

from core.errors import StorageError
from core.ports import Clock
from core.tasks import first_of
from core.workers.lease import Lease
from core.workers.port import Claim
from core.workers.store import Peer, Shares, SqlWorkers

_FLOOR: Final = 0.2
"""What of each limit is divided evenly, whoever uses how much."""

_RESERVE: Final = 0.02
"""What of each limit nobody has, so that there is something left for a worker that joins."""

_LOOK_S: Final = 1.0
_DUTY: Final = "duty:"

_log = logging.getLogger(__name__)


class LimitShares:
    """One worker's shares, and what it used of each limit."""

    def __init__(self) -> None:
        self.shares: Shares = {}
        self._used: Counter[str] = Counter()
        self._demand: dict[str, float] = {}

    def share(self, limit: str) -> float:
        """Return how much of a limit is this worker's."""
        self._demand.setdefault(limit, 0.0)
        return self.shares.get(limit) or _RESERVE / 2

    def used(self, limit: str, count: int) -> None:
        """Note that so much of a limit was used."""
        self._used[limit] += count

    def measure(self) -> Shares:
        """Return how much of each limit was used of late: half of it counts for the time since the last call."""
        used, self._used = self._used, Counter()
        for limit in {*self._demand, *used}:
            self._demand[limit] = round((self._demand.get(limit, 0.0) + used[limit]) / 2, 3)
        return dict(self._demand)


def share_out(worker: int, workers: Sequence[Peer]) -> Shares:
    """Return the shares of a worker: by what each used lately, never more than the others have left."""
    own = next(peer for peer in workers if peer.id == worker)
    shares = {}
    for limit in own.used:
        asking = [peer for peer in workers if limit in peer.used]
        demand = sum(peer.used[limit] for peer in asking)
        by_demand = own.used[limit] / demand if demand else 1 / len(asking)
        wanted = (1 - _RESERVE) * (_FLOOR / len(asking) + (1 - _FLOOR) * by_demand)
        left = 1 - sum(peer.shares.get(limit, 0.0) for peer in workers if peer.id != worker)
        shares[limit] = wanted if wanted < left else left / 2
    return shares


class HeldDuties:
    """The duties of one worker. `given_up` is called when others may have one."""

    def __init__(self, store: SqlWorkers, clock: Clock, lease: Lease, given_up: Callable[[], None]) -> None:
        self._store = store
        self._clock = clock
        self._lease = lease
        self._given_up = given_up
        self._held: dict[str, Claim | None] = {}  # None while it is asked for
        self._unended: set[int] = set()  # epochs of claims that were given up, and may stand in the database
        self._freed = asyncio.Event()  # set, and replaced, when something that was claimed may be free

    @asynccontextmanager
    async def hold(self, duty: str) -> AsyncIterator[Claim]:
        """Wait until that work is this worker's; leaving gives it up."""
        name, freed = _DUTY + duty, self._freed
        while (claim := await self._take(name)) is None:
            await first_of(self._clock.sleep(_LOOK_S), freed.wait())
            freed = self._freed  # before it is asked for: what is freed meanwhile is not missed
        try:
            yield claim
        finally:
            claim.is_given_up = True
            if self._held.get(name) is claim:
                del self._held[name]
                self._unended.add(claim.epoch)
            with suppress(StorageError):  # it is tried again
                await self.end()

    def look(self) -> None:
        """Ask again for what is waited for: it may be free."""
        freed, self._freed = self._freed, asyncio.Event()
        freed.set()

    async def end(self) -> None:
        """End what was given up.

        Raises:
            StorageError: it may not have ended.
        """
        if epochs := tuple(self._unended):
            await self._store.end(epochs)
            self._unended.difference_update(epochs)
            self._given_up()

    def lose(self) -> None:
        """Lose every duty: the worker was declared dead."""
        for claim in self._held.values():
            if claim is not None:
                claim.lost.set()
        self._held.clear()
        self._unended.clear()

    async def _take(self, name: str) -> Claim | None:
        """Claim what is free, or was claimed without this worker's hearing of it."""
        worker, claim = self._lease.id, None
        if not worker or name in self._held:
            return None
        self._held[name] = None
        try:
            epoch = await self._store.take(worker, name)
            if epoch and epoch not in self._unended and worker == self._lease.id:
                claim = self._held[name] = self._lease.claim(name, epoch)
        except StorageError as error:
            _log.warning("nothing was claimed", extra={"error": type(error).__name__})
        finally:
            if claim is None and self._held.get(name, claim) is None:
                self._held.pop(name, None)
        return claim
