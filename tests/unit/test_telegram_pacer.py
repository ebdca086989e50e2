"""The pacer: budgets of chats and of the bot, ranks, flood waits. Pure bookkeeping on a clock of ours."""

from __future__ import annotations

import asyncio

import pytest

from adapters.telegram.config import TelegramConfig, WritePace
from adapters.telegram.pacer import Pacer, Priority
from core.delivery.fallback import FallbackChannel
from core.errors import ChannelBusy, ClaimLost
from core.outgoing import OutgoingMessage
from core.workers.port import Claim, Worker
from tests.fakes.channel import RecordingChannel
from tests.fakes.clock import FakeClock
from tests.fakes.duties import Workers

USUAL = TelegramConfig("token")
ANA, BIA, ROOM = 7, 8, -1001


def pacer(clock: FakeClock) -> Pacer:
    return Pacer(USUAL.private, USUAL.group, USUAL.overall, clock, Worker())


async def wait_s(pacer: Pacer, chat_id: int, priority: Priority) -> float:
    try:
        await pacer.admit(chat_id, priority)
    except ChannelBusy as busy:
        return busy.retry_after_s
    return 0.0


async def taken(pacer: Pacer, chat_id: int, priority: Priority, most: int = 100) -> int:
    """How many writes of that rank go now."""
    count = 0
    while count < most and not await wait_s(pacer, chat_id, priority):
        count += 1
    return count


async def test_a_quiet_chat_bears_a_burst_and_then_its_rate() -> None:
    paces = pacer(FakeClock())
    assert [await wait_s(paces, ANA, Priority.FINAL) for _ in range(4)] == [0.0, 0.0, 0.0, pytest.approx(1.0)]


@pytest.mark.parametrize("chat_id", [ANA, ROOM])
async def test_the_wait_that_is_named_suffices(chat_id: int) -> None:
    for priority in Priority:
        clock = FakeClock()
        paces = Pacer(USUAL.private, USUAL.group, WritePace(10**9, 1.0), clock, Worker())
        for _ in range(50):
            if wait := await wait_s(paces, chat_id, priority):
                await clock.advance(wait)
                assert await wait_s(paces, chat_id, priority) == 0.0


async def test_there_is_always_something_left_for_what_ranks_higher() -> None:
    paces = pacer(FakeClock())
    counts = {priority: await taken(paces, ROOM, priority) for priority in reversed(Priority)}
    assert counts[Priority.TYPING] == 2  # typing stops early
    assert sum(counts.values()) == USUAL.group.burst + 1  # a stop may take the next token before it is there
    assert all(counts[priority] for priority in (Priority.EDIT, Priority.STATUS, Priority.FINAL, Priority.STOP))


async def test_edits_leave_more_than_half_of_a_groups_minute_to_the_answers_of_others_and_those_one_to_a_stop() -> None:
    clock = FakeClock()
    paces = pacer(clock)
    counts = {}
    for priority in (Priority.TYPING, Priority.EDIT, Priority.FINAL, Priority.STOP):
        counts[priority] = 0
        for _ in range(12):
            counts[priority] += await wait_s(paces, ROOM, priority) == 0.0
            await clock.advance(1.0)
    assert counts == {Priority.TYPING: 7, Priority.EDIT: 2, Priority.FINAL: 10, Priority.STOP: 1}
    assert await wait_s(paces, ROOM, Priority.FINAL) == pytest.approx(60.0 - clock.monotonic() + 1.0)


async def test_ten_answers_of_a_group_go_within_five_seconds() -> None:
    clock = FakeClock()
    paces = pacer(clock)
    gone = []
    for _ in range(10):
        while wait := await wait_s(paces, ROOM, Priority.FINAL):
            await clock.advance(wait)
        gone.append(clock.monotonic())
    assert gone == pytest.approx([0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0])


