"""/retry: the same question in a new turn; and buttons, which overtake what is being answered and stop only theirs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.dialogue import Finish, Prompt, Stop, Task
from core.errors import BadReply, BotError, KeyRejected, ProviderBusy, ProviderDown, ProviderRefused, StreamCut
from core.outgoing import MAX_COMMAND_BYTES
from core.storage.inbox import SqlInbox
from core.types import Incoming, Locale, MessageRole
from tests.fakes.channel import OneChannel
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA, BIA, House
from tests.fakes.lobby import Lobby
from tests.fakes.model import Answer
from tests.unit.test_chatbot import stuck

NOTHING_ASKED = "There is no question in this conversation that I could answer again."


def counting() -> House:
    """Make a bot that answers with the question and a number that grows."""
    turns: list[str] = []

    def answer(prompt: Prompt) -> str:
        turns.append(prompt.context.message)
        return f"{prompt.context.message} {len(turns)}"

    return House({Task.DECIDE: lambda _: "Finish", Task.FINISH: answer})


async def test_the_last_question_is_answered_again_in_a_new_turn() -> None:
    async with Lobby(counting()) as lobby:
        await lobby.say("what is new?", ANA)
        await lobby.say("how are you?", ANA)
        assert await lobby.say("/retry", ANA) == ["how are you? 3"]
        assert await lobby.say("/RETRY", ANA) == ["how are you? 4"]
        (thread,) = await lobby.house.history.threads(ANA)
        said = await lobby.house.history.tail(thread.id, 99)
        asked = [message for message in said if message.role is MessageRole.USER]
        assert [message.text for message in asked] == ["what is new?", *["how are you?"] * 3]
        assert len({message.turn for message in asked}) == 4
        assert "/retry" not in [message.text for message in said]


async def test_where_nothing_was_asked_that_is_said() -> None:
    async with Lobby(counting()) as lobby:
        assert await lobby.say("/retry", ANA) == [NOTHING_ASKED]
        await lobby.say("how are you?", ANA)
        assert await lobby.say("/retry", BIA, room="with ana") == [NOTHING_ASKED]
        assert await lobby.say("/retry", ANA, room="r") == [NOTHING_ASKED]
        await lobby.say("/reset", ANA)
        assert await lobby.say("/retry", ANA) == [NOTHING_ASKED]
        assert await lobby.say("/retry nothing-of-that-name", ANA) == [NOTHING_ASKED]


@pytest.mark.parametrize(
    ("said", "label", "message"),
    [
        ("how are you today, my friend?", "Continue", "Continue, please."),
        ("qual é a senha do wifi, por favor?", "Continuar", "Continue, por favor."),
    ],
)
async def test_the_rest_of_an_answer_that_reached_its_limit_is_asked_for_by_a_button(
    said: str, label: str, message: str
) -> None:
    def answer(prompt: Prompt) -> Answer:
        return ("a long", Finish(Stop.LENGTH)) if prompt.context.message == said else "answer"

    async with Lobby(House({Task.DECIDE: lambda _: "Finish", Task.FINISH: answer})) as lobby:
        assert await lobby.say("/continue", ANA) == [NOTHING_ASKED]
        channel = lobby.house.channel()
        await (await lobby.bot.receive(lobby.house.incoming(said, message_id="long"), channel))
        [button] = channel.screen[-1].choices
        assert button.label == label
        pressed = replace(lobby.house.incoming(button.command, message_id="pressed"), pressed=True)
        await (await lobby.bot.receive(pressed, channel))
        assert channel.screen[-1].text == "answer"
        assert not channel.screen[-1].choices
        talks = [await lobby.house.history.tail(each.id, 99) for each in await lobby.house.history.threads(ANA)]
        assert [said, "a long", message, "answer"] in [[each.text for each in talk] for talk in talks]


async def test_it_is_answered_in_the_language_of_the_question() -> None:
    async with Lobby(counting()) as lobby:
        await lobby.say("qual é a senha do wifi, por favor?", ANA)
        await lobby.say("/retry", ANA, language="en")
        assert lobby.house.model.asked(Task.FINISH)[-1].context.locale is Locale.PT


async def test_it_is_answered_once_after_a_crash() -> None:
    house = counting()

    class Unclosed(SqlInbox):
        async def close(self, incoming: Incoming) -> None:
            """The process dies before this is on disk."""
            if not incoming.text.startswith("/retry"):
                await super().close(incoming)

    house.inbox = Unclosed(house.database)
    async with Lobby(house) as lobby:
        await lobby.say("how are you?", ANA)
        await lobby.say("/retry", ANA)
    channel = house.channel()
    async with house.chatbot() as bot:
        await bot.resume("test", OneChannel(channel))
    assert channel.texts == ["↻ I was interrupted here; continuing.\n\nhow are you? 2"]
    (thread,) = await house.history.threads(ANA)
    said = await house.history.tail(thread.id, 99)
    assert [message.text for message in said if message.role is MessageRole.USER] == ["how are you?"] * 2


@pytest.mark.parametrize("failure", [ProviderDown("x"), ProviderBusy("x"), StreamCut("x")])
async def test_under_an_apology_a_button_tries_that_question_again(failure: BotError) -> None:
    house = House({Task.DECIDE: [failure, "Finish", "Finish"], Task.FINISH: ["Fine", "Hello"]})  # type: ignore[list-item]
    async with Lobby(house) as lobby:
        channel = house.channel()
        await (await lobby.bot.receive(house.incoming("how are you?", message_id="first"), channel))
        (apology,) = channel.screen
        (again,) = apology.choices
        assert again.label == "Try again"
        assert len(again.command.encode()) <= MAX_COMMAND_BYTES
        await (await lobby.bot.receive(house.incoming("something else", message_id="second"), house.channel()))
        pressed = replace(house.incoming(again.command, message_id="third"), pressed=True)
        await (await lobby.bot.receive(pressed, channel))
        assert channel.texts[-1] == "Hello"
        assert house.model.asked(Task.FINISH)[-1].context.message == "how are you?"


@pytest.mark.parametrize("failure", [KeyRejected("x"), ProviderRefused("x"), RuntimeError("x"), BadReply("x")])
async def test_where_trying_again_does_not_help_there_is_no_button(failure: Exception) -> None:
    def fail(_: Prompt) -> str:
        raise failure

    house = House(dict.fromkeys(Task, fail))
    channel = await house.say("how are you?", "")
    assert [shown.choices for shown in channel.screen] == [(), ()]


async def test_what_took_too_long_may_be_tried_again_and_what_was_stopped_not() -> None:
    clock = FakeClock()
    house = House(clock=clock)
    model, channel = stuck(house), house.channel()
    async with house.chatbot() as bot:
        answered = await bot.receive(house.incoming("hello there"), channel)
        await model.reached.wait()
        await clock.advance(301)
        await answered
        model.reached.clear()
        answered = await bot.receive(house.incoming("hello there", message_id="2"), channel)
        await model.reached.wait()
        await bot.receive(house.incoming("/stop", message_id="3"), channel)
        await answered
    late, stopped = channel.screen
    assert [choice.label for choice in late.choices] == ["Try again"]
    assert (stopped.text, stopped.choices) == ("⏹ Stopped.", ())


async def test_a_failing_command_offers_no_question_to_try_again() -> None:
    house = House()

    async def down(*_: object, **__: object) -> None:
        raise ProviderDown("x")

    house.memories.accounts = down  # type: ignore[method-assign,assignment]
    async with Lobby(house) as lobby:
        channel = house.channel()
        await (await lobby.bot.receive(house.incoming("/link"), channel))
        (shown,) = channel.screen
        assert "could not reach" in shown.text
        assert shown.choices == ()


# --- buttons ---------------------------------------------------------------------------------------------------------


async def test_a_button_overtakes_a_running_answer_and_stop_still_stops_that() -> None:
    house = House()
    model, long, quick = stuck(house), house.channel(), house.channel()
    async with house.chatbot() as bot:
        answered = await bot.receive(house.incoming("think long"), long)
        await model.reached.wait()
        await (await bot.receive(replace(house.incoming("/language", message_id="2"), pressed=True), quick))
        assert quick.texts[0].startswith("I answer in the language you write in.")
        assert not answered.done()  # type: ignore[attr-defined]
        await bot.receive(replace(house.incoming("/stop", message_id="3"), pressed=True), quick)
        await answered
    assert long.texts == ["⏹ Stopped."]
    assert not await house.inbox.owed("test")


async def test_a_pressed_command_stops_nobody_elses_answer_and_none_of_another_chat() -> None:
    house = House()
    model, mine, theirs, there = stuck(house), house.channel(), house.channel(), house.channel()
    async with house.chatbot() as bot:
        answered = await bot.receive(house.incoming("think long"), mine)
        await model.reached.wait()
        await (await bot.receive(replace(house.incoming("/stop", user=BIA, message_id="2"), pressed=True), theirs))
        await (await bot.receive(replace(house.incoming("/stop", message_id="3", chat="d"), pressed=True), there))
        assert theirs.texts == there.texts == ["Nothing is running."]
        assert not answered.done()  # type: ignore[attr-defined]
        await bot.receive(house.incoming("/stop", message_id="4"), mine)
        await answered
    assert mine.texts == ["⏹ Stopped."]


@pytest.mark.parametrize(("command", "asked"), [("/retry", "think long"), ("/continue", "Continue, please.")])
async def test_what_a_button_asks_a_model_waits_for_the_answers_before_it_and_can_be_stopped(
    command: str, asked: str
) -> None:
    house = House()
    model, first, again = stuck(house), house.channel(), house.channel()
    async with house.chatbot() as bot:
        one = await bot.receive(house.incoming("think long"), first)
        await model.reached.wait()
        two = await bot.receive(replace(house.incoming(command, message_id="2"), pressed=True), again)
        await Lobby.settle()
        assert len(model.prompts) == 1
        await bot.receive(house.incoming("/stop", message_id="3"), first)
        await one
        await Lobby.settle()
        assert model.prompts[-1].context.message == asked
        assert len(model.prompts) == 2
        await bot.receive(house.incoming("/stop", message_id="4"), first)
        await two
    assert first.texts == ["⏹ Stopped."]
    assert again.texts == ["⏹ Stopped."]
