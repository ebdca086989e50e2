"""The examples of docs/extending.md run, and do what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from core.actions import ACTIONS, Action
from core.actions.registry import Registry
from core.cycle import think
from core.dialogue import Task
from core.limited import LimitedMind
from core.models import complete
from core.types import MemoryDraft, MemoryKind
from tests.fakes.house import ANA, House

PAGE = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")


def example(name: str) -> dict[str, Any]:
    """Run the page's example of that name and return its names."""
    (source,) = re.findall(rf"```python {name}\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(source, f"docs/extending.md:{name}", "exec", dont_inherit=True), names)  # noqa: S102  (our own page)
    return names


@pytest.mark.spec("T6")
async def test_the_new_action_is_offered_chosen_and_run() -> None:
    action = example("action")["MEMORY_COUNT"]
    house = House({Task.DECIDE: ["MemoryCount", "Finish"]})
    house.registry = Registry((action, *ACTIONS))
    channel = house.channel()
    turn = await house.turn("how many?", channel)
    await think(turn, house.registry, max_steps=4)
    await turn.view.close()
    assert channel.texts[0] == "You have 0 memories."
    assert [step.action for step in turn.steps] == ["MemoryCount", "Finish"]


@pytest.mark.spec("T6")
@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("How many memories do you have?", "You have 1 memories."),
        ("hi! could you count all the memories, please", "You have 1 memories."),
        ("Quantas das minhas memórias há?", "You have 1 memories."),
        ("¿Cuántas memorias tienes?", "You have 1 memories."),
        ("My name is Ana Souza. How many memories do you have?", "You have 2 memories."),
    ],
)
async def test_the_new_action_is_chosen_without_a_language_model(said: str, told: str) -> None:
    house = await limited_house(example("action")["MEMORY_COUNT"])
    turn = await house.turn(said, channel := house.channel())
    await think(turn, house.registry, max_steps=5)
    await turn.view.close()
    assert [step.action for step in turn.steps][-2:] == ["MemoryCount", "Finish"]
    assert told in channel.texts


@pytest.mark.parametrize(
    ("said", "action"),
    [
        ("remember that I asked how many memories there are", "MemorySave"),
        ("what is the number of my flat?", "MemorySearch"),
        ("good morning", "Finish"),
    ],
)
async def test_what_is_not_for_the_new_action_is_done_as_before(said: str, action: str) -> None:
    house = await limited_house(example("action")["MEMORY_COUNT"])
    turn = await house.turn(said, house.channel())
    await think(turn, house.registry, max_steps=5)
    await turn.view.close()
    assert turn.steps[0].action == action
    assert "MemoryCount" not in [step.action for step in turn.steps]


async def limited_house(action: Action) -> House:
    """Return a house with one memory and one more action, that answers without a language model."""
    house = House()
    for mode in (house.models.heavy, house.models.reasoning, house.models.chat):
        mode.model = LimitedMind(house.embedder)  # type: ignore[attr-defined]  # a HotModel
    house.registry = Registry((action, *ACTIONS))
    memory = house.memories.of(ANA)
    draft = MemoryDraft(MemoryKind.TEXT, "my flat is number 7", ("flat",))
    await memory.save([draft], await memory.embed(memory.phrases_of(draft)))
    return house


async def test_the_new_provider_answers() -> None:
    model = example("provider")["EchoModel"]()
    house = House({Task.DECIDE: ["Finish"]})
    turn = await house.turn("hi", house.channel())
    reply = await complete(model, await turn.prompt(Task.FINISH, "say it"))
    assert reply.text == "</task>"


async def test_the_new_platform_talks_to_the_bot() -> None:
    run = example("platform")["run"]
    house = House(
        {Task.DECIDE: ["Finish"], Task.FINISH: lambda prompt: prompt.brief.message.upper()}, trusted=("list",)
    )
    async with house.chatbot() as bot:
        assert await run(bot, ["one", "two"]) == ["ONE", "TWO"]
