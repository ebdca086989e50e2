"""What a person chooses: a language for every answer, and whether anything new is remembered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from core.actions.action import Action, Registry
from core.actions.memory_drafts import DraftAnswer
from core.actions.memory_save import MEMORY_SAVE, Drafts
from core.actions.memory_update import MEMORY_UPDATE, Changes, MemoryPatch
from core.answering.chatbot import ChatBot
from core.answering.turn import Turn
from core.commands.command import Command, CommandTable, Request, missing_words
from core.commands.menu import MenuOption, choice_field, text_field
from core.dialogue import Outcome, Step, Task
from core.errors import StorageError
from core.features.preferences.storage import PreferenceStore
from core.models import MODES, HotModel, Models
from core.text.language import name_in
from core.types import Learn, Locale, MemoryDraft, MemoryKind, Preferences, UserKey
from tests.fakes.house import ANA, BIA, House, over
from tests.fakes.model import ScriptedModel
from tests.unit.test_commands import ask

SAID = dict.fromkeys(Locale, "said")
SIDE = choice_field("side", SAID, {"left": SAID, "right": SAID})
HERE = choice_field("where", SAID, {"here": SAID})
ANYTHING = text_field("text", SAID)
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
    assert ("I do not know the language" in told) is bool(argument)
    assert "I answer in the language you write in." in told
    assert await house.preferences.of(ANA) == Preferences()


@pytest.mark.parametrize(
    ("fields", "argument", "words"),
    [
        ((SIDE,), "", ["left", "right"]),
        ((SIDE,), "left", []),  # it was said
        ((HERE, SIDE), "here", ["left", "right"]),
        ((HERE, SIDE), "there", []),  # whatever that means
        ((HERE,), "", []),
        ((SIDE, ANYTHING), "", []),  # it takes other texts, too
        ((SIDE, replace(SIDE, name="other")), "", []),
    ],
)
def test_words_are_offered_where_one_of_a_closed_set_is_missing(
    fields: Sequence[MenuOption], argument: str, words: Sequence[str]
) -> None:
    assert [*missing_words(fields, argument)] == words


async def test_what_a_command_says_without_its_word_has_a_button_for_each_word() -> None:
    house = House()

    async def turn_to(request: Request, side: str) -> None:
        await request.answer.tell(f"To the {side or 'left'}.")

    about = dict.fromkeys(Locale, "turn")
    table = CommandTable([Command("turn", about, turn_to, fields=(SIDE,))])
    channel = house.channel()
    async with ChatBot(replace(house.parts(house.features()), commands=table)) as bot:
        for number, said in enumerate(("/turn", "/turn right")):
            await (await bot.receive(house.incoming(said, message_id=str(number)), channel))
    first, second = channel.screen
    assert [(each.label, each.command) for each in first.choices] == [("said", "/turn left"), ("said", "/turn right")]
    assert second.choices == ()


@pytest.mark.parametrize(
    ("argument", "tag", "name"),
    [
        ("de", "de", "German · Deutsch"),
        ("alemão", "de", "German · Deutsch"),
        ("日本語", "ja", "Japanese · 日本語"),
        ("FRANCES", "fr", "French · français"),
        ("pt-PT", "pt-PT", "Portuguese (Portugal) · português (Portugal)"),
        ("Klingon", "tlh", "Klingon"),
    ],
)
async def test_any_language_can_be_chosen_for_answers(argument: str, tag: str, name: str) -> None:
    house = House({Task.DECIDE: ["Finish"], Task.FINISH: ["ok"]})
    told, _ = await ask(house, f"/language {argument}", "what is my name?")
    ours = tag.startswith("pt")
    assert told == (
        f"Combinado: respondo sempre em {name_in(tag, Locale.PT)}."
        if ours
        else f"Done: I always answer in {name}. My own short sentences stay in English."
    )
    assert (await house.preferences.of(ANA)).language == tag
    assert {prompt.context.language for prompt in house.model.prompts} == {tag}
    assert {prompt.context.locale for prompt in house.model.prompts} == {Locale.PT if ours else Locale.EN}


async def test_without_a_language_model_it_is_said_which_languages_there_are() -> None:
    house = House()
    house.model = ScriptedModel({}, "limited:")
    heavy, reasoning, chat, summary = (HotModel(house.model) for _ in MODES)
    house.models = Models(heavy, reasoning, chat, summary, house.embedder)
    (told,) = await ask(house, "/language de")
    assert told.startswith("Noted: German · Deutsch. But I run without a language model now")
    assert "English" in told
    assert (await house.preferences.of(ANA)).language == "de"
    assert await ask(house, "/language es") == ["Listo: respondo siempre en español."]


async def test_choices_that_cannot_be_read_are_told_and_do_no_more_harm() -> None:
    class Broken(PreferenceStore):
        async def of(self, user: UserKey) -> Preferences:
            raise StorageError(str(len(user.user)))

    (told,) = await ask(House(preferences=over(Broken)), "hello there")
    assert "cannot read or save" in told


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


@pytest.mark.parametrize(
    ("most", "word", "holds", "offered", "refused"),
    [
        (Learn.OFFERED, "", "only when you press", {"ask"}, False),
        (Learn.OFFERED, "ask", "I do not save", {"offer"}, False),
        (Learn.OFFERED, "auto", "only when you press", {"ask"}, True),
        (Learn.AUTO, "", "and say so each time", {"ask", "offer"}, False),
        (Learn.AUTO, "offer", "only when you press", {"ask", "auto"}, False),
        (Learn.ASKED, "", "I do not save", set(), False),
        (Learn.ASKED, "offer", "I do not save", set(), True),
    ],
)
async def test_who_tells_something_in_passing_chooses_what_becomes_of_it_up_to_what_the_owner_allows(
    most: Learn, word: str, holds: str, offered: set[str], refused: bool
) -> None:
    house = House(learn=most)
    channel = house.channel()
    async with house.chatbot() as chatbot:
        await (await chatbot.receive(house.incoming(f"/memory {word}"), channel))
        await (await chatbot.receive(house.incoming("/privacy", message_id="2"), channel))
    [shown, privacy] = channel.screen
    assert shown.text.startswith("Memory is on") is (not word)
    assert holds in shown.text
    assert holds in privacy.text
    assert ("The owner of this bot does not allow" in shown.text) is refused
    assert shown.text.count("\n") == (not word or refused)  # a choice is answered by the sentence on what it set
    assert {choice.command for choice in shown.choices} == {
        f"/memory {each}" for each in (*offered, "off", "incognito")
    }


async def test_limited_mode_says_that_it_saves_whatever_it_is_told() -> None:
    house = House()
    house.model = ScriptedModel({}, "limited:mind")
    heavy, reasoning, chat, summary = (HotModel(house.model) for _ in MODES)
    house.models = Models(heavy, reasoning, chat, summary, house.embedder)
    chosen, privacy = await ask(house, "/memory ask", "/privacy")
    for told in chosen, privacy:
        assert "I save it, and say so each time." in told
    assert "Your choice “Only what I ask for” holds as soon as" in chosen


async def test_what_was_chosen_for_things_told_in_passing_is_kept_and_reaches_the_turn() -> None:
    house = House(learn=Learn.AUTO)
    await ask(house, "/memory ask")
    assert await house.preferences.of(ANA) == Preferences(learn=Learn.ASKED)
    seen: list[Learn] = []

    async def look(turn: Turn, _: None) -> Step:
        seen.append(turn.person.learn)
        return Step("Look", Outcome.DONE)

    house.registry = Registry([Action("Look", "always", look, ends_cycle=True)])
    await ask(house, "hello")
    await ask(house, "hello", user=BIA)
    assert seen == [Learn.ASKED, Learn.AUTO]


async def test_even_if_they_were_run_the_actions_that_keep_refuse_while_memory_is_off() -> None:
    house = House()
    [item] = await house.memories.of(ANA).add([MemoryDraft(MemoryKind.TEXT, "old", ("code",))], {})
    channel = house.channel()
    saving = Drafts([DraftAnswer("text", "abc123", ["wifi"])])
    updating = Changes([MemoryPatch(item.id, None, "new", None)])
    for action, arguments in ((MEMORY_SAVE, saving), (MEMORY_UPDATE, updating)):
        turn = await house.turn("remember that the code is 7", channel)
        turn.person.remembers = False
        step = await action.run(turn, arguments)
        assert (step.outcome, step.detail) == (Outcome.NOTHING, "the person turned remembering off")
    assert await house.memories.of(ANA).page(limit=9) == [item]
