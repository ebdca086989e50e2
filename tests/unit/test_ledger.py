"""Calls as rows of a database."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from core.dialogue import Usage
from core.money import BOT, Asker, Call, Scope, Spend
from core.storage.ledger import SqliteLedger
from core.storage.sqlite import open_database
from core.types import UserKey
from tests.fakes.clock import START

ANA = UserKey("telegram", "ana")
CALL = Call(START, ANA, "chat", "finish", "a:1", "end", 2.0, 0.5, Usage(100, 10, 50, 4), 0.25, "telegram:-100")


async def test_what_was_spent_and_told_survives_a_restart(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db")
    ledger = SqliteLedger(database)
    await ledger.record(CALL)
    await ledger.ask(Asker(ANA), START)
    await ledger.tell_once(BOT, "2026-03", 100, START)
    await database.close()
    again = await open_database(tmp_path / "elefante.db")
    ledger = SqliteLedger(again)
    assert len(await ledger.sums(START, ("user",))) == 1
    assert await ledger.spent(Scope(ANA), START) == Spend(1, 110, 0.25)
    assert not await ledger.tell_once(BOT, "2026-03", 100, START)
    await again.close()


async def test_what_was_told_long_ago_is_let_go(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db")
    ledger = SqliteLedger(database)
    for days in (0, 99, 101):
        await ledger.tell_once(BOT, f"{days}", 80, START + timedelta(days=days))
    assert await database.rows("SELECT period FROM told ORDER BY 1") == [("101",), ("99",)]
    await database.close()


async def test_what_one_person_spent_is_found_without_reading_everybodys_calls(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db")
    plan = await database.rows(
        "EXPLAIN QUERY PLAN SELECT total(input_tokens) FROM calls WHERE at >= 1 AND platform = 'a' AND user = 'b'"
    )
    assert "calls_person (platform=? AND user=? AND at>?)" in str(plan)
    await database.close()
