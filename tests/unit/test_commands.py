"""The commands, as a person meets them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.types import MemoryDraft, MemoryKind, MessageRole, UserKey
from tests.fakes.commands import COMMANDS
from tests.fakes.house import ANA, House


async def ask(house: House, *texts: str, user: UserKey = ANA) -> list[str]:
    """Send messages and return what stayed on the screen."""
    channel = house.channel()
    async with house.chatbot() as bot:
        for number, text in enumerate(texts):
            await (await bot.receive(house.incoming(text, user=user, message_id=f"{user}{text}{number}"), channel))
    return channel.texts


async def fill(house: House, count: int) -> None:
    drafts = [MemoryDraft(MemoryKind.TEXT, f"fact {n}", (f"thing {n}",)) for n in range(count)]
    await house.memories.of(ANA).add(drafts, {})


@pytest.mark.spec("D5")
async def test_help_lists_every_command_and_asks_no_model() -> None:
    house = House()
    (text,) = await ask(house, "/help")
    assert all(f"/{name}" in text for name in COMMANDS)
    assert not house.model.prompts


async def test_an_unknown_command_points_to_help() -> None:
    assert await ask(House(), "/dance") == ["I do not know the command /dance. See /help."]


@pytest.mark.spec("D6")
async def test_reset_starts_a_conversation_that_knows_nothing_of_the_old_one_but_memories_stay() -> None:
    house = House()
    await fill(house, 1)
    await ask(house, "my name is Edmar", "/reset", "what is my name?")
    told = house.model.prompts[-1].context.history
    assert [m.text for m in told if m.role is MessageRole.USER] == ["what is my name?"]
    assert await house.memories.of(ANA).count() == 1


async def test_memories_are_paged_newest_first() -> None:
    house = House()
    await fill(house, 25)
    first, last, beyond = await ask(house, "/memories", "/memories 3", "/memories 99")
    assert first.startswith("Your memories (25):")
    assert first.endswith("Page 1 of 3. Another: /memories N")
    assert len(first.splitlines()) == 1 + 10 + 2
    assert last.splitlines()[1].startswith("21. ")
    assert beyond == last


async def test_memories_can_be_searched() -> None:
    house = House()
    await fill(house, 25)
    (found,) = await ask(house, "/memories thing 7")
    assert "fact 7" in found.splitlines()[1]


async def test_what_is_remembered_of_a_person_is_not_shown_where_others_read_along() -> None:
    house = House()
    await fill(house, 1)
    channel = house.channel()
    async with house.chatbot() as bot:
        await (await bot.receive(replace(house.incoming("/memories"), private=False), channel))
    assert channel.texts == ["I only show that in private. Write to me in a private chat."]


async def test_no_memories_are_told_as_such() -> None:
    assert await ask(House(), "/memories") == ["You have not asked me to remember anything yet."]


async def test_stop_without_anything_running_says_so() -> None:
    assert await ask(House(), "/stop") == ["Nothing is running."]


async def test_commands_and_their_answers_are_no_part_of_the_conversation_that_a_model_reads() -> None:
    house = House()
    await ask(house, "hi", "/help", "and now?")
    assert [m.text for m in house.model.prompts[-1].context.history] == ["hi", "ok", "and now?"]
