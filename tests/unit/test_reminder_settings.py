"""Settings of reminders: what is set is what holds, and what is wrong is named."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.settings.settings import load
from core.errors import ConfigError
from core.features.reminders.service import Limits


def test_what_is_set_is_what_holds() -> None:
    assert load(None).reminder_limits() == Limits(100, timedelta(minutes=5))
    settings = load(None, max_reminders=0, reminder_min_interval_s=3600)
    assert settings.reminder_limits() == Limits(0, timedelta(hours=1))


@pytest.mark.parametrize(
    ("name", "value"), [("max_reminders", -1), ("reminder_min_interval_s", 59), ("max_reminders", "many")]
)
def test_a_limit_that_is_none_is_named(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"^{name.upper()}: "):
        load(None, **{name: value})
