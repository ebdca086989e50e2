"""Settings of reminders: what is set is what holds, and what is wrong is named."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.settings.settings import load
from core.dialogue import switched_off
from core.errors import ConfigError
from core.features.reminders.service import Limits
from tests.fakes.house import House


def test_what_is_set_is_what_holds() -> None:
    assert load(None).reminder_limits() == Limits(100, timedelta(minutes=5))
    settings = load(None, max_reminders=0, reminder_min_interval_s=3600)
    assert settings.reminder_limits() == Limits(0, timedelta(hours=1))


async def test_where_nobody_may_have_any_there_is_no_action_and_no_command_to_set_one() -> None:
    def names(house: House) -> tuple[set[str], set[str]]:
        off = switched_off(house.registry.infos())
        return {action.name for action in house.registry.enabled}, {
            entry.name for entry in house.features().commands.menu(off)
        }

    actions, commands = names(House())
    fewer_actions, fewer_commands = names(House(reminder_limits=Limits(most=0)))
    assert actions - fewer_actions == {"ReminderSet", "ReminderCancel", "ReminderList"}
    assert commands - fewer_commands == {"remind"}


@pytest.mark.parametrize(
    ("name", "value"), [("max_reminders", -1), ("reminder_min_interval_s", 59), ("max_reminders", "many")]
)
def test_a_limit_that_is_none_is_named(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"^{name.upper()}: "):
        load(None, **{name: value})
