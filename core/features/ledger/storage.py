"""What was asked of models, and what it cost, in the database: a row a call, and rows of sums (`rollup`)."""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from core.dialogue import Usage
from core.features.ledger.calls import BOT, Asker, Call, Ledger, Scope, Spend, Sum, day_of
from core.features.ledger.rollup import ROLLUPS, UNNAME, narrowed, summed
from core.storage.batches import in_batches, statement
from core.storage.database import Database, Row
from core.storage.record import OF_USER, microseconds, moment, to_json, user_key
from core.types import UserKey

_KEYS = {
    "day": "day",
    "user": """CASE "user" WHEN '' THEN '' ELSE platform || ':' || "user" END""",
    "mode": "mode",
    "model": "model",
    "outcome": "outcome",
    "room": "room",
}
_DAYS = """
    WITH days (day, first, after) AS MATERIALIZED (
        SELECT value ->> 0, CAST(value ->> 1 AS BIGINT), CAST(value ->> 2 AS BIGINT) FROM tuples(?)
    )
"""
_FIRST_AND_LAST = "SELECT (SELECT min(at) FROM calls WHERE at >= ?), (SELECT max(at) FROM calls)"  # each by the index
_INSERT = """
    INSERT INTO calls (
        at, platform, "user", mode, task, model, outcome, duration_s, first_s,
        input_tokens, cached_tokens, reasoning_tokens, output_tokens, cost_usd, room
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id
"""
_TOLD_FOR: Final = timedelta(days=100)  # longer than any period


class SqlLedger(Ledger):
    """Sums are made by the database, over rollups or over the calls of one scope. Days are those of `zone`."""

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
            number = await transaction.run(_INSERT, row)
            for rollup in ROLLUPS:
                await transaction.run(rollup.add, number[0])

    async def ask(self, asker: Asker, at: datetime) -> None:
        """Store that a message is about to be thought about."""
        async with self._database.transaction() as transaction:
            await transaction.run(
                'INSERT INTO asked (at, platform, "user", room) VALUES (?, ?, ?, ?)',
                (microseconds(at), *_key(asker.user), asker.room),
            )

    async def sums(self, since: datetime, by: Sequence[str], scope: Scope = BOT) -> Sequence[Sum]:
        """Return the calls of a scope since then, summed by some of GROUPINGS, in their order."""
        keys = [_KEYS[name] for name in by]
        columns = [column for name in by for column in (("platform", '"user"') if name == "user" else (name,))]
        rows, parameters = summed(columns, microseconds(since), _only(scope))
        group = ", ".join(keys)
        days = (await self._days(since),) if "day" in by else ()
        found = await self._database.rows(
            f"""
            {_DAYS if days else ""}
            SELECT {"".join(f"{key}, " for key in keys)}
                sum(calls), sum(failed), sum(unpriced),
                sum(input_tokens), sum(cached_tokens), sum(reasoning_tokens), sum(output_tokens),
                sum(cost_usd), sum(duration_s) / sum(calls), sum(first_s) / nullif(sum(firsts), 0)
            FROM ({rows}) AS summed {f"GROUP BY {group} ORDER BY {group}" if keys else ""}
            """,
            (*days, *parameters),
        )
        return [_sum(row, len(keys)) for row in found if row[len(keys)]]

    async def spent(self, scope: Scope, since: datetime) -> Spend:
        """Return what was spent since then."""
        rows, parameters = summed((), microseconds(since), _only(scope))
        [(tokens, cost_usd, unpriced)] = await self._database.rows(
            f"""
            SELECT
                coalesce(sum(input_tokens + output_tokens), 0), coalesce(sum(cost_usd), 0), coalesce(sum(unpriced), 0)
            FROM ({rows}) AS summed
            """,
            parameters,
        )
        where, values = narrowed(_only(scope))
        [(messages,)] = await self._database.rows(
            f"SELECT count(*) FROM asked WHERE at >= ?{where}", (microseconds(since), *values)
        )
        return Spend(messages, int(tokens), float(cost_usd), int(unpriced))

    async def asked(self, scope: Scope, since: datetime) -> Sequence[datetime]:
        """Return when messages were about to be thought about since then, the oldest first."""
        where, values = narrowed(_only(scope))
        rows = await self._database.rows(
            f"SELECT at FROM asked WHERE at >= ?{where} ORDER BY at", (microseconds(since), *values)
        )
        return [moment(at) for (at,) in rows]

    async def tell_once(self, scope: Scope, period: str, share: int, at: datetime) -> bool:
        """Record that the `share` % warning was sent for that period; return False if it was sent before."""
        key = (scope.name, period, share)
        async with self._database.transaction() as transaction:
            await transaction.run("DELETE FROM told WHERE at < ?", (microseconds(at - _TOLD_FOR),))
            return bool(
                await transaction.run(
                    """
                    INSERT INTO told (scope, period, share, at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1
                    """,
                    (*key, microseconds(at)),
                )
            )

    async def forget(self, user: UserKey) -> None:
        """Remove that person's name from their calls and messages, and which warnings they were sent."""
        for table in ("calls", "asked"):
            rows = f"SELECT id FROM {table} WHERE {OF_USER} LIMIT ?"
            unname = f"""UPDATE {table} SET platform = '', "user" = '' WHERE id IN ({rows}) RETURNING id"""
            await in_batches(self._database, statement(unname, *_key(user)))
        async with self._database.transaction() as transaction:
            for sql in UNNAME:
                await transaction.run(sql, _key(user))
            await transaction.run("DELETE FROM told WHERE scope = ?", (str(user),))

    async def _days(self, since: datetime) -> str:
        """Return the days with calls in them as JSON: name, first microsecond, first of the next; clocks may change."""
        [(first, last)] = await self._database.rows(_FIRST_AND_LAST, (microseconds(since),))
        days: list[list[str | int]] = []
        while first is not None and first <= last:
            day = day_of(moment(first), self._zone)
            days.append([day.name, microseconds(day.start), microseconds(day.end)])
            first = microseconds(day.end)
        return to_json([[*day] for day in days])


def _key(user: UserKey | None) -> tuple[str, str]:
    return user_key(user) if user else ("", "")


def _only(scope: Scope) -> dict[str, str]:
    """Map the columns that a scope's calls and messages are known by to their values."""
    if scope.user is not None:
        return {"platform": scope.user.platform, '"user"': scope.user.user}
    return {"room": scope.room} if scope.room else {}


def _sum(row: Row, width: int) -> Sum:
    calls, failed, unpriced, asked, cached, thought, said, cost_usd, mean_s, mean_first_s = row[width:]
    tokens = Usage(int(asked), int(said), int(cached), int(thought))
    known = (int(calls), int(failed), int(unpriced), tokens, float(cost_usd or 0), float(mean_s))
    return Sum(tuple(row[:width]), *known, None if mean_first_s is None else float(mean_first_s))
