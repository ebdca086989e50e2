"""Every statement that a store runs here is judged: PostgreSQL would take it, too.

In `make test`, one test of each module runs over PostgreSQL itself, and one over a sealed file; `make test-long` runs
them all.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

from core.storage.database import Database, Row
from core.storage.memories import SqlMemories
from core.storage.sqlite import SqliteQuery
from core.stores import SearchableMemoryStore
from tests.contracts.engines import AND_POOLED, ENGINES, close_key_files
from tests.profile import long

STATEMENTS: set[str] = set()
"""What the stores have run so far."""

_HERE = Path(__file__).parent
_NOTHING = SimpleNamespace(params={})
_SAMPLED = frozenset({"postgres", "sealed sqlite"})
_LONG = "sealed postgres"
_SEALED = "test_sealed_words.py"
"""What is about sealing runs whole over a sealed file."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to `make test-long` what runs over other engines than a file, but for one test of each and each module."""
    begun: set[tuple[Path, str]] = set()
    for item in items:
        if _HERE not in item.path.parents:
            continue
        for engine in map(str, getattr(item, "callspec", _NOTHING).params.values()):
            if engine == _LONG or (item.path, engine) in begun:
                item.add_marker(pytest.mark.long)
            if engine in _SAMPLED and item.path.name != _SEALED:
                begun.add((item.path, engine))


@pytest.fixture(autouse=True)
def _key_files() -> Iterator[None]:
    yield
    close_key_files()


@pytest.fixture(params=[*ENGINES])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """Give every engine."""
    database = await ENGINES[request.param](tmp_path / "elefante.db")
    yield database
    await database.close()


@pytest.fixture(params=[*ENGINES, long("pgbouncer")])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SearchableMemoryStore]:
    """Give every implementation of the store of memories."""
    database = await AND_POOLED[request.param](tmp_path / "elefante.db")
    yield SqlMemories(database)
    await database.close()


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

    run, run_many = SqliteQuery.run, SqliteQuery.run_many

    def judged_run(self: SqliteQuery, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        judge(sql)
        return run(self, sql, parameters)

    def judged_run_many(self: SqliteQuery, sql: str, rows: Iterable[Sequence[object]]) -> None:
        judge(sql)
        run_many(self, sql, rows)

    monkeypatch.setattr(SqliteQuery, "run", judged_run)
    monkeypatch.setattr(SqliteQuery, "run_many", judged_run_many)
