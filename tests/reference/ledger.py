"""What was asked of models, and what it cost, in RAM: for tests, and as a short account of what is promised."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from statistics import fmean
from typing import Final
from zoneinfo import ZoneInfo

from core.dialogue import Usage
from core.features.ledger.calls import BOT, ONE_MESSAGE, Asker, Call, Ledger, Scope, Spend, Sum, day_of, spend_of
from core.types import UserKey


class InMemoryLedger(Ledger):
    """Lists. Days are those of `zone`."""

    def __init__(self, zone: ZoneInfo | None = None) -> None:
        self._zone = zone or ZoneInfo("UTC")
        self._calls: list[Call] = []
        self._asked: list[tuple[datetime, UserKey | None, str]] = []
        self._told: set[tuple[str, str, int]] = set()

    async def record(self, call: Call) -> None:
        """Keep a call."""
        self._calls.append(call)

    async def ask(self, asker: Asker, at: datetime) -> None:
        """Keep that a message is about to be thought about."""
        self._asked.append((at, asker.user, asker.room))

    async def sums(self, since: datetime, by: Sequence[str], scope: Scope = BOT) -> Sequence[Sum]:
        """Return the calls of a scope since then, summed by some of GROUPINGS, in their order."""
        keys = [_KEYS[name] for name in by]
        groups: defaultdict[tuple[str, ...], list[Call]] = defaultdict(list)
        for call in self._calls:
            if call.at >= since and _pays(scope, call.user, call.room):
                groups[tuple(key(call, self._zone) for key in keys)].append(call)
        return [_sum(group, groups[group]) for group in sorted(groups)]

    async def spent(self, scope: Scope, since: datetime) -> Spend:
        """Return what was spent since then."""
        spends = [spend_of(call) for call in self._calls if call.at >= since and _pays(scope, call.user, call.room)]
        return sum([*spends, *(ONE_MESSAGE for _ in await self.asked(scope, since))], Spend())

    async def asked(self, scope: Scope, since: datetime) -> Sequence[datetime]:
        """Return when messages were about to be thought about since then, the oldest first."""
        return sorted(at for at, user, room in self._asked if at >= since and _pays(scope, user, room))

    async def tell_once(self, scope: Scope, period: str, share: int, at: datetime) -> bool:
        """Note that it is told that `share` percent are used in that period; False if that was noted before."""
        del at
        key = (scope.name, period, share)
        is_new = key not in self._told
        self._told.add(key)
        return is_new

    async def forget(self, user: UserKey) -> None:
        """Take that person's name off everything."""
        self._calls = [replace(call, user=None) if call.user == user else call for call in self._calls]
        self._asked = [(at, None if who == user else who, room) for at, who, room in self._asked]
        self._told = {key for key in self._told if key[0] != str(user)}


_KEYS: Final[Mapping[str, Callable[[Call, ZoneInfo], str]]] = {
    "day": lambda call, zone: day_of(call.at, zone).name,
    "user": lambda call, _: str(call.user or ""),
    "mode": lambda call, _: call.mode,
    "model": lambda call, _: call.model,
    "outcome": lambda call, _: call.outcome,
    "room": lambda call, _: call.room,
}


def _pays(scope: Scope, user: UserKey | None, room: str) -> bool:
    return user == scope.user if scope.user is not None else room == scope.room or not scope.room


def _sum(keys: tuple[str, ...], calls: Sequence[Call]) -> Sum:
    used = [call.usage or Usage() for call in calls]
    first_s = [call.first_s for call in calls if call.first_s is not None]
    return Sum(
        keys,
        len(calls),
        sum(call.is_failed for call in calls),
        sum(call.is_unpriced for call in calls),
        Usage(
            sum(usage.input_tokens for usage in used),
            sum(usage.output_tokens for usage in used),
            sum(usage.cached_tokens for usage in used),
            sum(usage.reasoning_tokens for usage in used),
        ),
        sum(call.cost_usd or 0.0 for call in calls),
        fmean(call.duration_s for call in calls),
        fmean(first_s) if first_s else None,
    )
