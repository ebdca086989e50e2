"""Workers in one process that share duties and limits: what the database's do, without a database."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from core.workers.port import Claim, Worker, own_claim


class Workers:
    """All workers of a bot. A worker has all of each limit unless `shares` says otherwise."""

    def __init__(self) -> None:
        self.holders: dict[str, OneOfThese] = {}
        self.shares: dict[Worker, float] = {}
        self.changed = asyncio.Event()

    def worker(self) -> OneOfThese:
        return OneOfThese(self)

    def notify(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


@dataclass(eq=False)
class OneOfThese(Worker):
    """One worker's side. `used_of` is what it said that it used of each limit."""

    workers: Workers
    used_of: Counter[str] = field(default_factory=Counter)
    duties: dict[str, Claim] = field(default_factory=dict)
    is_alone = False

    def lose(self, name: str) -> None:
        """Another worker may do that work from now on, as after a time without the database."""
        self.duties.pop(name).lost.set()
        del self.workers.holders[name]
        self.workers.notify()

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[Claim]:
        while name in self.workers.holders:
            await self.workers.changed.wait()
        self.workers.holders[name] = self
        duty = self.duties[name] = own_claim(name)
        try:
            yield duty
        finally:
            if self.duties.get(name) is duty:
                del self.duties[name], self.workers.holders[name]
                self.workers.notify()

    def share(self, limit: str) -> float:
        del limit
        return self.workers.shares.get(self, 1.0)

    def used(self, limit: str, count: int = 1) -> None:
        self.used_of[limit] += count
