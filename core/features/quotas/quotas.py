"""Who may still ask: limits held against what was spent. Knows both. Does not know what is said of it, nor to whom."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

from core.features.admin.decisions import DecisionKind, Decisions
from core.features.ledger.calls import Asker, Call, Ledger, Scope, Spend, scopes_of
from core.features.quotas.limits import NO_LIMITS, SPENDING, Defaults, Limit, Limits, NotALimit, read
from core.features.quotas.tallies import MINUTE_S, Tallies, Tally
from core.ports import Clock
from core.types import Role, UserKey

NOTE_SHARE: Final = 80
FULL_SHARE: Final = 100
_PERCENT: Final = Decimal(100)


@dataclass(frozen=True, slots=True)
class Use:
    """How much of one limit is used. `period` names the day or month ("" for a minute), `ends` when it is over.

    `expected` is what the answers that are being thought may yet use, going by those before them.
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
        """Whether nobody else is let in: nothing is left, or what is left is as good as used."""
        return self.used + self.expected >= self.allowed

    @property
    def left(self) -> Decimal:
        """What is left, at least 0."""
        return max(self.allowed - self.used, Decimal(0))

    @property
    def percent(self) -> int:
        """How much of it is used, rounded down; of nothing, all."""
        return int(self.used * _PERCENT / self.allowed) if self.allowed else FULL_SHARE


@dataclass(frozen=True, slots=True)
class Holding:
    """The limits that hold for a scope, and where they come from: whose decision (its name), or "" for the settings."""

    scope: Scope
    limits: Limits
    decided: str = ""


class Quotas:
    """Holds limits against spending. What was decided goes before the settings: of a person first, then a standing."""

    def __init__(self, ledger: Ledger, decisions: Decisions, clock: Clock, defaults: Defaults, zone: ZoneInfo) -> None:
        self.ledger = ledger
        self.zone = zone
        self.defaults = defaults
        self._decisions = decisions
        self._clock = clock
        self._tallies = Tallies(ledger, clock, zone)
        self._busy: Counter[Scope] = Counter()  # answers that are being thought
        self._told: set[tuple[str, str, int]] = set()

    async def record(self, call: Call) -> None:
        """Count a call, and store it."""
        await self._tallies.record(call)

    async def forget(self, user: UserKey) -> None:
        """Keep nothing of that person, here and in the ledger."""
        self._tallies.forget(user)
        self._told = {key for key in self._told if key[0] != str(user)}
        await self.ledger.forget(user)

    @asynccontextmanager
    async def admitted(
        self, asker: Asker, role: Role | None, *, thinks: bool, counts: bool = True
    ) -> AsyncIterator[Use | None]:
        """Let a message in, for as long as it is being answered, or give the limit that keeps it out.

        One that `thinks` is held against what was spent, one that `counts` against messages a minute. An owner's
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
        """Return the limits that hold for each, where a person has that standing (None: a guest)."""
        decided = await self._decisions.values(DecisionKind.QUOTA)
        return [self._holding(scope, role or Role.GUEST, decided) for scope in scopes]

    def default(self, role: Role) -> Limits:
        """Return what the settings say of a person of that standing. An owner is bound by the bot's limits only."""
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
        """Return the limits that are full, or nearly so, and of which nobody was told yet: each once a period."""
        found: list[Use] = []
        for holding in await self.holding(scopes_of(asker.user, asker.room), role):
            for use in _uses(holding, await self._tallies_of(holding)):
                share = FULL_SHARE if use.is_used_up else NOTE_SHARE
                if use.allowed and use.percent >= NOTE_SHARE and await self._is_first(use, share):
                    found.append(use)
        return found

    async def _enter(self, holdings: Sequence[Holding], *, thinks: bool, counts: bool) -> Use | None:
        """Return the full limit that is so for longest; None, and the message counts, if there is none.

        Everything is read before anything is looked at: of messages that come side by side each sees the one before.
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
        if 0 <= over < len(times_s):  # there is room again once that one is a minute old
            ends += timedelta(seconds=times_s[over] + MINUTE_S - self._clock.monotonic())
        return [Use(holding.scope, Limit.MESSAGES_MINUTE, allowed, Decimal(len(times_s)), ends)]

    async def _is_first(self, use: Use, share: int) -> bool:
        key = (use.scope.name, use.period, share)
        if key in self._told:
            return False
        self._told.add(key)
        return await self.ledger.tell_once(use.scope, use.period, share, self._clock.now())


def _uses(holding: Holding, tallies: Mapping[Limit, Tally], busy: int = 0) -> list[Use]:
    """Return how much is used of each limit; each answer that is being thought is expected to be as those before it."""
    found: list[Use] = []
    for limit, tally in tallies.items():
        used, done = _amount(limit, tally.spend), tally.since.messages - busy
        expected = _amount(limit, tally.since) * busy / done if busy and done > 0 else Decimal(0)
        period = tally.period
        found.append(Use(holding.scope, limit, holding.limits[limit], used, period.end, period.name, expected))
    return found


def _amount(limit: Limit, spend: Spend) -> Decimal:
    return Decimal(str(spend.cost_usd)) if limit.is_cost else Decimal(spend.tokens)
