"""Hold what was spent against limits: who may still ask, and which limits are nearly used up."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

from core.features.admin.decisions import DecisionKind, Decisions
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
from core.features.quotas.limits import NO_LIMITS, SPENDING, Defaults, Limit, Limits, NotALimit, read
from core.ports import Clock
from core.types import Role, UserKey

MINUTE_S: Final = 60.0
NOTE_SHARE: Final = 80
FULL_SHARE: Final = 100
_PERCENT: Final = Decimal(100)


@dataclass(frozen=True, slots=True)
class Use:
    """How much of one limit is used. `period` names the day or month ("" for a minute), `ends` is its end.

    `expected` is what the answers under way may still use, judged by those before them.
    """

    scope: Scope
    limit: Limit
    allowed: Decimal
    used: Decimal
    ends: datetime
    period: str = ""
    expected: Decimal = Decimal(0)

    @property
    def is_used_up(self) -> bool:
        """Whether nothing is left."""
        return self.used >= self.allowed

    @property
    def is_full(self) -> bool:
        """Whether used plus expected use reaches the limit."""
        return self.used + self.expected >= self.allowed

    @property
    def left(self) -> Decimal:
        """What is left, at least 0."""
        return max(self.allowed - self.used, Decimal(0))

    @property
    def percent(self) -> int:
        """The used share, rounded down; 100 for a limit of 0."""
        return int(self.used * _PERCENT / self.allowed) if self.allowed else FULL_SHARE


@dataclass(frozen=True, slots=True)
class Holding:
    """The limits that hold for a scope, and the name they were decided under, "" if they come from the settings."""

    scope: Scope
    limits: Limits
    decided: str = ""


@dataclass(slots=True)
class Tally:
    """What a scope spent in a period: what the ledger held when it was read, and what was added since."""

    period: Period
    known: Spend
    since: Spend = field(default_factory=Spend)

    @property
    def spend(self) -> Spend:
        """The sum of both."""
        return self.known + self.since


class Tallies:
    """Count calls and messages in RAM for each scope: the running day, month and minute.

    Each tally is read from the ledger once, then added to; a restart reads it again.
    """

    def __init__(self, ledger: Ledger, clock: Clock, zone: ZoneInfo) -> None:
        self.zone = zone
        self._ledger = ledger
        self._clock = clock
        self._days: dict[Scope, Tally] = {}
        self._months: dict[Scope, Tally] = {}
        self._minutes: dict[Scope, deque[float]] = {}
        self._today = day_of(clock.now(), zone)
        # Reading and adding take turns: a call recorded while the ledger is being read would count twice, or never.
        self._turn = asyncio.Lock()

    async def record(self, call: Call) -> None:
        """Count a call, and store it. A call that cannot be stored counts until the next start."""
        async with self._turn:
            self._add(scopes_of(call.user, call.room), call.at, spend_of(call))
            await self._ledger.record(call)

    async def ask(self, asker: Asker) -> None:
        """Count a message that a model is about to be asked about, and store that."""
        async with self._turn:
            now = self._clock.now()
            self._add(scopes_of(asker.user, asker.room), now, ONE_MESSAGE)
            await self._ledger.ask(asker, now)

    async def day(self, scope: Scope) -> Tally:
        """Return what the scope spent today; later calls are added to the same tally."""
        return await self._tally(self._days, scope, day_of)

    async def month(self, scope: Scope) -> Tally:
        """Return what the scope spent this month."""
        return await self._tally(self._months, scope, month_of)

    async def minute(self, scope: Scope) -> deque[float]:
        """Return the monotonic times of the messages of the last 60 seconds; the caller adds the next one."""
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
        """Remove the tallies of that person."""
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
        """Drop periods that are over, once a day."""
        now = self._clock.now()
        if now in self._today:
            return
        self._today = day_of(now, self.zone)
        self._days.clear()
        for scope in [scope for scope, tally in self._months.items() if now not in tally.period]:
            del self._months[scope]
        for scope in [scope for scope, times_s in self._minutes.items() if not times_s]:
            del self._minutes[scope]


class Quotas:
    """Hold spending against limits. Decided limits come before the settings, a person's before those of their role."""

    def __init__(self, ledger: Ledger, decisions: Decisions, clock: Clock, defaults: Defaults, zone: ZoneInfo) -> None:
        self.ledger = ledger
        self.zone = zone
        self.defaults = defaults
        self._decisions = decisions
        self._clock = clock
        self._tallies = Tallies(ledger, clock, zone)
        self._busy: Counter[Scope] = Counter()  # answers under way
        self._told: set[tuple[str, str, int]] = set()

    async def record(self, call: Call) -> None:
        """Count a call, and store it."""
        await self._tallies.record(call)

    async def forget(self, user: UserKey) -> None:
        """Remove what is kept of that person, here and in the ledger."""
        self._tallies.forget(user)
        self._told = {key for key in self._told if key[0] != str(user)}
        await self.ledger.forget(user)

    @asynccontextmanager
    async def admitted(
        self, asker: Asker, role: Role | None, *, thinks: bool, counts: bool = True
    ) -> AsyncIterator[Use | None]:
        """Let a message in while the context is entered, or yield the limit that keeps it out.

        A message that `thinks` is held against what was spent, one that `counts` against messages a minute. An owner's
        command is never kept out: it may be the one that changes a limit.
        """
        if not thinks and (role is Role.OWNER or not counts):
            yield None
            return
        scopes = scopes_of(asker.user, asker.room)
        full = await self._enter(await self.holding(scopes, role), thinks=thinks, counts=counts)
        if full is not None or not thinks:
            yield full
            return
        self._busy.update(scopes)
        try:
            await self._tallies.ask(asker)
            yield None
        finally:
            self._busy -= Counter(scopes)

    async def holding(self, scopes: Sequence[Scope], role: Role | None) -> list[Holding]:
        """Return the limits that hold for each scope; a person among them has that role (None: a guest)."""
        decided = await self._decisions.values(DecisionKind.QUOTA)
        return [self._holding(scope, role or Role.GUEST, decided) for scope in scopes]

    def default(self, role: Role) -> Limits:
        """Return the limits of the settings for a person of that role. An owner has the bot's limits only."""
        own = {Role.OWNER: read(NO_LIMITS), Role.GUEST: self.defaults.guest}
        return own.get(role, self.defaults.person)

    async def uses(self, holding: Holding) -> list[Use]:
        """Return how much is used of each limit."""
        tallies = await self._tallies_of(holding)
        minute = await self._tallies.minute(holding.scope) if Limit.MESSAGES_MINUTE in holding.limits else None
        return [*(self._minute_use(holding, minute) if minute is not None else ()), *_uses(holding, tallies)]

    async def spent(self, scope: Scope) -> tuple[Tally, Tally]:
        """Return what a scope spent today, and this month."""
        return await self._tallies.day(scope), await self._tallies.month(scope)

    async def news(self, asker: Asker, role: Role | None) -> list[Use]:
        """Return the limits that are full, or nearly so, and that were not warned of yet: each once a period."""
        found: list[Use] = []
        for holding in await self.holding(scopes_of(asker.user, asker.room), role):
            for use in _uses(holding, await self._tallies_of(holding)):
                share = FULL_SHARE if use.is_used_up else NOTE_SHARE
                if use.allowed and use.percent >= NOTE_SHARE and await self._is_first(use, share):
                    found.append(use)
        return found

    async def _enter(self, holdings: Sequence[Holding], *, thinks: bool, counts: bool) -> Use | None:
        """Return the full limit that ends last; if none is full, count the message and return None.

        Everything is read before anything is judged, so that of messages side by side each sees the one before.
        """
        minutes = [
            (holding, await self._tallies.minute(holding.scope))
            for holding in holdings
            if counts and Limit.MESSAGES_MINUTE in holding.limits
        ]
        tallies = [(holding, await self._tallies_of(holding)) for holding in holdings] if thinks else []
        uses = [use for holding, times_s in minutes for use in self._minute_use(holding, times_s)]
        uses += [use for holding, counted in tallies for use in _uses(holding, counted, self._busy[holding.scope])]
        full = [use for use in uses if use.is_full]
        if full:
            return max(full, key=lambda use: use.ends)
        for _, times_s in minutes:
            times_s.append(self._clock.monotonic())
        return None

    def _holding(self, scope: Scope, role: Role, decided: Mapping[str, str]) -> Holding:
        names = [scope.name, role.value] if scope.user else [scope.name]
        for name in names:
            if name in decided:
                with suppress(NotALimit):  # decided by a version of this program that had the limit
                    return Holding(scope, read(decided[name]), name)
        if scope.user is None:
            return Holding(scope, self.defaults.room if scope.room else self.defaults.bot)
        return Holding(scope, self.default(role))

    async def _tallies_of(self, holding: Holding) -> dict[Limit, Tally]:
        tallies: dict[Limit, Tally] = {}
        for limit in SPENDING:
            if limit in holding.limits:
                read_tally = self._tallies.month if limit.is_monthly else self._tallies.day
                tallies[limit] = await read_tally(holding.scope)
        return tallies

    def _minute_use(self, holding: Holding, times_s: deque[float]) -> list[Use]:
        allowed = holding.limits[Limit.MESSAGES_MINUTE]
        ends, over = self._clock.now(), len(times_s) - int(allowed)
        if 0 <= over < len(times_s):  # a message fits again once that one is a minute old
            ends += timedelta(seconds=times_s[over] + MINUTE_S - self._clock.monotonic())
        return [Use(holding.scope, Limit.MESSAGES_MINUTE, allowed, Decimal(len(times_s)), ends)]

    async def _is_first(self, use: Use, share: int) -> bool:
        key = (use.scope.name, use.period, share)
        if key in self._told:
            return False
        self._told.add(key)
        return await self.ledger.tell_once(use.scope, use.period, share, self._clock.now())


def _uses(holding: Holding, tallies: Mapping[Limit, Tally], busy: int = 0) -> list[Use]:
    """Return how much is used of each limit; each of the `busy` answers is expected to cost as those before it."""
    found: list[Use] = []
    for limit, tally in tallies.items():
        used, done = _amount(limit, tally.spend), tally.since.messages - busy
        expected = _amount(limit, tally.since) * busy / done if busy and done > 0 else Decimal(0)
        period = tally.period
        found.append(Use(holding.scope, limit, holding.limits[limit], used, period.end, period.name, expected))
    return found


def _amount(limit: Limit, spend: Spend) -> Decimal:
    return Decimal(str(spend.cost_usd)) if limit.is_cost else Decimal(spend.tokens)
