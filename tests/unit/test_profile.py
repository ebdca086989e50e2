"""The profile: what stands in every prompt of a person, made of their memories alone."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from core.answering.parts import TurnLimits
from core.dialogue import Task
from core.memory.memories import MAX_CHARS, MAX_LINES, slots
from core.models import Cycle
from core.providers.cached_embedder import CachedEmbedder
from core.providers.usem3 import Usem3Embedder
from core.stores import NO_CHANGE_CONTEXT, ChangeContext
from core.types import MemoryDraft, MemoryKind
from tests.fakes.house import ANA, House
from tests.fakes.talk import talking

ROOM = ChangeContext("act", "test:room")


def house(cycle: Cycle = Cycle.SINGLE) -> House:
    answers = {Task.SINGLE: ["ok"] * 9, Task.DECIDE: ["Finish"] * 9, Task.FINISH: ["ok"] * 9}
    return House(answers, limits=TurnLimits(cycle=cycle))


async def tell(bot: House, *contents: str, context: ChangeContext = NO_CHANGE_CONTEXT) -> list[str]:
    memory = bot.memories.of(ANA, context)
    drafts = [MemoryDraft(MemoryKind.TEXT, content, (content,)) for content in contents]
    return [item.id for item in await memory.add(drafts)]


async def profile(bot: House, context: ChangeContext = NO_CHANGE_CONTEXT) -> list[str]:
    return [item.content for item in await bot.memories.profiles.of(bot.memories.of(ANA, context))]


async def prompt(bot: House, text: str = "zzz", *, private: bool = True) -> str:
    channel = bot.channel()
    async with bot.chatbot() as chatbot:
        incoming = replace(bot.incoming(text, message_id=uuid.uuid4().hex), private=private, user_name="Ana Souza")
        await (await chatbot.receive(incoming, channel))
    return bot.model.prompts[-1].turns[-1].whole_text


async def test_what_a_person_told_of_themselves_is_found_in_three_languages() -> None:
    embedder = CachedEmbedder(Usem3Embedder())
    try:
        bot = House(embedder=embedder)  # type: ignore[arg-type]
        await tell(
            bot, "Sou alérgica a camarão", "My daughter is called Nina", "Trabajo en la panadería Aurora",
            "the garage code is 4417", "o pneu do carro é 205/55",
        )  # fmt: skip
        found = await profile(bot)
        told = {"Sou alérgica a camarão", "My daughter is called Nina", "Trabajo en la panadería Aurora"}
        assert len(told.intersection(found)) >= 2, found
        assert "the garage code is 4417" not in found
    finally:
        await embedder.close()


async def test_what_is_pinned_comes_first_and_follows_each_change() -> None:
    bot = house()
    assert await profile(bot) == []
    first, second = await tell(bot, "xq wv", "jk pl")
    await bot.memories.of(ANA).flag(second, pinned=True)
    assert await profile(bot) == ["jk pl"]
    memory = bot.memories.of(ANA)
    await memory.update(second, content="jk pl and more", vectors={})
    assert await profile(bot) == ["jk pl and more"]
    await memory.flag(first, pinned=True)
    await memory.delete([second])
    assert await profile(bot) == ["xq wv"]


async def test_it_is_short_however_much_is_pinned() -> None:
    bot = house()
    for key in await tell(bot, *(f"{number} {'x' * 300}" for number in range(12))):
        await bot.memories.of(ANA).flag(key, pinned=True)
    found = await profile(bot)
    assert 0 < len(found) <= MAX_LINES
    assert sum(map(len, found)) <= MAX_CHARS


@pytest.mark.spec("T15")
async def test_a_room_sees_only_what_was_said_in_it() -> None:
    bot = house()
    [private] = await tell(bot, "only in private")
    [there] = await tell(bot, "said in the room", context=ROOM)
    for key in (private, there):
        await bot.memories.of(ANA).flag(key, pinned=True)
    assert await profile(bot, ROOM) == ["said in the room"]
    assert set(await profile(bot)) == {"only in private", "said in the room"}


@pytest.mark.parametrize("cycle", [Cycle.SINGLE, Cycle.STEPWISE])
async def test_it_stands_in_every_prompt_with_the_persons_name(cycle: Cycle) -> None:
    bot = house(cycle)
    assert "<profile>name: Ana Souza</profile>" in await prompt(bot)
    [key] = await tell(bot, "the boat is called Gaivota")
    await bot.memories.of(ANA).flag(key, pinned=True)
    text = await prompt(bot)
    assert ">the boat is called Gaivota</memory>" in text
    assert text.index("<profile>") < text.index("Gaivota")


async def test_people_see_it_under_memories_and_open_each_line(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        assert (await talk.say("/memories profile")).endswith("Pin a memory, and I keep it in mind in every answer.")
        [item, _] = await talk.keep("the boat is called Gaivota", "zz yy")
        await talk.house.memories.of(ANA).flag(item.id, pinned=True)
        assert "Gaivota" not in await talk.say("/memories profile x"), "other words are searched for"
        shown = await talk.say("/memories profile")
        assert "1. 📌 🧠" in shown
        assert "Gaivota" in await talk.press("1.")


def test_every_slot_asks_in_every_language() -> None:
    assert slots()
    assert all(len(slot.ask) == 3 and slot.most > 0 for slot in slots())
