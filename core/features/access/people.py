"""People with a role and strangers who wrote, and the port of the store that holds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from core.types import Role, UserKey


@dataclass(frozen=True, slots=True)
class Person:
    """A person whom somebody gave a role. `name` is what the platform calls them, cleaned, for people to read."""

    user: UserKey
    role: Role
    name: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Stranger:
    """Somebody without a role who wrote: when they were last told that the bot is private, or since when denied.

    `language` is the tag of what they speak ("" if that cannot be told). Nothing is kept of what they wrote.
    """

    user: UserKey
    name: str
    at: datetime
    language: str = ""
    denied: bool = False


DENIED = "denied"
"""What is decided of a stranger to whom nothing is said, and of whom nobody is asked, for a while."""

DENIED_FOR = timedelta(days=30)
"""How long."""


class People(Protocol):
    """Who has which role. Whoever has none is a stranger; of whoever has one nothing is noted as of a stranger."""

    async def find(self, user: UserKey) -> Person | None:
        """Return the person, or None for a stranger."""
        ...

    async def put(self, person: Person) -> None:
        """Give a person a role, in place of the one they had."""
        ...

    async def claim(self, person: Person) -> bool:
        """Make them the first owner of their platform. False, and nothing changed, if it has an owner."""
        ...

    async def all(self) -> Sequence[Person]:
        """Return everybody who has a role, the oldest first."""
        ...

    async def remove(self, user: UserKey) -> None:
        """Make a person a stranger again. One who is a stranger is fine."""
        ...

    async def rename(self, user: UserKey, name: str) -> None:
        """Keep what the platform calls a person now. A stranger is fine, and stays one."""
        ...

    async def note_stranger(self, stranger: Stranger, every: timedelta, denied_for: timedelta = DENIED_FOR) -> bool:
        """Note that a stranger wrote; a denial longer ago than `denied_for` is over.

        False, and nothing changed, if they were noted less than `every` before, or denied less than that.
        """
        ...

    async def deny(self, user: UserKey, at: datetime) -> None:
        """Make a person a stranger who was denied then, in place of whatever they were."""
        ...

    async def stranger(self, user: UserKey) -> Stranger | None:
        """Return what is noted of a stranger, None if nothing."""
        ...

    async def strangers(self, limit: int) -> Sequence[Stranger]:
        """Return the strangers who wrote last and were not denied, the newest first."""
        ...

    async def denied(self) -> Sequence[Stranger]:
        """Return the strangers who were denied, the last one first."""
        ...

    async def drop_strangers(self, before: datetime) -> None:
        """Forget the strangers who were noted before then."""
        ...
