"""Calls as rows, and their sums."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from core.dialogue import Usage
from core.storage.ledger import Call, SqliteLedger
from core.storage.sqlite import Database, open_database
from core.types import UserKey
from tests.fakes.clock import START

ANA, BIA = UserKey("telegram", "ana"), UserKey("discord", "bia")
CALL = Call(START, ANA, "chat", "finish", "a:1", "end", 2.0, 0.5, Usage(100, 10, 50, 4), 0.25)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_database(tmp_path / "elefante.db")
    yield opened
    await opened.close()


@pytest.fixture
def ledger(database: Database) -> SqliteLedger:
    return SqliteLedger(database)


async def test_calls_are_summed_by_what_is_asked_in_order(ledger: SqliteLedger) -> None:
    for call in (
        CALL,
        replace(CALL, user=BIA, at=START + timedelta(days=1), duration_s=4.0, first_s=1.5),
        replace(CALL, mode="summary", model="b:2", user=None),
    ):
        await ledger.record(call)
    by_day = await ledger.sums(START, ("day", "model"))
    assert [(entry.keys, entry.calls) for entry in by_day] == [
        (("2026-03-14", "a:1"), 1),
        (("2026-03-14", "b:2"), 1),
        (("2026-03-15", "a:1"), 1),
    ]
    by_user = await ledger.sums(START, ("user", "mode"))
    assert [entry.keys for entry in by_user] == [("", "summary"), ("discord:bia", "chat"), ("telegram:ana", "chat")]
    (total,) = await ledger.sums(START, ())
    assert (total.calls, total.failed, total.unpriced, total.cost_usd) == (3, 0, 0, 0.75)
    assert total.tokens == Usage(300, 30, 150, 12)
    assert total.mean_s == pytest.approx(8 / 3)
    assert total.mean_first_s == pytest.approx(2.5 / 3)


async def test_only_calls_since_then_count(ledger: SqliteLedger) -> None:
    await ledger.record(replace(CALL, at=START - timedelta(seconds=1)))
    assert await ledger.sums(START, ()) == []
    assert await ledger.sums(START, ("day",)) == []


async def test_failed_calls_and_calls_of_unknown_cost_are_told_apart(ledger: SqliteLedger) -> None:
    unknown = replace(CALL, usage=None, cost_usd=None, first_s=None)
    for outcome in ("ProviderBusy", "KeyRejected", "StreamCut", "left", "end"):
        await ledger.record(replace(unknown, outcome=outcome))
    (total,) = await ledger.sums(START, ())
    assert (total.calls, total.failed, total.unpriced) == (5, 3, 3)
    assert total.mean_first_s is None
    assert total.tokens == Usage()


async def test_a_person_who_is_forgotten_leaves_no_name(ledger: SqliteLedger) -> None:
    await ledger.record(CALL)
    await ledger.record(replace(CALL, user=BIA))
    await ledger.forget(ANA)
    assert [entry.keys for entry in await ledger.sums(START, ("user",))] == [("",), ("discord:bia",)]


async def test_calls_survive_a_restart(tmp_path: Path, database: Database, ledger: SqliteLedger) -> None:
    await ledger.record(CALL)
    await database.close()
    again = await open_database(tmp_path / "elefante.db")
    assert len(await SqliteLedger(again).sums(START, ("user",))) == 1
    await again.close()
