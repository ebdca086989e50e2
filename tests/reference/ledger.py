"""What was asked of models, and what it cost, in RAM: for tests, and as a short account of what is promised."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from statistics import fmean
from typing import Final, TypeVar
from zoneinfo import ZoneInfo

from core.dialogue import Usage
from core.features.ledger.calls import (
    BOT,
    JUDGED_BY,
    JUDGED_FOR,
    Arrival,
    Call,
    Ledger,
    Scope,
    Spend,
    Spending,
    Sum,
    day_of,
    spend_of,
)
from core.types import UserKey

T = TypeVar("T")


class InMemoryLedger(Ledger, Spending):
    """Lists. Days are those of `zone`."""

    def __init__(self, zone: ZoneInfo | None = None) -> None:
        self._zone = zone or ZoneInfo("UTC")
        self._calls: list[Call] = []
        self._let_in: dict[int, tuple[Arrival, UserKey | None]] = {}
        self._told: set[tuple[str, str, int]] = set()

    async def record(self, call: Call) -> None:
        """Keep a call."""
        self._calls.append(call)

    async def read(self, job: Callable[[Spending], T]) -> T:
        """Return what a function makes of what was spent."""
        return job(self)

    async def admit(
        self, arrival: Arrival, scopes: Sequence[Scope] = (), refusal: Callable[[Spending], T | None] = lambda _: None
    ) -> tuple[int, T | None]:
        """Let a message in unless there is a refusal."""
        del scopes
        if (refused := refusal(self)) is not None:
            return 0, refused
        number = len(self._let_in) + 1
        self._let_in[number] = arrival, arrival.asker.user
        return number, None

    async def finish(self, number: int) -> None:
        """Keep that an answer is not under way any more."""
        arrival, user = self._let_in[number]
        self._let_in[number] = replace(arrival, is_under_way=False), user

    def minute(self, scope: Scope, after: datetime) -> Sequence[datetime]:
        """Return when messages that count were let in after then, the oldest first."""
        return sorted(each.at for each in self._of(scope) if each.at > after for _ in range(each.counts))

    def by_calls(self, scope: Scope, *since: datetime) -> Sequence[Spend]:
        """Return what calls spent since each of these times."""
        calls = [call for call in self._calls if _pays(scope, call.user, call.room)]
        return [sum((spend_of(call) for call in calls if call.at >= first), Spend()) for first in since]

    def expected(self, scope: Scope, at: datetime) -> Spend:
        """Return what the answers that are under way may still use."""
        busy = sum(each.is_under_way and each.at > at - JUDGED_FOR for each in self._of(scope))
        asked = sorted(each.at for each in self._of(scope) if each.thinks and each.at > at - timedelta(days=1))
        newest = asked[-JUDGED_BY - busy :]
        if not busy or len(newest) <= busy:
            return Spend()
        [spent], done = self.by_calls(scope, newest[0]), len(newest) - busy
        return Spend(0, spent.tokens * busy // done, spent.cost_usd * busy / done)

    def _of(self, scope: Scope) -> Sequence[Arrival]:
        return [arrival for arrival, user in self._let_in.values() if _pays(scope, user, arrival.asker.room)]

    async def sums(self, since: datetime, by: Sequence[str], scope: Scope = BOT) -> Sequence[Sum]:
        """Return the calls of a scope since then, summed by some of GROUPINGS, in their order."""
        keys = [_KEYS[name] for name in by]
        groups: defaultdict[tuple[str, ...], list[Call]] = defaultdict(list)
        for call in self._calls:
            if call.at >= since and _pays(scope, call.user, call.room):
                groups[tuple(key(call, self._zone) for key in keys)].append(call)
        return [_sum(group, groups[group]) for group in sorted(groups)]

    async def spent(self, scope: Scope, since: datetime) -> Spend:
        """Return what was spent since then, with the messages that models were asked about."""
        messages = sum(each.thinks and each.at >= since for each in self._of(scope))
        [spent] = self.by_calls(scope, since)
        return replace(spent, messages=messages)

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
        self._let_in = {number: (each, None if who == user else who) for number, (each, who) in self._let_in.items()}
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
