"""One turn on one channel: what a person sees, at what moment, whatever the channel and the model do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.delivery.plan import Pace
from core.delivery.view import Line, PlaceInLine, View
from core.errors import ChannelBusy, ChannelError, ChannelGone, ClaimLost, ProviderDown, StreamCut, Undelivered
from core.outgoing import Button, ChannelLimits, OutgoingMessage
from core.types import MemoryNote, Modal
from tests.fakes.channel import RecordingChannel
from tests.fakes.clock import FakeClock
from tests.fakes.handler import tell

AT_ONCE = Pace(first_chars=1, gather_s=0.0)
LIMITS = ChannelLimits(max_chars=4096, edit_interval_s=1.5)
AT = datetime(2026, 3, 14, tzinfo=UTC)
MEMORIES = (MemoryNote("senha", "abc123", "14 Mar 2026"),)
UNDO = (Button("Undo", "/undo"),)


async def said(*chunks: str, clock: FakeClock | None = None, gap_s: float = 0.0) -> AsyncIterator[str]:
    """A model that says these, with a pause after each."""
    for chunk in chunks:
        yield chunk
        if clock is not None:
            await clock.sleep(gap_s)


async def broken(*chunks: str, error: BaseException) -> AsyncIterator[str]:
    for chunk in chunks:
        yield chunk
    raise error


class SlowChannel(RecordingChannel):
    """Takes a second of the clock's time for each write."""

    async def post(self, shown: OutgoingMessage) -> str:
        await self.clock.sleep(1.0)
        return await RecordingChannel.post(self, shown)

    async def edit(self, handle: str, shown: OutgoingMessage) -> None:
        await self.clock.sleep(1.0)
        await RecordingChannel.edit(self, handle, shown)


class LateChannel(RecordingChannel):
    """Confirms a message a second after it is there."""

    async def post(self, shown: OutgoingMessage) -> str:
        handle = await RecordingChannel.post(self, shown)
        await self.clock.sleep(1.0)
        return handle


class HungChannel(RecordingChannel):
    """Never comes back from an edit."""

    async def edit(self, handle: str, shown: OutgoingMessage) -> None:
        await RecordingChannel.edit(self, handle, shown)
        await asyncio.Event().wait()


class FloodedChannel(RecordingChannel):
    """Refuses its n-th write, and every write until the wait that it named is over."""

    def __init__(self, clock: FakeClock, *, refused: int, retry_after_s: float) -> None:
        RecordingChannel.__init__(self, clock)
        self._refused = refused
        self._retry_after_s = retry_after_s
        self._until_s = 0.0
        self.refusals = 0

    def _maybe_fail(self) -> None:
        now_s = self.clock.monotonic()
        if (len(self.log) == self._refused and not self.refusals) or now_s < self._until_s:
            self.refusals += 1
            self._until_s = max(self._until_s, now_s + self._retry_after_s)
            raise ChannelBusy(self._until_s - now_s)


async def finish(clock: FakeClock, view: View, seconds: float = 1000.0) -> None:
    closing = asyncio.create_task(view.close())
    await clock.advance(seconds)
    assert closing.done()
    await closing


@pytest.mark.spec("T4", "T5")
async def test_a_post_that_was_under_way_as_another_worker_took_over_is_removed() -> None:
    """That one does not know of it, and says it anew."""
    clock = FakeClock()
    channel, recorded = LateChannel(clock, LIMITS), list[Sequence[str]]()

    async def record(handles: Sequence[str]) -> None:
        if recorded:
            raise ClaimLost("another worker goes on")
        recorded.append(handles)

    view = View(channel, clock, record=record)
    showing = asyncio.create_task(view.show(OutgoingMessage("one")))
    await clock.advance(0.5)
    dropping = asyncio.create_task(view.drop())
    await clock.advance(5.0)
    await dropping
    assert recorded == [[""]]
    assert channel.texts == []
    with pytest.raises(ClaimLost):
        await showing
    assert [seen.verb for seen in channel.log] == ["post", "remove"]


