"""Duties that several workers in one process share: what the database's do, without a database."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from core.ports import Duties, Duty
from core.workers import OwnDuty


class Workers:
    """All workers of a bot. `alone` is the worker to whom everything belongs that nobody else asked for yet."""

    def __init__(self) -> None:
        self.holders: dict[str, Worker] = {}
        self.members: defaultdict[str, list[Worker]] = defaultdict(list)
        self.parts: defaultdict[str, dict[int, Worker]] = defaultdict(dict)
        self.shares: dict[Worker, float] = {}
        self.changed = asyncio.Event()

    def worker(self) -> Worker:
        return Worker(self)

    def notify(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    def wanted(self, name: str, count: int, worker: Worker) -> frozenset[int]:
        """What that worker is to have: as many as everybody, of what it has as much as it may keep."""
        members, held = self.members[name], self.parts[name]
        quotas = {one: count // len(members) + (at < count % len(members)) for at, one in enumerate(members)}
        dealt = {one: [part for part in range(count) if held.get(part) is one][: quotas[one]] for one in members}
        kept = {part for parts in dealt.values() for part in parts}
        for part in range(count):
            if part not in kept:
                taker = next(one for one in members if len(dealt[one]) < quotas[one])
                dealt[taker].append(part)
        return frozenset(dealt[worker])


@dataclass(eq=False)
class Worker(Duties):
    """One worker's side. `used_of` is what it said that it used of each limit."""

    workers: Workers
    used_of: Counter[str] = field(default_factory=Counter)
    duties: dict[str, OwnDuty] = field(default_factory=dict)

    def lose(self, name: str) -> None:
        """Another worker may do that work from now on, as after a time without the database."""
        self.duties.pop(name).lost.set()
        del self.workers.holders[name]
        self.workers.notify()

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[Duty]:
        while name in self.workers.holders:
            await self.workers.changed.wait()
        self.workers.holders[name] = self
        duty = self.duties[name] = OwnDuty()
        try:
            yield duty
        finally:
            if self.duties.get(name) is duty:
                del self.duties[name], self.workers.holders[name]
                self.workers.notify()

    async def parts(self, name: str, count: int) -> AsyncGenerator[frozenset[int], None]:
        members, held = self.workers.members[name], self.workers.parts[name]
        members.append(self)
        self.workers.notify()
        mine: frozenset[int] | None = None
        try:
            while True:
                wanted = self.workers.wanted(name, count, self)
                now = frozenset(part for part in wanted if held.get(part, self) is self)
                if now == mine:
                    await self.workers.changed.wait()
                    continue
                mine = now
                held.update(dict.fromkeys(now, self))
                yield now
                self._give_up(held, now)
        finally:
            members.remove(self)
            self._give_up(held, frozenset())

    def _give_up(self, held: dict[int, Worker], but: frozenset[int]) -> None:
        for part in [part for part, holder in held.items() if holder is self and part not in but]:
            del held[part]
        self.workers.notify()

    def share(self, limit: str) -> float:
        del limit
        return self.workers.shares.get(self, 1.0)

    def used(self, limit: str, count: int = 1) -> None:
        self.used_of[limit] += count
