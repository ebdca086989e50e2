"""What was asked of models, and what it cost, in the database: a row a call, and rows of sums.

Calls are summed as they come, so that a month of them is read in milliseconds.
"""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeVar
from zoneinfo import ZoneInfo

from core.dialogue import Usage
from core.features.ledger.calls import (
    BOT,
    JUDGED_BY,
    JUDGED_FOR,
    AdmittedMessage,
    ModelCall,
    Spend,
    SpendingQuery,
    SpendingScope,
    Sum,
    day_of,
)
from core.storage.database import Database, Query, Row, in_batches, statement
from core.storage.record import OF_USER, microseconds, moment, to_json, user_key
from core.types import UserKey
from core.workers.port import unclaimed

T = TypeVar("T")
_S = 1_000_000  # microseconds
_FAILED = "substr(outcome, 1, 1) != lower(substr(outcome, 1, 1))"  # the other outcomes are written small
_OF_A_CALL: Final = {
    "calls": "1",
    "failed": f"CASE WHEN {_FAILED} THEN 1 ELSE 0 END",
    "unpriced": f"CASE WHEN cost_usd IS NULL AND (outcome = 'StreamCut' OR NOT {_FAILED}) THEN 1 ELSE 0 END",
    **{
        name: f"coalesce({name}, 0)"
        for name in ("input_tokens", "cached_tokens", "reasoning_tokens", "output_tokens", "cost_usd")
    },
    "duration_s": "duration_s",
    "first_s": "coalesce(first_s, 0)",
    "firsts": "CASE WHEN first_s IS NULL THEN 0 ELSE 1 END",  # how many calls brought a first token
}
MEASURES: Final = ", ".join(_OF_A_CALL)
"""The columns that are summed, of a rollup and of `summed`."""

_MEASURED = ", ".join(f"{sql} AS {name}" for name, sql in _OF_A_CALL.items())


@dataclass(frozen=True, slots=True)
class Rollup:
    """A table of sums, and how long its slots are, in microseconds."""

    table: str
    slot_us: int
    columns: tuple[str, ...]

    @property
    def add(self) -> str:
        """SQL that adds a call; its values are those of _INSERT."""
        return (
            f"INSERT INTO {self.table} (slot, {self.names}, {MEASURES}) SELECT at / {self.slot_us}, {self.names}, "
            f"{_MEASURED} FROM (SELECT {_TYPED}) AS called WHERE at IS NOT NULL {self.added}"
        )

    @property
    def added(self) -> str:
        """The end of an INSERT that adds what it inserts to a row that is there."""
        sums = ", ".join(f"{name} = {self.table}.{name} + excluded.{name}" for name in _OF_A_CALL)
        return f"ON CONFLICT (slot, {self.names}) DO UPDATE SET {sums}"

    @property
    def names(self) -> str:
        """The columns, as SQL lists them."""
        return ", ".join(self.columns)


QUARTERS: Final = Rollup("call_quarters", 900 * _S, ("model",))
"""By the quarter of an hour: every time zone's midnight is the beginning of one."""

PAYERS: Final = Rollup("call_payers", 86_400 * _S, ("platform", '"user"', "room"))
"""By the day of UTC, for which days of a time zone cannot be told apart."""

ROLLUPS: Final = (PAYERS, QUARTERS)
"""Everybody adds in this order, so that nobody waits in a circle."""

_UNNAME: Final = f"DELETE FROM call_payers WHERE {OF_USER} RETURNING slot, room, {MEASURES}"
_UNNAMED: Final = f"""
    INSERT INTO call_payers (slot, {PAYERS.names}, {MEASURES})
    VALUES (?, '', '', ?, {", ".join("?" for _ in _OF_A_CALL)}) {PAYERS.added}
"""


def narrowed(only: Mapping[str, str]) -> tuple[str, list[object]]:
    """Return SQL that keeps the rows whose columns have those values, and its parameters; "" is nobody's value."""
    return "".join(f" AND {name} = ? AND {name} != ''" for name in only), [*only.values()]


