"""The law of the pacer: no window of any chat, and none of the bot, ever holds more writes than it bears."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from adapters.telegram.config import TelegramConfig
from adapters.telegram.pacer import Pacer, Priority
from core.errors import ChannelBusy
from core.ports import Clock
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


@given(attempts)
def test_no_window_ever_holds_more_than_it_bears(tries: list[tuple[float, int, Priority]]) -> None:
    clock = Stopwatch()
    pacer = Pacer(USUAL.private, USUAL.group, USUAL.overall, clock)
    written: list[tuple[float, int]] = []
    for delta_s, chat_id, priority in tries:
        clock.pass_by(delta_s)
        with suppress(ChannelBusy):
            pacer.admit(chat_id, priority)
            written.append((clock.monotonic(), chat_id))
    for begin_s, _ in written:
        for pace, chats in ((USUAL.private, [1, 2, 3]), (USUAL.group, [-1, -2])):
            for chat_id in chats:
                inside = [at_s for at_s, to in written if to == chat_id and begin_s <= at_s < begin_s + pace.period_s]
                assert len(inside) <= pace.writes
        assert sum(begin_s <= at_s < begin_s + 1.0 for at_s, _ in written) <= USUAL.overall.writes
