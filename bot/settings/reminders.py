"""Settings of reminders: how many a person may have, and how often one may repeat."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field
from pydantic_settings import BaseSettings

from core.features.reminders.service import Limits

_USUAL = Limits()


class ReminderSettings(BaseSettings):
    """The settings of reminders."""

    max_reminders: int = Field(
        default=_USUAL.most,
        ge=0,
        le=10_000,
        description="How many reminders a person may have that are still to come, on all their accounts together. 0: "
        "nobody can set any; those set before can be seen and deleted (/reminders).",
    )
    reminder_min_interval_s: float = Field(
        default=_USUAL.smallest_interval.total_seconds(),
        ge=60,
        le=86_400,
        description="The shortest time after which a reminder may repeat, in seconds.",
    )

    def reminder_limits(self) -> Limits:
        """Return these settings as the limits of reminders."""
        return Limits(self.max_reminders, timedelta(seconds=self.reminder_min_interval_s))