async def test_a_flood_wait_is_obeyed_by_its_chat_alone() -> None:
    clock = FakeClock()
    paces = pacer(clock)
    paces.flooded(ANA, 491.0)
    assert await wait_s(paces, ANA, Priority.FINAL) == pytest.approx(491.0)
    assert await wait_s(paces, ANA, Priority.STOP) == pytest.approx(491.0)
    assert await wait_s(paces, BIA, Priority.FINAL) == 0.0
    await clock.advance(490.9)
    assert await wait_s(paces, ANA, Priority.FINAL) == pytest.approx(0.1)
    await clock.advance(0.1)
    assert await wait_s(paces, ANA, Priority.EDIT) > 0.0  # the first word after it belongs to what matters
    assert await wait_s(paces, ANA, Priority.FINAL) == 0.0


async def test_a_second_shorter_flood_wait_does_not_cut_the_first() -> None:
    paces = pacer(FakeClock())
    paces.flooded(ANA, 35.0)
    paces.flooded(ANA, 3.0)
    assert await wait_s(paces, ANA, Priority.FINAL) == pytest.approx(35.0)


async def test_many_chats_share_one_budget_in_which_answers_take_their_turn_and_edits_do_not() -> None:
    clock = FakeClock()
    paces = pacer(clock)
    gone: list[tuple[float, int]] = []

    async def answer(chat_id: int) -> None:
        await paces.admit(chat_id, Priority.FINAL)
        gone.append((clock.monotonic(), chat_id))

    answers = [asyncio.create_task(answer(100 + number)) for number in range(9)]
    await asyncio.sleep(0)
    with pytest.raises(ChannelBusy) as busy:
        await paces.admit(ANA, Priority.EDIT)
    assert busy.value.whole_after_s == 0.0, "her chat itself is free"
    await paces.admit(ANA, Priority.STOP)
    await clock.advance(1.0)
    await asyncio.gather(*answers)
    assert [chat_id for _, chat_id in gone] == list(range(100, 109))
    assert [at_s for at_s, _ in gone] == pytest.approx([0.0] * 5 + [0.04, 0.08, 0.12, 0.16])


async def test_who_waits_by_a_small_share_goes_as_soon_as_it_grows() -> None:
    """A worker that joins has next to nothing, and may take over ten answers of one that died."""
    clock, workers = FakeClock(), Workers()
    worker = workers.worker()
    workers.shares[worker] = 0.01
    paces = Pacer(USUAL.private, USUAL.group, USUAL.overall, clock, worker)
    answers = [asyncio.create_task(paces.admit(100 + number, Priority.FINAL)) for number in range(10)]
    await clock.advance(2.0)
    assert not all(answer.done() for answer in answers)
    assert await wait_s(paces, ANA, Priority.EDIT) <= 1.0
    workers.shares[worker] = 0.9
    await clock.advance(2.0)
    assert all(answer.done() for answer in answers)


async def test_nothing_is_written_after_a_wait_in_which_the_lease_ended() -> None:
    clock, is_alive, written = FakeClock(), [True], list[str]()
    paces = Pacer(USUAL.private, USUAL.group, WritePace(1, 0.1), clock, Worker())

    class Screen(RecordingChannel):
        async def post(self, shown: OutgoingMessage) -> str:
            await paces.admit(ANA, Priority.FINAL)
            written.append(shown.text)
            return "1"

    with Claim("chat:telegram:7", 1, lambda: is_alive[0]).under():
        channel = FallbackChannel(Screen(clock), clock, find_aside=None, ended="…")
        await channel.post(OutgoingMessage("one"))
        late = asyncio.create_task(channel.post(OutgoingMessage("two")))
    await clock.advance(1.0)
    is_alive[0] = False
    await clock.advance(20.0)
    with pytest.raises(ClaimLost):
        await late
    assert written == ["one"]


async def test_chats_that_say_nothing_are_forgotten_and_debts_are_not() -> None:
    clock = FakeClock()
    paces = pacer(clock)
    paces.flooded(ANA, 10_000.0)
    for number in range(2500):
        await wait_s(paces, (1000 + number) * (-1) ** number, Priority.FINAL)
        clock._elapsed_s += 2.0
    assert len(paces) <= 1024
    assert await wait_s(paces, ANA, Priority.FINAL) == pytest.approx(5000.0)
