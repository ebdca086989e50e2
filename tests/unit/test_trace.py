"""Every line of the log says which turn it belongs to, and every second of a turn is on one of its phases."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.logs import LOG_FILE, configure
from bot.models.metering import Meter, load_prices
from core.answering.chatbot import ChatBot
from core.dialogue import Delta, Finish, Prompt, Stop, StreamEvent, Task
from core.errors import KeyRejected, StreamCut
from core.features.ledger.calls import ModelCall
from core.models import Cycle
from core.outgoing import OutgoingMessage
from core.ports import ChatModel, Clock
from core.storage.database import Database
from core.storage.inbox import SqlInbox
from core.stores import Accepted
from core.tasks import Phase, Trace, traced
from core.types import Incoming
from tests.fakes.channel import OneChannel, RecordingChannel
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA, House, Script, over

FINISH: Script = {Task.DECIDE: ["Finish"], Task.FINISH: ["Hello"]}


@pytest.fixture
def lines(tmp_path: Path) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """The log of this process, line by line."""
    root = logging.getLogger()
    before = root.level, root.handlers[:]
    configure(tmp_path, "DEBUG")
    yield lambda: [json.loads(line) for line in (tmp_path / LOG_FILE).read_text().splitlines()]
    configure(None, "INFO")
    root.setLevel(before[0])
    root.handlers[:] = before[1]


class Slow(ChatModel):
    """Answers after 5 s."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    @property
    def name(self) -> str:
        return "openai:slow"

    @asynccontextmanager
    async def stream(self, prompt: Prompt) -> AsyncIterator[AsyncIterator[StreamEvent]]:  # noqa: ARG002
        yield self._events()

    async def _events(self) -> AsyncIterator[StreamEvent]:
        await self._clock.sleep(5.0)
        yield Delta("Hello")
        yield Finish(Stop.END)


class SlowChannel(RecordingChannel):
    """A platform that takes 2 s for the last edit of an answer."""

    async def edit(self, handle: str, shown: OutgoingMessage) -> str | None:
        if shown.stays:
            await self.clock.sleep(2.0)
        return await super().edit(handle, shown)


class SlowInbox(SqlInbox):
    """A storage that takes 0.5 s to store a message."""

    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(database)
        self._clock = clock

    async def accept(self, incoming: Incoming) -> Accepted | None:
        await self._clock.sleep(0.5)
        return await super().accept(incoming)


async def nowhere(_: ModelCall) -> None:
    """Record no call."""


def watched(house: House, ended: list[tuple[str, str, Mapping[Phase, float]]]) -> ChatBot:
    parts = house.parts(house.features())
    return ChatBot(replace(parts, hooks=replace(parts.hooks, turn_ended=lambda *facts: ended.append(facts))))


async def test_every_second_of_a_turn_is_on_a_phase() -> None:
    clock = FakeClock()
    house = House(clock=clock, inbox=over(lambda database: SlowInbox(database, clock)))
    house.limits = replace(house.limits, cycle=Cycle.SINGLE)
    house.answered_by(Meter(nowhere, load_prices(), clock).of(Slow(clock), "chat"))
    ended: list[tuple[str, str, Mapping[Phase, float]]] = []
    channel = SlowChannel(clock, house.channel().limits)
    async with watched(house, ended) as bot:
        said = [house.incoming(text, message_id=text) for text in ("hi", "and you?")]
        taken = [asyncio.create_task(bot.receive(incoming, channel)) for incoming in said]
        while len(ended) < 2:
            await clock.advance(0.1)
        for each in taken:
            await (await each)
    assert [facts[:2] for facts in ended] == [("test", ""), ("test", "")]
    assert [{phase.value: round(s, 1) for phase, s in spent.items()} for *_, spent in ended] == [
        {"waiting": 0.0, "model": 5.0, "delivery": 2.0, "own": 0.5},
        {"waiting": 7.0, "model": 5.0, "delivery": 2.0, "own": 0.5},
    ]


async def test_a_turn_that_fails_is_told_by_the_name_of_its_failure() -> None:
    house = House({Task.DECIDE: [KeyRejected("x"), StreamCut("x")]})
    ended: list[tuple[str, str, Mapping[Phase, float]]] = []
    async with watched(house, ended) as bot:
        await (await bot.receive(house.incoming("hi"), house.channel()))
    assert [failure for _, failure, _ in ended] == ["KeyRejected"]


async def test_all_lines_of_a_turn_have_its_id_and_no_two_turns_the_same(
    lines: Callable[[], list[dict[str, Any]]],
) -> None:
    house = House(FINISH)
    async with house.chatbot() as bot:
        for number in ("1", "2"):
            await (await bot.receive(house.incoming("hi", message_id=number), house.channel()))
    logging.getLogger("core.x").info("of no turn")
    received, ended, others = ([line for line in lines() if line["event"] == event] for event in (
        "message received", "turn", "of no turn"
    ))  # fmt: skip
    assert [line["turn"] for line in received] == [line["turn"] for line in ended]
    assert len({line["turn"] for line in received}) == 2
    assert "turn" not in others[0]
    assert all(ANA.user not in line["turn"] for line in received)
    assert {f"{phase}_s" for phase in Phase} <= set(ended[0])


async def test_a_turn_keeps_its_id_in_the_process_that_goes_on_with_it_and_when_it_is_edited(
    lines: Callable[[], list[dict[str, Any]]],
) -> None:
    house = House(FINISH)

    class Unclosed(SqlInbox):
        async def close(self, incoming: Incoming) -> None:
            """The process dies before this is on disk."""

    house.inbox = Unclosed(house.database)
    asked = house.incoming("hi")
    async with house.chatbot() as bot:
        await (await bot.receive(asked, house.channel()))
    async with house.chatbot() as bot:
        await bot.resume("test", OneChannel(house.channel()))
        edit = replace(asked, text="hi there", message_id="1.1", edits="1")
        await (await bot.receive(edit, house.channel()))
    told = {"message received", "resumed", "turn"}
    events = [(line["event"], line["turn"]) for line in lines() if line["event"] in told]
    assert [event for event, _ in events] == ["message received", "turn", "resumed", "message received", "turn"]
    assert len({turn for _, turn in events}) == 1


def test_the_same_warning_in_many_turns_is_one_line(lines: Callable[[], list[dict[str, Any]]]) -> None:
    for number in range(5):
        with traced(Trace(f"t{number}", 0.0)):
            logging.getLogger("core.x").warning("telegram asks to wait")
    assert [line["turn"] for line in lines()] == ["t0"]
