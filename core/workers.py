"""The one worker of a bot that shares its database with no other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from core.ports import Duties, Duty


@dataclass(frozen=True, slots=True)
class OwnDuty(Duty):
    """A duty that nobody else can have."""

    lost: asyncio.Event = field(default_factory=asyncio.Event)


class OneWorker(Duties):
    """Has every duty, every part and all of each limit."""

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[Duty]:
        """Give the duty at once."""
        del name
        yield OwnDuty()

    async def parts(self, name: str, count: int) -> AsyncIterator[frozenset[int]]:
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
