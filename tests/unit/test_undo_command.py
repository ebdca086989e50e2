"""/undo and the button under what says that a memory changed: what comes back, what goes, and when it is too late."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from core.dialogue import Prompt, Task
from core.features.access.storage import Account, Person
from core.stores import ChangeContext
from core.text.catalogue import in_words
from core.types import Locale, MemoryDraft, MemoryKind, Role
from tests.fakes.clock import START
from tests.fakes.house import ANA, BIA, Script
from tests.fakes.talk import Talk, talking

SAVES = '{"items": [{"type": "text", "content": "abc123", "bindings": ["wifi password"]}]}'
FINDS = '{"items": ["wifi"]}'
NOTHING = "There is nothing to undo."
NOTHING_OF_IT = "Nothing of that is left to undo: it has already been undone, or it is too long ago."


def shown_id(prompt: Prompt) -> str:
    """The id of the memory that was recalled for this turn."""
    [block] = [message for message in prompt.context.history if message.memory_id][-1:]
    return block.memory_id


def decided(prompt: Prompt) -> str:
    """Do what the message names, once; an update and a deletion search first."""
    word = prompt.context.message.split()[0]
    plans = {
        "save": ["MemorySave"],
        "update": ["MemorySearch", "MemoryUpdate"],
        "delete": ["MemorySearch", "MemoryDelete"],
    }
    plan = [*plans.get(word, []), "Finish"]
    return plan[min(len(prompt.context.steps), len(plan) - 1)]


SCRIPT: Script = {
    Task.DECIDE: decided,
    Task.SAVE_DRAFTS: [SAVES],
    Task.SEARCH_QUERIES: [FINDS],
    Task.UPDATE_DRAFTS: lambda prompt: (
        f'{{"items": [{{"id": "{shown_id(prompt)}", "type": null, "content": "xyz", "bindings": null}}]}}'
    ),
    Task.DELETE_IDS: lambda prompt: f'{{"ids": ["{shown_id(prompt)}"]}}',
    Task.FINISH: ["Hello"],
}


TOLD = {"Saved", "Updated. It now reads", "I knew that already", "Deleted"}


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Talk]:
    async with talking(tmp_path, SCRIPT) as talk:
        yield talk


async def reported(talk: Talk, text: str) -> None:
    """Say something that ends in a report, and have that report before us."""
    channel = talk.house.channel()
    await (await talk.bot.receive(talk.house.incoming(text, message_id=text), channel))
    talk.shown = [shown for shown in channel.screen if shown.text.split(":")[0] in TOLD][-1]


async def lines(talk: Talk) -> list[str]:
    return [f"{item.bindings[0]}={item.content}" for item in await talk.house.memories.of(ANA).page(limit=9)]


async def test_the_button_under_a_report_takes_back_what_was_done_also_after_a_restart(talk: Talk) -> None:
    await reported(talk, "save abc123")
    assert await lines(talk) == ["wifi password=abc123"]
    await talk.restart()
    assert await talk.press("Undo") == "Undone. No longer saved:\n🧠 wifi password: abc123 · 14 Mar 2026"
    assert await lines(talk) == []

    await talk.house.memories.of(ANA).add([MemoryDraft(MemoryKind.TEXT, "abc123", ("wifi password",))], {})
    await reported(talk, "update it to xyz")
    assert await lines(talk) == ["wifi password=xyz"]
    await talk.restart()
    assert await talk.press("Undo") == "Undone. As it was before:\n🧠 wifi password: abc123 · 14 Mar 2026"
    assert await lines(talk) == ["wifi password=abc123"]

    await talk.say("delete it")
    await talk.say("yes")
    assert await lines(talk) == []
    await talk.restart()
    assert await talk.press("Undo") == "Undone. Back again:\n🧠 wifi password: abc123 · 14 Mar 2026"
    assert (await talk.press("Show")).startswith("🧠 wifi password\nabc123")


async def test_remember_forget_and_edits_carry_the_button(talk: Talk) -> None:
    await talk.say("/remember the wifi password is abc123")
    assert (await talk.press("Undo")).startswith("Undone. No longer saved:")
    [item] = await talk.keep("one")
    await talk.say(f"/forget {item.id}")
    assert (await talk.press("Undo")).startswith("Undone. Back again:")
    await talk.say(f"/memories edit {item.id} uno")
    assert (await talk.press("Undo")).startswith("Undone. As it was before:")
    assert await talk.contents() == ["one"]


async def test_undo_takes_back_the_last_change_whatever_made_it_and_then_the_one_before(talk: Talk) -> None:
    await talk.say("/remember the wifi password is abc123")
    [item] = await talk.house.memories.of(ANA).page(limit=1)
    await talk.say(f"/memories edit {item.id} xyz")
    await talk.say(f"/forget {item.id}")
    assert (await talk.say("/undo")).startswith("Undone. Back again:\n🧠 wifi password: xyz")
    assert (await talk.say("/undo")).startswith("Undone. As it was before:\n🧠 wifi password: abc123")
    assert (await talk.say("/undo")).startswith("Undone. No longer saved:\n🧠 wifi password: abc123")
    assert await talk.say("/undo") == NOTHING


async def test_what_was_undone_is_not_undone_again(talk: Talk) -> None:
    await talk.say("/remember the wifi password is abc123")
    [item] = await talk.house.memories.of(ANA).page(limit=1)
    saved = talk.shown
    await talk.say(f"/memories edit {item.id} xyz")
    edited = talk.shown
    for shown, again in ((edited, "That has already been undone."), (saved, NOTHING_OF_IT)):
        talk.shown = shown
        assert (await talk.press("Undo")).startswith("Undone.")
        talk.shown = shown
        assert await talk.press("Undo") == again
    assert await talk.contents() == []


async def test_what_changed_since_is_left_alone(talk: Talk) -> None:
    await talk.say("/remember the wifi password is abc123")
    button = talk.shown
    [item] = await talk.house.memories.of(ANA).page(limit=1)
    await talk.say(f"/memories edit {item.id} xyz")
    talk.shown = button
    assert (await talk.press("Undo")).startswith("Not undone: one of those memories has changed since.")
    assert await talk.contents() == ["xyz"]


async def test_it_is_too_late_after_the_time_and_that_is_said(talk: Talk) -> None:
    await talk.say("/remember the wifi password is abc123")
    button = talk.shown
    within = talk.house.memories.undo_within
    await talk.clock.advance(within.total_seconds() + 1)
    too_late = f"Too late: a change can be undone for {in_words(within, Locale.EN)}. Nothing was changed."
    assert await talk.press("Undo") == too_late
    talk.shown = button
    assert await talk.say("/undo") == too_late
    assert await talk.contents() == ["abc123"]


async def test_where_undo_is_off_a_deletion_is_final_and_offers_no_way_back(talk: Talk) -> None:
    await talk.say("/remember the wifi password is abc123")
    saved = talk.button("Undo").command
    talk.house.memories.undo_within = timedelta(0)
    [item] = await talk.house.memories.of(ANA).page(limit=1)
    assert (await talk.say(f"/memories edit {item.id} xyz")).startswith("Changed")
    assert [choice for choice in talk.shown.choices if "Undo" in choice.label] == []
    assert (await talk.say(f"/forget {item.id}")).startswith("Deleted:")
    assert not any(choice.command.startswith("/undo") for choice in talk.shown.choices)
    assert list(await talk.house.store.changes(ANA)) == []
    for command in ("/undo", saved):
        assert (await talk.say(command)).startswith("Undo is turned off here")
    assert await talk.contents() == []


@pytest.mark.parametrize("act", ["", " 0", " " + "f" * 32, " x y", " " + "x" * 500])
async def test_where_there_is_nothing_of_that_act_there_is_nothing_to_undo(talk: Talk, act: str) -> None:
    await talk.keep("one")
    assert await talk.say(f"/undo{act}") == (NOTHING_OF_IT if act else NOTHING)


async def test_somebody_elses_act_is_told_to_be_theirs(talk: Talk) -> None:
    await talk.say("/remember the wifi password is abc123")
    below = talk.shown
    assert await talk.press("Undo", BIA) == "That change is somebody else's: only they can undo it."
    await talk.house.people.put_account(Account(ANA, "ana_silva"))
    talk.shown = below
    assert await talk.press("Undo", BIA) == "That change is `@ana_silva`'s: only they can undo it."
    await talk.house.people.put(Person(ANA, Role.MEMBER, "Ana", START))
    talk.shown = below
    assert await talk.press("Undo", BIA) == "That change is `Ana`'s: only they can undo it."
    assert await talk.say("/undo", BIA) == NOTHING
    assert await talk.contents() == ["abc123"]


async def test_in_a_room_only_what_may_be_spoken_of_there_is_read_out(talk: Talk) -> None:
    [item] = await talk.keep("the secret")
    await talk.say(f"/memories edit {item.id} a new secret")
    assert await talk.say("/undo", private=False) == (
        "Undone. As it was before:\n1 memory that I only show in private."
    )
    assert talk.shown.choices == ()
    assert await talk.contents() == ["the secret"]
    await talk.say("/remember the wifi password is abc123", private=False)
    assert await talk.press("Undo", private=False) == (
        "Undone. No longer saved:\n🧠 wifi password: abc123 · 14 Mar 2026"
    )
    await talk.say(f"/memory share {item.id}")
    await talk.say(f"/memories edit {item.id} no secret")
    assert await talk.say("/undo", private=False) == (
        "Undone. As it was before:\n🧠 the secret: the secret · 14 Mar 2026"
    )


async def test_of_very_many_that_came_back_some_are_read_out_and_the_rest_counted(talk: Talk) -> None:
    kept = await talk.keep(*(f"fact {n}" for n in range(22)))
    await talk.house.memories.of(ANA, ChangeContext("a" * 32)).delete([item.id for item in kept])
    told = (await talk.say("/undo")).splitlines()
    assert len(told) == 22
    assert told[-1] == "… and 2 more memories."


async def test_what_was_saved_and_deleted_in_one_turn_leaves_nothing_to_tell(talk: Talk) -> None:
    memory = talk.house.memories.of(ANA, ChangeContext("a" * 32))
    [item] = await memory.add([MemoryDraft(MemoryKind.TEXT, "one", ("one",))], {})
    await memory.delete([item.id])
    assert (await talk.say("/undo")).startswith("Undone, but there is nothing to bring back")
    assert await talk.contents() == []
