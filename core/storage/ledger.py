"""What was asked of models, and what it cost. Knows rows of calls. Does not know prices, nor what was said in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from core.dialogue import Usage
from core.storage.record import microseconds
from core.storage.sqlite import Database, Row
from core.types import UserKey

GROUPINGS: Final = ("day", "user", "mode", "model", "outcome")
"""What calls can be summed by; a day is one of UTC."""

_COLUMNS = {
    "day": "date(at / 1000000, 'unixepoch')",
    "user": "CASE user WHEN '' THEN '' ELSE platform || ':' || user END",
    "mode": "mode",
    "model": "model",
    "outcome": "outcome",
}
_INSERT = """
    INSERT INTO calls (
        at, platform, user, mode, task, model, outcome, duration_s, first_s,
        input_tokens, cached_tokens, reasoning_tokens, output_tokens, cost_usd
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_FAILED = "outcome GLOB '[A-Z]*'"  # the other outcomes are written small


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a model. `user` is None where nobody's message caused it; `model` is `provider:model`.

    `usage` and `cost_usd` are None where they are not known: the answer broke off, the provider does not count, or
    there is no price. `first_s` is the time to the first token, None if none came. `outcome` is end, length, refused,
    left (the reader did), or the name of the failure.
    """

    at: datetime
    user: UserKey | None
    mode: str
    task: str
    model: str
    outcome: str
    duration_s: float
    first_s: float | None = None
    usage: Usage | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Sum:
    """Calls of one group: `keys` in the order asked. Tokens and cost are of the calls that tell them.

    `failed` ended in a failure; of `unpriced` the cost is not known (a request that was turned down costs nothing).
    """

    keys: tuple[str, ...]
    calls: int
    failed: int
    unpriced: int
    tokens: Usage
    cost_usd: float
    mean_s: float
    mean_first_s: float | None


class SqliteLedger:
    """Rows are only added; a person who is forgotten leaves sums behind, and no name."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def record(self, call: Call) -> None:
        """Store a call."""
        user = (call.user.platform, call.user.user) if call.user else ("", "")
        usage = call.usage
        tokens = (
            (usage.input_tokens, usage.cached_tokens, usage.reasoning_tokens, usage.output_tokens)
            if usage
            else (None, None, None, None)
        )
        called = (microseconds(call.at), *user, call.mode, call.task, call.model, call.outcome)
        row = (*called, call.duration_s, call.first_s, *tokens, call.cost_usd)
        async with self._database.transaction() as transaction:
            await transaction.run(_INSERT, row)

    async def sums(self, since: datetime, by: Sequence[str]) -> Sequence[Sum]:
        """Return the calls since then, summed by some of GROUPINGS, in their order.

        Raises:
            KeyError: there is no such grouping.
        """
        keys = [_COLUMNS[name] for name in by]
        group = ", ".join(keys) or "NULL"
        rows = await self._database.rows(
            f"""
            SELECT {"".join(f"{key}, " for key in keys)}
                count(*), sum({_FAILED}), sum(cost_usd IS NULL AND (outcome = 'StreamCut' OR NOT {_FAILED})),
                total(input_tokens), total(cached_tokens), total(reasoning_tokens), total(output_tokens),
                total(cost_usd), avg(duration_s), avg(first_s)
            FROM calls WHERE at >= ? GROUP BY {group} ORDER BY {group}
            """,  # noqa: S608  (columns of ours)
            (microseconds(since),),
        )
        return [_sum(row, len(keys)) for row in rows]

    async def forget(self, user: UserKey) -> None:
        """Take that person's name off their calls."""
        async with self._database.transaction() as transaction:
            await transaction.run(
                "UPDATE calls SET platform = '', user = '' WHERE platform = ? AND user = ?", (user.platform, user.user)
            )


def _sum(row: Row, width: int) -> Sum:
    calls, failed, unpriced, asked, cached, thought, said, cost_usd, mean_s, mean_first_s = row[width:]
    tokens = Usage(int(asked), int(said), int(cached), int(thought))
    return Sum(tuple(row[:width]), calls, failed, unpriced, tokens, cost_usd, mean_s, mean_first_s)
