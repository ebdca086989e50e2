"""What holds for every action, whoever writes it; and they are turned off and on by name."""

from __future__ import annotations

import pytest

from core.actions import ACTIONS, Action
from core.actions.action import Registry
from core.actions.memory_send import MEMORY_SEND
from core.dialogue import Task
from core.errors import ConfigError
from core.types import Locale
from tests.fakes.house import House

SIX = ("MemorySearch", "MemorySave", "MemoryUpdate", "MemoryDelete", "Question", "Finish")
EXTRACTIONS = {
    Task.SEARCH_QUERIES: ['{"items": ["x"]}'],
    Task.SAVE_DRAFTS: ['{"items": [{"type": "json", "content": "{\\"a\\": 1}", "bindings": ["x"]}]}'],
    Task.UPDATE_DRAFTS: ['{"items": []}'],
    Task.DELETE_IDS: ['{"ids": []}'],
}


@pytest.mark.spec("T6")
def test_there_are_the_six_actions_of_the_document_and_finish_is_the_fallback() -> None:
    names = [action.name for action in ACTIONS]
    assert [name for name in names if name in SIX] == list(SIX)
    assert names[-1] == "Finish"
    assert {action.name for action in ACTIONS if action.name in SIX and action.ends_cycle} == {"Question", "Finish"}


@pytest.mark.parametrize(
    "action",
    [each for each in ACTIONS if each is not MEMORY_SEND],  # without a model the person's words say what is sent
    ids=lambda action: action.name,
)
def test_an_action_can_be_chosen_without_a_language_model(action: Action) -> None:
    assert action.task is not None or Locale.EN in action.cues or action.reads is not None
    assert all(len(phrases) >= 1 and all(map(str.strip, phrases)) for phrases in action.cues.values())


@pytest.mark.spec("T10")
async def test_json_content_is_kept_as_json_and_what_is_not_json_as_text() -> None:
    house = House({Task.DECIDE: ["MemorySave", "Finish"], **EXTRACTIONS})
    turn = await house.turn("remember that a is 1", house.channel())
    await house.think(turn, max_steps=3)
    (item,) = turn.log.steps[0].items
    assert item.to_json()["type"] == "json"


def names(registry: Registry) -> list[str]:
    return [action.name for action in registry.enabled]


@pytest.mark.spec("T6")
def test_any_action_but_the_last_can_be_off_without_touching_the_others() -> None:
    everything = [action.name for action in ACTIONS]
    for name in everything[:-1]:
        registry = Registry(ACTIONS, [name])
        assert names(registry) == [other for other in everything if other != name]
        assert [action.name for action in registry.disabled] == [name]
        registry.enable(name.lower())
        assert names(registry) == everything


@pytest.mark.spec("T6", "T7")
def test_finish_cannot_be_off() -> None:
    with pytest.raises(ConfigError, match="cannot be turned off"):
        Registry(ACTIONS, ["finish"])


@pytest.mark.spec("T6")
def test_an_unknown_action_is_named_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match="MemorySearch, MemorySave") as failure:
        Registry(ACTIONS).disable("UseTool")
    assert failure.value.setting == "ACTIONS_OFF"
