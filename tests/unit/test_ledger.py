"""Calls as rows of a database."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from core.dialogue import Usage
from core.features.ledger.calls import BOT, GROUPINGS, Arrival, Asker, Call, Ledger, Scope, Spend
from core.features.ledger.storage import SqlLedger
from core.storage.database import Row
from core.storage.sqlite import open_database
from core.types import UserKey
from tests.fakes.clock import START
from tests.reference.ledger import InMemoryLedger

ANA, BIA = UserKey("telegram", "ana"), UserKey("discord", "bia")
CALL = Call(START, ANA, "chat", "finish", "a:1", "end", 2.0, 0.5, Usage(100, 10, 50, 4), 0.25, "telegram:-100")


async def test_what_was_spent_and_told_survives_a_restart(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db")
    ledger = SqlLedger(database)
    await ledger.record(CALL)
    await ledger.admit(Arrival(Asker(ANA), START))
    await ledger.tell_once(BOT, "2026-03", 100, START)
    await database.close()
    again = await open_database(tmp_path / "elefante.db")
    ledger = SqlLedger(again)
    assert len(await ledger.sums(START, ("user",))) == 1
    assert await ledger.spent(Scope(ANA), START) == Spend(1, 110, 0.25)
    assert not await ledger.tell_once(BOT, "2026-03", 100, START)
    await again.close()


async def test_what_was_told_long_ago_is_let_go(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db")
    ledger = SqlLedger(database)
    for days in (0, 99, 101):
        await ledger.tell_once(BOT, f"{days}", 80, START + timedelta(days=days))
    assert await database.rows("SELECT period FROM told ORDER BY 1") == [("101",), ("99",)]
    await database.close()


async def _random_calls(*ledgers: Ledger) -> None:
    """Write the same calls to each ledger: amounts that binary fractions hold, so that sums are exact in any order."""
    dice = random.Random(7)  # noqa: S311 - a test repeats
    for _ in range(120):
        call = Call(
            at=START + timedelta(seconds=dice.randrange(-3 * 86_400, 3 * 86_400)),
            user=dice.choice((ANA, BIA, None)),
            mode=dice.choice(("chat", "summary")),
            task="finish",
            model=dice.choice(("a:1", "b:2")),
            outcome=dice.choice(("end", "left", "StreamCut", "KeyRejected")),
            duration_s=dice.randrange(16) / 4,
            first_s=dice.choice((None, 0.25, 0.5)),
            usage=dice.choice((None, Usage(dice.randrange(999), 3, 2, 1))),
            cost_usd=dice.choice((None, 0.125, 2.5)),
            room=dice.choice(("", "telegram:-100")),
        )
        for ledger in ledgers:
            await ledger.record(call)


async def _all_sums(ledger: Ledger) -> list[object]:
    """Return every sum there is, since times that begin a day, a quarter of an hour, or nothing at all."""
    groupings = [by for size in range(4) for by in itertools.combinations(GROUPINGS, size)]
    scopes = (BOT, Scope(ANA), Scope(room="telegram:-100"))
    since = [START - timedelta(days=2, hours=hours) for hours in (12, 3.25, 1.1)]
    spent = [await ledger.spent(scope, at) for scope in scopes for at in since]
    return spent + [list(await ledger.sums(at, by, scope)) for scope in scopes for at in since for by in groupings]


@pytest.mark.parametrize("zone", ["UTC", "America/Sao_Paulo", "Asia/Kathmandu", "Australia/Lord_Howe"])
async def test_what_was_summed_beforehand_is_what_the_calls_add_up_to(tmp_path: Path, zone: str) -> None:
    database = await open_database(tmp_path / "elefante.db")
    ledger, truth = SqlLedger(database, ZoneInfo(zone)), InMemoryLedger(ZoneInfo(zone))
    await _random_calls(ledger, truth)
    assert await _all_sums(ledger) == await _all_sums(truth)
    for each in (ledger, truth):
        await each.forget(ANA)
    assert await _all_sums(ledger) == await _all_sums(truth)
    assert await database.rows("SELECT 1 FROM call_payers WHERE user = 'ana'") == []
    await database.close()


@pytest.mark.parametrize(
    ("by", "table"), [((), "call_quarters"), (("day", "model"), "call_quarters"), (("user",), "call_payers")]
)
async def test_sums_of_everybody_read_their_rollup_and_calls_by_the_index(
    tmp_path: Path, by: Sequence[str], table: str
) -> None:
    asked: list[str] = []
    database = await open_database(tmp_path / "elefante.db")
    ledger = SqlLedger(database)
    await ledger.record(CALL)
    rows = database.rows

    async def listening(sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        asked.extend(str(row) for row in await rows(f"EXPLAIN QUERY PLAN {sql}", parameters))
        return await rows(sql, parameters)

    database.rows = listening  # type: ignore[method-assign]
    await ledger.sums(START, by)
    await database.close()
    plan = "\n".join(asked)
    assert f"SEARCH {table} USING PRIMARY KEY (slot>" in plan
    assert "SEARCH calls USING" in plan
    assert "SCAN calls" not in plan


async def test_what_one_person_spent_is_found_without_reading_everybodys_calls(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db")
    plan = await database.rows(
        "EXPLAIN QUERY PLAN SELECT total(input_tokens) FROM calls WHERE at >= 1 AND platform = 'a' AND user = 'b'"
    )
    assert "calls_person (platform=? AND user=? AND at>?)" in str(plan)
    await database.close()
