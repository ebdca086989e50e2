"""Settings of quotas: how much each person, room and the bot may spend, and when a day begins."""

from __future__ import annotations

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings

from core.errors import ConfigError
from core.features.quotas.limits import Defaults, Limits, NotALimit, read

_TIMEZONE = "TIMEZONE"


class QuotaSettings(BaseSettings):
    """The settings of quotas and of time."""

    quota_person: str = Field(
        default="messages_minute=30",
        description="Limits of each person who is no guest and no owner, separated by spaces: messages_minute, "
        "tokens_day, tokens_month, cost_day, cost_month (in US dollars). 0 means zero; of what is not written there is "
        "no limit; none: nothing is limited. A text of more than 4,000 characters counts as several messages. "
        "/admin quota changes them while the bot runs.",
        examples=["messages_minute=10 tokens_day=50000 cost_month=2.50"],
    )
    quota_guest: str = Field(
        default="messages_minute=6 tokens_day=100000 tokens_month=1000000",
        description="Limits of each guest: whoever is answered only because a room was let in, or everybody is.",
    )
    quota_room: str = Field(
        default="messages_minute=60", description="Limits of each room, for all who write there together."
    )
    quota_bot: str = Field(
        default="messages_minute=600", description="Limits of the whole bot, for everybody together, owners too."
    )
    timezone: str = Field(
        default="UTC",
        description="The time zone in which people are told times, and in which days and months begin at midnight: an "
        "IANA name such as America/Sao_Paulo or Europe/Lisbon.",
    )

    @model_validator(mode="after")
    def _check_quotas(self) -> QuotaSettings:
        """Refuse limits or a time zone that cannot be read."""
        self.quotas()
        self.zone()
        return self

    def quotas(self) -> Defaults:
        """Return the limits that hold where no owner decided others."""
        return Defaults(
            person=_limits("QUOTA_PERSON", self.quota_person),
            guest=_limits("QUOTA_GUEST", self.quota_guest),
            room=_limits("QUOTA_ROOM", self.quota_room),
            bot=_limits("QUOTA_BOT", self.quota_bot),
        )

    def zone(self) -> ZoneInfo:
        """Return the time zone of days, months and all times shown to people."""
        try:
            return ZoneInfo(self.timezone.strip())
        except (ZoneInfoNotFoundError, ValueError, OSError):
            advice = f"there is no time zone {self.timezone!r}; write a name such as America/Sao_Paulo, or UTC"
            raise ConfigError(_TIMEZONE, advice) from None


def _limits(setting: str, text: str) -> Limits:
    try:
        return read(text)
    except NotALimit as error:
        raise ConfigError(setting, str(error)) from None