async def test_a_status_is_on_the_screen_when_the_call_returns_and_the_answer_takes_its_place(clock: FakeClock) -> None:
    channel = RecordingChannel(clock)
    view = View(channel, clock)
    await view.status("IA está pensando...")
    assert channel.screen == [OutgoingMessage("IA está pensando...", Modal.TEXT_FOR_REPLACE)]
    await tell(view, said("É ", "123456."))
    assert channel.screen == [OutgoingMessage("É 123456.")]
    assert [seen.handle for seen in channel.log] == ["m1", "m1"]
    await view.close()


@pytest.mark.spec("T5", "T9")
async def test_all_that_is_said_until_the_end_is_one_message_which_no_status_replaces(clock: FakeClock) -> None:
    channel = RecordingChannel(clock)
    view = View(channel, clock)
    await view.status("IA está pensando...")
    view.write("Guardei.")
    await view.status("Buscando por memórias...")
    await clock.advance(5.0)
    assert channel.screen == [OutgoingMessage("Guardei.", final=False)]
    view.write("\n\nA senha é ")
    await view.status("IA está pensando...")
    view.write("abc123.")
    await view.complete(UNDO, MEMORIES)
    await clock.advance(1.5)
    assert channel.screen == [OutgoingMessage("Guardei.\n\nA senha é abc123.", choices=UNDO, memories=MEMORIES)]
    assert channel.statuses == ["IA está pensando..."]
    assert [seen.verb for seen in channel.log].count("post") == 1
    assert not any(seen.shown.choices or seen.shown.memories for seen in channel.log[:-1]), "whole, at the end"
    view.write("Outra.")
    await view.complete()
    assert channel.texts == ["Guardei.\n\nA senha é abc123.", "Outra."]
    await view.close()


@pytest.mark.spec("T9")
async def test_memories_that_nothing_is_said_of_take_the_place_of_the_status(clock: FakeClock) -> None:
    channel = RecordingChannel(clock)
    view = View(channel, clock)
    await view.status("Buscando por memórias...")
    await view.complete(UNDO, MEMORIES)
    assert channel.screen == [OutgoingMessage("🧠 senha: abc123 · 14 Mar 2026", Modal.MEMORY, MEMORIES, choices=UNDO)]
    await view.complete(UNDO)
    assert len(channel.log) == 2
    await view.close()


async def test_an_answer_that_a_restart_broke_off_goes_on_in_its_message(clock: FakeClock) -> None:
    channel = RecordingChannel(clock)
    first = View(channel, clock)
    first.write("Guardei.")
    await first.status("pensando")
    await clock.advance(1.0)
    second = View(channel, clock, posted=["m1"])
    second.write("Guardei.")
    await second.status("pensando")
    second.write("\n\nA senha é abc123.")
    await second.complete(UNDO, MEMORIES)
    await finish(clock, second)
    assert channel.screen == [OutgoingMessage("Guardei.\n\nA senha é abc123.", choices=UNDO, memories=MEMORIES)]
    assert [seen.verb for seen in channel.log].count("post") == 1


async def test_an_answer_that_is_cancelled_is_completed_within_the_grace(clock: FakeClock) -> None:
    async def answer(view: View) -> None:
        try:
            await tell(view, said("um ", "dois ", "três", clock=clock, gap_s=0.1))
        finally:
            await view.complete()

    for channel, ends in (
        (RecordingChannel(clock, ChannelLimits(4096, edit_interval_s=3.0)), ["um dois"]),
        (HungChannel(clock, ChannelLimits(4096, edit_interval_s=0.0)), ["um dois"]),
        (RecordingChannel(clock, faults=[None, ChannelBusy(6.0)]), ["um"]),
    ):
        view = View(channel, clock, pace=AT_ONCE)
        answering = asyncio.create_task(answer(view))
        await clock.advance(0.15)
        answering.cancel()
        await clock.advance(5.0)
        assert answering.cancelled()
        assert channel.texts == ends
        await view.close(within_s=0.0)


