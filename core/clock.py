"""The system clock, and names of time zones."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta

from core.ports import Clock


def zone_name(at: datetime) -> str:
    """Return the name of a moment's time zone: America/Sao_Paulo, UTC."""
    return getattr(at.tzinfo, "key", "") or at.tzname() or "UTC"


class SystemClock(Clock):
    """The operating system's clock, or that of the database once it is `set` by it."""

    def __init__(self) -> None:
        self._ahead = timedelta()

    def now(self) -> datetime:
        """Return the wall clock, aware UTC."""
        return datetime.now(UTC) + self._ahead

    def set(self, now: datetime) -> timedelta:
        """Go by another clock, on which it is `now`, and return how far that is ahead of the machine's."""
        self._ahead = now - datetime.now(UTC)
        return self._ahead

    def monotonic(self) -> float:
        """Return seconds since an arbitrary start; never goes back."""
        return time.monotonic()

    async def sleep(self, delay_s: float) -> None:
        """Return after `delay_s` seconds."""
        await asyncio.sleep(max(delay_s, 0.0))
