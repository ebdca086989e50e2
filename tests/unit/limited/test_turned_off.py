"""What the owner turned off is off by words, command, button and model, and nothing advises it."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.answering.outcomes import SWITCHED_OFF
from core.dialogue import Task
from core.limited.mind import LimitedMind
from core.providers.usem3 import Usem3Embedder
from core.types import Locale
from tests.fakes.house import ANA, Script
from tests.fakes.talk import talking
from tests.unit.test_offer import FINISH, offered

OFF = SWITCHED_OFF[Locale.EN]


@pytest.mark.spec("T6")
@pytest.mark.parametrize(
    ("off", "message"),
    [
        ("MemorySave", "remember that my locker code is 4711"),
        ("MemorySave", "/remember my bike is red"),
        ("ReminderSet", "remind me to call mom tomorrow at 9"),
        ("ReminderSet", "/remind tomorrow at 8 pay the rent"),
    ],
)
async def test_a_wish_and_a_command_are_told_to_be_off_and_do_nothing(
    tmp_path: Path, embedder: Usem3Embedder, off: str, message: str
) -> None:
    async with talking(tmp_path, embedder=embedder, mind=LimitedMind(embedder), off=(off,)) as person:
        await person.say("/language en")
        told = await person.say(message)
        assert OFF in told
        assert told.count(OFF) == 1
        assert "/rem" not in told, "it advises what is off"
        assert await person.contents() == []
        assert not await person.house.reminders.of([ANA])


@pytest.mark.spec("T6")
async def test_lists_menus_and_examples_show_nothing_that_is_off(tmp_path: Path, embedder: Usem3Embedder) -> None:
    off = ("MemorySave", "ReminderSet")
    async with talking(tmp_path, embedder=embedder, mind=LimitedMind(embedder), off=off) as person:
        await person.say("/language en")
        shown = await person.say("/help all")
        assert "/remember" not in shown
        assert "/remind " not in shown
        assert "/memories" in shown
        assert "/reminders" in shown
        assert not {"remember", "remind"} & {entry.name for entry in person.bot.parts.menu()}
        told = await person.say("what can you do?")
        assert "🔎 Find" in told
        assert "✍️ Keep" not in told
        lines, page = told.partition("\n\n")[0].splitlines(), (await person.say("/help")).splitlines()
        assert set(lines) <= set(page), "it is one help, whichever way it is asked for"
        assert await person.say("/reminders") == "No reminder is set."


@pytest.mark.spec("T6")
@pytest.mark.parametrize("press", [True, False])
async def test_an_offer_from_before_does_nothing_once_it_is_off(tmp_path: Path, press: bool) -> None:
    async with talking(tmp_path, FINISH) as person:
        [button] = await offered(person)
        person.house.registry.disable("MemorySave")
        assert await person.say(button.command if press else "yes", pressed=press) == OFF
        assert await person.contents() == []
        person.house.registry.enable("MemorySave")
        assert (await person.say(button.command, pressed=True)).startswith("Saved:")


@pytest.mark.spec("T6")
async def test_a_model_is_not_believed_where_it_is_off(tmp_path: Path) -> None:
    script: Script = {Task.DECIDE: lambda _: "Finish", Task.FINISH: lambda _: "I saved that your bike is red."}
    async with talking(tmp_path, script, off=("MemorySave",)) as person:
        told = await person.say("remember that my bike is red")
        assert OFF in told
        assert "saved" not in told
        assert "/remember" not in told


@pytest.mark.spec("T6")
async def test_no_reminder_can_be_set_where_the_most_is_none(tmp_path: Path, embedder: Usem3Embedder) -> None:
    async with talking(tmp_path, embedder=embedder, mind=LimitedMind(embedder), most_reminders=0) as person:
        await person.say("/language en")
        for wish in ("remind me to call mom tomorrow at 9", "/remind tomorrow at 8 pay the rent"):
            assert OFF in await person.say(wish)
        assert await person.contents() == []
        assert await person.say("cancel my reminder") == OFF
