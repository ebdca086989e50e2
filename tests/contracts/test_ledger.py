"""What every ledger promises: nothing is lost, everything is counted once, and days are those of its time zone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from core.dialogue import Usage
from core.features.ledger.calls import (
    BOT,
    GROUPINGS,
    JUDGED_FOR,
    AdmittedMessage,
    Asker,
    ModelCall,
    Spend,
    SpendingScope,
)
from core.features.ledger.storage import Ledger, Spending
from core.storage.database import Database
from core.types import UserKey
from tests.fakes.clock import START

ANA, BIA = UserKey("telegram", "ana"), UserKey("discord", "bia")
ROOM = "telegram:-100"
CALL = ModelCall(START, ANA, "chat", "finish", "a:1", "end", 2.0, 0.5, Usage(100, 10, 50, 4), 0.25)
Open = Callable[[str], Ledger]


@pytest.fixture
def opened(database: Database) -> Open:
    """Opens the ledger with days of a time zone; another call opens the same ledger again."""
    return lambda zone: Ledger(database, ZoneInfo(zone))


@pytest.fixture
def ledger(opened: Open) -> Ledger:
    return opened("UTC")


async def test_calls_are_summed_by_what_is_asked_in_order(ledger: Ledger) -> None:
    for call in (
        CALL,
        replace(CALL, user=BIA, at=START + timedelta(days=1), duration_s=4.0, first_s=1.5, room=ROOM),
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
    assert [(entry.keys, entry.calls) for entry in await ledger.sums(START, ("room",))] == [(("",), 2), ((ROOM,), 1)]
    (total,) = await ledger.sums(START, ())
    assert (total.calls, total.failed, total.unpriced, total.cost_usd) == (3, 0, 0, 0.75)
    assert total.tokens == Usage(300, 30, 150, 12)
    assert total.mean_s == pytest.approx(8 / 3)
    assert total.mean_first_s == pytest.approx(2.5 / 3)
    (all_of_one,) = await ledger.sums(START + timedelta(hours=1), GROUPINGS)
    assert all_of_one.keys == ("2026-03-15", "discord:bia", "chat", "a:1", "end", ROOM)


async def test_there_is_no_other_grouping(ledger: Ledger) -> None:
    with pytest.raises(KeyError):
        await ledger.sums(START, ("colour",))


async def test_only_calls_since_then_count(ledger: Ledger) -> None:
    await ledger.record(replace(CALL, at=START - timedelta(seconds=1)))
    await ledger.admit(AdmittedMessage(Asker(ANA), START - timedelta(seconds=1)))
    assert list(await ledger.sums(START, ())) == []
    assert list(await ledger.sums(START, ("day",))) == []
    assert await ledger.spent(BOT, START) == Spend()
    assert await ledger.read(lambda spending: list(spending.minute(BOT, START - timedelta(seconds=1)))) == []


async def test_a_day_is_one_of_the_time_zone_also_where_the_clock_is_changed(opened: Open) -> None:
    await opened("UTC").record(replace(CALL, at=datetime(2026, 3, 28, 23, 59, tzinfo=UTC)))
    await opened("UTC").record(replace(CALL, at=datetime(2026, 3, 29, 22, 59, tzinfo=UTC)))
    await opened("UTC").record(replace(CALL, at=datetime(2026, 3, 29, 23, 1, tzinfo=UTC)))
    since = datetime(2026, 3, 1, tzinfo=UTC)
    days = {
        "UTC": {"2026-03-28": 1, "2026-03-29": 2},
        "Europe/Lisbon": {"2026-03-28": 1, "2026-03-29": 1, "2026-03-30": 1},
        "America/Sao_Paulo": {"2026-03-28": 1, "2026-03-29": 2},
        "Asia/Tokyo": {"2026-03-29": 1, "2026-03-30": 2},
    }
    for zone, expected in days.items():
        assert {entry.keys[0]: entry.calls for entry in await opened(zone).sums(since, ("day",))} == expected, zone


async def test_failed_calls_and_calls_of_unknown_cost_are_told_apart(ledger: Ledger) -> None:
    unknown = replace(CALL, usage=None, cost_usd=None, first_s=None)
    for outcome in ("ProviderBusy", "KeyRejected", "StreamCut", "left", "end"):
        await ledger.record(replace(unknown, outcome=outcome))
    (total,) = await ledger.sums(START, ())
    assert (total.calls, total.failed, total.unpriced) == (5, 3, 3)
    assert total.mean_first_s is None
    assert total.tokens == Usage()
    assert await ledger.spent(SpendingScope(ANA), START) == Spend(0, 0, 0.0, 3)


async def test_what_is_spent_in_a_room_is_the_persons_the_rooms_and_the_bots(ledger: Ledger) -> None:
    await ledger.record(CALL)
    await ledger.record(replace(CALL, room=ROOM))
    await ledger.record(replace(CALL, user=BIA, room=ROOM, cost_usd=None))
    await ledger.record(replace(CALL, user=None, cost_usd=1.0))
    await ledger.admit(AdmittedMessage(Asker(ANA), START))
    await ledger.admit(AdmittedMessage(Asker(ANA, ROOM), START + timedelta(seconds=2)))
    await ledger.admit(AdmittedMessage(Asker(BIA, ROOM), START + timedelta(seconds=1)))
    assert await ledger.spent(SpendingScope(ANA), START) == Spend(2, 220, 0.5, 0)
    assert await ledger.spent(SpendingScope(BIA), START) == Spend(1, 110, 0.0, 1)
    assert await ledger.spent(SpendingScope(room=ROOM), START) == Spend(2, 220, 0.25, 1)
    assert await ledger.spent(BOT, START) == Spend(3, 440, 1.5, 1)
    assert await ledger.spent(SpendingScope(room="telegram:-200"), START) == Spend()
    first, second, third = (START + timedelta(seconds=seconds) for seconds in range(3))
    before = START - timedelta(microseconds=1)

    async def minute(scope: SpendingScope, after: datetime) -> list[datetime]:
        return await ledger.read(lambda spending: [*spending.minute(scope, after)])

    assert await minute(SpendingScope(ANA), before) == [first, third]
    assert await minute(SpendingScope(room=ROOM), before) == [second, third]
    assert await minute(BOT, first) == [second, third]


async def test_a_message_is_let_in_unless_it_is_refused(ledger: Ledger) -> None:
    arrival = AdmittedMessage(Asker(ANA, ROOM), START)
    numbers = [await ledger.admit(replace(arrival, counts=counts)) for counts in (1, 0)]
    assert numbers[0] != numbers[1]
    command = replace(arrival, thinks=False)
    assert (await ledger.admit(command))[1] is None

    def full(spending: Spending) -> int | None:
        return (
            len(found) if len(found := spending.minute(SpendingScope(ANA), START - timedelta(minutes=1))) >= 2 else None
        )

    assert await ledger.admit(command, [SpendingScope(ANA)], full) == (0, 2)
    assert (await ledger.spent(SpendingScope(ANA), START)).messages == 2, "of a command no model is asked"


async def test_an_answer_under_way_is_expected_to_use_what_the_newest_ones_used(ledger: Ledger) -> None:
    async def expected(scope: SpendingScope = BOT, after: timedelta = timedelta()) -> Spend:
        return await ledger.read(lambda spending: spending.expected(scope, START + after))

    arrival = AdmittedMessage(Asker(ANA), START, is_under_way=True)
    number, _ = await ledger.admit(arrival)
    assert await expected() == Spend(), "nothing is known yet"
    await ledger.record(CALL)
    await ledger.finish(number)
    assert await expected() == Spend()
    for user in (ANA, BIA):
        await ledger.admit(replace(arrival, asker=Asker(user)))
    assert await expected() == Spend(0, 220, 0.5)
    assert await expected(SpendingScope(ANA)) == Spend(0, 110, 0.25)
    assert await expected(SpendingScope(BIA)) == Spend()
    assert await expected(BOT, JUDGED_FOR) == Spend(), "whoever was to answer is gone"


async def test_a_thing_is_told_once_a_period(ledger: Ledger) -> None:
    assert await ledger.tell_once(BOT, "2026-03", 80, START)
    assert not await ledger.tell_once(BOT, "2026-03", 80, START + timedelta(days=9))
    assert await ledger.tell_once(BOT, "2026-03", 100, START)
    assert await ledger.tell_once(SpendingScope(ANA), "2026-03", 80, START)
    assert await ledger.tell_once(BOT, "2026-04", 80, START + timedelta(days=20))
    assert not await ledger.tell_once(BOT, "2026-03", 80, START + timedelta(days=30))


async def test_a_person_who_is_forgotten_leaves_sums_and_no_name(ledger: Ledger) -> None:
    for user in (ANA, BIA):
        await ledger.record(replace(CALL, user=user))
        await ledger.admit(AdmittedMessage(Asker(user), START))
        await ledger.tell_once(SpendingScope(user), "2026-03", 80, START)
    await ledger.forget(ANA)
    assert [entry.keys for entry in await ledger.sums(START, ("user",))] == [("",), ("discord:bia",)]
    assert await ledger.spent(SpendingScope(ANA), START) == Spend()
    assert await ledger.spent(BOT, START) == Spend(2, 220, 0.5, 0)
    assert await ledger.tell_once(SpendingScope(ANA), "2026-03", 80, START)
    assert not await ledger.tell_once(SpendingScope(BIA), "2026-03", 80, START)
