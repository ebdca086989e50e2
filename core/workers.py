"""The workers of a bot: the one that shares its database with no other, and one of several.

Each of several keeps a row in the database alive. One whose row is gone was declared dead: others have its claims.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Coroutine, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Protocol, TypeAlias

from core.claims import Claim
from core.errors import StorageError
from core.ports import ChatClaims, Clock, Duties, Duty, HeldChats
from core.tasks import first_of
from core.types import ChatKey, UserKey

ASKS: Final = "asks:"
"""What the names of claims begin with by which a worker says that it wants a part."""

LEASE_S: Final = 5.0
"""A worker that was not heard of for so long is dead to the others."""

CHATS: Final = 200
"""In how many chats one worker answers at once, before it leaves others to the other workers."""

_SPARE_CHATS: Final = 8
"""What a worker may have above the mean of all before it leaves a chat to another one."""

_LOOK_S: Final = 1.0
_CLOCK_S: Final = 60.0
_FAR_OFF: Final = timedelta(seconds=2)
_CHAT: Final = "chat:"
_DUTY: Final = "duty:"
_PART: Final = "part:"

_FLOOR: Final = 0.2
"""What of each limit is divided evenly, whoever uses how much."""

_RESERVE: Final = 0.02
"""What of each limit nobody has, so that there is something left for a worker that joins."""

_log = logging.getLogger(__name__)

Owed: TypeAlias = Mapping[str, tuple[int, AbstractSet[tuple[ChatKey, str]]]]
Shares: TypeAlias = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class OwnDuty(Duty):
    """A duty that nobody else can have."""

    lost: asyncio.Event = field(default_factory=asyncio.Event)

    def under(self) -> AbstractContextManager[None]:
        """Do nothing: it is never lost."""
        return nullcontext()


class OneWorker(Duties, ChatClaims):
    """Has every chat, every duty, every part and all of each limit."""

    @property
    def is_alone(self) -> bool:
        """Whether there can be no other worker."""
        return True

    @property
    def is_alive(self) -> bool:
        """Whether the others know that it lives; there are none."""
        return True

    @property
    def speaks(self) -> bool:
        """Whether it is this worker that speaks for all while nothing can be claimed."""
        return True

    def serve(self, chats: HeldChats) -> None:
        """Tell nothing: nobody else takes messages in."""

    def connect(self, platform: str) -> None:
        """Do nothing."""

    def disconnect(self, platform: str) -> None:
        """Do nothing."""

    def claim(self, name: str, worker: int, epoch: int) -> Claim | None:
        """Return a claim that is never lost."""
        del worker, epoch
        return own_claim(name)

    def wake(self, name: str, worker: int) -> None:
        """Do nothing: there is nobody."""

    async def owed(self) -> Mapping[str, tuple[Claim, AbstractSet[tuple[ChatKey, str]]]]:
        """Return nothing: all is owed by this worker anyway."""
        return {}

    async def release(self, claim: Claim) -> bool:
        """Return True: nobody else accepts messages."""
        del claim
        return True

    async def give_up(self, claims: Collection[Claim]) -> None:
        """Do nothing."""

    async def end_others(self, users: Collection[UserKey]) -> None:
        """Do nothing: nobody else answers."""

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Do nothing: there is nobody to be known to."""
        yield

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[Duty]:
        """Give the duty at once."""
        del name
        yield OwnDuty()

    async def present(self) -> Sequence[Colleague]:
        """Return nobody: there is only this one."""
        return ()

    async def parts(self, name: str, count: int) -> AsyncGenerator[frozenset[int], None]:
        """Yield all parts once, and never another set."""
        del name
        yield frozenset(range(count))
        await asyncio.Event().wait()

    def share(self, limit: str) -> float:
        """Return 1: all of it."""
        del limit
        return 1.0

    def used(self, limit: str, count: int = 1) -> None:
        """Note nothing: there is nobody to share with."""
        del limit, count


def own_claim(name: str) -> Claim:
    """Return a claim to what nobody else can do; it fences nothing."""
    return Claim(name, 0, lambda: True)


