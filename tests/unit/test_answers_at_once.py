"""Order is owed to one person in one place; people of one room are answered side by side, also after a crash."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest

from core.answering.chatbot import ChatBot
from core.answering.parts import TurnLimits
from core.dialogue import Prompt, StreamEvent, Task
from core.models import Cycle
from core.ports import Channel, Channels
from core.types import Incoming, UserKey
from tests.fakes.channel import RecordingChannel
from tests.fakes.clock import FakeClock
from tests.fakes.house import House
from tests.fakes.model import ScriptedModel


class GatedModel(ScriptedModel):
    """Answers a message when the test lets it."""

    def __init__(self) -> None:
        super().__init__({Task.DECIDE: lambda _: "Finish", Task.FINISH: lambda prompt: f"to {prompt.context.message}"})
        self.begun: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}

    @asynccontextmanager
    async def stream(self, prompt: Prompt) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        if prompt.context.task is Task.DECIDE:
            self.begun.append(prompt.context.message)
            await self.gates.setdefault(prompt.context.message, asyncio.Event()).wait()
        async with super().stream(prompt) as events:
            yield events


@dataclass(slots=True)
class WaitingChannel(RecordingChannel):
    """A channel that counts how often it was to show that somebody waits."""

    waits: int = 0

    async def show_waiting(self, *, waits: bool = True) -> None:
        self.waits += waits


@dataclass
class Room(Channels):
    """A room full of people, and what each of their messages was answered."""

    house: House
    model: GatedModel = field(default_factory=GatedModel)
    channels: dict[str, WaitingChannel] = field(default_factory=dict)
    handler: ChatBot | None = None

    def incoming(self, text: str) -> Incoming:
        """The first letter is who says it."""
        said = self.house.incoming(text, user=UserKey("test", text[0]), message_id=text, chat="room")
        return replace(said, private=False)

    async def say(self, *texts: str) -> None:
        assert self.handler is not None
        for text in texts:
            await self.handler.receive(self.incoming(text), self.again(self.incoming(text)))
        await settle()

    async def answer(self, text: str) -> list[str]:
        """Let the model answer that message; return what was begun by then."""
        self.model.gates.setdefault(text, asyncio.Event()).set()
        await settle()
        return self.model.begun

    def again(self, incoming: Incoming) -> Channel:
        return self.channels.setdefault(incoming.message_id, WaitingChannel(self.house.clock))

    def private(self, user: UserKey, once: str = "") -> Channel:
        raise NotImplementedError


async def settle() -> None:
    for _ in range(3000):
        await asyncio.sleep(0)


@asynccontextmanager
async def room(at_once: int, house: House | None = None) -> AsyncIterator[Room]:
    built = house or House(limits=TurnLimits(Cycle.STEPWISE, answers_at_once=at_once))
    full = Room(built)
    for mode in (built.models.heavy, built.models.reasoning, built.models.chat):
        mode.model = full.model  # type: ignore[attr-defined]  # a HotModel
    async with built.chatbot() as full.handler:
        yield full
        full.handler.abandon()


async def test_people_of_one_room_are_answered_side_by_side_and_each_in_order() -> None:
    async with room(at_once=3) as full:
        await full.say("a1", "a2", "b1", "c1", "d1")
        assert full.model.begun == ["a1", "b1", "c1"]
        assert await full.answer("b1") == ["a1", "b1", "c1", "d1"]
        assert full.channels["b1"].texts == ["to b1"]
        await full.answer("d1")
        assert await full.answer("a1") == ["a1", "b1", "c1", "d1", "a2"]


async def test_stop_ends_the_answer_of_whoever_says_it_and_of_nobody_else() -> None:
    async with room(at_once=2) as full:
        await full.say("a1", "b1")
        assert full.handler is not None
        stop = replace(full.incoming("a1"), text="/stop", message_id="stop")
        await full.handler.receive(stop, full.again(stop))
        await settle()
        assert full.channels["a1"].texts == ["⏹ Stopped."]
        await full.answer("b1")
        assert full.channels["b1"].texts == ["to b1"]


async def test_a_button_does_not_wait_in_a_full_room() -> None:
    async with room(at_once=1) as full:
        await full.say("a1")
        assert full.handler is not None
        press = replace(full.incoming("b1"), text="/privacy", message_id="press", pressed=True)
        await full.handler.receive(press, full.again(press))
        await settle()
        assert full.channels["press"].texts


async def test_who_waits_is_shown_that_they_were_heard_and_nobody_else_is() -> None:
    clock = FakeClock()
    async with room(1, House(limits=TurnLimits(Cycle.STEPWISE, answers_at_once=1), clock=clock)) as full:
        await full.say("a1", "a2", "b1")
        await clock.advance(1.0)
        assert [full.channels[name].waits for name in ("a1", "a2", "b1")] == [0, 1, 1]


@pytest.mark.parametrize("at_once", [1, 8])
async def test_after_a_crash_each_person_is_answered_in_the_order_in_which_they_wrote(at_once: int) -> None:
    house = House(limits=TurnLimits(Cycle.STEPWISE, answers_at_once=at_once))
    async with room(at_once, house) as before:
        await before.say("a1", "b1", "a2", "b2", "a3")
    async with room(at_once, house) as after:
        assert after.handler is not None
        await after.handler.resume("test", after)
        await after.say("a4", "b3")
        for text in ("a1", "b1", "a2", "b2", "a3", "b3", "a4"):
            await after.answer(text)
        for person in "ab":
            begun = [text for text in after.model.begun if text[0] == person]
            assert begun == sorted(begun)
            assert len(begun) == {"a": 4, "b": 3}[person]
