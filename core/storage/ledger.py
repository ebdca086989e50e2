"""What was asked of models, and what it cost, in SQLite. Knows rows of calls. Knows no price, nor what was said."""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from core.dialogue import Usage
from core.money import Asker, Call, Ledger, Scope, Spend, Sum, day_of
from core.storage.record import microseconds, moment, to_json
from core.storage.sqlite import Database, Row
from core.types import UserKey

_COLUMNS = {
    "day": "day",
    "user": "CASE user WHEN '' THEN '' ELSE platform || ':' || user END",
    "mode": "mode",
    "model": "model",
    "outcome": "outcome",
    "room": "room",
}
_DAYS = """
    WITH days (day, first, after) AS MATERIALIZED (SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?))
"""
_BY_DAY = "days CROSS JOIN calls ON at >= first AND at < after"  # in this order: each day's calls by the index
_FAILED = "outcome GLOB '[A-Z]*'"  # the other outcomes are written small
_UNPRICED = f"cost_usd IS NULL AND (outcome = 'StreamCut' OR NOT {_FAILED})"
_INSERT = """
    INSERT INTO calls (
        at, platform, user, mode, task, model, outcome, duration_s, first_s,
        input_tokens, cached_tokens, reasoning_tokens, output_tokens, cost_usd, room
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_TOLD_FOR: Final = timedelta(days=100)  # longer than any period


class SqliteLedger(Ledger):
    """Sums are made by SQLite, over an index of whoever is asked about. Days are those of `zone`."""

    def __init__(self, database: Database, zone: ZoneInfo | None = None) -> None:
        self._database = database
        self._zone = zone or ZoneInfo("UTC")

    async def record(self, call: Call) -> None:
        """Store a call."""
        usage = call.usage
        tokens = (
            (usage.input_tokens, usage.cached_tokens, usage.reasoning_tokens, usage.output_tokens)
            if usage
            else (None, None, None, None)
        )
        called = (microseconds(call.at), *_key(call.user), call.mode, call.task, call.model, call.outcome)
        row = (*called, call.duration_s, call.first_s, *tokens, call.cost_usd, call.room)
        async with self._database.transaction() as transaction:
            await transaction.run(_INSERT, row)

    async def ask(self, asker: Asker, at: datetime) -> None:
        """Store that a message is about to be thought about."""
        async with self._database.transaction() as transaction:
            await transaction.run(
                "INSERT INTO asked (at, platform, user, room) VALUES (?, ?, ?, ?)",
                (microseconds(at), *_key(asker.user), asker.room),
            )

    async def sums(self, since: datetime, by: Sequence[str]) -> Sequence[Sum]:
        """Return the calls since then, summed by some of GROUPINGS, in their order."""
        keys = [_COLUMNS[name] for name in by]
        group = ", ".join(keys) or "NULL"
        days = (await self._days(since),) if "day" in by else ()
        rows = await self._database.rows(
            f"""
            {_DAYS if days else ""}
            SELECT {"".join(f"{key}, " for key in keys)}
                count(*), sum({_FAILED}), sum({_UNPRICED}),
                total(input_tokens), total(cached_tokens), total(reasoning_tokens), total(output_tokens),
                total(cost_usd), avg(duration_s), avg(first_s)
            FROM {_BY_DAY if days else "calls"} WHERE at >= ? GROUP BY {group} ORDER BY {group}
            """,
            (*days, microseconds(since)),
        )
        return [_sum(row, len(keys)) for row in rows]

    async def spent(self, scope: Scope, since: datetime) -> Spend:
        """Return what was spent since then."""
        where, key = _where(scope)
        parameters = (microseconds(since), *key)
        [(tokens, cost_usd, unpriced)] = await self._database.rows(
            f"SELECT total(input_tokens) + total(output_tokens), total(cost_usd), total({_UNPRICED}) "
            f"FROM calls WHERE at >= ?{where}",
            parameters,
        )
        [(messages,)] = await self._database.rows(f"SELECT count(*) FROM asked WHERE at >= ?{where}", parameters)
        return Spend(messages, int(tokens), cost_usd, int(unpriced))

    async def asked(self, scope: Scope, since: datetime) -> Sequence[datetime]:
        """Return when messages were about to be thought about since then, the oldest first."""
        where, key = _where(scope)
        rows = await self._database.rows(
            f"SELECT at FROM asked WHERE at >= ?{where} ORDER BY at", (microseconds(since), *key)
        )
        return [moment(at) for (at,) in rows]

    async def tell_once(self, scope: Scope, period: str, share: int, at: datetime) -> bool:
        """Note that it is told that `share` percent are used in that period; False if that was noted before."""
        key = (scope.name, period, share)
        async with self._database.transaction() as transaction:
            await transaction.run("DELETE FROM told WHERE at < ?", (microseconds(at - _TOLD_FOR),))
            return bool(
                await transaction.run(
                    "INSERT INTO told VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1", (*key, microseconds(at))
                )
            )

    async def forget(self, user: UserKey) -> None:
        """Take that person's name off their calls and messages, and what they were told."""
        async with self._database.transaction() as transaction:
            for table in ("calls", "asked"):
                await transaction.run(
                    f"UPDATE {table} SET platform = '', user = '' WHERE platform = ? AND user = ?", _key(user)
                )
            await transaction.run("DELETE FROM told WHERE scope = ?", (str(user),))

    async def _days(self, since: datetime) -> str:
        """Return the days with calls in them as JSON: name, first microsecond, first of the next; clocks may change."""
        rows = await self._database.rows("SELECT min(at), max(at) FROM calls WHERE at >= ?", (microseconds(since),))
        [(first, last)] = rows
        days: list[list[str | int]] = []
        while first is not None and first <= last:
            day = day_of(moment(first), self._zone)
            days.append([day.name, microseconds(day.start), microseconds(day.end)])
            first = microseconds(day.end)
        return to_json([[*day] for day in days])


def _key(user: UserKey | None) -> tuple[str, str]:
    return (user.platform, user.user) if user else ("", "")


def _where(scope: Scope) -> tuple[str, tuple[str, ...]]:
    """Return what narrows a query to a scope, and its parameters."""
    if scope.user is not None:
        return " AND platform = ? AND user = ?", _key(scope.user)
    return (" AND room = ? AND room != ''", (scope.room,)) if scope.room else ("", ())


def _sum(row: Row, width: int) -> Sum:
    calls, failed, unpriced, asked, cached, thought, said, cost_usd, mean_s, mean_first_s = row[width:]
    tokens = Usage(int(asked), int(said), int(cached), int(thought))
    return Sum(tuple(row[:width]), calls, failed, unpriced, tokens, cost_usd, mean_s, mean_first_s)
