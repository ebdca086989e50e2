"""Time that stands still until a test moves it."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Sized
from datetime import UTC, datetime, timedelta

from core.ports import Clock

START = datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)


class FakeClock(Clock):
    """A clock that a test drives with `advance`; with `auto`, every sleep moves it and returns at once."""

    def __init__(self, *, auto: bool = False, start: datetime = START) -> None:
        self._start = start
        self._elapsed_s = 0.0
        self._auto = auto
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed_s)

    def monotonic(self) -> float:
        return self._elapsed_s

    async def sleep(self, delay_s: float) -> None:
        if delay_s <= 0 or self._auto:
            self._elapsed_s += max(delay_s, 0.0)
            await asyncio.sleep(0)
            return
        wake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed_s + delay_s, next(self._order), wake))
        await wake

    def jump(self, delta: timedelta) -> None:
        """Set the wall clock forward or back; nobody who sleeps notices."""
        self._start += delta

    def set(self, now: datetime) -> timedelta:
        """Go by another clock, and return how far that is ahead."""
        ahead = now - self.now()
        self.jump(ahead)
        return ahead

    async def advance(self, delta_s: float) -> None:
        """Move time on, waking each sleeper at its own moment and letting it run before the next."""
        target_s = self._elapsed_s + delta_s
        await self._settle()
        while self._sleepers and self._sleepers[0][0] <= target_s:
            at_s, _, wake = heapq.heappop(self._sleepers)
            self._elapsed_s = max(self._elapsed_s, at_s)
            if not wake.done():
                wake.set_result(None)
            await self._settle()
        self._elapsed_s = target_s
        await self._settle()

    @staticmethod
    async def _settle() -> None:
        ready: Sized = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
        quiet = 0
        for _ in range(50):  # enough for chains of awaits that do no I/O
            await asyncio.sleep(0)
            quiet = 0 if ready else quiet + 1
            if quiet == 3:  # nobody else has anything to do, and the sockets were looked at
                return
