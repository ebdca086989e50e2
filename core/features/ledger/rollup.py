"""Calls summed as they come, so that a month of them is read in milliseconds. Knows SQL of sums. Knows no person.

Each rollup has a row for each slot of time and combination of its columns. It changes in the transaction of the call. A
question whose time begins within a slot is answered by calls up to the slot's end, and by the rollup from there on.
"""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_S = 1_000_000  # microseconds
_FAILED = "outcome GLOB '[A-Z]*'"  # the other outcomes are written small
_OF_A_CALL: Final = {
    "calls": "1",
    "failed": _FAILED,
    "unpriced": f"cost_usd IS NULL AND (outcome = 'StreamCut' OR NOT {_FAILED})",
    **{
        name: f"coalesce({name}, 0)"
        for name in ("input_tokens", "cached_tokens", "reasoning_tokens", "output_tokens", "cost_usd")
    },
    "duration_s": "duration_s",
    "first_s": "coalesce(first_s, 0)",
    "firsts": "first_s IS NOT NULL",  # how many calls brought a first token
}
MEASURES: Final = ", ".join(_OF_A_CALL)
"""The columns that are summed, of a rollup and of `summed`."""

_MEASURED = ", ".join(f"{sql} AS {name}" for name, sql in _OF_A_CALL.items())
_ADDED = "ON CONFLICT DO UPDATE SET " + ", ".join(f"{name} = {name} + excluded.{name}" for name in _OF_A_CALL)


@dataclass(frozen=True, slots=True)
class Rollup:
    """A table of sums, and how long its slots are, in microseconds."""

    table: str
    slot_us: int
    columns: tuple[str, ...]

    @property
    def add(self) -> str:
        """SQL that adds the call that was just inserted."""
        return (
            f"INSERT INTO {self.table} (slot, {self._names}, {MEASURES}) "
            f"SELECT at / {self.slot_us}, {self._names}, {_MEASURED} FROM calls WHERE id = last_insert_rowid() {_ADDED}"
        )

    @property
    def _names(self) -> str:
        return ", ".join(self.columns)


QUARTERS: Final = Rollup("call_quarters", 900 * _S, ("model",))
"""By the quarter of an hour: every time zone's midnight is the beginning of one."""

PAYERS: Final = Rollup("call_payers", 86_400 * _S, ("platform", "user", "room"))
"""By the day of UTC, for which days of a time zone cannot be told apart."""

ROLLUPS: Final = (QUARTERS, PAYERS)
UNNAME: Final = (
    f"""
    INSERT INTO call_payers (slot, platform, user, room, {MEASURES})
    SELECT slot, '', '', room, {MEASURES} FROM call_payers WHERE platform = ? AND user = ? {_ADDED}
    """,
    "DELETE FROM call_payers WHERE platform = ? AND user = ?",
)
"""SQL that takes a person's name off their sums."""


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
    days = "days CROSS JOIN " if "day" in columns else ""  # in this order: each day's rows by the index
    on = "ON at >= first AND at < after" if days else ""
    calls = f"SELECT {names}{_MEASURED} FROM {days}calls {on} WHERE at >= ?"
    if rollup is None:
        return f"{calls}{where}", [since_us, *values]
    slot = -(-since_us // rollup.slot_us)  # the first that begins no earlier
    on = f"ON slot >= first / {rollup.slot_us} AND slot < after / {rollup.slot_us}" if days else ""
    whole = f"SELECT {names}{MEASURES} FROM {days}{rollup.table} {on} WHERE slot >= ?"
    edge = f"{calls} AND at < ?"
    parameters = [slot, *values, since_us, slot * rollup.slot_us, *values]
    return f"{whole}{where} UNION ALL {edge}{where}", parameters


def _rollup_of(columns: set[str]) -> Rollup | None:
    """Return the rollup that tells those columns apart; None if none does."""
    if columns <= {"day", *QUARTERS.columns}:
        return QUARTERS
    return PAYERS if columns <= set(PAYERS.columns) else None
