"""What every store of small texts by name promises."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.storage.kept import SqlKept
from core.stores import KeptStore
from tests.contracts.engines import ENGINES


@pytest.fixture(params=[*ENGINES])
async def workers(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[list[KeptStore]]:
    """Give the stores of two workers over one database."""
    databases = [await ENGINES[request.param](tmp_path / "kept.db") for _ in range(2)]
    yield [SqlKept(database) for database in databases]
    for database in databases:
        await database.close()


async def test_what_one_worker_keeps_the_other_finds_replaces_and_deletes(workers: list[KeptStore]) -> None:
    here, there = workers
    assert await there.get("a") is None
    await here.put("a", '{"ação": 1}')
    await here.put("b", "2")
    assert await there.get("a") == '{"ação": 1}'
    await there.put("a", "3")
    assert await here.get("a") == "3"
    await there.delete("a")
    await there.delete("a")
    assert await here.get("a") is None
    assert await here.get("b") == "2"


async def test_a_change_sees_what_is_kept_and_returns_what_is_kept_then(workers: list[KeptStore]) -> None:
    here, there = workers
    assert await here.change("a", lambda known: known or "first") == "first"
    assert await there.change("a", lambda known: known or "second") == "first"
    assert await there.change("a", lambda _: None) is None
    assert await here.get("a") is None


async def test_no_change_of_two_workers_at_once_is_lost(workers: list[KeptStore]) -> None:
    def counted(known: str | None) -> str:
        return str(int(known or 0) + 1)

    await asyncio.gather(*(worker.change("count", counted) for worker in workers * 25))
    assert await workers[0].get("count") == "50"


async def test_a_change_that_fails_changes_nothing(workers: list[KeptStore]) -> None:
    def failing(_: str | None) -> str:
        raise ValueError("no")

    await workers[0].put("a", "1")
    with pytest.raises(ValueError, match="no"):
        await workers[0].change("a", failing)
    assert await workers[1].get("a") == "1"
