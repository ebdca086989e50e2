"""Calls summed as they come, so that a month of them is read in milliseconds.

Each rollup has a row for each slot of time and combination of its columns. It changes in the transaction of the call. A
question whose time begins within a slot is answered by calls up to the slot's end, and by the rollup from there on.
"""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from core.storage.record import OF_USER

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
        """SQL that adds the call of an id."""
        return (
            f"INSERT INTO {self.table} (slot, {self.names}, {MEASURES}) "
            f"SELECT at / {self.slot_us}, {self.names}, {_MEASURED} FROM calls WHERE id = ? {self.added}"
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

ROLLUPS: Final = (QUARTERS, PAYERS)
UNNAME: Final = (
    f"""
    INSERT INTO call_payers (slot, {PAYERS.names}, {MEASURES})
    SELECT slot, '', '', room, {MEASURES} FROM call_payers WHERE {OF_USER} {PAYERS.added}
    """,
    f"DELETE FROM call_payers WHERE {OF_USER}",
)
"""SQL that removes a person's name from their sums."""


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
