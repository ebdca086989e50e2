"""Actions are turned off and on by name, at the start and at run time."""

from __future__ import annotations

import pytest

from core.actions import ACTIONS
from core.actions.action import Registry
from core.errors import ConfigError


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
