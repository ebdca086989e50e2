"""Calls as rows of a database."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from statistics import fmean
from zoneinfo import ZoneInfo

import pytest

from core.dialogue import Usage
from core.features.ledger.calls import (
    BOT,
    GROUPINGS,
    AdmittedMessage,
    Asker,
    ModelCall,
    Spend,
    SpendingScope,
    Sum,
    day_of,
)
from core.features.ledger.storage import Ledger
from core.storage.database import Row
from core.storage.sqlite import open_database
from core.types import UserKey
from tests.fakes.clock import START
from tests.profile import long

ANA, BIA = UserKey("telegram", "ana"), UserKey("discord", "bia")
CALL = ModelCall(START, ANA, "chat", "finish", "a:1", "end", 2.0, 0.5, Usage(100, 10, 50, 4), 0.25, "telegram:-100")


async def test_what_was_spent_and_told_survives_a_restart(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db")
    ledger = Ledger(database)
    await ledger.record(CALL)
    await ledger.admit(AdmittedMessage(Asker(ANA), START))
    await ledger.tell_once(BOT, "2026-03", 100, START)
    await database.close()
    again = await open_database(tmp_path / "elefante.db")
    ledger = Ledger(again)
    assert len(await ledger.sums(START, ("user",))) == 1
    assert await ledger.spent(SpendingScope(ANA), START) == Spend(1, 110, 0.25)
    assert not await ledger.tell_once(BOT, "2026-03", 100, START)
    await again.close()


async def test_what_was_told_long_ago_is_let_go(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db")
    ledger = Ledger(database)
    for days in (0, 99, 101):
        await ledger.tell_once(BOT, f"{days}", 80, START + timedelta(days=days))
    assert await database.rows("SELECT period FROM told ORDER BY 1") == [("101",), ("99",)]
    await database.close()


async def _random_calls(*ledgers: Ledger | ByHand) -> None:
    """Write the same calls to each ledger: amounts that binary fractions hold, so that sums are exact in any order."""
    dice = random.Random(7)  # noqa: S311 - a test repeats
    for _ in range(120):
        call = ModelCall(
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


@dataclass
class ByHand:
    """What the calls add up to, call by call."""

    zone: ZoneInfo
    calls: list[ModelCall] = field(default_factory=list)

    async def record(self, call: ModelCall) -> None:
        self.calls.append(call)

    async def forget(self, user: UserKey) -> None:
        self.calls = [replace(call, user=None) if call.user == user else call for call in self.calls]

    async def spent(self, scope: SpendingScope, since: datetime) -> Spend:
        return sum((_spend(call) for call in self._of(scope, since)), Spend())

    async def sums(self, since: datetime, by: Sequence[str], scope: SpendingScope) -> Sequence[Sum]:
        groups: defaultdict[tuple[str, ...], list[ModelCall]] = defaultdict(list)
        for call in self._of(scope, since):
            groups[tuple(self._key(call, name) for name in by)].append(call)
        return [_sum(group, groups[group]) for group in sorted(groups)]

    def _of(self, scope: SpendingScope, since: datetime) -> list[ModelCall]:
        return [
            call
            for call in self.calls
            if call.at >= since and scope.user in {None, call.user} and scope.room in {"", call.room}
        ]

    def _key(self, call: ModelCall, name: str) -> str:
        if name == "day":
            return day_of(call.at, self.zone).name
        return str(getattr(call, name) or "")


def _is_failed(call: ModelCall) -> bool:
    """Whether it ended in a failure: those have the names of classes, the other outcomes are written small."""
    return call.outcome[:1].isupper()


def _is_unpriced(call: ModelCall) -> bool:
    """Whether its cost is not known. A request that was turned down costs nothing."""
    return call.cost_usd is None and (call.outcome == "StreamCut" or not _is_failed(call))


def _spend(call: ModelCall) -> Spend:
    tokens = call.usage.input_tokens + call.usage.output_tokens if call.usage else 0
    return Spend(0, tokens, call.cost_usd or 0.0, int(_is_unpriced(call)))


def _sum(keys: tuple[str, ...], calls: Sequence[ModelCall]) -> Sum:
    firsts_s = [call.first_s for call in calls if call.first_s is not None]
    used = [astuple(call.usage) for call in calls if call.usage]
    return Sum(
        keys,
        len(calls),
        sum(_is_failed(call) for call in calls),
        sum(_is_unpriced(call) for call in calls),
        Usage(*map(sum, zip(*used, strict=True))) if used else Usage(),
        sum(call.cost_usd or 0.0 for call in calls),
        fmean(call.duration_s for call in calls),
        fmean(firsts_s) if firsts_s else None,
    )


async def _all_sums(ledger: Ledger | ByHand) -> list[object]:
    """Return every sum there is, since times that begin a day, a quarter of an hour, or nothing at all."""
    groupings = [by for size in range(4) for by in itertools.combinations(GROUPINGS, size)]
    scopes = (BOT, SpendingScope(ANA), SpendingScope(room="telegram:-100"))
    since = [START - timedelta(days=2, hours=hours) for hours in (12, 3.25, 1.1)]
    spent = [await ledger.spent(scope, at) for scope in scopes for at in since]
    return spent + [list(await ledger.sums(at, by, scope)) for scope in scopes for at in since for by in groupings]


@pytest.mark.parametrize("zone", ["Australia/Lord_Howe", *map(long, ("UTC", "America/Sao_Paulo", "Asia/Kathmandu"))])
async def test_what_was_summed_beforehand_is_what_the_calls_add_up_to(tmp_path: Path, zone: str) -> None:
    database = await open_database(tmp_path / "elefante.db")
    ledger, truth = Ledger(database, ZoneInfo(zone)), ByHand(ZoneInfo(zone))
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
    ledger = Ledger(database)
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