@pytest.mark.spec("T5", "T9")
async def test_statuses_follow_each_other_in_one_message_no_faster_than_the_channel_bears(clock: FakeClock) -> None:
    channel = RecordingChannel(clock)
    view = View(channel, clock)
    for text in ("Buscando por memórias...", "…, formatando", "…, pesquisando"):
        await view.status(text)
    assert channel.statuses == ["Buscando por memórias..."]
    await clock.advance(1.5)
    assert channel.statuses == ["Buscando por memórias...", "…, pesquisando"]
    await view.show(OutgoingMessage("🧠 senha", Modal.MEMORY))
    assert channel.screen == [OutgoingMessage("🧠 senha", Modal.MEMORY)]
    await view.close()


async def test_a_call_returns_when_its_message_is_written_also_while_the_writer_is_busy(clock: FakeClock) -> None:
    channel = SlowChannel(clock)
    view = View(channel, clock, patience_s=10.0)
    for text in ("um", "dois"):
        showing = asyncio.create_task(view.status(text))
        await clock.advance(1.0)
        assert showing.done()
    await clock.advance(1.0)  # the pace is over, and the second status on its way
    assert channel.statuses == ["um"]
    showing = asyncio.create_task(view.show(OutgoingMessage("fim")))
    await clock.advance(0.6)
    assert channel.statuses == ["um", "dois"]
    assert not showing.done()
    await clock.advance(1.0)
    assert showing.done()
    assert channel.screen == [OutgoingMessage("fim")]
    await view.close()


async def test_a_channel_that_hangs_does_not_hold_back_the_turn(clock: FakeClock) -> None:
    view = View(HungChannel(clock), clock, patience_s=1.0)
    await view.status("pensando")
    showing = asyncio.create_task(view.show(OutgoingMessage("um")))
    await clock.advance(0.9)
    assert not showing.done()
    await clock.advance(0.1)
    assert showing.done()
    reading = asyncio.create_task(tell(view, said("dois")))
    await clock.advance(1.0)
    await reading
    closing = asyncio.create_task(view.close(within_s=1.0))
    await clock.advance(1.0)
    await closing


async def test_the_pace_of_the_channel_never_holds_back_the_model(clock: FakeClock) -> None:
    channel = SlowChannel(clock, ChannelLimits(4096, 5.0))
    view = View(channel, clock, pace=AT_ONCE)
    reading = asyncio.create_task(tell(view, said(*"abcdefghij", clock=clock, gap_s=0.1)))
    await clock.advance(1.0)
    assert channel.texts == ["a"]
    await clock.advance(1.0)
    assert reading.done()
    await reading
    await finish(clock, view)
    assert channel.texts == ["abcdefghij"]
    assert len(channel.log) == 2


@pytest.mark.parametrize("retry_after_s", [3.0, 35.0, 491.0])
@pytest.mark.parametrize("refused", range(5))
async def test_a_flood_wait_anywhere_ends_with_the_final_text_once(
    clock: FakeClock, retry_after_s: float, refused: int
) -> None:
    channel = FloodedChannel(clock, refused=refused, retry_after_s=retry_after_s)
    view = View(channel, clock)
    words = [f"palavra{n} " for n in range(40)]
    reading = asyncio.create_task(tell(view, said(*words, clock=clock, gap_s=0.2)))
    await clock.advance(9.0)
    assert reading.done()
    await reading
    await finish(clock, view)
    assert channel.texts == ["".join(words).strip()]
    assert [seen.shown.final for seen in channel.log].count(True) == 1
    assert channel.refusals == 1


async def test_a_channel_that_is_gone_is_told_once_and_written_to_no_more(clock: FakeClock) -> None:
    channel = RecordingChannel(clock, faults=[None, ChannelGone("blocked")])
    view = View(channel, clock)
    await view.status("pensando")
    with pytest.raises(ChannelGone):
        await view.show(OutgoingMessage("um"))
    await view.show(OutgoingMessage("dois"))
    await tell(view, said("três"))
    await view.close()
    await view.close()
    assert [seen.shown.text for seen in channel.log if seen.verb != "remove"] == ["pensando"]


