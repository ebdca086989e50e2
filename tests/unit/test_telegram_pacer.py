"""The pacer: budgets of chats and of the bot, ranks, flood waits. Pure bookkeeping on a clock of ours."""

from __future__ import annotations

import pytest

from adapters.telegram.config import Pace
from adapters.telegram.pacer import Pacer, Priority
from core.errors import ChannelBusy
from tests.fakes.clock import FakeClock

PRIVATE = Pace(writes=63, period_s=60.0, burst=3)
GROUP = Pace(writes=20, period_s=60.0, burst=5)
OVERALL = Pace(writes=30, period_s=1.0, burst=5)
ANA, BIA, ROOM = 7, 8, -1001


def pacer(clock: FakeClock) -> Pacer:
    return Pacer(PRIVATE, GROUP, OVERALL, clock)


def wait_s(pacer: Pacer, chat_id: int, priority: Priority) -> float:
    try:
        pacer.admit(chat_id, priority)
    except ChannelBusy as busy:
        return busy.retry_after_s
    return 0.0


def test_a_quiet_chat_bears_a_burst_and_then_its_rate() -> None:
    paces = pacer(FakeClock())
    assert [wait_s(paces, ANA, Priority.FINAL) for _ in range(4)] == [0.0, 0.0, 0.0, pytest.approx(1.0)]


async def test_the_wait_that_is_named_suffices() -> None:
    clock = FakeClock()
    paces = pacer(clock)
    for priority in Priority:
        while not (wait := wait_s(paces, ROOM, priority)):
            pass
        await clock.advance(wait)
        assert wait_s(paces, ROOM, priority) == 0.0


def test_there_is_always_something_left_for_what_ranks_higher() -> None:
    paces = pacer(FakeClock())
    taken = []
    for priority in reversed(Priority):
        count = 0
        while wait_s(paces, ROOM, priority) == 0.0:
            count += 1
        taken.append((priority, count))
    assert taken[0][1] == 2  # typing stops early
    assert sum(count for _, count in taken) == GROUP.burst
    assert all(count for priority, count in taken if priority in {Priority.EDIT, Priority.STATUS, Priority.FINAL})


async def test_a_flood_wait_is_obeyed_by_its_chat_alone() -> None:
    clock = FakeClock()
    paces = pacer(clock)
    paces.flooded(ANA, 491.0)
    assert wait_s(paces, ANA, Priority.FINAL) == pytest.approx(491.0)
    assert wait_s(paces, BIA, Priority.FINAL) == 0.0
    await clock.advance(490.9)
    assert wait_s(paces, ANA, Priority.FINAL) == pytest.approx(0.1)
    await clock.advance(0.1)
    assert wait_s(paces, ANA, Priority.EDIT) > 0.0  # the first word after it belongs to what matters
    assert wait_s(paces, ANA, Priority.FINAL) == 0.0


def test_a_second_shorter_flood_wait_does_not_cut_the_first() -> None:
    paces = pacer(FakeClock())
    paces.flooded(ANA, 35.0)
    paces.flooded(ANA, 3.0)
    assert wait_s(paces, ANA, Priority.FINAL) == pytest.approx(35.0)


def test_many_chats_share_one_budget() -> None:
    paces = pacer(FakeClock())
    waits = [wait_s(paces, 100 + number, Priority.FINAL) for number in range(6)]
    assert waits[:5] == [0.0] * 5
    assert waits[5] == pytest.approx(1 / 25)


async def test_chats_that_say_nothing_are_forgotten_and_debts_are_not() -> None:
    clock = FakeClock()
    paces = pacer(clock)
    paces.flooded(ANA, 10_000.0)
    for number in range(5000):
        wait_s(paces, 1000 + number, Priority.FINAL)
        await clock.advance(1.0)
    assert len(paces) <= 1024
    assert wait_s(paces, ANA, Priority.FINAL) == pytest.approx(5000.0)
