"""The examples of docs/extending.md run, and do what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from core.actions import ACTIONS
from core.actions.registry import Registry
from core.cycle import think
from core.dialogue import Task
from core.models import complete
from tests.fakes.house import House

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
