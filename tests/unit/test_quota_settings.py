"""Settings of limits: what is wrong is named before the start."""

from __future__ import annotations

from decimal import Decimal

import pytest

from bot.settings.settings import load
from core.errors import ConfigError
from core.features.quotas.limits import Limit


def test_guests_are_limited_and_nobody_is_unlimited_in_messages_a_minute() -> None:
    limits = load(None).quotas()
    for own in (limits.person, limits.guest, limits.room, limits.bot):
        assert own[Limit.MESSAGES_MINUTE] > 0
    assert set(limits.guest) == {Limit.MESSAGES_MINUTE, Limit.TOKENS_DAY, Limit.TOKENS_MONTH}
    assert load(None).zone().key == "UTC"


def test_what_is_set_is_what_holds() -> None:
    settings = load(None, quota_bot="cost_month=2.50 tokens_day=0", quota_person="none", timezone=" Europe/Lisbon ")
    assert settings.quotas().bot == {Limit.COST_MONTH: Decimal("2.50"), Limit.TOKENS_DAY: 0}
    assert settings.quotas().person == {}
    assert settings.zone().key == "Europe/Lisbon"


@pytest.mark.parametrize("name", ["quota_person", "quota_guest", "quota_room", "quota_bot"])
def test_a_limit_that_is_none_is_named_with_what_to_write_instead(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"^{name.upper()}: 'tokens_week=5' is no limit; write some of messages_min"):
        load(None, **{name: "tokens_day=5 tokens_week=5"})


@pytest.mark.parametrize(
    "zone", ["Lisbon", "America", "../../etc/passwd", "/usr/share/zoneinfo/UTC", "Europe/Lisbon\0"]
)
def test_a_time_zone_that_there_is_not_is_named(zone: str) -> None:
    with pytest.raises(ConfigError, match=r"^TIMEZONE: there is no time zone"):
        load(None, timezone=zone)
