"""What is kept or replaced only after a yes: the questions, their buttons, and the replies in words."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from core.actions.memory_save import Ask, Drafts
from core.actions.memory_update import Changes
from core.dialogue import Prompt, Task
from core.models import schema_of
from core.types import MemoryItem
from tests.fakes.house import ANA, BIA
from tests.fakes.model import Answer
from tests.fakes.talk import Talk, talking

OLD, NEW = "the gate code is 1111", "the gate code is 2222"
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


async def asks(talk: Talk, *contents: str, ask: Ask = Ask.ALWAYS, language: str = "en", private: bool = True) -> str:
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


async def test_what_was_kept_after_a_yes_can_be_undone(talk: Talk) -> None:
    await asks(talk, DENTIST)
    assert (await talk.say("yes")).startswith(f"Saved: “{DENTIST}”")
    await talk.press("Undo")
    assert await talk.contents() == []


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
async def test_what_is_not_plainly_an_answer_closes_the_question_and_is_read_as_itself(
    talk: Talk, message: str
) -> None:
    await asks(talk, DENTIST)
    question = talk.shown
    heard = await talk.say(message)
    assert message == "/help" or heard == READ_AS_ITSELF
    assert await talk.say("yes") == READ_AS_ITSELF
    talk.shown = question
    assert (await talk.press("Keep")).startswith("Nothing was")
    assert await talk.contents() == []


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


@pytest.mark.parametrize("ask", [Ask.REPLACING, Ask.ALWAYS])
@pytest.mark.parametrize(
    ("language", "question", "buttons"),
    [
        ("en", f"Replace “{OLD}” with “{NEW}”?", ["✏️ Replace", "🧷 Keep both", "Cancel"]),
        ("pt", f"Troco “{OLD}” por “{NEW}”?", ["✏️ Trocar", "🧷 Manter os dois", "Cancelar"]),
        ("es", f"¿Cambio “{OLD}” por “{NEW}”?", ["✏️ Cambiar", "🧷 Quedarme con los dos", "Cancelar"]),
    ],
)
async def test_what_replaces_something_known_is_shown_beside_it(
    talk: Talk, ask: Ask, language: str, question: str, buttons: list[str]
) -> None:
    [item] = await talk.keep(OLD)
    await talk.clock.advance(1)
    assert await asks(talk, NEW, ask=ask, language=language) == question
    assert labels(talk) == buttons
    assert await talk.contents() == [OLD]
    await talk.press(buttons[0])
    assert await talk.contents() == [NEW]
    [past] = await talk.house.memories.of(ANA).earlier([item.id])
    assert past.content == OLD, "it stays as the earlier version"
    assert f"```\n{NEW}\n```" in await talk.say(f"/memories source {item.id}"), "it rests on the message that told it"


async def test_the_report_of_a_replacement_has_undo(talk: Talk) -> None:
    await talk.keep(OLD)
    await asks(talk, NEW, ask=Ask.REPLACING)
    assert await talk.say("yes") == f"Updated. It now reads: “{NEW}”"
    await talk.press("Undo")
    assert await talk.contents() == [OLD]


async def test_what_is_new_is_saved_at_once_and_only_the_first_replacing_one_is_asked_about(talk: Talk) -> None:
    await talk.keep(OLD, "my phone number is 555-1234")
    told = await asks(talk, "Rex is my dog", NEW, "my phone number is 555-9876", ask=Ask.REPLACING)
    saved, _, question = told.partition("\n\n")
    assert saved == "Saved:\n- “Rex is my dog”\n- “my phone number is 555-9876”"
    assert question == f"Replace “{OLD}” with “{NEW}”?"
    await talk.say("yes")
    kept = ["Rex is my dog", "my phone number is 555-1234", "my phone number is 555-9876", NEW]
    assert sorted(await talk.contents()) == sorted(kept)


async def test_without_the_wish_to_be_asked_it_is_replaced_at_once(talk: Talk) -> None:
    await talk.keep(OLD)
    assert (await asks(talk, NEW, ask=Ask.NEVER)).startswith("Updated:")
    assert await talk.contents() == [NEW]


@pytest.mark.parametrize(
    "reply", ["both", "as duas", "las dos", "keep both", "guarda as duas", "no, keep them both", "os dois"]
)
async def test_both_are_kept_where_the_person_says_so(talk: Talk, reply: str) -> None:
    await talk.keep(OLD)
    await asks(talk, NEW, ask=Ask.REPLACING)
    await talk.restart()
    assert await talk.say(reply) == f"Both are kept:\n- “{OLD}”\n- “{NEW}”"
    assert sorted(await talk.contents()) == [OLD, NEW]
    await talk.press("Undo")
    assert await talk.contents() == [OLD]


@pytest.mark.parametrize("reply", ["yes", "replace", "troca", "cámbialo", "sim, pode trocar", "replace it please"])
async def test_a_yes_in_words_replaces_it(talk: Talk, reply: str) -> None:
    await talk.keep(OLD)
    await asks(talk, NEW, ask=Ask.REPLACING)
    await talk.say(reply)
    assert await talk.contents() == [NEW]


@pytest.mark.parametrize("reply", ["no", "cancel", "deixa como está", "keep it", "não troca", "no lo cambies"])
async def test_a_no_replaces_and_keeps_nothing(talk: Talk, reply: str) -> None:
    await talk.keep(OLD)
    await asks(talk, NEW, ask=Ask.REPLACING)
    assert (await talk.say(reply)).startswith("All right, I changed nothing")
    assert await talk.contents() == [OLD]


@pytest.mark.parametrize("message", ["no, it is 3333", "no change it", "sim mas é do portão dos fundos", "ok gtg bye"])
async def test_a_correction_of_a_replacement_is_read_as_itself(talk: Talk, message: str) -> None:
    await talk.keep(OLD)
    await asks(talk, NEW, ask=Ask.REPLACING)
    assert await talk.say(message) == READ_AS_ITSELF
    assert await talk.contents() == [OLD]


@pytest.mark.parametrize("is_deleted", [False, True])
async def test_what_changed_since_it_was_shown_stays_and_the_new_words_are_kept(talk: Talk, is_deleted: bool) -> None:
    [item] = await talk.keep(OLD)
    await asks(talk, NEW, ask=Ask.REPLACING)
    await talk.clock.advance(1)
    memory = talk.house.memories.of(ANA)
    if is_deleted:
        await memory.delete([item.id])
    else:
        await memory.update(item.id, content="the gate code is 9999", vectors={})
    told = await talk.say("yes")
    assert told.startswith("What I showed has changed since, or is no longer there")
    assert f"“{NEW}”" in told
    assert sorted(await talk.contents()) == ([NEW] if is_deleted else [NEW, "the gate code is 9999"])


async def test_a_yes_to_keeping_several_asks_about_what_has_come_to_replace_something(talk: Talk) -> None:
    await asks(talk, NEW, "Rex is my dog")
    await talk.keep(OLD)
    await talk.clock.advance(1)
    told = await talk.say("yes")
    assert told == f"Saved: “Rex is my dog”\n\nReplace “{OLD}” with “{NEW}”?"
    await talk.say("yes")
    assert sorted(await talk.contents()) == sorted([NEW, "Rex is my dog"])


# --- one of several --------------------------------------------------------------------------------------------------


async def test_of_several_candidates_three_are_numbered(talk: Talk) -> None:
    told = await chooses(talk, await codes(talk))
    assert told == f"Which one does “{NEW}” replace?\n1. “gate 1”\n2. “garage 2”\n3. “cellar 3”"
    assert labels(talk) == ["1", "2", "3", "None: keep it too", "Cancel"]
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
    assert told == "Replace “attic 1” with “attic 6”?"
    assert await talk.say("keep both") == "Both are kept:\n- “attic 1”\n- “the attic is 6 now”"


@pytest.mark.parametrize("reply", ["2", "the second one", "a segunda", "troca a 2", "la 2", "ok, 2"])
async def test_one_of_several_is_chosen_in_words(talk: Talk, reply: str) -> None:
    await chooses(talk, await codes(talk))
    await talk.restart()
    await talk.say(reply)
    assert sorted(await talk.contents()) == sorted(["gate 1", NEW, "cellar 3", "attic 4"])


async def test_the_command_of_a_button_can_be_typed(talk: Talk) -> None:
    await chooses(talk, await codes(talk))
    await talk.say(talk.button("2").command.casefold())
    assert sorted(await talk.contents()) == sorted(["gate 1", NEW, "cellar 3", "attic 4"])


@pytest.mark.parametrize("reply", ["yes", "troca", "1 and 2"])
async def test_a_yes_without_a_number_is_asked_which(talk: Talk, reply: str) -> None:
    asked = await chooses(talk, await codes(talk))
    assert await talk.say(reply) == asked
    assert NEW not in await talk.contents()
    await talk.say("1")
    assert sorted(await talk.contents()) == sorted(["garage 2", NEW, "cellar 3", "attic 4"])


async def test_what_is_asked_again_has_only_what_is_still_there(talk: Talk) -> None:
    found = await codes(talk)
    await chooses(talk, found[:2])
    await talk.house.memories.of(ANA).delete([found[0][0].id])
    assert await talk.say("yes") == f"Replace “garage 2” with “{NEW}”?"


@pytest.mark.parametrize("reply", ["none", "nenhuma delas", "ninguna", "both", "keep both", "todas"])
async def test_none_of_several_keeps_it_beside_them(talk: Talk, reply: str) -> None:
    found = await codes(talk)
    await chooses(talk, found)
    assert await talk.say(reply) == f"Saved: “{NEW}”"
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