async def test_a_channel_that_goes_during_an_answer_ends_the_reading_of_the_model(clock: FakeClock) -> None:
    channel = RecordingChannel(clock, faults=[None, ChannelGone("kicked")])
    view = View(channel, clock)
    reading = asyncio.create_task(tell(view, said(*"abcdefghij", clock=clock, gap_s=1.0)))
    await clock.advance(4.0)
    assert reading.done()
    with pytest.raises(ChannelGone):
        await reading
    await view.close()


async def test_a_channel_that_goes_after_the_answer_is_told_by_close(clock: FakeClock) -> None:
    channel = RecordingChannel(clock, faults=[None, ChannelBusy(3.0), ChannelGone("kicked")])
    view = View(channel, clock, pace=AT_ONCE)
    reading = asyncio.create_task(tell(view, said("um ", "dois", clock=clock, gap_s=0.1)))
    await clock.advance(0.3)
    await reading
    closing = asyncio.create_task(view.close())
    await clock.advance(10)
    with pytest.raises(ChannelGone):
        await closing
    await view.close()


async def test_what_came_before_a_model_failed_is_completed_on_the_screen_first(clock: FakeClock) -> None:
    channel = RecordingChannel(clock)
    view = View(channel, clock)
    await view.status("pensando")
    with pytest.raises(StreamCut):
        await tell(view, broken("metade ", "de uma", error=StreamCut("cut")))
    await view.show(OutgoingMessage("(interrompida)"))
    assert channel.screen == [OutgoingMessage("metade de uma"), OutgoingMessage("(interrompida)")]
    await view.close()


async def test_a_model_that_fails_before_its_first_word_leaves_the_status_to_the_apology(clock: FakeClock) -> None:
    channel = RecordingChannel(clock)
    view = View(channel, clock)
    await view.status("pensando")
    with pytest.raises(ProviderDown):
        await tell(view, broken(error=ProviderDown("down")))
    await view.show(OutgoingMessage("Não consegui."))
    assert channel.screen == [OutgoingMessage("Não consegui.")]
    await view.close()


async def test_a_cancelled_close_still_writes_what_it_can_within_the_grace(clock: FakeClock) -> None:
    channel = RecordingChannel(clock, faults=[None, ChannelBusy(3.0)])
    view = View(channel, clock, pace=AT_ONCE)
    reading = asyncio.create_task(tell(view, said("um ", "dois", clock=clock, gap_s=0.1)))
    await clock.advance(0.3)
    await reading
    closing = asyncio.create_task(view.close())
    await clock.advance(0.1)
    closing.cancel()
    await clock.advance(5.0)
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert channel.screen == [OutgoingMessage("um dois")]


async def test_a_cancelled_close_is_bounded_even_when_the_channel_hangs(clock: FakeClock) -> None:
    channel = HungChannel(clock)
    view = View(channel, clock)
    await view.status("pensando")
    shown = asyncio.create_task(view.show(OutgoingMessage("um")))
    await clock.advance(0.0)
    shown.cancel()
    closing = asyncio.create_task(view.close())
    await clock.advance(60.0)
    assert not closing.done()
    closing.cancel()
    await clock.advance(5.0)
    assert closing.done()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


async def test_a_text_that_the_channel_takes_in_no_form_is_undelivered(clock: FakeClock) -> None:
    channel = RecordingChannel(clock, faults=[KeyError("chat"), ChannelError("strange")])
    with pytest.raises(Undelivered, match="strange") as caught:
        await View(channel, clock).show(OutgoingMessage("pensei"))
    assert type(caught.value.refusal) is ChannelError