@dataclass(frozen=True, slots=True)
class Peer:
    """A worker, as the others see it: how many chats it answers, what it used of limits lately, and its shares."""

    id: int
    chats: int = 0
    used: Shares = field(default_factory=dict)
    shares: Shares = field(default_factory=dict)


ShareOut: TypeAlias = Callable[[Sequence[Peer]], Shares]
"""Given all workers, return the shares of this one."""


@dataclass(frozen=True, slots=True)
class Colleague:
    """A worker, as people see it: since when, its version, HOST:PID, how many chats it answers, its other claims."""

    since: datetime
    version: str
    process: str
    chats: int
    duties: tuple[str, ...] = ()


class WorkerStore(Protocol):
    """Workers and claims, in the database that they share. Its clock decides how long a worker was not heard of.

    Every method raises StorageError if the database cannot be used.
    """

    async def now(self) -> datetime:
        """Return the time on the database's clock."""

    async def join(self, program: str, former: int = 0) -> int:
        """Add a worker, and return its number; remove the row of that process's former one."""

    async def beat(self, worker: int, chats: int, used: Shares, share_out: ShareOut) -> Sequence[Peer] | None:
        """Keep a worker alive, and set its shares; return all workers, or None if it was declared dead."""

    async def bury(self, lease_s: float) -> int:
        """Remove the workers that were not heard of for so long, with their claims; return how many."""

    async def leave(self, worker: int) -> None:
        """Remove a worker with its claims."""

    async def present(self, lease_s: float) -> Sequence[Colleague]:
        """Return the workers that were heard of for so long, the oldest first; duties are claims that are no chats."""

    async def take(self, worker: int, names: Sequence[str]) -> Mapping[str, int]:
        """Claim those of the names that are free, for a worker that lives; return the epochs of all that it has."""

    async def end(self, epochs: Collection[int]) -> None:
        """End claims."""

    async def end_others(self, worker: int, users: Collection[UserKey]) -> None:
        """End other workers' claims to chats in which these people are owed an answer, and drop what they are owed."""

    async def held(self, prefix: str) -> Mapping[str, tuple[int, int]]:
        """Map the claimed names that begin so to their workers and epochs."""

    async def owed(self, worker: int, platforms: Collection[str], room: int) -> Owed:
        """Claim up to `room` chats in which something is owed, the longest first; return all claimed by the worker.

        With each chat stand its epoch, and the messages owed there.
        """

    async def release(self, name: str, epoch: int) -> bool:
        """End the claim to a chat unless something is owed there; return whether it has ended."""

    async def wake(self, told: Collection[tuple[int, str]]) -> None:
        """Tell workers, or all (0), of chats; "": of any."""


Listen: TypeAlias = Callable[[int, Callable[[str], None]], Coroutine[None, None, None]]
"""Call back with each chat that a worker is told of ("": any), until cancelled."""


