"""A model is told to answer in the language of the person's own message, whatever that is, unless one was chosen."""

from __future__ import annotations

import pytest

from core.dialogue import Task
from core.types import Locale, Preferences
from tests.fakes.house import ANA, House, Script

CYCLE: Script = {
    Task.DECIDE: lambda prompt: (
        "Finish" if len(prompt.context.steps) > 1 else "MemorySave" if prompt.context.steps else "MemorySearch"
    ),
    Task.SEARCH_QUERIES: lambda _: '{"items": ["x"]}',
    Task.SAVE_DRAFTS: lambda _: '{"items": [{"type": "text", "content": "x y", "bindings": ["x"]}]}',
}
NAMES = ("Portuguese", "English", "Spanish")
TEXTS = (
    "Wie heißt mein Hund?",
    "Quel est mon mot de passe ?",
    "Come si chiama il mio gatto?",
    "Как зовут мою собаку?",
    "私の犬の名前は何ですか",
    "我的密码是什么",
    "Jakie jest hasło?",
    "Hoe heet mijn hond?",
    "Explain recursion",
    "qual é a minha senha?",
    "ok",
)


async def tasks_of(house: House, text: str) -> list[str]:
    """Return what each call of the turn was told to do."""
    async with house.chatbot() as chatbot:
        await (await chatbot.receive(house.incoming(text), house.channel()))
    assert len(house.model.prompts) > 4
    return [prompt.turns[-1].text.rpartition("<task>")[2] for prompt in house.model.prompts]


@pytest.mark.parametrize("text", TEXTS)
async def test_no_language_is_named_where_none_was_chosen(text: str) -> None:
    for task in await tasks_of(House(CYCLE), text):
        assert "language and script of their last message" in task
        assert not any(name in task for name in NAMES)


async def test_the_language_that_a_person_chose_is_named() -> None:
    house = House(CYCLE)
    await house.preferences.put(ANA, Preferences(language=Locale.ES))
    for task in await tasks_of(house, "what is my password?"):
        assert "Write in Spanish." in task
        assert "last message, whichever" not in task


async def test_the_language_that_the_owner_set_for_everybody_is_named() -> None:
    for task in await tasks_of(House(CYCLE, language=Locale.EN), "Wie heißt mein Hund?"):
        assert "Write in English." in task


async def test_the_statuses_of_a_german_are_english_and_never_spanish() -> None:
    house = House(CYCLE)
    channel = house.channel()
    async with house.chatbot() as chatbot:
        await (await chatbot.receive(house.incoming("Wie heißt mein Hund?"), channel))
    assert channel.statuses[0] == "AI is thinking..."