@pytest.mark.spec("T5")
async def test_a_turn_that_ends_on_a_status_leaves_nothing_to_be_replaced(clock: FakeClock) -> None:
    channel = RecordingChannel(clock)
    view = View(channel, clock)
    await view.status("pensando")
    await finish(clock, view)
    assert channel.screen == [OutgoingMessage("…")]
    never = RecordingChannel(clock, faults=[ChannelBusy(35)])
    view = View(never, clock)
    await view.status("pensando")
    await finish(clock, view)
    assert never.log == []


@given(
    st.lists(st.text("ab \n", max_size=30), max_size=25),
    st.sampled_from([0.0, 0.05, 0.4, 2.0]),
    st.lists(st.sampled_from([None, None, None, ChannelBusy(3), ChannelBusy(35), ChannelBusy(491)]), max_size=8),
    st.sampled_from([0.0, 1.5]),
)
def test_the_law_of_delivery(
    chunks: list[str], gap_s: float, faults: list[ChannelError | None], interval_s: float
) -> None:
    """What was said stands on the screen once, in order, within the limits, and no edit was idle or too early."""

    async def play() -> None:
        clock = FakeClock()
        channel = RecordingChannel(clock, ChannelLimits(50, interval_s), faults=list(faults))
        view = View(channel, clock)
        await view.status("pensando")
        reading = asyncio.create_task(tell(view, said(*chunks, clock=clock, gap_s=gap_s)))
        await clock.advance(60.0)
        assert reading.done()
        await reading
        await view.show(OutgoingMessage("fim", Modal.MEMORY))
        await finish(clock, view, 10_000.0)
        assert "".join("".join(channel.texts).split()) == "".join("".join(chunks).split()) + "fim"
        latest: dict[str, OutgoingMessage] = {}
        last_s = float("-inf")
        for seen in channel.log:
            before = latest.get(seen.handle)
            assert seen.shown != before
            assert len(seen.shown.text) <= 50
            if seen.verb == "edit" and before is not None and before.modal is Modal.TEXT and not seen.shown.final:
                assert seen.at_s - last_s >= interval_s - 1e-9
            latest[seen.handle], last_s = seen.shown, seen.at_s

    asyncio.run(play())


# --- signs of life ---


@dataclass(slots=True)
class LivelyChannel(RecordingChannel):
    """Shows that the bot is typing, and notifies by new messages."""

    limits: ChannelLimits = field(
        default_factory=lambda: ChannelLimits(max_chars=4096, edit_interval_s=1.5, typing_s=4.0, notifies=True)
    )
    typed_s: list[float] = field(default_factory=list)
    busy: list[ChannelError] = field(default_factory=list)
    signs_busy: list[ChannelError] = field(default_factory=list)
    waits: int = 0

    async def show_typing(self) -> None:
        if self.busy:
            raise self.busy.pop()
        self.typed_s.append(self.clock.monotonic())

    async def show_waiting(self, *, waits: bool = True) -> None:
        if self.signs_busy:
            raise self.signs_busy.pop()
        self.waits += 1 if waits else -1


async def test_the_sign_of_who_waits_comes_and_goes_although_the_platform_lets_it_wait(clock: FakeClock) -> None:
    channel = LivelyChannel(clock, signs_busy=[ChannelBusy(2.0)])
    view = View(channel, clock)
    view.waits()
    await clock.advance(2.1)
    assert channel.waits == 1
    channel.signs_busy = [ChannelBusy(2.0), ChannelBusy(1.0)]
    taking_back = asyncio.create_task(view.sign.take_back())
    await clock.advance(3.1)
    assert channel.waits == 0
    await taking_back
    await view.close()


@pytest.mark.parametrize("after_s", [0.0, 1.5])
@pytest.mark.spec("T4", "T5")
async def test_a_status_comes_when_nothing_better_did_within_that_time(clock: FakeClock, after_s: float) -> None:
    channel = RecordingChannel(clock)
    view = View(channel, clock, pace=Pace(status_after_s=after_s))
    await view.status("IA está pensando...")
    await clock.advance(1.0)
    await view.status("Buscando por memórias...")
    await clock.advance(3.0)
    assert [seen.at_s for seen in channel.log] == [after_s] if after_s else [0.0, 1.5]
    assert channel.statuses[-1] == "Buscando por memórias..."
    await finish(clock, view)


