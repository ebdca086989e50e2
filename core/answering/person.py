"""The person whom a turn answers, and what they chose."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo

from core.types import Learn, Locale


@dataclass(slots=True)
class Person:
    """Who is answered. A turn in which they choose another language goes on in it, so that all who hold this see it."""

    locale: Locale
    """The language of our own sentences."""

    language: str = ""
    """The tag of the language chosen for answers, or ""."""

    tag: str = ""
    """The platform's tag of their language ("pt-br"), or ""."""

    own_zone: ZoneInfo | None = None
    """The time zone that they told; None if they have not."""

    usual_zone: tzinfo = UTC
    """The zone of those who told none."""

    name: str = ""
    """Their name on the platform."""

    remembers: bool = True
    """False while they want nothing new to be remembered."""

    learn: Learn = Learn.OFFERED
    """What becomes of facts that they tell in passing."""

    is_private: bool = True
    """Whether nobody else reads along."""

    @property
    def zone(self) -> tzinfo:
        """The time zone of times that they read."""
        return self.own_zone or self.usual_zone

    @property
    def speaker(self) -> str:
        """Their name where others read along, else ""."""
        return "" if self.is_private else self.name
