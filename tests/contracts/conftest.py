"""Every statement that a store runs here is judged: PostgreSQL would take it, too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec

import pytest

from core.storage.database import Row
from core.storage.sqlite import SqliteDatabase, SqliteTransaction

STATEMENTS: set[str] = set()
"""What the stores have run so far."""


@pytest.fixture(autouse=True)
def _portable_sql(monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("pg_query") is None:  # there is no wheel of it for Windows
        return
    from tests.portable_sql import faults_of

    def judge(sql: str) -> None:
        if sql.startswith(("EXPLAIN", "PRAGMA")):  # a test's own
            return
        STATEMENTS.add(sql)
        assert not (faults := faults_of(sql)), f"{', '.join(faults)}, in:\n{sql}"

    rows, run, run_many = SqliteDatabase.rows, SqliteTransaction.run, SqliteTransaction.run_many

    async def judged_rows(self: SqliteDatabase, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        judge(sql)
        return await rows(self, sql, parameters)

    async def judged_run(self: SqliteTransaction, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        judge(sql)
        return await run(self, sql, parameters)

    async def judged_run_many(self: SqliteTransaction, sql: str, rows: Iterable[Sequence[object]]) -> None:
        judge(sql)
        await run_many(self, sql, rows)

    monkeypatch.setattr(SqliteDatabase, "rows", judged_rows)
    monkeypatch.setattr(SqliteTransaction, "run", judged_run)
    monkeypatch.setattr(SqliteTransaction, "run_many", judged_run_many)
