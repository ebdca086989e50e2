"""/threads and /context, as a person meets them."""

from __future__ import annotations

import json

import pytest

from core.dialogue import Task
from tests.fakes.clock import FakeClock
from tests.fakes.house import BIA, House


async def ask(house: House, *texts: str, chat: str = "c") -> list[str]:
    channel = house.channel()
    async with house.chatbot() as bot:
        for number, text in enumerate(texts):
            assert isinstance(house.clock, FakeClock)
            await house.clock.advance(60)
            message_id = f"{chat}{text}{number}{len(house.model.prompts)}"
            await (await bot.receive(house.incoming(text, message_id=message_id, chat=chat), channel))
    return channel.texts


def house() -> House:
    return House({Task.DECIDE: ["Finish"], Task.FINISH: ["ok"]})


@pytest.mark.spec("D1", "D6", "L6")
async def test_conversations_are_listed_named_archived_and_gone_on_with() -> None:
    bot = house()
    await ask(bot, "first words", "/reset", "second words")
    named, *_ = await ask(bot, "/threads name 2 the first")
    assert named.splitlines()[2].startswith("2. the first")
    assert named.splitlines()[1].endswith("←")
    (going_on,) = await ask(bot, "/threads switch 2")
    assert going_on == "Continuing: the first."
    await ask(bot, "third words")
    said = [m.text for m in bot.model.prompts[-1].context.history if m.role.value == "user"]
    assert said == ["first words", "third words"]
    (away,) = await ask(bot, "/threads archive 1")
    assert away == "Archived: the first."
    await ask(bot, "fourth words")
    assert [m.text for m in bot.model.prompts[-1].context.history if m.role.value == "user"] == ["fourth words"]


async def test_a_number_that_is_none_and_a_verb_that_is_none_are_told() -> None:
    bot = house()
    await ask(bot, "hello")
    for text in ("/threads switch 9", "/threads name x", "/threads archive"):
        assert (await ask(bot, text))[0].startswith("Say the conversation's number, from 1 to")
    assert (await ask(bot, "/threads dance 1"))[0].startswith("To name one")
    assert (await ask(bot, "/threads name 1"))[0].startswith("To name one")


async def test_a_conversation_of_another_place_is_gone_on_with_there() -> None:
    bot = house()
    await ask(bot, "here", chat="a")
    await ask(bot, "there", chat="b")
    assert (await ask(bot, "/threads switch 2", chat="b"))[0].startswith("That conversation belongs to another place")


@pytest.mark.spec("T15")
async def test_nobody_sees_anothers_conversations() -> None:
    bot = house()
    await ask(bot, "mine")
    channel = bot.channel()
    async with bot.chatbot() as handler:
        await (await handler.receive(bot.incoming("/threads", user=BIA, message_id="b"), channel))
    assert "1. " in channel.texts[0]
    assert "2. " not in channel.texts[0]


@pytest.mark.spec("H2")
async def test_the_context_is_told_by_part() -> None:
    bot = house()
    await ask(bot, "some words to be counted")
    (told,) = await ask(bot, "/context")
    assert "2 messages" in told
    assert "free" in told


@pytest.mark.spec("J5")
async def test_the_context_is_told_as_json_by_the_documents_names() -> None:
    bot = house()
    [answer] = await ask(bot, "some words to be counted")
    (told,) = await ask(bot, "/context json")
    found = json.loads(told.removeprefix("```json\n").removesuffix("\n```"))
    assert (found["cumulativeSummary"], found["summaryTokens"]) == ("", 0)
    window = found["recentWindow"]
    assert [(each["role"], each["content"]) for each in window] == [
        ("user", "some words to be counted"),
        ("assistant", answer),
    ]
    assert found["totalTokens"] == sum(each["tokens"] for each in window) > 0