class Worker(Duties, ChatClaims):
    """One of several workers, while `at_work` is entered.

    When its row is gone, or it could not keep it alive for a lease by its own clock, all that it has claimed is lost,
    and it joins anew. What others have for it it hears by `listen`, and looks for each second. All workers go by one
    clock, the database's: `set_clock` is called with its time, and returns how far the machine's was off.
    """

    def __init__(
        self,
        store: WorkerStore,
        clock: Clock,
        *,
        program: str,
        listen: Listen | None = None,
        lease_s: float = LEASE_S,
        most_chats: int = CHATS,
        set_clock: Callable[[datetime], timedelta] | None = None,
    ) -> None:
        self.id = 0
        self._set_clock = set_clock
        self._store = store
        self._clock = clock
        self._program = program
        self._listen = listen
        self._lease_s = lease_s
        self._most_chats = most_chats
        self._former = 0
        self._beaten_s = 0.0
        self._chats: HeldChats | None = None
        self._platforms: dict[str, bool] = {}  # whether chats of it are claimed
        self._claims: set[Claim] = set()  # all but those of chats
        self._asked: set[str] = set()  # that are being claimed
        self._unended: set[int] = set()  # epochs of claims that were given up, and may stand in the database
        self._peers: Sequence[Peer] = ()
        self._shares: dict[str, float] = {}
        self._used: Counter[str] = Counter()
        self._demand: dict[str, float] = {}
        self._to_tell: set[tuple[int, str]] = set()
        self._heard: set[str] = set()
        self._telling = asyncio.Event()
        self._hearing = asyncio.Event()
        self._freed = asyncio.Event()  # set, and replaced, when something that was claimed may be free

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Be one of the workers; leaving gives up everything at once.

        Raises:
            StorageError: the database cannot be used.
        """
        await self._join()
        await self._keep_time()
        works = self._live(), self._bury(), self._look_around(), self._tell(), self._keep_time(again=True)
        tasks = [asyncio.create_task(work) for work in works]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            former, self.id = self.id, 0
            with suppress(StorageError):  # all is free when the lease is over
                await self._store.leave(former)

    async def present(self) -> Sequence[Colleague]:
        """Return all workers, this one among them.

        Raises:
            StorageError: they cannot be read.
        """
        return await self._store.present(self._lease_s)

    # --- being alive ---

    async def _live(self) -> None:
        while True:
            listening = asyncio.create_task(self._listen(self.id, self._hear)) if self._listen else None
            try:
                await first_of(self._beat(self.id), self._outlive())
            except Exception:  # noqa: BLE001  (whatever failed, it joins again)
                _log.exception("no sign of life")
            finally:
                if listening is not None:
                    listening.cancel()
            await self._die()
            while not self.id:
                try:
                    await self._join()
                except StorageError as error:
                    _log.warning("not joined yet", extra={"error": type(error).__name__})
                    await self._clock.sleep(_LOOK_S)

    async def _join(self) -> None:
        while True:
            sent_s = self._clock.monotonic()
            self._former = await self._store.join(self._program, self._former)
            if self._clock.monotonic() - sent_s < self._lease_s / 2:  # else it had to wait for the database
                break
        self.id, self._beaten_s = self._former, sent_s
        self._hear("")

    async def _keep_time(self, *, again: bool = False) -> None:
        """Set the clock by the database's; `again` and again."""
        while self._set_clock is not None:
            if again:
                await self._clock.sleep(_CLOCK_S)
            try:
                off = self._set_clock(await self._store.now())
            except StorageError as error:
                _log.warning("the clock was not set", extra={"error": type(error).__name__})
            else:
                if abs(off) > _FAR_OFF:
                    _log.warning("this machine's clock is %+.1f s off the database's", -off.total_seconds())
            if not again:
                return

    async def _outlive(self) -> None:
        """Return when the lease is over by our own clock."""
        while (left_s := self._left_s()) > 0:
            await self._clock.sleep(left_s)

    async def _beat(self, worker: int) -> None:
        """Keep the row alive; return when it is gone."""
        while True:
            sent_s = self._clock.monotonic()
            self._measure()
            busy = self._chats.busy if self._chats is not None else 0
            try:
                peers = await self._store.beat(worker, busy, dict(self._demand), partial(_shares, worker))
            except StorageError as error:
                _log.warning("no sign of life", extra={"error": type(error).__name__})
            else:
                if peers is None:
                    return
                self._beaten_s, self._peers = sent_s, peers
                self._shares = next((dict(peer.shares) for peer in peers if peer.id == worker), {})
            await self._clock.sleep(max(sent_s + self._lease_s / 3 - self._clock.monotonic(), 0.0))

    def _left_s(self) -> float:
        return self._beaten_s + self._lease_s - self._clock.monotonic()

    def _is_alive(self, worker: int) -> bool:
        return worker == self.id and self._left_s() > 0

    async def _die(self) -> None:
        """Lose everything: others go on with it."""
        _log.error("this worker was not heard of for %g s: others go on with what it did", self._lease_s)
        self.id, self._shares = 0, {}
        for claim in self._claims:
            claim.lost.set()
        self._claims.clear()
        self._unended.clear()
        if self._chats is not None:
            await self._chats.drop()

    def _claim(self, name: str, epoch: int) -> Claim:
        return Claim(name, epoch, partial(self._is_alive, self.id))

    # --- looking, hearing, telling ---

    async def _bury(self) -> None:
        """Bury dead workers, and end what could not be ended, each second, however long it takes to take things in."""
        while True:
            await self._clock.sleep(_LOOK_S)
            try:
                dead = await self._store.bury(self._lease_s) if self.id else 0
                await self._end_all()
            except StorageError as error:
                _log.warning("dead workers were not looked for", extra={"error": type(error).__name__})
            except Exception:  # noqa: BLE001  (whatever failed, it looks again)
                _log.exception("dead workers were not looked for")
            else:
                if dead:
                    _log.warning("workers died", extra={"count": dead})
                    self._hear("")

    async def _look_around(self) -> None:
        """Take in what is owed: each second, and whenever there is something to hear."""
        looked_s = -_LOOK_S
        while True:
            heard, self._heard = self._heard, set()
            self._hearing.clear()
            try:
                if self.id:
                    await self._look(heard, due=self._clock.monotonic() - looked_s >= _LOOK_S)
            except StorageError as error:
                _log.warning("the inbox was not looked at", extra={"error": type(error).__name__})
            except Exception:  # noqa: BLE001  (whatever failed, it looks again)
                _log.exception("the inbox was not looked at")
            if self._clock.monotonic() - looked_s >= _LOOK_S:
                looked_s = self._clock.monotonic()
            await first_of(self._clock.sleep(_LOOK_S), self._hearing.wait())

    async def _look(self, heard: Collection[str], *, due: bool) -> None:
        if self._chats is not None and (due or heard):
            await self._chats.look(() if due or "" in heard else heard)

    def _hear(self, name: str) -> None:
        self._heard.add(name)
        self._hearing.set()
        if not name:
            freed, self._freed = self._freed, asyncio.Event()
            freed.set()

    async def _tell(self) -> None:
        """Tell other workers what there is for them: what comes meanwhile, in one piece."""
        while True:
            await self._telling.wait()
            self._telling.clear()
            told, self._to_tell = self._to_tell, set()
            with suppress(StorageError):  # they look each second
                await self._store.wake(told)

    # --- chats ---

    @property
    def is_alone(self) -> bool:
        """Whether there can be no other worker."""
        return False

    @property
    def is_alive(self) -> bool:
        """Whether the others know that this worker lives; one that they do not hear of answers nobody."""
        return bool(self.id) and self._is_alive(self.id)

    @property
    def speaks(self) -> bool:
        """Whether this worker is the first of all that it last knew of: it speaks while nothing can be claimed."""
        return all(self._former <= peer.id for peer in self._peers)

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
    def _room(self) -> int:
        """How many more chats this worker answers, so that all have about as many."""
        busy = self._chats.busy if self._chats is not None else 0
        mean = sum(peer.chats for peer in self._peers) / max(len(self._peers), 1)
        alone = len(self._peers) < 2  # noqa: PLR2004
        return max((self._most_chats if alone else min(self._most_chats, int(mean) + _SPARE_CHATS)) - busy, 0)

    def claim(self, name: str, worker: int, epoch: int) -> Claim | None:
        """Return the claim of that epoch if it is this worker's."""
        if not self._platforms_of(name):
            return own_claim(name)
        return self._claim(_CHAT + name, epoch) if epoch and worker == self.id else None

    def _platforms_of(self, name: str) -> bool:
        return name.partition(":")[0] in self._platforms

    def wake(self, name: str, worker: int) -> None:
        """Tell that worker, or any if it is 0, that something is owed in a chat."""
        self._to_tell.add((worker, name))
        self._telling.set()

    async def owed(self) -> Mapping[str, tuple[Claim, AbstractSet[tuple[ChatKey, str]]]]:
        """Claim chats in which something is owed, and return all that are claimed."""
        worker = self.id
        platforms = [platform for platform, is_wanted in self._platforms.items() if is_wanted]
        found = await self._store.owed(worker, platforms, self._room)
        if worker != self.id:
            return {}
        return {name: (self._claim(_CHAT + name, epoch), messages) for name, (epoch, messages) in found.items()}

    async def release(self, claim: Claim) -> bool:
        """Give up a chat if nothing is owed there."""
        if not claim.epoch:
            return True
        return await self._store.release(claim.name, claim.epoch)

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

    # --- duties ---

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[Duty]:
        """Wait until that work is this worker's; leaving gives it up."""
        freed = self._freed
        while not (taken := await self._take([_DUTY + name])):
            await first_of(self._clock.sleep(_LOOK_S), freed.wait())
            freed = self._freed  # before it is asked for: what is freed meanwhile is not missed
        try:
            yield taken[0]
        finally:
            await self._end(taken)

    async def parts(self, name: str, count: int) -> AsyncGenerator[frozenset[int], None]:
        """Yield which of the numbers are this worker's, each time that changes."""
        prefix = f"{_PART}{name}:"
        mine: dict[int, Claim] = {}
        asking: Sequence[Claim] = ()
        shown: frozenset[int] | None = None
        try:
            while True:
                freed = self._freed
                mine = {number: claim for number, claim in mine.items() if not claim.lost.is_set()}
                if not asking or asking[0].lost.is_set():
                    asking = await self._take([f"{ASKS}{name}:{self.id}"])
                if asking:
                    quota, free = await self._quota(name, count)
                    extra = sorted(mine)[quota:]
                    wanted = [f"{prefix}{number}" for number in sorted(free)[: max(quota - len(mine), 0)]]
                    if extra and shown is not None and shown == frozenset(mine) - set(extra):
                        await self._end([mine.pop(number) for number in extra])
                    taken = await self._take(wanted) if wanted else []
                    mine |= {int(claim.name.removeprefix(prefix)): claim for claim in taken}
                    left = frozenset(mine) - set(extra)
                else:
                    left = frozenset(mine)
                if left != shown:
                    shown = left
                    yield left
                else:
                    lost = [claim.lost.wait() for claim in (*mine.values(), *asking)]
                    await first_of(self._clock.sleep(_LOOK_S), freed.wait(), *lost)
        finally:
            await self._end([*mine.values(), *asking])

    async def _quota(self, name: str, count: int) -> tuple[int, frozenset[int]]:
        """Return how many parts are this worker's to have, and which of them nobody has."""
        prefix = f"{_PART}{name}:"
        try:
            asking = sorted(worker for worker, _ in (await self._store.held(f"{ASKS}{name}:")).values())
            held = {int(each.removeprefix(prefix)) for each in await self._store.held(prefix)}
        except StorageError:
            return count, frozenset()
        if self.id not in asking:
            return count, frozenset()
        quota = count // len(asking) + (asking.index(self.id) < count % len(asking))
        return quota, frozenset(range(count)) - held

    async def _take(self, names: Sequence[str]) -> Sequence[Claim]:
        """Claim what is free of those names, or was claimed without this worker's hearing of it."""
        worker = self.id
        asked = set(names) - self._asked - {claim.name for claim in self._claims}
        if not worker or not asked:
            return ()
        self._asked |= asked
        try:
            epochs = await self._store.take(worker, sorted(asked))
        except StorageError as error:
            _log.warning("nothing was claimed", extra={"error": type(error).__name__})
            return ()
        finally:
            self._asked -= asked
        claims = [self._claim(name, epoch) for name, epoch in epochs.items() if epoch not in self._unended]
        if worker != self.id:
            return ()
        self._claims.update(claims)
        return claims

    async def _end(self, claims: Sequence[Claim]) -> None:
        for claim in claims:
            claim.is_given_up = True
        self._unended.update(claim.epoch for claim in self._claims.intersection(claims))
        self._claims.difference_update(claims)
        with suppress(StorageError):  # it is tried again
            await self._end_all()

    async def _end_all(self) -> None:
        if epochs := tuple(self._unended):
            await self._store.end(epochs)
            self._unended.difference_update(epochs)
            self.wake("", 0)

    # --- limits ---

    def share(self, limit: str) -> float:
        """Return how much of a limit is this worker's."""
        if limit not in self._demand:
            self._demand[limit] = 0.0
        return self._shares.get(limit) or _RESERVE / 2

    def used(self, limit: str, count: int = 1) -> None:
        """Note that so much of a limit was used."""
        self._used[limit] += count

    def _measure(self) -> None:
        """Bring up to date what is used of each limit, of late."""
        used, self._used = self._used, Counter()
        for limit in {*self._demand, *used}:
            self._demand[limit] = round((self._demand.get(limit, 0.0) + used[limit]) / 2, 3)


def _shares(worker: int, workers: Sequence[Peer]) -> Shares:
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
