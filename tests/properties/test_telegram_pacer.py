"""The law of the pacer: no window of any chat, and none of the bot, ever holds more writes than it bears."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from adapters.telegram.config import TelegramConfig
from adapters.telegram.pacer import Pacer, Priority
from core.errors import ChannelBusy
from core.ports import Clock
from core.workers import OneWorker
from tests.fakes.clock import FakeClock

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
    pacer = Pacer(USUAL.private, USUAL.group, USUAL.overall, clock, OneWorker())
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
