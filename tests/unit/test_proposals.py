"""What is kept or replaced only after a yes: the questions, their buttons, and the replies in words."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from core.actions.memory_save import Drafts
from core.actions.memory_update import Changes
from core.dialogue import Prompt, Task
from core.models import schema_of
from core.types import MemoryItem
from tests.fakes.house import ANA, BIA
from tests.fakes.model import Answer
from tests.fakes.talk import Talk, talking

OLD, NEW = "the gate code is 1111", "the gate code is 2222"
TWO, ONE = "I take metformin 500 twice a day and lisinopril in the morning", "I no longer take lisinopril"
LOST = "I take metformin 500 twice a day"
DENTIST = "dentist on friday at 9"
READ_AS_ITSELF = "I heard you."


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Talk]:
    async with talking(tmp_path) as talk:
        yield talk


def script(talk: Talk, action: str, said: str, answer: str) -> None:
    """Let the model choose that action once, for that message, and answer so; then hear whatever comes."""
    answers: dict[Task, Sequence[Answer] | Callable[[Prompt], Answer]] = {
        task: lambda _: READ_AS_ITSELF for task in Task
    }
    answers[Task.SAVE_DRAFTS] = answers[Task.UPDATE_DRAFTS] = lambda _: answer
    answers[Task.DECIDE] = lambda prompt: (
        action if not prompt.context.steps and prompt.context.message == said else "Finish"
    )
    talk.house.model._asked.clear()
    talk.house.model._script = answers


def entry(content: str) -> dict[str, object]:
    return {"type": "text", "content": content, "bindings": [content]}


async def asks(talk: Talk, *contents: str, ask: bool = True, language: str = "en", private: bool = True) -> str:
    """Say these contents in one message, of which the model makes drafts to ask about."""
    said = "; ".join(contents)
    drafts = json.dumps({"items": [entry(content) for content in contents], "ask": ask})
    script(talk, "MemorySave", said, drafts)
    await talk.say(f"/language {language}")
    return await talk.say(said, private=private)


async def chooses(talk: Talk, rewrites: Sequence[tuple[MemoryItem, str]], said: str = NEW) -> str:
    """Say a statement of which the model says which memories it may replace, each with what that would be."""
    items = [{"id": item.id, "type": None, "content": content, "bindings": None} for item, content in rewrites]
    script(talk, "MemoryUpdate", said, json.dumps({"items": items, "statement": entry(said)}))
    turn = await talk.house.turn("what did I say of codes?", talk.house.channel())
    await turn.answer.recall([item for item, _ in rewrites])
    return await talk.say(said)


async def codes(talk: Talk) -> list[tuple[MemoryItem, str]]:
    kept = await talk.keep("gate 1", "garage 2", "cellar 3", "attic 4")
    return [(item, NEW) for item in kept]


def labels(talk: Talk) -> list[str]:
    return [choice.label for choice in talk.shown.choices]


# --- to keep ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "question", "buttons"),
    [
        ("en", f"Keep “{DENTIST}”?", ["🧷 Keep", "No"]),
        ("pt", f"Guardo “{DENTIST}”?", ["🧷 Guardar", "Não"]),
        ("es", f"¿Guardo “{DENTIST}”?", ["🧷 Guardar", "No"]),
    ],
)
async def test_what_is_asked_about_is_shown_and_kept_after_a_press(
    talk: Talk, language: str, question: str, buttons: list[str]
) -> None:
    assert await asks(talk, DENTIST, language=language) == question
    assert labels(talk) == buttons
    assert await talk.contents() == []
    await talk.press(buttons[0])
    assert await talk.contents() == [DENTIST]
    assert f"“{DENTIST}”" in talk.shown.text
    [item] = await talk.house.memories.of(ANA).page(limit=9)
    assert f"```\n{DENTIST}\n```" in await talk.say(f"/memories source {item.id}"), (
        "it rests on the message that told it"
    )


async def test_a_day_counts_from_when_it_was_said(talk: Talk) -> None:
    await asks(talk, "the exam is tomorrow")
    said = talk.clock.now()
    await talk.clock.advance(300)
    await talk.say("yes")
    [item] = await talk.house.memories.of(ANA).page(limit=9)
    assert item.meant
    assert item.meant > said.date().isoformat()


@pytest.mark.parametrize(
    "reply",
    [
        "yes",
        "sim",
        "keep it",
        "Guarda!",
        "guárdalo",
        "pode guardar",
        "yep save it",
        "s",
        "claro, guarda aí",
        "dale",
        "👍",
    ],
)
async def test_a_yes_in_words_keeps_it(talk: Talk, reply: str) -> None:
    await asks(talk, DENTIST)
    await talk.restart()
    before = len(talk.house.model.prompts)
    assert DENTIST in await talk.say(reply)
    assert await talk.contents() == [DENTIST]
    assert len(talk.house.model.prompts) == before, "no model is asked"


@pytest.mark.parametrize(
    "reply", ["no", "não guarda", "no lo guardes", "don't keep it", "nah thanks", "deixa", "não, obrigado"]
)
async def test_a_no_keeps_nothing(talk: Talk, reply: str) -> None:
    await asks(talk, DENTIST)
    assert await talk.say(reply) == "All right, I did not keep it."
    await talk.say("yes")
    assert await talk.contents() == []


@pytest.mark.parametrize(
    "message",
    [
        "ok gtg bye",
        "what is the gate code?",
        "não, é dia 13",
        "no, at 10",
        "yes and also remember the milk",
        "sim mas muda pra quinta",
        "yes delete it",
        "pera, o telefone tá tocando",
        "both",
        "1",
        "/help",
    ],
)
async def test_what_is_not_plainly_an_answer_is_read_as_itself_and_leaves_the_question_open(
    talk: Talk, message: str
) -> None:
    await asks(talk, DENTIST)
    heard = await talk.say(message)
    assert message == "/help" or heard == READ_AS_ITSELF
    assert await talk.contents() == []
    await talk.say("yes")
    assert await talk.contents() == [DENTIST]


async def test_a_number_answers_only_what_was_asked_last(talk: Talk) -> None:
    await asks(talk, "bread", "milk")
    await talk.say("what a day")
    assert await talk.say("2") == READ_AS_ITSELF
    assert await talk.contents() == []


async def test_a_yes_to_a_question_in_the_bots_own_words_agrees_to_nothing_that_was_asked_before(talk: Talk) -> None:
    await asks(talk, DENTIST)
    talk.house.model._script[Task.FINISH] = lambda _: "Shall I tell you a joke?"
    await talk.say("I am bored")
    assert await talk.say("yes") == "Shall I tell you a joke?"
    assert await talk.contents() == []


async def test_of_two_that_are_open_it_asks_which(talk: Talk) -> None:
    await asks(talk, "Rex is my dog")
    await talk.say("let me think")
    await asks(talk, "Mel is my cat")
    await talk.say("hm")
    told = await talk.say("yes")
    assert told == "Which one do you mean?\n1. Keep “Mel is my cat”?\n2. Keep “Rex is my dog”?"
    assert await talk.contents() == []
    await talk.say("2")
    assert await talk.contents() == ["Rex is my dog"]
    await talk.say("yes")
    assert sorted(await talk.contents()) == ["Mel is my cat", "Rex is my dog"]


async def test_what_was_asked_last_is_answered_though_an_older_question_is_open(talk: Talk) -> None:
    await asks(talk, "Rex is my dog")
    await asks(talk, "Mel is my cat")
    await talk.say("yes")
    assert await talk.contents() == ["Mel is my cat"]


async def test_several_are_kept_by_their_numbers(talk: Talk) -> None:
    told = await asks(talk, "bread", "milk", "eggs")
    assert told == "Keep all of this? (yes, no, or the numbers)\n1. “bread”\n2. “milk”\n3. “eggs”"
    await talk.say("guarda a 1 e a 3")
    assert sorted(await talk.contents()) == ["bread", "eggs"]


async def test_what_is_known_already_is_not_asked_about(talk: Talk) -> None:
    await talk.keep(DENTIST)
    assert (await asks(talk, DENTIST)).startswith("I knew that already")
    assert await talk.contents() == [DENTIST]


async def test_nothing_is_kept_of_a_question_once_remembering_is_off(talk: Talk) -> None:
    await asks(talk, DENTIST)
    command = talk.button("Keep").command
    await talk.say("/memory off", pressed=True)
    assert (await talk.say(command, pressed=True)).startswith("Memory is off")
    assert await talk.contents() == []


async def test_in_a_room_only_who_was_asked_can_answer(talk: Talk) -> None:
    await asks(talk, DENTIST, private=False)
    command = talk.button("Keep").command
    assert await talk.say("yes", BIA, private=False) == READ_AS_ITSELF
    await talk.say(command, BIA, private=False, pressed=True)
    assert await talk.contents() == await talk.contents(BIA) == []
    await talk.say("yes", private=False)
    assert await talk.contents() == [DENTIST]
    assert await talk.contents(BIA) == []


async def test_a_question_is_over_after_ten_minutes(talk: Talk) -> None:
    await asks(talk, DENTIST)
    await talk.clock.advance(601)
    assert await talk.say("yes") == READ_AS_ITSELF
    assert await talk.contents() == []


# --- to replace ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "question", "buttons"),
    [
        (
            "en",
            f"Saved: “{ONE}”\n\nDoes that take the place of “{TWO}”?\nThis would go, too: “{LOST}”",
            ["✏️ Replace", "🧷 Keep both"],
        ),
        (
            "pt",
            f"Guardei: “{ONE}”\n\nIsso entra no lugar de “{TWO}”?\nIsto se perderia também: “{LOST}”",
            ["✏️ Trocar", "🧷 Manter os dois"],
        ),
        (
            "es",
            f"Guardé: “{ONE}”\n\n¿Eso reemplaza a “{TWO}”?\nEsto también se perdería: “{LOST}”",
            ["✏️ Cambiar", "🧷 Quedarme con los dos"],
        ),
    ],
)
async def test_what_would_lose_something_is_kept_beside_it_and_asked_about(
    talk: Talk, language: str, question: str, buttons: list[str]
) -> None:
    [item] = await talk.keep(TWO)
    await talk.clock.advance(1)
    assert await asks(talk, ONE, ask=False, language=language) == question
    assert labels(talk)[1:] == buttons
    assert sorted(await talk.contents()) == [ONE, TWO]
    await talk.press(buttons[0])
    assert await talk.contents() == [ONE]
    [past] = await talk.house.memories.of(ANA).earlier([item.id])
    assert past.content == TWO, "it stays as the earlier version"
    assert f"```\n{ONE}\n```" in await talk.say(f"/memories source {item.id}"), "it rests on the message that told it"


async def test_a_replacement_is_undone_as_a_whole(talk: Talk) -> None:
    await talk.keep(TWO)
    await asks(talk, ONE, ask=False)
    await talk.say("yes")
    assert await talk.contents() == [ONE]
    await talk.press("Undo")
    assert sorted(await talk.contents()) == [ONE, TWO]


@pytest.mark.parametrize("ask", [False, True])
async def test_a_new_value_of_the_same_thing_is_changed_at_once(talk: Talk, ask: bool) -> None:
    await talk.keep(OLD)
    assert (await asks(talk, NEW, ask=ask)).startswith("Updated:")
    assert labels(talk) == ["↩️ Undo", "🧷 Keep both"]
    assert await talk.contents() == [NEW]


@pytest.mark.parametrize(
    "reply", ["both", "as duas", "las dos", "keep both", "guarda as duas", "no, keep them both", "os dois", "no"]
)
async def test_both_are_kept_where_the_person_says_so(talk: Talk, reply: str) -> None:
    await talk.keep(TWO)
    await asks(talk, ONE, ask=False)
    await talk.restart()
    assert await talk.say(reply) == f"Both are kept:\n- “{TWO}”\n- “{ONE}”"
    assert sorted(await talk.contents()) == [ONE, TWO]


@pytest.mark.parametrize("is_deleted", [False, True])
async def test_what_changed_since_it_was_shown_stays_beside_the_new_words(talk: Talk, is_deleted: bool) -> None:
    [item] = await talk.keep(TWO)
    await asks(talk, ONE, ask=False)
    await talk.clock.advance(1)
    memory = talk.house.memories.of(ANA)
    if is_deleted:
        await memory.delete([item.id])
    else:
        await memory.update(item.id, content="I take nothing", vectors={})
    assert (await talk.say("yes")).startswith("What I showed has changed since, or is no longer there")
    assert sorted(await talk.contents()) == ([ONE] if is_deleted else [ONE, "I take nothing"])


async def test_a_yes_to_keeping_several_replaces_what_has_come_to_be_known(talk: Talk) -> None:
    await asks(talk, NEW, "Rex is my dog")
    await talk.keep(OLD)
    await talk.clock.advance(1)
    told = await talk.say("yes")
    assert told == f"Saved: “Rex is my dog”\nUpdated: “{NEW}” (until today: “{OLD}”)"


# --- one of several --------------------------------------------------------------------------------------------------


async def test_of_several_candidates_three_are_numbered(talk: Talk) -> None:
    told = await chooses(talk, await codes(talk))
    assert told == f"Saved: “{NEW}”\n\nWhich one does “{NEW}” replace?\n1. “gate 1”\n2. “garage 2”\n3. “cellar 3”"
    assert labels(talk)[1:] == ["1", "2", "3", "None of them: keep all"]
    await talk.press("2")
    assert sorted(await talk.contents()) == sorted(["gate 1", NEW, "cellar 3", "attic 4"])
    await talk.press("Undo")
    assert "garage 2" in await talk.contents()


async def test_a_value_that_is_swapped_inside_the_old_text_is_shown_as_it_will_be(talk: Talk) -> None:
    [gate, garage] = await talk.keep("gate 1, booking XK2", "garage 1")
    told = await chooses(talk, [(gate, "gate 5, booking XK2"), (garage, "garage 5")], said="it is 5 now")
    assert "1. “gate 1, booking XK2” → “gate 5, booking XK2”" in told
    await talk.say("the first one")
    assert sorted(await talk.contents()) == ["garage 1", "gate 5, booking XK2"]
    [item] = await talk.keep("attic 1")
    told = await chooses(talk, [(item, "attic 6")], said="the attic is 6 now")
    assert told.startswith("Updated: “attic 6” (until today: “attic 1”)"), "it says plainly that it changes this one"


@pytest.mark.parametrize("reply", ["2", "the second one", "a segunda", "troca a 2", "la 2", "ok, 2"])
async def test_one_of_several_is_chosen_in_words(talk: Talk, reply: str) -> None:
    await chooses(talk, await codes(talk))
    await talk.restart()
    await talk.say(reply)
    assert sorted(await talk.contents()) == sorted(["gate 1", NEW, "cellar 3", "attic 4"])


@pytest.mark.parametrize("reply", ["yes", "troca", "1 and 2"])
async def test_a_yes_without_a_number_is_asked_which(talk: Talk, reply: str) -> None:
    asked = await chooses(talk, await codes(talk))
    assert await talk.say(reply) == asked.partition("\n\n")[2]
    await talk.say("1")
    assert sorted(await talk.contents()) == sorted(["garage 2", NEW, "cellar 3", "attic 4"])


async def test_what_is_asked_again_has_only_what_is_still_there(talk: Talk) -> None:
    found = await codes(talk)
    await chooses(talk, found[:2])
    await talk.house.memories.of(ANA).delete([found[0][0].id])
    assert await talk.say("yes") == "Does that take the place of “garage 2”?"


@pytest.mark.parametrize("reply", ["none", "nenhuma delas", "ninguna", "both", "keep both", "todas"])
async def test_none_of_several_keeps_it_beside_them(talk: Talk, reply: str) -> None:
    found = await codes(talk)
    await chooses(talk, found)
    assert (await talk.say(reply)).startswith("Both are kept:")
    assert len(await talk.contents()) == len(found) + 1


async def test_a_statement_that_cannot_be_kept_changes_nothing(talk: Talk) -> None:
    [item] = await talk.keep("gate 1")
    items = [{"id": item.id, "type": None, "content": "gate 2", "bindings": None}]
    turn = await talk.house.turn("gate", talk.house.channel())
    await turn.answer.recall([item])
    nothing = {"type": "text", "content": " ", "bindings": []}
    script(talk, "MemoryUpdate", "x", json.dumps({"items": items, "statement": nothing}))
    assert (await talk.say("x")).startswith("Nothing was changed")
    assert await talk.contents() == ["gate 1"]


# --- what models are shown -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_brief", [False, True])
def test_models_are_not_shown_what_only_limited_mode_asks_for(is_brief: bool) -> None:
    assert "ask" not in schema_of(Drafts, brief=is_brief)["properties"]  # type: ignore[operator]
    assert "statement" not in schema_of(Changes, brief=is_brief)["properties"]  # type: ignore[operator]