async def test_a_quick_answer_is_posted_once_and_whole_and_words_do_not_wait_for_a_status(clock: FakeClock) -> None:
    channel = RecordingChannel(clock)
    view = View(channel, clock, pace=Pace(status_after_s=1.5))
    await view.status("IA está pensando...")
    await clock.advance(1.0)
    await tell(view, said("abc123."))
    await view.status("IA está pensando...")
    await clock.advance(0.5)
    view.write("Vinte letras são o que se espera. ")
    await clock.advance(0.2)
    assert [(seen.at_s, seen.verb) for seen in channel.log] == [(1.0, "post"), (1.65, "post")]
    await finish(clock, view)


async def test_a_status_that_nobody_has_seen_leaves_no_trace_and_holds_up_nothing(clock: FakeClock) -> None:
    channel = RecordingChannel(clock)
    view = View(channel, clock, pace=Pace(status_after_s=1.5))
    await view.status("IA está pensando...")
    await finish(clock, view, 0.0)
    assert channel.log == []


async def test_typing_is_shown_at_once_and_again_until_something_of_the_answer_is_there(clock: FakeClock) -> None:
    channel = LivelyChannel(clock, busy=[ChannelGone("no right to"), ChannelBusy(0.5)])
    view = View(channel, clock)
    async with view.typing():
        await clock.advance(0.4)
        assert channel.typed_s == []
        await clock.advance(0.2)  # it was told to come back
        await view.status("IA está pensando...")
        await clock.advance(8.5)
        assert channel.typed_s == [4.5, 8.5]
        await tell(view, said("pronto"))
        await clock.advance(20.0)
        assert channel.typed_s == [4.5, 8.5]
    later = View(channel, clock)
    async with later.typing(0.5):
        await tell(later, said("pronto"))
        await clock.advance(1.0)
    await clock.advance(20.0)
    assert channel.typed_s == [4.5, 8.5]
    await view.close()
    await later.close()


async def test_in_a_busy_room_an_answer_is_posted_once_and_whole_and_one_that_has_begun_goes_on(
    clock: FakeClock,
) -> None:
    busy = True
    channel = RecordingChannel(clock)
    view = View(channel, clock, pace=AT_ONCE, is_busy=lambda: busy)
    await view.status("IA está pensando...")
    view.write("um ")
    await clock.advance(5.5)
    assert channel.log == []
    view.write("dois")
    await view.complete()
    view.write("três ")
    await clock.advance(3.2)
    assert [(seen.at_s, seen.shown.text) for seen in channel.log] == [(5.5, "um dois")]
    busy = False
    await clock.advance(1.0)
    busy = True
    view.write("quatro")
    await clock.advance(5.0)
    assert channel.texts == ["um dois", "três quatro"]
    await finish(clock, view)


async def test_an_answer_that_took_long_ends_as_a_new_message_that_notifies(clock: FakeClock) -> None:
    records: list[list[str]] = []

    async def record(handles: Sequence[str]) -> None:
        records.append(list(handles))

    channel = LivelyChannel(clock)
    view = View(channel, clock, pace=AT_ONCE, notify_from_s=20.0, record=record)
    view.write("Olhe, ")
    await clock.advance(20.0)
    view.write("demorou.")
    await view.complete(UNDO)
    await view.close()
    whole = OutgoingMessage("Olhe, demorou.", choices=UNDO, notify=True)
    assert channel.screen == [whole]
    assert [(seen.verb, seen.handle) for seen in channel.log] == [("post", "m1"), ("post", "m2"), ("remove", "m1")]
    assert records == [[""], ["m1"], ["", "m1"], ["m2", "m1"], ["m2"]]


