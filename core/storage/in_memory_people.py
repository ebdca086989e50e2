"""Standings in RAM: the reference. Knows dicts. Does not know what a standing permits."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from core.people import People, Person, Standing
from core.types import UserKey


class InMemoryPeople(People):
    """Everything is gone with the process."""

    def __init__(self) -> None:
        self._people: dict[UserKey, Person] = {}
        self._strangers: dict[UserKey, datetime] = {}

    async def find(self, user: UserKey) -> Person | None:
        """Return the person, or None for a stranger."""
        return self._people.get(user)

    async def put(self, person: Person) -> None:
        """Give a person a standing, in place of the one they had."""
        self._people[person.user] = person

    async def claim(self, person: Person) -> bool:
        """Make them the first owner of their platform. False, and nothing changed, if it has an owner."""
        platform = person.user.platform
        if any(other.standing is Standing.OWNER and other.user.platform == platform for other in self._people.values()):
            return False
        self._people[person.user] = person
        return True

    async def all(self) -> Sequence[Person]:
        """Return everybody who has a standing, the oldest first."""
        return sorted(self._people.values(), key=lambda person: person.since)

    async def remove(self, user: UserKey) -> None:
        """Make a person a stranger again. One who is a stranger is fine."""
        self._people.pop(user, None)
        self._strangers.pop(user, None)

    async def note_stranger(self, user: UserKey, at: datetime, every: timedelta) -> bool:
        """Note that a stranger wrote. False, and nothing changed, if that was noted less than `every` ago."""
        if user in self._strangers and at - self._strangers[user] < every:
            return False
        self._strangers[user] = at
        return True
