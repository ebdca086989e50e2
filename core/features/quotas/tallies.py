"""What everybody has spent so far, in RAM: read once from the ledger for each scope and period, then added to.

Knows days, months and the last minute. Does not know limits. The ledger is the truth: a restart reads it again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from core.features.ledger.calls import (
    ONE_MESSAGE,
    Asker,
    Call,
    Ledger,
    Period,
    Scope,
    Spend,
    day_of,
    month_of,
    scopes_of,
    spend_of,
)
from core.ports import Clock
from core.types import UserKey

MINUTE_S: Final = 60.0


@dataclass(slots=True)
class Tally:
    """What a scope spent in a period: what the ledger knew when it was asked, and what came since."""

    period: Period
    known: Spend
    since: Spend = field(default_factory=Spend)

    @property
    def spend(self) -> Spend:
        """All of it."""
        return self.known + self.since


class Tallies:
    """Counts every call and message for whoever pays, and keeps no more than the running day, month and minute."""

    def __init__(self, ledger: Ledger, clock: Clock, zone: ZoneInfo) -> None:
        self.zone = zone
        self._ledger = ledger
        self._clock = clock
        self._days: dict[Scope, Tally] = {}
        self._months: dict[Scope, Tally] = {}
        self._minutes: dict[Scope, deque[float]] = {}
        self._today = day_of(clock.now(), zone)
        # Reading and adding take turns: what is written between a question and its answer would count twice, or never.
        self._turn = asyncio.Lock()

    async def record(self, call: Call) -> None:
        """Count a call, and store it. One that cannot be stored counts until the next start."""
        async with self._turn:
            self._add(scopes_of(call.user, call.room), call.at, spend_of(call))
            await self._ledger.record(call)

    async def ask(self, asker: Asker) -> None:
        """Count a message that is about to be thought about, and store that."""
        async with self._turn:
            now = self._clock.now()
            self._add(scopes_of(asker.user, asker.room), now, ONE_MESSAGE)
            await self._ledger.ask(asker, now)

    async def day(self, scope: Scope) -> Tally:
        """Return what the scope spent today. What is counted later is added to the same tally."""
        return await self._tally(self._days, scope, day_of)

    async def month(self, scope: Scope) -> Tally:
        """Return what the scope spent this month."""
        return await self._tally(self._months, scope, month_of)

    async def minute(self, scope: Scope) -> deque[float]:
        """Return when the messages of the last 60 seconds came, on the monotonic clock; whoever lets one in adds it."""
        async with self._turn:
            self._sweep()
            now_s = self._clock.monotonic()
            if scope not in self._minutes:
                now = self._clock.now()
                asked = await self._ledger.asked(scope, now - timedelta(seconds=MINUTE_S))
                self._minutes[scope] = deque(now_s - (now - at).total_seconds() for at in asked if at <= now)
        times_s = self._minutes[scope]
        while times_s and now_s - times_s[0] >= MINUTE_S:
            times_s.popleft()
        return times_s

    def forget(self, user: UserKey) -> None:
        """Keep nothing of that person."""
        for kept in (self._days, self._months, self._minutes):
            kept.pop(Scope(user), None)

    async def _tally(
        self, kept: dict[Scope, Tally], scope: Scope, period_of: Callable[[datetime, ZoneInfo], Period]
    ) -> Tally:
        async with self._turn:
            self._sweep()
            if scope not in kept:
                period = period_of(self._clock.now(), self.zone)
                kept[scope] = Tally(period, await self._ledger.spent(scope, period.start))
            return kept[scope]

    def _add(self, scopes: Iterable[Scope], at: datetime, spend: Spend) -> None:
        for scope in scopes:
            for kept in (self._days, self._months):
                tally = kept.get(scope)
                if tally is not None and at in tally.period:
                    tally.since += spend

    def _sweep(self) -> None:
        """Let go of what is over, once a day."""
        now = self._clock.now()
        if now in self._today:
            return
        self._today = day_of(now, self.zone)
        self._days.clear()
        for scope in [scope for scope, tally in self._months.items() if now not in tally.period]:
            del self._months[scope]
        for scope in [scope for scope, times_s in self._minutes.items() if not times_s]:
            del self._minutes[scope]