@pytest.mark.parametrize("is_late", [False, True])
async def test_of_a_long_answer_the_first_part_rings_and_the_end_of_a_late_one(
    clock: FakeClock, *, is_late: bool
) -> None:
    channel = LivelyChannel(clock, limits=replace(LIMITS, max_chars=40, notifies=True))
    view = View(channel, clock, pace=AT_ONCE, notify_from_s=0.0 if is_late else float("inf"))
    view.write("palavra " * 15)
    await finish(clock, view)
    assert [seen.silent for seen in channel.screen] == [False, True, not is_late]


async def test_of_two_answers_that_a_room_cannot_take_yet_the_earlier_question_is_answered_first(
    clock: FakeClock,
) -> None:
    line = Line()
    room = RecordingChannel(clock, LIMITS, faults=[ChannelBusy(3.0)])
    first, second = (View(room, clock, patience_s=0.1, place=PlaceInLine(line, number)) for number in (1, 2))
    one = asyncio.create_task(first.show(OutgoingMessage("um")))
    await clock.advance(1.0)
    two = asyncio.create_task(second.show(OutgoingMessage("dois")))  # the room would take it now
    await clock.advance(4.0)
    assert one.done()
    assert two.done()
    assert [seen.shown.text for seen in room.log] == ["um", "dois"]
    await finish(clock, first)
    await finish(clock, second)


async def test_an_answer_that_is_refused_for_good_holds_nobody_up(clock: FakeClock) -> None:
    line = Line()
    room = RecordingChannel(clock, LIMITS, faults=[ChannelBusy(3.0), ChannelGone("kicked")])
    first, second = (View(room, clock, patience_s=0.1, place=PlaceInLine(line, number)) for number in (1, 2))
    one = asyncio.create_task(first.show(OutgoingMessage("um")))
    two = asyncio.create_task(second.show(OutgoingMessage("dois")))
    await clock.advance(5.0)
    await asyncio.gather(one, two, return_exceptions=True)
    assert room.texts == ["dois"]
    await finish(clock, second)


@pytest.mark.parametrize(("wait_s", "signs"), [(0.5, 0), (3.0, 1)])
async def test_who_waits_in_a_room_for_the_platforms_pace_sees_a_sign_until_the_answer_comes(
    clock: FakeClock, wait_s: float, signs: int
) -> None:
    channel = LivelyChannel(clock, faults=[ChannelBusy(wait_s)])
    view = View(channel, clock, place=PlaceInLine(Line(), 1))
    showing = asyncio.create_task(view.show(OutgoingMessage("pronto")))
    await clock.advance(0.1)
    assert channel.waits == signs
    await clock.advance(5.0)
    await showing
    await view.close()
    assert view.sign.may_stand == bool(signs)
    await view.sign.take_back()
    assert channel.waits == signs - 1


async def test_a_sign_that_an_earlier_process_may_have_shown_is_taken_back_too(clock: FakeClock) -> None:
    assert View(RecordingChannel(clock), clock, posted=[""], place=PlaceInLine(Line(), 1)).sign.may_stand
    assert not View(RecordingChannel(clock), clock, place=PlaceInLine(Line(), 1)).sign.may_stand
    assert not View(RecordingChannel(clock), clock, posted=[""]).sign.may_stand


async def stood(channel: RecordingChannel, *texts: str) -> None:
    """An earlier process posted these."""
    for text in texts:
        await channel.post(OutgoingMessage(text, final=False))


async def recording(records: list[Sequence[str]], handles: Sequence[str]) -> None:
    records.append(list(handles))


async def test_what_stands_below_a_message_that_is_written_anew_is_known_until_it_is_gone(clock: FakeClock) -> None:
    channel, records = LivelyChannel(clock), list[Sequence[str]]()
    await stood(channel, "um", "dois", "três")
    view = View(channel, clock, posted=["m1", "m2", "m3"], record=partial(recording, records), notify_from_s=0.0)
    await tell(view, said("pronto"))
    await finish(clock, view)
    assert channel.texts == ["pronto"]
    assert records == [["", "m1", "m2", "m3"], ["m4", "m1", "m2", "m3"], ["m4", "m2", "m3"], ["m4", "m2"], ["m4"]]


