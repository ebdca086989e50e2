"""The laws of the plan, for every order of statuses, messages and growing answers, and for every channel's temper."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.delivery.plan import Edit, Pace, Post, Remove, StreamPlan
from core.outgoing import Button, ChannelLimits, OutgoingMessage, memories_shown
from core.types import MemoryNote, Modal
from tests.profile import examples

LIMITS = ChannelLimits(max_chars=60, edit_interval_s=1.5)
AT = datetime(2026, 3, 14, tzinfo=UTC)
ITEMS = tuple(MemoryNote("senha", "x" * n, "14 Mar 2026") for n in (1, 2))
UNDO = Button("Undo", "/undo")
AT_ONCE = Pace(first_chars=1, gather_s=0.0)
words = st.text("abc .\n", max_size=20)


@dataclass(frozen=True, slots=True)
class Call:
    verb: str
    text: str = ""
    delay_s: float = 0.0
    choices: tuple[Button, ...] = ()
    memories: tuple[MemoryNote, ...] = ()


calls = st.lists(
    st.one_of(
        st.builds(Call, st.just("status"), words),
        st.builds(Call, st.just("show"), words),
        st.builds(Call, st.just("feed"), words),
        st.builds(Call, st.just("feed"), words),
        st.builds(
            Call,
            st.just("finish"),
            choices=st.sampled_from([(), (UNDO,)]),
            memories=st.sampled_from([(), ITEMS[:1], ITEMS]),
        ),
        st.builds(Call, st.just("wait"), delay_s=st.sampled_from([0.1, 0.7, 1.5, 4.0, 20.0])),
        st.builds(Call, st.just("busy"), delay_s=st.sampled_from([3.0, 35.0, 491.0])),
    ),
    min_size=4,
    max_size=40,
)


@dataclass(slots=True)
class Screen:
    """A channel on a clock of its own, which checks each write against the rules as it comes."""

    plan: StreamPlan
    now_s: float = 0.0
    busy_until_s: float = -math.inf
    wrote_s: float = -math.inf
    log: list[tuple[float, Post | Edit]] = field(default_factory=list)
    seen: list[OutgoingMessage] = field(default_factory=list)
    last: list[OutgoingMessage] = field(default_factory=list)
    """Edits that did not wait for the interval: each must complete an answer."""

    def write(self, until_s: float) -> None:
        while (due_s := self.plan.due_s) <= until_s:
            self.now_s = max(self.now_s, due_s)
            operation = self.plan.next(self.now_s)
            if operation is None:
                continue
            assert not isinstance(operation, Remove), "nothing stood there before"
            if self.now_s < self.busy_until_s:
                self.plan.hold(self.busy_until_s)
                continue
            self._check(operation)
            self.plan.wrote(operation, self.now_s)
            self.wrote_s = self.now_s
            self.log.append((self.now_s, operation))
        self.now_s = max(self.now_s, until_s)

    def _check(self, operation: Post | Edit) -> None:
        assert operation.shown.text.strip()
        assert len(operation.shown.text) <= LIMITS.max_chars
        if isinstance(operation, Post):
            assert operation.index == len(self.seen), "messages appear in order, each once"
            self.seen.append(operation.shown)
            return
        before = self.seen[operation.index]
        assert operation.index == len(self.seen) - 1, "a message with another below it never changes"
        assert operation.shown != before, "no edit that changes nothing"
        if self.now_s - self.wrote_s < LIMITS.edit_interval_s - 1e-9 and not (
            _is_status(before) and not _is_status(operation.shown)
        ):
            assert operation.shown.final, "no edit too early"
            self.last.append(operation.shown)
        with_more_below = replace(before, choices=operation.shown.choices, memories=operation.shown.memories)
        assert _is_status(before) or not before.final or operation.shown == with_more_below, "what is complete stays"
        self.seen[operation.index] = operation.shown


def _is_status(shown: OutgoingMessage) -> bool:
    return shown.modal is Modal.TEXT_FOR_REPLACE


def _apply(call: Call, screen: Screen) -> None:
    match call.verb:
        case "status":
            screen.plan.status(call.text)
        case "show":
            screen.plan.show(OutgoingMessage(call.text))
        case "feed":
            screen.plan.feed(call.text)
        case "finish":
            screen.plan.complete(call.choices, call.memories)
        case "busy":
            screen.busy_until_s = max(screen.busy_until_s, screen.now_s + call.delay_s)
    screen.write(screen.now_s + call.delay_s * (call.verb == "wait"))


def play(script: list[Call], pace: Pace) -> Screen:
    screen = Screen(StreamPlan(LIMITS, len, pace))
    for call in script:
        _apply(call, screen)
    screen.plan.close("…")
    screen.write(screen.now_s + 100_000)
    assert screen.plan.due_s == math.inf
    return screen


def bare(text: str) -> str:
    return "".join(text.split())


def messages(script: list[Call]) -> list[OutgoingMessage]:
    """The messages that a script makes: one for each text shown, one for all that is fed until `finish` or `show`."""
    made: list[OutgoingMessage] = []
    answer = ""
    for call in [*script, Call("finish")]:
        if call.verb == "feed":
            answer += call.text
        elif call.verb in {"show", "finish"}:
            if bare(answer):
                made.append(OutgoingMessage(answer, choices=call.choices, memories=call.memories))
            elif call.memories:
                made.append(memories_shown(call.memories, call.choices))
            if bare(call.text):
                made.append(OutgoingMessage(call.text))
            answer = ""
    return made


@settings(max_examples=examples(200))
@given(calls, st.integers(1, 20))
def test_whatever_happens_each_message_stands_on_the_screen_once_with_what_is_below_it(
    script: list[Call], first_chars: int
) -> None:
    screen = play(script, Pace(first_chars=first_chars))
    seen, at_once = screen.seen, screen.last
    assert all(shown.final and not _is_status(shown) for shown in seen)
    for wanted in messages(script):
        parts = [seen.pop(0)]
        while bare("".join(part.text for part in parts)) != bare(wanted.text):
            parts.append(seen.pop(0))
        assert len(parts) == 1 or len(wanted.text) > LIMITS.max_chars, "only length splits a message"
        last = parts.pop()
        at_once = [shown for shown in at_once if shown != last]
        assert (last.modal, last.choices, last.memories) == (wanted.modal, wanted.choices, wanted.memories)
        assert not any(part.choices or part.memories for part in parts)
    assert [shown.text for shown in seen] in ([], ["…"]), "a status may be left, which says nothing any more"
    assert not at_once, "only the last write of an answer does not wait for the interval"


@given(calls)
def test_a_status_is_never_left_and_never_stands_beside_what_replaced_it(script: list[Call]) -> None:
    screen = play(script, Pace())
    for at, (_, operation) in enumerate(screen.log):
        if isinstance(operation, Post) and at:
            before = screen.log[at - 1][1].shown
            assert not _is_status(before), "the next message takes the place of the status"


@given(st.lists(words, min_size=1, max_size=30), st.sampled_from([0.05, 0.3, 1.0]))
def test_a_growing_answer_shows_the_newest_text_and_ends_complete(chunks: list[str], gap_s: float) -> None:
    script = [call for chunk in chunks for call in (Call("feed", chunk), Call("wait", delay_s=gap_s))]
    screen = play([*script, Call("finish")], Pace())
    grown = [operation.shown.text for _, operation in screen.log if not operation.shown.final]
    assert all(bare("".join(chunks)).find(bare(text)) >= 0 for text in grown)
    assert bare("".join(shown.text for shown in screen.seen)) == bare("".join(chunks))


def _steady(pace: Pace, seconds: int) -> list[float]:
    """When writes happen while a short word comes every 50 ms."""
    screen = Screen(StreamPlan(ChannelLimits(10**9, 1.0), len, pace))
    screen.write(0.0)
    for tick in range(seconds * 20):
        screen.plan.feed(f"w{tick} ")
        if (due_s := screen.plan.due_s) <= screen.now_s:
            operation = screen.plan.next(screen.now_s)
            assert due_s <= screen.now_s
            if operation is not None:
                assert not isinstance(operation, Remove)
                screen.plan.wrote(operation, screen.now_s)
                screen.log.append((screen.now_s, operation))
        screen.now_s += 0.05
    return [at_s for at_s, _ in screen.log]


def test_the_first_text_comes_at_once_and_the_pace_doubles_every_fifteen_writes_up_to_eight_seconds() -> None:
    at_s = _steady(AT_ONCE, 400)
    gaps = [later - earlier for earlier, later in itertools.pairwise(at_s)]
    assert at_s[0] == 0.0
    assert gaps[:14] == pytest.approx([1.0] * 14, abs=0.051)
    assert gaps[14:29] == pytest.approx([2.0] * 15, abs=0.051)
    assert gaps[29:44] == pytest.approx([4.0] * 15, abs=0.051)
    assert gaps[44:] == pytest.approx([8.0] * len(gaps[44:]), abs=0.051)


def test_the_first_words_wait_for_as_many_characters_as_asked_but_no_longer_for_more_text() -> None:
    plan = StreamPlan(LIMITS, len, Pace(first_chars=10, gather_s=0.5))
    plan.feed("Oi ")
    assert plan.next(0.0) is None
    plan.feed("e bom dia")
    assert plan.next(0.25) is None
    assert plan.due_s == 0.75
    assert plan.next(0.75) == Post(0, OutgoingMessage("Oi e bom dia", final=False))
    short = StreamPlan(LIMITS, len, Pace(first_chars=10))
    short.feed("Oi")
    short.complete()
    assert short.next(0.0) == Post(0, OutgoingMessage("Oi"))


def test_fewer_first_words_are_shown_a_second_after_the_first_one_and_blanks_do_not_count() -> None:
    plan = StreamPlan(LIMITS, len, Pace())
    plan.feed("\n")
    assert plan.next(0.0) is None
    assert plan.due_s == math.inf
    plan.feed("O")
    assert plan.next(3.0) is None
    assert plan.due_s == 4.0
    plan.feed("i")
    assert plan.next(3.9) is None
    assert plan.next(4.0) == Post(0, OutgoingMessage("Oi", final=False))


def test_whole_words_wait_a_second_for_their_buttons_and_growing_ones_do_not() -> None:
    told = "Guardei: “a senha do wi-fi é abc123”"
    for more, is_shown in (("", False), ("\n\nE o modem é", False), ("\n\nE o modem fica no escritório", True)):
        plan = StreamPlan(LIMITS, len, Pace())
        plan.feed(told, whole=True)
        assert plan.next(0.0) is None
        plan.feed(more)
        first = plan.next(0.1)
        assert (first is not None) is is_shown
        plan.complete(choices=(Button("Desfazer", "/undo"),))
        if first is None:
            assert isinstance(plan.next(0.2), Post)


def test_the_last_write_of_an_answer_goes_out_at_once_also_while_another_is_on_its_way() -> None:
    plan = StreamPlan(LIMITS, len, Pace(first_chars=1, gather_s=0.0, stretch_edits=1))
    for second in range(0, 40, 8):
        plan.feed("a")
        operation = plan.next(float(second))
        assert operation is not None
        plan.wrote(operation, float(second))
    plan.feed("fim")
    assert plan.due_s == 32.0 + 8.0
    plan.complete((UNDO,), ITEMS)
    assert plan.next(32.1) == Edit(0, OutgoingMessage("aaaaafim", choices=(UNDO,), memories=ITEMS))
    late = StreamPlan(LIMITS, len, AT_ONCE)
    late.feed("a")
    first = late.next(0.0)
    assert first is not None
    late.feed("b")
    late.complete()
    late.wrote(first, 0.2)
    assert late.next(0.2) == Edit(0, OutgoingMessage("ab"))


def test_a_channel_that_was_written_to_too_often_is_written_to_less() -> None:
    plan = StreamPlan(LIMITS, len, AT_ONCE)
    plan.feed("a")
    first = plan.next(0.0)
    assert first is not None
    plan.hold(35.0)
    assert plan.due_s == 35.0
    plan.wrote(first, 35.0)
    plan.feed("b")
    assert plan.due_s == 35.0 + 3.0


def test_memories_and_buttons_stand_below_the_last_part_of_a_long_text() -> None:
    long = "palavra " * 20
    fresh = StreamPlan(LIMITS, len, AT_ONCE)
    fresh.feed(long)
    fresh.complete((UNDO,), ITEMS)
    parts = [shown for _, shown in _drained(fresh)]
    assert [(part.choices, part.memories) for part in parts] == [((), ()), ((), ()), ((UNDO,), ITEMS)]
    shown = StreamPlan(LIMITS, len, AT_ONCE)
    shown.show(OutgoingMessage(long, choices=(UNDO,), memories=ITEMS))
    assert [part for _, part in _drained(shown)] == parts


def _drained(plan: StreamPlan) -> list[tuple[float, OutgoingMessage]]:
    """Write all there is, each at its moment."""
    written, now_s = [], 0.0
    while (due_s := plan.due_s) < math.inf:
        now_s = max(now_s, due_s)
        if (operation := plan.next(now_s)) is not None:
            assert not isinstance(operation, Remove)
            plan.wrote(operation, now_s)
            written.append((now_s, operation.shown))
    return written


def test_a_message_cut_in_several_is_shown_by_its_text_for_a_channel_that_draws_memories() -> None:
    plan = StreamPlan(LIMITS, len, AT_ONCE)
    plan.show(OutgoingMessage("palavra " * 10, Modal.MEMORY, ITEMS))
    written = [shown for _, shown in _drained(plan)]
    assert [shown.modal for shown in written] == [Modal.MEMORY, Modal.MEMORY]
    assert not any(shown.memories for shown in written)


def test_the_further_messages_of_a_long_text_are_paced_but_for_the_last() -> None:
    plan = StreamPlan(LIMITS, len, AT_ONCE)
    plan.show(OutgoingMessage("palavra " * 20))
    assert [at_s for at_s, _ in _drained(plan)] == [0.0, 1.5, 1.5]
    plan = StreamPlan(LIMITS, len, AT_ONCE)
    plan.feed("palavra " * 20)
    plan.complete()
    assert [at_s for at_s, _ in _drained(plan)] == [0.0, 1.5, 1.5]


@pytest.mark.spec("T5")
def test_the_first_words_replace_a_status_at_once_however_new_it_is() -> None:
    plan = StreamPlan(LIMITS, len, AT_ONCE)
    plan.status("pensando")
    status = plan.next(0.0)
    assert status is not None
    plan.wrote(status, 0.0)
    plan.feed("Oi")
    reply = plan.next(0.1)
    assert reply == Edit(0, OutgoingMessage("Oi", final=False))
    plan.wrote(reply, 0.1)
    plan.feed(" e bom dia")
    assert plan.next(1.5) is None, "but the next words wait"


@pytest.mark.spec("T5")
def test_what_overtakes_a_status_while_it_is_being_written_follows_at_once() -> None:
    plan = StreamPlan(LIMITS, len, AT_ONCE)
    plan.status("pensando")
    status = plan.next(0.0)
    assert status is not None
    plan.show(OutgoingMessage("achei"))
    plan.wrote(status, 0.2)
    assert plan.next(0.2) == Edit(0, OutgoingMessage("achei"))


def test_every_answer_begins_at_the_unstretched_pace() -> None:
    plan = StreamPlan(LIMITS, len, Pace(first_chars=1, gather_s=0.0, stretch_edits=1))
    for text in ("um", "dois"):
        plan.feed(text)
        first = plan.next(0.0)
        assert first is not None
        plan.wrote(first, 0.0)
        plan.feed(" e mais")
        assert plan.due_s == 2 * LIMITS.edit_interval_s
        plan.complete()
        final = plan.next(1.5)
        assert final is not None
        plan.wrote(final, 0.0)


def test_a_status_shown_as_a_message_is_a_status_and_one_too_long_is_cut() -> None:
    plan = StreamPlan(LIMITS, len, AT_ONCE)
    plan.show(OutgoingMessage("pensando " * 20, Modal.TEXT_FOR_REPLACE))
    operation = plan.next(0.0)
    assert isinstance(operation, Post)
    assert operation.shown.modal is Modal.TEXT_FOR_REPLACE
    assert len(operation.shown.text) <= LIMITS.max_chars
    plan.wrote(operation, 0.0)
    assert plan.due_s == math.inf
