"""A question that is edited is answered anew in the place of its answer; what the first text did is taken back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from core.answering.chatbot import ChatBot
from core.answering.parts import TurnLimits
from core.answering.questions import KEPT, TAKEN_BACK, withdrawn
from core.dialogue import Prompt, StreamEvent, Task
from core.errors import MessageLost
from core.features.reminders.reminders import OPEN
from core.models import Cycle
from core.outgoing import OutgoingMessage
from core.storage.inbox import SqlInbox
from core.stores import Accepted
from core.types import Incoming, Locale
from tests.fakes.channel import OneChannel, RecordingChannel
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA, House, over
from tests.fakes.memories import quotes
from tests.fakes.model import Answer, ScriptedModel, call
from tests.fakes.workers import Gated

EN = Locale.EN
DAY = timedelta(days=1)


def answer(prompt: Prompt) -> Answer:
    """Save, delete all that is known, or say back what is said."""
    verb, _, rest = prompt.context.message.partition(" ")
    if verb == "save":
        return call("MemorySave", items=[{"type": "text", "content": rest, "bindings": [rest]}])
    if verb == "delete":
        return call("MemoryDelete", ids=[rest])
    return f"you said this: {prompt.context.message}"


@dataclass
class Chat:
    """One chat in which everything is written into one channel."""

    house: House
    channel: RecordingChannel
    bot: ChatBot = field(init=False)
    count: int = 0

    async def say(self, text: str, *, edits: str = "", **more: object) -> str:
        """Write or edit a message, and return its id."""
        self.count += 1
        message_id = f"{edits}.{self.count}" if edits else str(self.count)
        incoming = replace(self.house.incoming(text, message_id=message_id), edits=edits, **more)  # type: ignore[arg-type]
        await (await self.bot.receive(incoming, self.channel))
        return message_id

    @property
    def texts(self) -> Sequence[str]:
        return self.channel.texts

    async def contents(self) -> list[str]:
        return [item.content for item in await self.house.memories.of(ANA).page(limit=9)]


@asynccontextmanager
async def chatting(house: House | None = None) -> AsyncIterator[Chat]:
    house = house or House({Task.SINGLE: answer}, limits=TurnLimits(cycle=Cycle.SINGLE))
    chat = Chat(house, house.channel())
    async with house.chatbot() as chat.bot:
        yield chat


async def test_an_answered_question_is_answered_anew_in_place_and_models_see_only_the_new_text() -> None:
    async with chatting() as chat:
        first = await chat.say("my cat is Miau")
        await chat.say("fine")
        await chat.say("my dog is Rex", edits=first)
        await chat.say("and now?")
        assert chat.texts == ["you said this: my dog is Rex", "you said this: fine", "you said this: and now?"]
        shown = "\n".join(message.text for message in chat.house.model.prompts[-1].context.history)
        assert "Rex" in shown
        assert "Miau" not in shown
        assert "withheld" not in shown
        assert not await quotes(chat.house.history, [ANA], "cat Miau", limit=9)


async def test_what_the_first_text_saved_is_taken_back_and_said_only_where_the_answer_does_not_show_it() -> None:
    async with chatting() as chat:
        first = await chat.say("save wifi 12")
        await chat.say("save wifi 123", edits=first)
        assert await chat.contents() == ["wifi 123"]
        assert chat.texts == ["Saved: “wifi 123”"]
        await chat.say("what is new", edits=first)
        assert await chat.contents() == []
        assert chat.texts == [f"you said this: what is new\n\n{TAKEN_BACK[EN]}"]


async def test_what_cannot_be_taken_back_any_more_is_said_in_one_sentence() -> None:
    async with chatting() as chat:
        first = await chat.say("save wifi 12")
        assert isinstance(chat.house.clock, FakeClock)
        chat.house.clock.jump(DAY)
        await chat.say("hello", edits=first)
        assert await chat.contents() == ["wifi 12"]
        assert chat.texts == [f"you said this: hello\n\n{KEPT[EN]}"]


async def test_an_edited_command_is_run_anew_and_what_it_did_first_is_taken_back() -> None:
    async with chatting() as chat:
        first = await chat.say("/remember wifi 12")
        await chat.say("/remember wifi 123", edits=first)
        assert await chat.contents() == ["wifi 123"]
        assert len(chat.texts) == 1
        typo = await chat.say("/hlep")
        await chat.say("/help", edits=typo)
        assert len(chat.texts) == 2
        assert "/help" in chat.texts[1]
        reminder = await chat.say("/remind tomorrow at 9 buy bread")
        await chat.say("/remind tomorrow at 10 buy milk", edits=reminder)
        assert [each.text for each in await chat.house.reminders.of([ANA], OPEN)] == ["buy milk"]
        assert len(chat.texts) == 3


async def test_the_reply_to_a_question_of_the_bot_counts_as_it_was_first_sent() -> None:
    async with chatting() as chat:
        await chat.say("save wifi 12")
        [item] = await chat.house.memories.of(ANA).page(limit=9)
        await chat.say(f"/memories edit {item.id}")
        reply = await chat.say("wifi 123")
        before = chat.texts
        await chat.say("wifi 1234", edits=reply)
        assert await chat.contents() == ["wifi 123"]
        assert chat.texts == before


async def test_an_open_proposal_of_the_first_text_is_void() -> None:
    async with chatting() as chat:
        await chat.say("save wifi 12")
        [item] = await chat.house.memories.of(ANA).page(limit=9)
        ask = await chat.say(f"delete {item.id}")
        assert chat.channel.screen[-1].choices, "it asks first"
        await chat.say("yes", edits=ask)
        assert await chat.contents() == ["wifi 12"]
        assert chat.texts[-1] == "you said this: yes"


async def test_a_question_that_is_not_among_the_latest_is_left_alone() -> None:
    async with chatting() as chat:
        first = await chat.say("long ago")
        for number in range(5):
            await chat.say(f"word {number}")
        before = chat.texts
        await chat.say("changed", edits=first)
        assert chat.texts == before


async def test_an_answer_that_cannot_be_edited_any_more_is_replaced_by_a_new_message() -> None:
    async with chatting() as chat:
        first = await chat.say("hello")
        chat.channel.faults += [MessageLost("m1")] * 2
        await chat.say("goodbye", edits=first)
        assert chat.texts == ["you said this: goodbye"]
        assert [seen.handle for seen in chat.channel.log if seen.verb == "post"] == ["m1", "m2"]


async def test_who_lost_access_is_not_answered_again() -> None:
    async with chatting() as chat:
        first = await chat.say("hello")
        chat.house.trusted = ()
        chat.bot = chat.house.chatbot()
        async with chat.bot:
            await chat.say("goodbye", edits=first)
        assert chat.texts[0] == "you said this: hello"
        assert len(chat.house.model.prompts) == 1


class Hanging(ScriptedModel):
    """Says two words of the first answer, and then nothing more."""

    async def _events(self, answer: Answer) -> AsyncIterator[StreamEvent]:
        async for event in super()._events(answer):
            yield event
            if len(self.prompts) == 1:
                self.reached.set()
                await asyncio.Event().wait()

    reached: asyncio.Event


@pytest.mark.parametrize("deleted", [False, True])
async def test_an_answer_stops_at_once_when_its_question_is_edited_or_deleted(*, deleted: bool) -> None:
    house = House(limits=TurnLimits(cycle=Cycle.SINGLE))
    model = Hanging({Task.SINGLE: answer})
    model.reached = asyncio.Event()
    house.answered_by(model)
    async with chatting(house) as chat:
        asking = asyncio.create_task(chat.say("hello"))
        await model.reached.wait()
        await asyncio.sleep(0)
        if deleted:
            await chat.bot.withdraw(house.incoming("").chat, ["1"])
        else:
            await chat.say("goodbye", edits="1")
        await asking
        assert chat.texts == ([] if deleted else ["you said this: goodbye"])
        assert not await house.inbox.owed("test")


async def test_a_question_that_is_answered_while_its_deletion_is_stored_is_dropped_with_its_answer() -> None:
    class Slow(SqlInbox):
        async def accept(self, incoming: Incoming) -> Accepted | None:
            if incoming.withdrawn:
                gate.set()
                await task
            return await super().accept(incoming)

    gate, clock = asyncio.Event(), FakeClock()
    house = House(clock=clock, inbox=over(Slow), limits=TurnLimits(cycle=Cycle.STEPWISE))
    house.answered_by(Gated({Task.FINISH: lambda _: "done"}, gate))
    channel = RecordingChannel(clock)
    async with house.chatbot() as bot:
        task = asyncio.ensure_future(await bot.receive(house.incoming("hi"), channel))
        await clock.advance(0.0)
        await bot.withdraw(house.incoming("").chat, ["1"])
    assert [seen.shown.text for seen in channel.log if seen.verb == "post"] == ["done"]
    assert channel.texts == []
    assert not await house.inbox.owed("test")


async def test_a_deletion_that_was_recorded_before_a_crash_removes_what_stands_after_it() -> None:
    async with chatting() as chat:
        pass
    asked = chat.house.incoming("hello")
    assert await chat.house.inbox.accept(asked)
    await chat.house.inbox.put_posted(asked, [await chat.channel.post(OutgoingMessage("you sa"))])
    assert await chat.house.inbox.accept(withdrawn(asked))
    async with chat.house.chatbot() as bot:
        await bot.resume("test", OneChannel(chat.channel))
    assert chat.texts == []
    assert not chat.house.model.prompts
    assert not await chat.house.inbox.owed("test")


async def test_the_same_edit_twice_and_an_edit_that_changes_no_word_are_answered_once() -> None:
    async with chatting() as chat:
        first = await chat.say("hello")
        asked = len(chat.house.model.prompts)
        await chat.say("hello", edits=first)
        assert len(chat.house.model.prompts) == asked
        await chat.say("goodbye", edits=first)
        chat.count -= 1  # the very same again
        await chat.say("goodbye", edits=first)
        await chat.say("goodbye", edits=first)
        assert len(chat.house.model.prompts) == asked + 1
        assert chat.texts == ["you said this: goodbye"]
