"""One of several workers over one database.

A worker whose row was deleted, or that could not renew it for a lease by its own clock, loses all its claims and joins
anew. It learns by `listen` what there is to do, and looks for it each second besides.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from core.errors import StorageError
from core.ports import Clock
from core.tasks import first_of
from core.types import UserKey
from core.workers.port import Claim, Colleague, HeldChats, OwedChats, Worker, own_claim
from core.workers.store import CHAT, Listen, Peer, ShareOut, Shares, SqlWorkers

# --- the worker's row: as long as it is renewed in time, the other workers leave its work alone -----------------------

LEASE_S: Final = 5.0
"""A worker that did not renew its row for so long counts as dead."""

_AGAIN_S: Final = 1.0
_FAR_OFF: Final = timedelta(seconds=2)


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


# --- duties and shares of limits --------------------------------------------------------------------------------------

_FLOOR: Final = 0.2
"""What of each limit is divided evenly, whoever uses how much."""

_RESERVE: Final = 0.02
"""What of each limit nobody has, so that there is something left for a worker that joins."""

_DUTY: Final = "duty:"


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


CHATS: Final = 200
"""In how many chats one worker answers at once, before it leaves others to the other workers."""

_SPARE_CHATS: Final = 8
"""What a worker may have above the mean of all before it leaves a chat to another one."""

_LOOK_S: Final = 1.0
_CLOCK_S: Final = 60.0

_log = logging.getLogger(__name__)


class _Notices:
    """Notices to and from other workers: names of chats in which something is owed; "" to look everywhere."""

    def __init__(self, store: SqlWorkers, listen: Listen | None) -> None:
        self._store = store
        self._listen = listen
        self._to_tell: set[tuple[int, str]] = set()
        self._heard: set[str] = set()
        self._telling = asyncio.Event()
        self._hearing = asyncio.Event()

    def tell(self, name: str, worker: int) -> None:
        """Tell a worker, or all (0), soon."""
        self._to_tell.add((worker, name))
        self._telling.set()

    def hear(self, name: str) -> None:
        """Take note of a chat."""
        self._heard.add(name)
        self._hearing.set()

    async def heard(self) -> None:
        """Return when there is something to take."""
        await self._hearing.wait()

    def take(self) -> Collection[str]:
        """Return what was heard, once."""
        heard, self._heard = self._heard, set()
        self._hearing.clear()
        return heard

    async def keep_telling(self) -> None:
        """Send notices for ever; those that come while some are being sent go together."""
        while True:
            await self._telling.wait()
            self._telling.clear()
            told, self._to_tell = self._to_tell, set()
            with suppress(StorageError):  # they look each second
                await self._store.wake(told)

    async def listen(self, worker: int, hear: Callable[[str], None]) -> None:
        """Hear what is told to a worker, for ever."""
        if self._listen is not None:
            await self._listen(worker, hear)


class ClusterWorker(Worker):
    """One of several workers, while `at_work` is entered.

    All go by one clock, the database's: `set_clock` is called with its time, and returns how far the machine's was off.
    """

    is_alone = False

    def __init__(
        self,
        store: SqlWorkers,
        clock: Clock,
        *,
        program: str,
        listen: Listen | None = None,
        lease_s: float = LEASE_S,
        most_chats: int = CHATS,
        set_clock: Callable[[datetime], timedelta] | None = None,
    ) -> None:
        self.lease = Lease(store, clock, program, lease_s)
        self.peers: Sequence[Peer] = ()
        self._store = store
        self._clock = clock
        self._set_clock = set_clock
        self._most_chats = most_chats
        self._notices = _Notices(store, listen)
        self._duties = HeldDuties(store, clock, self.lease, partial(self._notices.tell, "", 0))
        self._limits = LimitShares()
        self._chats: HeldChats | None = None
        self._platforms: dict[str, bool] = {}  # whether chats of it are claimed

    @property
    def id(self) -> int:
        """Its number; 0 while it has none."""
        return self.lease.id

    @property
    def is_alive(self) -> bool:
        """Whether its lease holds."""
        return self.lease.is_held

    @property
    def speaks(self) -> bool:
        """Whether this worker has the lowest number of all that it last knew of."""
        return all(self.lease.former <= peer.id for peer in self.peers)

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Be one of the workers."""
        await self.lease.join()
        self._hear("")
        if self._set_clock is not None:
            await set_by_database(self._store, self._set_clock)
        works = self._live(), self._bury(), self._look_around(), self._notices.keep_telling(), self._keep_time()
        tasks = [asyncio.create_task(work) for work in works]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.lease.leave()

    async def present(self) -> Sequence[Colleague]:
        """Return all workers."""
        return await self._store.present(self.lease.lease_s)

    # --- being alive ---

    async def _live(self) -> None:
        while True:
            listening = asyncio.create_task(self._notices.listen(self.id, self._hear))
            try:
                await first_of(self._beat(), self.lease.outlive())
            except Exception:  # noqa: BLE001  (whatever failed, it joins again)
                _log.exception("no sign of life")
            finally:
                listening.cancel()
            await self._die()
            await self.lease.join_again()
            self._hear("")

    async def _beat(self) -> None:
        """Renew the row; return when it is gone."""
        worker = self.id
        while True:
            began_s = self._clock.monotonic()
            try:
                peers = await self.lease.beat(self._busy, self._limits.measure(), partial(share_out, worker))
            except StorageError as error:
                _log.warning("no sign of life", extra={"error": type(error).__name__})
            else:
                if peers is None:
                    return
                self.peers = peers
                self._limits.shares = next((peer.shares for peer in peers if peer.id == worker), {})
            await self._clock.sleep(max(began_s + self.lease.lease_s / 3 - self._clock.monotonic(), 0.0))

    async def _die(self) -> None:
        """Lose everything: others go on with it."""
        _log.error("this worker was not heard of for %g s: others go on with what it did", self.lease.lease_s)
        self.lease.id, self._limits.shares = 0, {}
        self._duties.lose()
        if self._chats is not None:
            await self._chats.drop()

    async def _keep_time(self) -> None:
        while self._set_clock is not None:
            await self._clock.sleep(_CLOCK_S)
            await set_by_database(self._store, self._set_clock)

    async def _bury(self) -> None:
        """Delete the rows of dead workers, and end claims that could not be ended before; each second."""
        while True:
            await self._clock.sleep(_LOOK_S)
            try:
                dead = await self._store.bury(self.lease.lease_s) if self.id else 0
                await self._duties.end()
            except StorageError as error:
                _log.warning("dead workers were not looked for", extra={"error": type(error).__name__})
            except Exception:  # noqa: BLE001  (whatever failed, it looks again)
                _log.exception("dead workers were not looked for")
            else:
                if dead:
                    _log.warning("workers died", extra={"count": dead})
                    self._hear("")

    # --- chats ---

    async def _look_around(self) -> None:
        """Take in what is owed: each second, and whenever there is something to hear."""
        looked_s = -_LOOK_S
        while True:
            heard, is_due = self._notices.take(), self._clock.monotonic() - looked_s >= _LOOK_S
            try:
                if self.id and self._chats is not None and (is_due or heard):
                    await self._chats.look(() if is_due or "" in heard else heard)
            except StorageError as error:
                _log.warning("the inbox was not looked at", extra={"error": type(error).__name__})
            except Exception:  # noqa: BLE001  (whatever failed, it looks again)
                _log.exception("the inbox was not looked at")
            if self._clock.monotonic() - looked_s >= _LOOK_S:
                looked_s = self._clock.monotonic()
            await first_of(self._clock.sleep(_LOOK_S), self._notices.heard())

    def _hear(self, name: str) -> None:
        self._notices.hear(name)
        if not name:
            self._duties.look()

    def serve(self, chats: HeldChats) -> None:
        """Tell these chats what there is to look at."""
        self._chats = chats

    def connect(self, platform: str) -> None:
        """Claim chats of that platform."""
        self._platforms[platform] = True

    def disconnect(self, platform: str) -> None:
        """Claim no more chats of that platform."""
        if platform in self._platforms:
            self._platforms[platform] = False

    def wants(self, platform: str) -> tuple[int, int] | None:
        """Return this worker's number and how many more chats it takes; None if those of the platform are not claimed.

        They are not where no chat can be written into later, as over HTTP: there each answers what it is asked.
        """
        if platform not in self._platforms:
            return None
        return self.id, self._room if self._platforms[platform] else 0

    @property
    def _busy(self) -> int:
        return self._chats.busy if self._chats is not None else 0

    @property
    def _room(self) -> int:
        """How many more chats this worker answers, so that all have about as many."""
        most = self._most_chats
        if len(self.peers) > 1:
            mean = sum(peer.chats for peer in self.peers) / len(self.peers)
            most = min(most, int(mean) + _SPARE_CHATS)
        return max(most - self._busy, 0)

    def claim(self, name: str, worker: int, epoch: int) -> Claim | None:
        """Return the claim of that epoch if it is this worker's."""
        if name.partition(":")[0] not in self._platforms:
            return own_claim(name)
        return self.lease.claim(CHAT + name, epoch) if epoch and worker == self.id else None

    def wake(self, name: str, worker: int) -> None:
        """Tell that worker, or any if it is 0, that something is owed in a chat."""
        self._notices.tell(name, worker)

    async def owed(self) -> OwedChats:
        """Claim chats in which something is owed, and return all that are claimed."""
        worker = self.id
        platforms = [platform for platform, is_wanted in self._platforms.items() if is_wanted]
        found = await self._store.owed(worker, platforms, self._room)
        if worker != self.id:
            return {}
        return {name: (self.lease.claim(CHAT + name, epoch), messages) for name, (epoch, messages) in found.items()}

    async def release(self, claim: Claim) -> bool:
        """Give up a chat if nothing is owed there."""
        return not claim.epoch or await self._store.release(claim.name, claim.epoch)

    async def give_up(self, claims: Collection[Claim]) -> None:
        """Give up chats in which something may be owed."""
        if epochs := [claim.epoch for claim in claims if claim.epoch]:
            for claim in claims:
                claim.is_given_up = True
            await self._store.end(epochs)
            self.wake("", 0)

    async def end_others(self, users: Collection[UserKey]) -> None:
        """Let no other worker go on answering these people."""
        await self._store.end_others(self.id, users)
        self.wake("", 0)

    # --- duties and limits ---

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[Claim]:
        """Wait until that work is this worker's; leaving gives it up."""
        async with self._duties.hold(name) as claim:
            yield claim

    def share(self, limit: str) -> float:
        """Return how much of a limit is this worker's."""
        return self._limits.share(limit)

    def used(self, limit: str, count: int = 1) -> None:
        """Note that so much of a limit was used."""
        self._limits.used(limit, count)