def summed(columns: Sequence[str], since_us: int, only: Mapping[str, str]) -> tuple[str, list[object]]:
    """Return SQL of rows with those columns and the MEASURES since then, of calls with such values, and its parameters.

    A "day" is one of a table of `days` beside it.
    """
    rollup = _rollup_of({*columns, *only})
    where, values = narrowed(only)
    names = "".join(f"{name}, " for name in columns)
    days = "days CROSS JOIN " if "day" in columns else ""  # SQLite keeps this order: each day's rows by the index
    within = "at >= first AND at < after AND " if days else ""
    calls = f"SELECT {names}{_MEASURED} FROM {days}calls WHERE {within}at >= ?"
    if rollup is None:
        return f"{calls}{where}", [since_us, *values]
    slot = -(-since_us // rollup.slot_us)  # the first that begins no earlier
    within = f"slot >= first / {rollup.slot_us} AND slot < after / {rollup.slot_us} AND " if days else ""
    whole = f"SELECT {names}{MEASURES} FROM {days}{rollup.table} WHERE {within}slot >= ?"
    edge = f"{calls} AND at < ?"
    parameters = [slot, *values, since_us, slot * rollup.slot_us, *values]
    return f"{whole}{where} UNION ALL {edge}{where}", parameters


def _rollup_of(columns: set[str]) -> Rollup | None:
    """Return the rollup that tells those columns apart; None if none does."""
    if columns <= {"day", *QUARTERS.columns}:
        return QUARTERS
    return PAYERS if columns <= set(PAYERS.columns) else None


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
_TYPES = {
    **dict.fromkeys(("at",), "BIGINT"),
    **dict.fromkeys(("platform", '"user"', "mode", "task", "model", "outcome"), "TEXT"),
    **dict.fromkeys(("duration_s", "first_s"), "DOUBLE PRECISION"),
    **dict.fromkeys(("input_tokens", "cached_tokens", "reasoning_tokens", "output_tokens"), "BIGINT"),
    "cost_usd": "DOUBLE PRECISION",
    "room": "TEXT",
}
_TYPED = ", ".join(f"CAST(? AS {kind}) AS {name}" for name, kind in _TYPES.items())
_INSERT = f"INSERT INTO calls ({', '.join(_TYPES)}) VALUES ({', '.join('?' * len(_TYPES))})"
_ADMIT = """
    INSERT INTO asked (at, platform, "user", room, thinks, counts, under_way) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id
"""
_TOLD_FOR: Final = timedelta(days=100)  # longer than any period


class Spending:
    """What all workers have let in and spent, read in one transaction."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._found: dict[tuple[SpendingQuery, SpendingScope, datetime], list[Row]] = {}

    def read_ahead(self, *questions: tuple[SpendingQuery, SpendingScope, datetime]) -> None:
        """Read in one statement what will be asked. It changes no answer."""
        missing = [each for each in dict.fromkeys(questions) if each not in self._found]
        if not missing:
            return
        selects, parameters = list[str](), list[object]()
        for place, (ask, scope, at) in enumerate(missing):
            sql, values = _ASKED[ask](scope, at)
            selects.append(f"SELECT {place} AS place, number, cost_usd, unpriced FROM ({sql}) AS asked_{place}")
            parameters += values
        self._found |= {each: [] for each in missing}
        for place, *row in self._query.run(f"{' UNION ALL '.join(selects)} ORDER BY place, number", parameters):
            self._found[missing[place]].append(tuple(row))

    def minute(self, scope: SpendingScope, after: datetime) -> Sequence[datetime]:
        """Return when messages that count were let in after then, the oldest first, each as often as it counts."""
        return [
            moment(int(at)) for at, _, counts in self._rows(SpendingQuery.MINUTE, scope, after) for _ in range(counts)
        ]

    def by_calls(self, scope: SpendingScope, *since: datetime) -> Sequence[Spend]:
        """Return what calls spent since each of these times. Messages are not counted."""
        self.read_ahead(*((SpendingQuery.BY_CALLS, scope, first) for first in since))
        return [
            Spend(0, int(tokens), float(cost_usd), int(unpriced))
            for first in since
            for tokens, cost_usd, unpriced in self._rows(SpendingQuery.BY_CALLS, scope, first)
        ]

    def messages(self, scope: SpendingScope, since: datetime) -> int:
        """Return how many messages models were asked about since then."""
        where, values = narrowed(_only(scope))
        sql = f"SELECT count(*) FROM asked WHERE at >= ? AND thinks = 1{where}"
        return int(self._query.run(sql, (microseconds(since), *values))[0][0])

    def expected(self, scope: SpendingScope, at: datetime) -> Spend:
        """Return what the answers that are under way may still use: each as the newest answers of the last day.

        One that has not ended after JUDGED_FOR is left out: its worker is gone.
        """
        where, values = narrowed(_only(scope))
        [(busy, _, _)] = self._rows(SpendingQuery.EXPECTED, scope, at)
        if not busy:
            return Spend()
        newest = f"SELECT at FROM asked WHERE at > ? AND thinks = 1{where} ORDER BY at DESC LIMIT {JUDGED_BY + busy}"
        [(count, first)] = self._query.run(
            f"SELECT count(*), min(at) FROM ({newest}) AS newest", (microseconds(at - timedelta(days=1)), *values)
        )
        if count <= busy:
            return Spend()
        [spent] = self.by_calls(scope, moment(first))
        return Spend(0, spent.tokens * busy // (count - busy), spent.cost_usd * busy / (count - busy))

    def _rows(self, ask: SpendingQuery, scope: SpendingScope, at: datetime) -> list[Row]:
        self.read_ahead((ask, scope, at))
        return self._found[ask, scope, at]


def _minute(scope: SpendingScope, after: datetime) -> tuple[str, list[object]]:
    where, values = narrowed(_only(scope))
    # The third column tells as how many messages each counts.
    sql = f"SELECT at AS number, 0.0 AS cost_usd, counts AS unpriced FROM asked WHERE at > ? AND counts > 0{where}"
    return sql, [microseconds(after), *values]


def _by_calls(scope: SpendingScope, since: datetime) -> tuple[str, list[object]]:
    rows, values = summed((), microseconds(since), _only(scope))
    sums = "coalesce(sum(input_tokens + output_tokens), 0) AS number, coalesce(sum(cost_usd), 0) AS cost_usd"
    return f"SELECT {sums}, coalesce(sum(unpriced), 0) AS unpriced FROM ({rows}) AS summed", values


def _under_way(scope: SpendingScope, at: datetime) -> tuple[str, list[object]]:
    where, values = narrowed(_only(scope))
    counted = "SELECT count(*) AS number, 0.0 AS cost_usd, 0 AS unpriced FROM asked"
    return f"{counted} WHERE under_way = 1 AND at > ?{where}", [microseconds(at - JUDGED_FOR), *values]


_ASKED: Final = {SpendingQuery.MINUTE: _minute, SpendingQuery.BY_CALLS: _by_calls, SpendingQuery.EXPECTED: _under_way}


class Ledger:
    """What was spent; rows are only added. Of a forgotten person the sums stay, without a name.

    Sums are made by the database, over rollups or over the calls of one scope. Days are those of `zone`.
    """

    def __init__(self, database: Database, zone: ZoneInfo | None = None) -> None:
        self._database = database
        self._zone = zone or ZoneInfo("UTC")

    async def record(self, call: ModelCall) -> None:
        """Store a call."""
        usage = call.usage
        tokens = (
            (usage.input_tokens, usage.cached_tokens, usage.reasoning_tokens, usage.output_tokens)
            if usage
            else (None, None, None, None)
        )
        called = (microseconds(call.at), *_key(call.user), call.mode, call.task, call.model, call.outcome)
        row = (*called, call.duration_s, call.first_s, *tokens, call.cost_usd, call.room)

        added = [(rollup.add, row) for rollup in ROLLUPS]
        with unclaimed():  # it was spent, whoever goes on with the answer
            await self._database.write(lambda query: query.together(*added, (_INSERT, row)))

    async def read(self, job: Callable[[Spending], T]) -> T:
        """Return what a function makes of what was spent. It runs on the engine's thread and takes no time."""
        return await self._database.read(lambda query: job(Spending(query)))

    async def admit(
        self,
        arrival: AdmittedMessage,
        scopes: Sequence[SpendingScope] = (),
        refusal: Callable[[Spending], T | None] = lambda _: None,
    ) -> tuple[int, T | None]:
        """Let a message in unless there is a refusal; return its number, and the refusal (0: it was not let in).

        Of messages that arrive for one of these scopes at the same moment, at any worker, each is judged after the one
        before it was let in. `refusal` may be run again.
        """
        asker, flags = arrival.asker, (arrival.thinks, arrival.counts, arrival.is_under_way)
        row = (microseconds(arrival.at), *_key(asker.user), asker.room, *map(int, flags))

        def job(query: Query) -> tuple[int, T | None]:
            for scope in scopes:  # a person, their room, the bot: in this order, so that nobody waits in a circle
                query.lock("quota", scope.name)
            if (refused := refusal(Spending(query))) is not None:
                return 0, refused
            return int(query.run(_ADMIT, row)[0][0]), None

        return await self._database.write(job)

    async def finish(self, number: int) -> None:
        """Record that the answer to a message is not under way any more."""
        with unclaimed():
            await self._database.change("UPDATE asked SET under_way = 0 WHERE id = ?", (number,))

    async def sums(self, since: datetime, by: Sequence[str], scope: SpendingScope = BOT) -> Sequence[Sum]:
        """Return the calls of a scope since then, summed by some of GROUPINGS, in their order.

        Raises:
            KeyError: there is no such grouping.
        """
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

    async def spent(self, scope: SpendingScope, since: datetime) -> Spend:
        """Return what was spent since then, with the messages that models were asked about."""

        def job(query: Query) -> Spend:
            spending = Spending(query)
            [spent] = spending.by_calls(scope, since)
            return replace(spent, messages=spending.messages(scope, since))

        return await self._database.read(job)

    async def tell_once(self, scope: SpendingScope, period: str, share: int, at: datetime) -> bool:
        """Record that the `share` % warning was sent for that period; return False if it was sent before."""
        sql = "INSERT INTO told (scope, period, share, at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1"

        def job(query: Query) -> bool:
            query.run("DELETE FROM told WHERE at < ?", (microseconds(at - _TOLD_FOR),))
            return bool(query.run(sql, (scope.name, period, share, microseconds(at))))

        return await self._database.write(job)

    async def forget(self, user: UserKey) -> None:
        """Remove that person's name from their calls and messages, and which warnings they were sent."""
        for table in ("calls", "asked"):
            rows = f"SELECT id FROM {table} WHERE {OF_USER} LIMIT ?"
            unname = f"""UPDATE {table} SET platform = '', "user" = '' WHERE id IN ({rows}) RETURNING id"""
            await in_batches(self._database, statement(unname, *_key(user)))

        def job(query: Query) -> None:
            query.run_many(_UNNAMED, sorted(query.run(_UNNAME, _key(user))))
            query.run("DELETE FROM told WHERE scope = ?", (str(user),))

        await self._database.write(job)

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


def _only(scope: SpendingScope) -> dict[str, str]:
    """Map the columns that a scope's calls and messages are known by to their values."""
    if scope.user is not None:
        return {"platform": scope.user.platform, '"user"': scope.user.user}
    return {"room": scope.room} if scope.room else {}


def _sum(row: Row, width: int) -> Sum:
    calls, failed, unpriced, asked, cached, thought, said, cost_usd, mean_s, mean_first_s = row[width:]
    tokens = Usage(int(asked), int(said), int(cached), int(thought))
    known = (int(calls), int(failed), int(unpriced), tokens, float(cost_usd or 0), float(mean_s))
    return Sum(tuple(row[:width]), *known, None if mean_first_s is None else float(mean_first_s))
