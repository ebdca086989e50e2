"""The law of the pacer: no window of any chat, and none of the bot, ever holds more writes than it bears."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from adapters.running import SharedBucket
from adapters.telegram.config import TelegramConfig
from adapters.telegram.pacer import Pacer, Priority
from core.errors import ChannelBusy
from core.ports import Clock
from core.workers.port import Worker
from tests.fakes.clock import FakeClock
from tests.fakes.duties import Workers

USUAL = TelegramConfig("token")
attempts = st.lists(
    st.tuples(
        st.floats(0, 3, allow_nan=False),  # seconds since the attempt before
        st.sampled_from([1, 2, 3, -1, -2]),
        st.sampled_from(list(Priority)),
    ),
    max_size=300,
)


class Stopwatch(FakeClock, Clock):
    """A clock that is set without waiting for anybody."""

    def pass_by(self, delta_s: float) -> None:
        self._elapsed_s += delta_s

    async def sleep(self, delay_s: float) -> None:
        self.pass_by(delay_s)


@given(attempts)
async def test_no_window_ever_holds_more_than_it_bears(tries: list[tuple[float, int, Priority]]) -> None:
    clock = Stopwatch()
    pacer = Pacer(USUAL.private, USUAL.group, USUAL.overall, clock, Worker())
    written: list[tuple[float, int]] = []
    for delta_s, chat_id, priority in tries:
        clock.pass_by(delta_s)
        with suppress(ChannelBusy):
            await pacer.admit(chat_id, priority)
            if chat_id < 0 or priority is not Priority.STOP:  # a stop may take the next write before it is due
                written.append((clock.monotonic(), chat_id))
    for period_s, most, chats in ((3.0, 5, [1]), (60.0, 20, [-1]), (1.0, 30, [1, 2, 3, -1, -2])):
        at_s = [at_s for at_s, chat_id in written if chat_id in chats]
        assert all(later - begin_s >= period_s - 1e-6 for begin_s, later in zip(at_s, at_s[most:], strict=False))


@given(shares=st.lists(st.integers(1, 10), min_size=2, max_size=8))
async def test_workers_together_write_no_more_in_any_second_than_one_alone(shares: list[int]) -> None:
    clock, workers = Stopwatch(), Workers()
    all_of_them = [workers.worker() for _ in shares]
    workers.shares = {worker: part / sum(shares) for worker, part in zip(all_of_them, shares, strict=True)}
    pacers = [Pacer(USUAL.private, USUAL.group, USUAL.overall, clock, worker) for worker in all_of_them]
    buckets = [SharedBucket("discord:requests", worker, 5.0, 45.0, 0.0) for worker in all_of_them]
    written: list[float] = []
    requested: list[float] = []
    for turn in range(150):  # two seconds in which everybody wants to write all the time, each into another chat
        clock.pass_by(0.0137)
        for number, (pacer, bucket) in enumerate(zip(pacers, buckets, strict=True)):
            with suppress(ChannelBusy):
                await pacer.admit(1 + turn * len(shares) + number, Priority.EDIT)
                written.append(clock.monotonic())
            bucket.refill(clock.monotonic())
            if not bucket.wait_s():
                bucket.take()
                requested.append(clock.monotonic())
    for most, at_s in ((30, written), (50, requested)):
        assert all(later - begin_s >= 1.0 - 1e-6 for begin_s, later in zip(at_s, at_s[most:], strict=False))
        assert len(at_s) > most / 3  # and nobody is kept from writing
    assert sum(worker.used_of["telegram:writes"] for worker in all_of_them) == len(written)
