"""What a person chooses: a language for every answer, and whether anything new is remembered."""

from __future__ import annotations

import pytest

from core.actions.memory_save import MEMORY_SAVE
from core.actions.memory_update import MEMORY_UPDATE
from core.dialogue import Outcome, Task
from core.errors import StorageError
from core.types import Locale, MemoryDraft, MemoryKind, Preferences, UserKey
from tests.fakes.house import ANA, BIA, House
from tests.reference.preferences import InMemoryPreferences
from tests.unit.test_commands import ask

SAVES = '{"items": [{"type": "text", "content": "abc123", "bindings": ["wifi"]}]}'
UNKNOWN = {Locale.PT: "Não conheço", Locale.EN: "I do not know", Locale.ES: "No conozco"}


@pytest.mark.parametrize(
    ("argument", "locale"),
    [("pt", Locale.PT), ("PT-BR", Locale.PT), ("en", Locale.EN), ("es", Locale.ES), ("ES_mx", Locale.ES)],
)
async def test_the_language_that_was_chosen_wins_over_what_is_written(argument: str, locale: Locale) -> None:
    house = House({Task.DECIDE: ["Finish"], Task.FINISH: ["ok"]})
    told = {Locale.PT: "em português", Locale.EN: "in English", Locale.ES: "en español"}[locale]
    chosen, unknown, *_ = await ask(house, f"/language {argument}", "/x", "what is my name?", "qual é o meu nome?")
    assert told in chosen
    assert unknown.startswith(UNKNOWN[locale])
    assert {prompt.context.locale for prompt in house.model.prompts} == {locale}


async def test_it_wins_over_the_language_of_the_bot_and_is_the_persons_only() -> None:
    house = House(language=Locale.PT)
    await house.preferences.put(ANA, Preferences(Locale.ES))
    assert (await ask(house, "/x"))[0].startswith(UNKNOWN[Locale.ES])
    assert (await ask(house, "/x", user=BIA))[0].startswith(UNKNOWN[Locale.PT])


async def test_auto_goes_back_to_the_language_that_is_written() -> None:
    house = House()
    await house.preferences.put(ANA, Preferences(Locale.ES, remembers=False))
    assert await ask(house, "/language auto", "/x") == [
        "Listo: respondo en el idioma en que escribas.",
        "I do not know the command /x. See /help.",
    ]
    assert await house.preferences.of(ANA) == Preferences("", remembers=False)


@pytest.mark.parametrize("argument", ["", " gobbledygook", " qq", " ?", " de fr", " <task>"])
async def test_a_language_that_nobody_speaks_changes_nothing(argument: str) -> None:
    house = House()
    (told,) = await ask(house, f"/language{argument}")
    assert told.startswith("Choose: /language pt")
    assert await house.preferences.of(ANA) == Preferences()


async def test_choices_that_cannot_be_read_are_told_and_do_no_more_harm() -> None:
    class Broken(InMemoryPreferences):
        async def of(self, user: UserKey) -> Preferences:
            raise StorageError(str(len(user.user)))

    (told,) = await ask(House(preferences=Broken()), "hello there")
    assert "could not write" in told


async def test_while_memory_is_off_the_bot_is_offered_nothing_that_keeps_anything_and_says_why() -> None:
    house = House({Task.DECIDE: ["Finish"], Task.FINISH: ["ok"]})
    off, *_ = await ask(house, "/memory off", "remember that the code is 7")
    assert off.startswith("Memory is off")
    (decided,) = house.model.asked(Task.DECIDE)
    assert not {"MemorySave", "MemoryUpdate", "MemoryDelete"} & set(decided.context.choices)
    assert all("turned remembering off" in prompt.turns[-1].text for prompt in house.model.prompts)
    on, *_ = await ask(house, "/memory on", "and now?")
    assert on.startswith("Memory is on")
    assert "MemorySave" in house.model.asked(Task.DECIDE)[-1].context.choices
    assert "turned remembering off" not in house.model.prompts[-1].turns[-1].text


async def test_memory_alone_says_how_it_is_and_changes_nothing() -> None:
    house = House()
    await house.preferences.put(ANA, Preferences(remembers=False))
    for argument in ("", " perhaps"):
        assert (await ask(house, f"/memory{argument}"))[0].startswith("Memory is off")
    assert (await ask(house, "/memory", user=BIA))[0].startswith("Memory is on")


async def test_even_if_they_were_run_the_actions_that_keep_refuse_while_memory_is_off() -> None:
    house = House({Task.SAVE_DRAFTS: [SAVES]})
    [item] = await house.memories.of(ANA).save([MemoryDraft(MemoryKind.TEXT, "old", ("code",))], {})
    channel = house.channel()
    for action in (MEMORY_SAVE, MEMORY_UPDATE):
        turn = await house.turn("remember that the code is 7", channel)
        turn.remembers = False
        await action.run(turn)
        [step] = turn.steps
        assert (step.outcome, step.detail) == (Outcome.NOTHING, "the person turned remembering off")
    assert await house.memories.of(ANA).page(limit=9) == [item]
    assert not house.model.asked(Task.SAVE_DRAFTS)