async def test_what_may_be_there_is_doubted_in_its_place_until_something_was_written_there(clock: FakeClock) -> None:
    channel, records = RecordingChannel(clock), list[Sequence[str]]()
    await stood(channel, "um", "dois", "três")
    view = View(channel, clock, posted=["m1", "", "m2", "m3"], record=partial(recording, records))
    await view.show(OutgoingMessage("um"))
    await clock.advance(5.0)
    assert records == [["m1", "", "m2"], ["m1", ""]], "the next process must not take m2 for its second message"
    await view.show(OutgoingMessage("pronto"))
    await finish(clock, view)
    assert records[2:] == [["m1", "↻", "m4"]], "as long as it stands there it says that it may be there twice"
    assert channel.texts == ["um", "pronto"]


async def test_only_what_is_known_to_be_there_can_be_stopped_by_a_button(clock: FakeClock) -> None:
    channel = RecordingChannel(clock, ChannelLimits(4096, 1.5, stops=True))
    view = View(channel, clock, pace=AT_ONCE)
    await view.status("pensando")
    await clock.advance(2.0)
    await tell(view, said("um ", "dois ", clock=clock, gap_s=0.0))
    await finish(clock, view)
    assert [(seen.verb, seen.shown.text, seen.shown.stoppable) for seen in channel.log] == [
        ("post", "pensando", False), ("edit", "pensando", True), ("edit", "um", True), ("edit", "um dois", False),
    ]  # fmt: skip


@pytest.mark.parametrize("late", [False, True])
async def test_an_answer_that_waited_for_others_notifies_and_any_other_in_time_does_not(
    clock: FakeClock, *, late: bool
) -> None:
    for notify_from_s in (20.0, float("inf")):  # the owner wants no such thing
        channel = LivelyChannel(clock)
        view = View(channel, clock, notify_from_s=notify_from_s)
        if late:
            view.waits()
        await tell(view, said("pronto"))
        await view.close()
        assert channel.screen == [OutgoingMessage("pronto", notify=late and notify_from_s == 20.0)]
        assert channel.waits == late


async def test_a_late_answer_that_the_channel_refuses_for_now_comes_anew_later(clock: FakeClock) -> None:
    channel = LivelyChannel(clock, faults=[None, ChannelBusy(3.0)])
    view = View(channel, clock, pace=AT_ONCE, notify_from_s=0.0)
    await view.status("IA está pensando...")
    await tell(view, said("pronto"))
    assert channel.texts == []
    await finish(clock, view)
    assert channel.screen == [OutgoingMessage("pronto", notify=True)]


async def test_a_stopped_answer_says_so_at_once_whatever_holds_it_back(clock: FakeClock) -> None:
    channel = LivelyChannel(clock, faults=[None, ChannelBusy(35.0)])
    view = View(channel, clock, pace=AT_ONCE, notify_from_s=0.0)
    view.stop_mark = "⏹ Parei."
    view.write("um\n```py\nprint(1)\n")
    await clock.advance(1.6)
    view.write("print(2)\n")
    await clock.advance(5.0)  # the edit was refused until 36.6 s
    assert len(channel.log) == 1
    view.stop()
    await view.complete(UNDO)
    stopped = OutgoingMessage("um\n```py\nprint(1)\nprint(2)\n```\n\n⏹ Parei.", choices=UNDO, urgent=True)
    assert channel.screen == [stopped]
    assert clock.monotonic() == 6.6
    assert view.is_marked
    await view.close()


async def test_a_stop_before_the_first_word_marks_nothing(clock: FakeClock) -> None:
    channel = RecordingChannel(clock)
    view = View(channel, clock)
    await view.status("IA está pensando...")
    view.stop()
    await view.complete()
    assert not view.is_marked
    await view.show_last(OutgoingMessage("⏹ Parei.", urgent=True))
    assert channel.texts == ["⏹ Parei."]
