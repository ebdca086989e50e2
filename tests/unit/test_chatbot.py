"""The ChatBot: durable first, in order, never silent, never twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from core.answering.parts import TurnLimits
from core.dialogue import Delta, Prompt, StreamEvent, Task
from core.enclosures import Attachment, AttachmentKind, Quote, QuoteKind
from core.errors import (
    BotError,
    ChannelBusy,
    ChannelError,
    ChannelGone,
    KeyRejected,
    ProviderBusy,
    ProviderDown,
    StorageError,
)
from core.models import Cycle, Models
from core.outgoing import OutgoingMessage
from core.storage.inbox import SqlInbox
from core.stores import Accepted
from core.types import Incoming, Modal
from tests.fakes.channel import OneChannel
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA, BIA, House, Script, answered
from tests.fakes.model import Answer, ScriptedModel
from tests.unit.test_cycle import SAVE

PHOTO = Attachment(AttachmentKind.PHOTO)

FINISH = {Task.DECIDE: ["Finish"], Task.FINISH: ["Hello"]}


async def test_a_message_is_answered_and_closed_and_a_repeat_is_not_answered_again() -> None:
    house = House(FINISH)
    channel = house.channel()
    async with house.chatbot() as bot:
        for _ in range(2):
            await (await bot.receive(house.incoming("hi"), channel))
            assert not await house.inbox.owed("test")
    assert channel.texts == ["Hello"]


async def test_a_message_is_in_the_inbox_before_any_model_is_asked() -> None:
    house = House()
    owed_then: list[int] = []

    class Watched(SqlInbox):
        async def accept(self, incoming: Incoming) -> Accepted | None:
            owed_then.append(len(house.model.prompts))
            return await super().accept(incoming)

    house.inbox = Watched(house.database)
    await house.say("hi")
    assert owed_then == [0]
    assert house.model.prompts


async def test_an_answer_that_may_have_arrived_before_a_crash_is_said_again_with_a_mark() -> None:
    house = House(FINISH)

    class Unclosed(SqlInbox):
        async def close(self, incoming: Incoming) -> None:
            """The process dies before this is on disk."""

    house.inbox = Unclosed(house.database)
    before, after = house.channel(), house.channel()
    async with house.chatbot() as bot:
        await (await bot.receive(house.incoming("hi"), before))
    asked = len(house.model.prompts)
    async with house.chatbot() as bot:
        await bot.resume("test", OneChannel(after))
    assert before.texts == ["Hello"]
    assert after.texts == ["↻ I was interrupted here; continuing.\n\nHello"]
    assert len(house.model.prompts) == asked


async def test_a_cancelled_answer_is_still_owed() -> None:
    house = House()
    model, channel = stuck(house), house.channel()

    async def serve() -> None:
        async with house.chatbot() as bot:
            await (await bot.receive(house.incoming("hi"), channel))

    task = asyncio.create_task(serve())
    await model.reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [incoming.text for incoming in await house.inbox.owed("test")] == ["hi"]


@pytest.mark.parametrize(
    ("failure", "text"),
    [
        (ProviderDown("x"), "could not reach the language model"),
        (ProviderBusy("x", 3.0), "busy right now"),
        (KeyRejected("x"), "did not accept this bot's key"),
    ],
)
async def test_a_failing_model_is_told_in_the_persons_language(failure: BotError, text: str) -> None:
    house = House({Task.DECIDE: [failure]})  # type: ignore[list-item]
    channel = await house.say("hello there, how are you?")
    (shown,) = channel.screen
    assert text in shown.text
    assert shown.modal is Modal.TEXT
    assert not await house.inbox.owed("test")


async def test_even_a_bug_is_told_and_never_shows_its_insides() -> None:
    def bug(_: object) -> str:
        raise RuntimeError("secret insides")

    house = House({Task.DECIDE: bug})
    channel = await house.say("hello there")
    assert channel.texts == ["Something went wrong on my side. Nothing was lost; could you try again?"]


async def test_an_inbox_that_cannot_write_is_told_and_nothing_is_thought() -> None:
    house = House(FINISH)

    class Full(SqlInbox):
        async def accept(self, _: Incoming) -> Accepted | None:
            raise StorageError("disk full")

    house.inbox = Full(house.database)
    channel = await house.say("hello there")
    assert "cannot read or save" in channel.texts[0]
    assert not house.model.prompts


async def test_a_check_that_cannot_read_is_told_and_never_raised() -> None:
    house = House(FINISH, trusted=())

    async def unreadable(_: object) -> None:
        raise StorageError("disk gone")

    house.people.known = unreadable  # type: ignore[method-assign,assignment]
    channel = await house.say("hello there")
    assert "cannot read or save" in channel.texts[0]
    assert not house.model.prompts


async def test_a_chat_that_is_gone_ends_the_turn_quietly() -> None:
    house = House(FINISH)
    channel = house.channel()
    channel.faults = [ChannelGone("blocked")] * 5
    async with house.chatbot() as bot:
        await (await bot.receive(house.incoming("hi"), channel))
    assert channel.log == []
    assert not await house.inbox.owed("test")


@pytest.mark.spec("D5")
@pytest.mark.parametrize("text", ["", "  \n ", "\x00\x07", "\u200b\ufeff"[1:]])
async def test_input_that_holds_nothing_is_answered_and_not_thought_about(text: str) -> None:
    house = House(FINISH)
    channel = await house.say(text)
    assert channel.texts == ["Hi! Write what you need in that same message, or see /help."]
    assert not house.model.prompts


async def test_what_came_without_a_word_is_answered_like_any_message() -> None:
    house = House(FINISH)
    channel = house.channel()
    async with house.chatbot() as bot:
        await answered(bot, replace(house.incoming(""), attachments=(PHOTO,)), channel)
        captioned = replace(house.incoming("hello there", message_id="2"), attachments=(PHOTO,))
        await answered(bot, captioned, channel)
        passed_on = Quote(QuoteKind.FORWARD, name="News", attachments=(PHOTO,))
        await answered(bot, replace(house.incoming("", message_id="3"), quotes=(passed_on,)), channel)
    assert channel.texts == ["Hello", "Hello", "Hello"]
    assert not await house.inbox.owed("test")


@pytest.mark.spec("D5")
async def test_the_minimum_length_is_a_setting() -> None:
    house = House(FINISH, limits=TurnLimits(Cycle.STEPWISE, min_message_chars=5))
    channel = await house.say("oi", "olá você")
    assert channel.texts[0] == "Essa mensagem é curta demais para mim. Pode escrever um pouco mais?"
    assert len(house.model.asked(Task.DECIDE)) == 1


async def test_a_megabyte_is_refused_with_the_limit() -> None:
    house = House(FINISH)
    channel = await house.say("a" * 1_000_000)
    assert "32000 characters" in channel.texts[0]
    assert not house.model.prompts


async def test_lone_surrogates_and_controls_reach_no_model() -> None:
    house = House(FINISH)
    await house.say("hi \ud800\x00\x1b[31m")
    assert house.model.prompts[0].context.message == "hi \ufffd[31m"


@pytest.mark.spec("D4")
async def test_a_turn_goes_through_its_states_each_with_its_time() -> None:
    house = House(FINISH)
    await house.say("hi")
    (thread,) = await house.history.threads(ANA)
    states = await house.history.transitions(thread.id)
    assert [entered.state.value for entered in states] == ["pending", "validated", "invoked", "responded", "completed"]
    assert len({entered.turn for entered in states}) == 1
    assert all(entered.at == house.clock.now() for entered in states)


@pytest.mark.spec("D2", "D4")
async def test_a_turn_that_fails_ends_in_error_and_its_apology_is_an_interaction_with_its_category() -> None:
    house = House({Task.DECIDE: [ProviderDown("x")]})
    channel = await house.say("hello there")
    (thread,) = await house.history.threads(ANA)
    *_, last = await house.history.transitions(thread.id)
    assert (last.state.value, last.error) == ("error", "ProviderDown")
    *_, apology = await house.history.tail(thread.id, 9)
    assert (apology.role.value, apology.text, apology.error) == ("assistant", channel.texts[0], "ProviderDown")


class SlowModel(ScriptedModel):
    """Takes two seconds for each answer."""

    clock: FakeClock

    async def _events(self, answer: Answer) -> AsyncIterator[StreamEvent]:
        await self.clock.advance(2)
        async for event in super()._events(answer):
            yield event


@pytest.mark.spec("D2")
@pytest.mark.parametrize(
    ("script", "durations"),
    [
        ({Task.DECIDE: ["Finish"]}, [4]),
        ({Task.DECIDE: ["Question"], Task.QUESTION: ["which?"]}, [4]),
        ({Task.DECIDE: ["MemorySave", "Finish"], Task.SAVE_DRAFTS: [SAVE]}, [4, 4]),  # our own words, then the model's
        ({Task.DECIDE: [ProviderDown("x")]}, [2]),  # an apology
    ],
)
async def test_every_answer_is_kept_with_the_time_it_took(script: Script, durations: list[float]) -> None:
    clock = FakeClock()
    house = House(script, clock=clock)
    model = SlowModel(house.script)
    model.clock = clock
    house.models = replace(house.models, heavy=model, reasoning=model, chat=model)
    await house.say("remember that my password is 123456")
    (thread,) = await house.history.threads(ANA)
    asked, *answers = await house.history.tail(thread.id, 9)
    assert asked.duration_s is None
    assert [answer.duration_s for answer in answers] == durations


@pytest.mark.spec("D7")
@pytest.mark.parametrize("log_content", [False, True])
async def test_a_turn_leaves_one_line_for_audits(caplog: pytest.LogCaptureFixture, *, log_content: bool) -> None:
    house = House({Task.DECIDE: [ProviderDown("x")]}, log_content=log_content)
    await house.say("a secret question")
    (thread,) = await house.history.threads(ANA)
    (line,) = [vars(record) for record in caplog.records if record.getMessage() == "turn"]
    assert (line["thread_id"], line["status"], line["error"]) == (thread.id, "error", "ProviderDown")
    assert line["duration_s"] >= 0
    assert line.get("question") == ("a secret question" if log_content else None)


class StuckModel(ScriptedModel):
    """Never answers; `reached` is set when it was asked."""

    def __init__(self) -> None:
        super().__init__({})
        self.reached = asyncio.Event()

    @asynccontextmanager
    async def stream(self, prompt: Prompt) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        self.prompts.append(prompt)
        self.reached.set()
        await asyncio.get_running_loop().create_future()
        yield self._events("")


def stuck(house: House) -> StuckModel:
    """Give the house a model that never answers."""
    model = StuckModel()
    house.models = Models(model, model, model, model, house.embedder)
    return model


async def test_stop_overtakes_a_running_answer_of_the_same_person_only() -> None:
    house = House()
    model, mine, others = stuck(house), house.channel(), house.channel()
    async with house.chatbot() as bot:
        answered = await bot.receive(house.incoming("think long"), mine)
        await model.reached.wait()
        theirs = await bot.receive(house.incoming("/stop", user=BIA, message_id="2"), others)
        assert mine.texts == []
        await bot.receive(house.incoming("/stop", user=ANA, message_id="3"), mine)
        await answered
        await theirs
    assert mine.texts == ["⏹ Stopped."]
    assert others.texts == ["Nothing is running."]


class StallingModel(ScriptedModel):
    """Says a few words and then no more."""

    async def _events(self, answer: Answer) -> AsyncIterator[StreamEvent]:
        del answer
        yield Delta("Once upon a time there was an elephant. It ")
        await asyncio.get_running_loop().create_future()


async def test_a_stopped_answer_keeps_its_words_with_a_mark_at_once_also_where_its_writes_are_held_back() -> None:
    clock = FakeClock()
    house = House(clock=clock, limits=TurnLimits(Cycle.SINGLE))
    house.answered_by(StallingModel({}))
    channel = house.channel()
    channel.faults = [ChannelBusy(35.0)]
    async with house.chatbot() as bot:
        answered = await bot.receive(house.incoming("tell me a story"), channel)
        await clock.advance(5.0)
        assert channel.log == []
        await bot.receive(house.incoming("/stop", message_id="2"), channel)
        await clock.advance(0.3)
        assert channel.texts == ["Once upon a time there was an elephant.\n\n⏹ Stopped."]
        await answered
    (thread,) = await house.history.threads(ANA)
    _, said, *_ = await house.history.tail(thread.id, 9)
    *_, last = await house.history.transitions(thread.id)
    assert (said.text, last.state.value, last.error) == (
        "Once upon a time there was an elephant.",
        "error",
        "TurnStopped",
    )


async def test_a_turn_that_takes_too_long_ends_with_a_word() -> None:
    clock = FakeClock()
    house = House(clock=clock, limits=TurnLimits(Cycle.STEPWISE, timeout_s=60))
    model, channel = stuck(house), house.channel()
    async with house.chatbot() as bot:
        answered = await bot.receive(house.incoming("hello there"), channel)
        await model.reached.wait()
        await clock.advance(61)
        await answered
    assert "took too long" in channel.texts[0]


async def test_a_refused_answer_is_said_plainly_in_a_new_message_and_its_status_is_gone() -> None:
    at_once = TurnLimits(Cycle.STEPWISE, status_after_s=0.0)
    house = House({Task.DECIDE: ["Finish"], Task.FINISH: ["hello"]}, limits=at_once)
    channel = house.channel()
    channel.faults = [None, *[ChannelError("odd")] * 2]
    async with house.chatbot() as bot:
        await (await bot.receive(house.incoming("hi"), channel))
    assert channel.screen == [OutgoingMessage("hello", plain=True)]
