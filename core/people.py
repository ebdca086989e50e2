"""Who people are to the bot, and the socket where that is kept.

Knows standings. Does not know what a standing permits: that is `core/access.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from core.types import UserKey


class Standing(StrEnum):
    """What a person is to the bot."""

    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class Person:
    """A person whom somebody gave a standing. `name` is what the platform calls them, cleaned, for people to read."""

    user: UserKey
    standing: Standing
    name: str
    since: datetime


class People(Protocol):
    """Who has which standing. Whoever has none is a stranger."""

    async def find(self, user: UserKey) -> Person | None:
        """Return the person, or None for a stranger."""
        ...

    async def put(self, person: Person) -> None:
        """Give a person a standing, in place of the one they had."""
        ...

    async def claim(self, person: Person) -> bool:
        """Make them the first owner of their platform. False, and nothing changed, if it has an owner."""
        ...

    async def all(self) -> Sequence[Person]:
        """Return everybody who has a standing, the oldest first."""
        ...

    async def remove(self, user: UserKey) -> None:
        """Make a person a stranger again. One who is a stranger is fine."""
        ...

    async def note_stranger(self, user: UserKey, at: datetime, every: timedelta) -> bool:
        """Note that a stranger wrote. False, and nothing changed, if that was noted less than `every` ago."""
        ...
