"""Saving what is known, or has changed: what the person reads and may press, in both cycles, with scripted models."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.answering.parts import TurnLimits
from core.dialogue import Prompt, Task
from core.history.withholding import Redaction
from core.limited import LimitedMind
from core.models import Cycle
from core.types import MessageRole
from tests.fakes.house import ANA, House, Script
from tests.fakes.model import Calls, call
from tests.fakes.talk import Talk, talking

OLD, MOVED = "I live in Boston", "I just moved to Chicago"
UNSAID = object()


def entry(content: str, instead_of: object = UNSAID) -> dict[str, object]:
    """A memory as a model gives it to MemorySave."""
    said = {} if instead_of is UNSAID else {"instead_of": instead_of}
    return {"type": "text", "content": content, "bindings": [content], **said}


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Talk]:
    """A bot in the stepwise cycle whose model saves what the person says after "save", and says no more."""

    def decide(prompt: Prompt) -> str:
        return "Finish" if prompt.context.steps else "MemorySave"

    def drafts(prompt: Prompt) -> str:
        return json.dumps({"items": [entry(prompt.context.message)]})

    script: Script = {Task.DECIDE: decide, Task.SAVE_DRAFTS: drafts, Task.FINISH: ["-"]}
    async with talking(tmp_path, script) as talk:
        yield talk


def single(*answers: Calls) -> House:
    """A bot in the single cycle whose model gives these answers."""
    return House({Task.SINGLE: list(answers)}, limits=TurnLimits(cycle=Cycle.SINGLE))


def without_a_language_model(talk: Talk) -> None:
    """Let limited mode answer."""
    mind = LimitedMind(talk.house.embedder)
    for mode in (talk.house.models.heavy, talk.house.models.reasoning, talk.house.models.chat):
        mode.model = mind  # type: ignore[attr-defined]  # a HotModel


async def ask(house: House, text: str) -> list[str]:
    """Say it, and return what is on the screen."""
    return (await house.say(text)).texts


async def test_the_person_reads_what_it_says_now_and_what_it_said_until_today(talk: Talk) -> None:
    await talk.keep("my locker is number 57")
    assert await talk.say("my locker is number 61") == (
        "Updated: “my locker is number 61” (until today: “my locker is number 57”)"
    )
    assert [choice.label for choice in talk.shown.choices] == ["↩️ Undo", "🧷 Keep both"]
    assert await talk.contents() == ["my locker is number 61"]


async def test_keep_both_makes_the_old_one_current_again_and_can_be_undone_itself(talk: Talk) -> None:
    [old] = await talk.keep("my locker is number 57")
    await talk.say("my locker is number 61")
    await talk.restart()
    told = await talk.press("Keep both")
    assert told == "Both are kept:\n- “my locker is number 57”\n- “my locker is number 61”"
    assert sorted(await talk.contents()) == ["my locker is number 57", "my locker is number 61"]
    memory = talk.house.memories.of(ANA)
    new = next(item for item in await memory.page(limit=9) if item.id != old.id)
    assert new.source_ids, "it leads to the message that said it"
    assert await memory.store.earlier(ANA, [old.id, new.id]) == []
    await talk.press("Undo")
    assert await talk.contents() == ["my locker is number 57"]


async def test_what_was_said_of_an_earlier_version_stays_until_that_is_deleted(talk: Talk) -> None:
    await talk.say("my locker is number 57")
    await talk.say("my locker is number 61")
    redaction = Redaction(talk.house.history, talk.house.store)

    async def said() -> str:
        [thread] = await talk.house.history.threads(ANA)
        messages = await talk.house.history.tail(thread.id, 99)
        return " ".join(each.text for each in messages if each.role is MessageRole.ASSISTANT)

    await talk.clock.advance(700)
    await redaction.run(talk.clock.now())
    assert "Saved: “my locker is number 57”" in await said()
    [item] = await talk.house.memories.of(ANA).page(limit=9)
    await talk.say(f"/forget {item.id}")
    await talk.clock.advance(700)
    await redaction.run(talk.clock.now())
    await talk.house.store.purge(talk.clock.now())
    assert "number" not in await said()


async def test_what_is_known_is_told_so_and_offers_nothing_to_undo(talk: Talk) -> None:
    await talk.keep("The gate code is 4410")
    assert await talk.say("gate code: 4410") == "I knew that already: “The gate code is 4410”"
    assert talk.shown.choices == ()
    assert await talk.contents() == ["The gate code is 4410"]


async def test_the_stepwise_cycle_shows_what_is_near_with_marks_before_it_asks_what_to_save(talk: Talk) -> None:
    await talk.keep("my bike is blue", "my locker is number 57")
    talk.house.model.answer(Task.SAVE_DRAFTS, [json.dumps({"items": [entry("locker: I swapped with Kim, 12B", "m1")]})])
    told = await talk.say("about my locker number: I swapped with Kim, 12B")
    [prompt] = talk.house.model.asked(Task.SAVE_DRAFTS)
    assert "my locker is number 57</memory>" in prompt.turns[-1].text
    assert "<memory m1 " in prompt.turns[-1].text
    assert told == "Updated: “locker: I swapped with Kim, 12B” (until today: “my locker is number 57”)"
    assert "my bike is blue" in await talk.contents()


async def test_the_single_cycle_names_the_memory_that_is_replaced() -> None:
    house = single(call("MemorySave", items=[entry(MOVED, "m1")]))
    key = (await house.keep(OLD)).id
    assert await ask(house, "remember: I no longer live in Boston, I just moved to Chicago") == [
        f"Updated: “{MOVED}” (until today: “{OLD}”)"
    ]
    [prompt] = house.model.prompts
    assert "instead_of" in json.dumps([tool.schema for tool in prompt.tools])
    assert "instead_of" not in json.dumps([tool.brief for tool in prompt.tools])
    assert [item.content for item in await house.store.earlier(ANA, [key])] == [OLD]


async def test_a_model_that_names_no_memory_leaves_what_is_sure_to_the_words() -> None:
    house = single(call("MemorySave", items=[entry("my locker is number 61", None)]))
    await house.keep("my locker is number 57")
    assert await ask(house, "remember my locker is number 61") == [
        "Updated: “my locker is number 61” (until today: “my locker is number 57”)"
    ]


async def test_a_model_that_names_a_memory_of_another_thing_overwrites_nothing_and_the_person_is_asked() -> None:
    house = single(call("MemorySave", items=[entry("the gate code is 9031", "m1")]))
    await house.keep("my dog hates the gate")
    [told] = await ask(house, "remember the gate code is 9031")
    assert told == "Saved: “the gate code is 9031”\n\nDoes that take the place of “my dog hates the gate”?"
    assert await house.contents() == ["my dog hates the gate", "the gate code is 9031"]


async def test_an_update_that_would_lose_something_is_kept_beside_it() -> None:
    change = {"id": "m1", "type": None, "content": "I no longer take lisinopril", "bindings": None}
    house = single(call("MemoryUpdate", items=[change]))
    known = "I take metformin 500 twice a day and lisinopril in the morning"
    await house.keep(known)
    [told] = await ask(house, "I no longer take lisinopril")
    assert "This would go, too: “I take metformin 500 twice a day”" in told
    assert await house.contents() == ["I no longer take lisinopril", known]


SISTER, YORK = "My sister lives in Leeds", "my sister moved house, to York"


@pytest.mark.parametrize(
    "wanted",
    [
        call(
            "MemoryUpdate", items=[{"id": "m1", "type": None, "content": "Her home is in Yorkshire", "bindings": None}]
        ),
        call("MemorySave", items=[entry("Her home is in Yorkshire", "m1")], asked=True),
    ],
)
async def test_a_change_that_a_model_words_otherwise_is_kept_in_the_words_of_the_person(wanted: Calls) -> None:
    house = single(wanted)
    await house.keep(SISTER)
    await ask(house, YORK)
    assert YORK in await house.contents()


async def test_a_change_that_is_told_in_passing_is_made_at_once() -> None:
    house = single(call("MemorySave", text="Nice!", items=[entry("my locker is number 61", None)], asked=False))
    await house.keep("my locker is number 57")
    await ask(house, "my locker is number 61 now, closer to the door")
    assert await house.contents() == ["my locker is number 61"]


async def test_a_new_fact_that_is_told_in_passing_is_only_offered() -> None:
    house = single(call("MemorySave", text="Nice!", items=[entry("my locker is number 61", None)], asked=False))
    await house.keep("the shed needs paint")
    await ask(house, "my locker is number 61 now, closer to the door")
    assert await house.contents() == ["the shed needs paint"]


async def test_a_model_that_says_new_of_what_is_known_is_not() -> None:
    house = single(call("MemorySave", items=[entry("locker number: 57", None)]))
    await house.keep("my locker is number 57")
    assert await ask(house, "remember my locker number: 57") == ["I knew that already: “my locker is number 57”"]


async def test_an_invented_mark_changes_nothing_and_is_reported_to_the_model() -> None:
    house = single(
        call("MemorySave", then="continue", items=[entry("the shed key is under the pot", "m7")]),
        "Noted.",  # type: ignore[arg-type]
    )
    await house.keep("my locker is number 57")
    await ask(house, "remember that the shed key is under the pot")
    assert await house.contents() == ["my locker is number 57", "the shed key is under the pot"]
    [result] = house.model.prompts[-1].turns[-1].results
    assert "refused ids: m7" in result.text


async def test_an_invented_mark_leaves_the_rest_to_the_words() -> None:
    house = single(call("MemorySave", items=[entry("my locker is number 61", "another-id")]))
    await house.keep("my locker is number 57")
    await ask(house, "remember my locker is number 61")
    assert await house.contents() == ["my locker is number 61"]


async def test_several_memories_of_one_message_are_told_each_as_what_it_became() -> None:
    said = ["my locker is number 61", "the gate code is 4410", "Mel is my cat"]
    house = single(call("MemorySave", items=[entry(each) for each in said]))
    await house.keep("my locker is number 57")
    await house.keep("gate code: 4410")
    [told] = await ask(house, "remember " + ", ".join(said))
    assert told.splitlines() == [
        "Saved: “Mel is my cat”",
        "Updated: “my locker is number 61” (until today: “my locker is number 57”)",
        "I knew that already: “gate code: 4410”",
    ]


async def test_an_update_of_a_memory_keeps_what_it_said() -> None:
    house = single(
        call("MemoryUpdate", items=[{"id": "m1", "type": None, "content": "rowing on Friday", "bindings": None}])
    )
    key = (await house.keep("rowing on Monday")).id
    await ask(house, "rowing is on Friday now")
    assert await house.contents() == ["rowing on Friday"]
    assert [item.content for item in await house.store.earlier(ANA, [key])] == ["rowing on Monday"]


async def test_a_correction_by_the_person_keeps_no_version(talk: Talk) -> None:
    [item] = await talk.keep("rowing on Munday")
    await talk.say(f"/memories edit {item.id} rowing on Monday")
    assert await talk.contents() == ["rowing on Monday"]
    assert await talk.house.store.earlier(ANA, [item.id]) == []


async def test_limited_mode_replaces_at_once_what_is_plainly_no_longer_so(talk: Talk) -> None:
    without_a_language_model(talk)
    await talk.say("remember that I like meat")
    assert (await talk.say("note that I do not like meat")).startswith("Updated: “I do not like meat”")
    assert await talk.contents() == ["I do not like meat"]
    await talk.press("Undo")
    assert await talk.contents() == ["I like meat"]
