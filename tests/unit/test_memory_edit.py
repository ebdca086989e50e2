"""Editing a memory: in a form, in one command, or by the next message there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.dialogue import Task
from core.types import MemoryDraft, MemoryItem, MemoryKind
from tests.fakes.channel import OneChannel
from tests.fakes.house import ANA
from tests.fakes.talk import Talk, talking
from tests.unit.test_chatbot import stuck

ASKED = "Send the new content of one in your next message, within 10 minutes."


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Talk]:
    async with talking(tmp_path, {Task.DECIDE: ["Finish"], Task.FINISH: ["Hello"]}) as talk:
        yield talk


async def open_card(talk: Talk, content: str = "one") -> MemoryItem:
    [item] = await talk.keep(content)
    await talk.say(f"/memories {item.id}")
    return item


async def test_a_form_begins_with_the_content_and_what_is_sent_is_the_new_one(talk: Talk) -> None:
    await open_card(talk, "one")
    assert (talk.button("Edit").asks, talk.button("Edit").text) == ("The memory's new content", "one")
    told = await talk.press("Edit", text="uno\n\n  dos")
    assert told.startswith("Changed. Now it is:\n\n🧠 uno dos\n```\nuno\n\n  dos\n```")
    assert "Changed once, on 14 Mar 2026." in told
    assert await talk.contents() == ["uno\n\n  dos"]
    assert "Changed 2 times" in await talk.press("Edit", text="tres")
    assert not talk.house.model.prompts


async def test_a_content_that_no_form_holds_is_not_put_into_one(talk: Talk) -> None:
    await open_card(talk, "x" * 4001)
    assert talk.button("Edit").text == ""


async def test_json_stays_json_and_what_is_none_any_more_becomes_text_and_that_is_told(talk: Talk) -> None:
    item = await open_card(talk, '{"a": 1}')
    assert "no longer valid" not in await talk.press("Edit", text='{"a": 2}')
    assert (await talk.house.memories.of(ANA).get([item.id]))[0].kind is MemoryKind.JSON
    assert "(It is no longer valid JSON, so I keep it as text.)" in await talk.press("Edit", text="a is 3")
    assert (await talk.house.memories.of(ANA).get([item.id]))[0].kind is MemoryKind.TEXT


async def test_what_is_too_long_is_refused_whole(talk: Talk) -> None:
    await open_card(talk)
    assert (await talk.press("Edit", text="x" * 10_001)).startswith("That is too long for a memory")
    assert await talk.contents() == ["one"]


async def test_phrases_that_speak_of_the_old_content_go_and_names_of_a_value_stay(talk: Talk) -> None:
    dog = MemoryDraft(MemoryKind.TEXT, "My dog is called Rex and is 3 years old", ("the dog", "Rex", "name and age"))
    wifi = MemoryDraft(MemoryKind.TEXT, "abc123", ("wifi password", "abc123"))
    [dog_item, wifi_item] = await talk.house.memories.of(ANA).add([dog, wifi], {})
    assert "Rex" in await talk.say("/recall Rex")
    await talk.say(f"/memories {dog_item.id}")
    await talk.press("Edit", text="My cat is called Tom and is 3 years old")
    await talk.say(f"/memories {wifi_item.id}")
    await talk.press("Edit", text="xyz789")
    bindings = {item.content: item.bindings for item in await talk.house.memories.of(ANA).page(limit=9)}
    assert bindings == {"My cat is called Tom and is 3 years old": ("name and age",), "xyz789": ("wifi password",)}
    assert "Tom" not in await talk.say("/recall Rex the dog")
    assert "Tom" in await talk.say("/recall Tom")
    assert "xyz789" in await talk.say("/recall wifi password")


async def test_the_next_message_is_the_new_content_also_after_a_restart(talk: Talk) -> None:
    await open_card(talk)
    assert (await talk.press("Edit")).startswith(ASKED)
    assert talk.shown.text.endswith("one")
    await talk.restart()
    assert (await talk.say("uno")).startswith("Changed. Now it is:\n\n🧠 uno\nuno")
    assert await talk.say("dos") == "Hello"
    assert await talk.contents() == ["uno"]


async def test_stop_lets_it_go_and_says_so(talk: Talk) -> None:
    await open_card(talk)
    await talk.press("Edit")
    assert await talk.say("/stop") == "Cancelled. I'll treat your next message normally."
    assert await talk.say("/stop") == "Nothing is running."
    assert await talk.say("uno") == "Hello"
    assert await talk.contents() == ["one"]


@pytest.mark.parametrize("command", ["/memories", "/help", "/unknown"])
async def test_any_command_lets_it_go(talk: Talk, command: str) -> None:
    await open_card(talk)
    await talk.press("Edit")
    await talk.say(command)
    assert await talk.say("uno") == "Hello"
    assert await talk.contents() == ["one"]


async def test_a_stop_that_ends_an_answer_lets_it_go_too(talk: Talk) -> None:
    await open_card(talk)
    model = stuck(talk.house)
    async with talk.house.chatbot() as bot:
        channel = talk.house.channel()
        answer = await bot.receive(talk.house.incoming("think long", message_id="long"), channel)
        await model.reached.wait()
        pressed = replace(talk.house.incoming(talk.button("Edit").command, message_id="edit"), pressed=True)
        await (await bot.receive(pressed, channel))
        await (await bot.receive(talk.house.incoming("/stop", message_id="stop"), channel))
        await answer
    assert await talk.house.pending_inputs.find(pressed.conversation) is None


async def test_another_edit_takes_the_place_of_the_one_that_waits(talk: Talk) -> None:
    one, two = await talk.keep("one", "two")
    await talk.say(f"/memories edit {one.id}", pressed=True)
    await talk.say(f"/memories edit {two.id}", pressed=True)
    await talk.say("dos")
    assert await talk.contents() == ["dos", "one"]


async def test_a_message_without_text_is_no_content_and_goes_on_being_waited_for(talk: Talk) -> None:
    await open_card(talk)
    await talk.press("Edit")
    assert "Changed." not in await talk.say("")
    assert (await talk.say("uno")).startswith("Changed.")


async def test_what_was_deleted_meanwhile_is_not_edited_and_nothing_waits_any_more(talk: Talk) -> None:
    item = await open_card(talk)
    await talk.press("Edit")
    await talk.house.memories.of(ANA).delete([item.id])
    assert (await talk.say("uno")).startswith("I do not know which memory you mean")
    assert await talk.say("dos") == "Hello"


async def test_the_new_content_is_no_part_of_the_conversation_that_a_model_reads(talk: Talk) -> None:
    await open_card(talk)
    await talk.press("Edit")
    await talk.say("a secret")
    await talk.say("hello")
    assert all("a secret" not in message.text for message in talk.house.model.prompts[-1].context.history)
    [thread] = await talk.house.history.threads(ANA)
    assert [message.text for message in await talk.house.history.tail(thread.id, 9)] == ["hello", "Hello"]


async def test_a_new_content_that_a_crash_cut_short_is_taken_up_after_the_restart(talk: Talk) -> None:
    await open_card(talk)
    await talk.press("Edit")
    await talk.house.inbox.accept(talk.house.incoming("uno", message_id="cut short"))
    await talk.restart()
    channel = talk.house.channel()
    await talk.bot.resume("test", OneChannel(channel))
    await talk.stop()
    await talk.start()
    assert await talk.contents() == ["uno"]
    assert channel.texts[-1].startswith("Changed.")


async def test_the_answer_is_in_the_persons_language_not_in_that_of_the_new_content(talk: Talk) -> None:
    await open_card(talk)
    await talk.press("Edit")
    assert (await talk.say("o gato se chama Bola e mora na casa da praia")).startswith("Changed. Now it is:")


async def test_nothing_is_waited_for_longer_than_ten_minutes(talk: Talk) -> None:
    await open_card(talk)
    await talk.press("Edit")
    await talk.clock.advance(601)
    assert await talk.say("uno") == "Hello"
    assert await talk.contents() == ["one"]
