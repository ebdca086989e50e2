"""People and strangers in RAM: the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from core.features.access.people import DENIED_FOR, Account, People, Person, Stranger
from core.types import Role, UserKey


class InMemoryPeople(People):
    """Everything is gone with the process."""

    def __init__(self) -> None:
        self._people: dict[UserKey, Person] = {}
        self._strangers: dict[UserKey, Stranger] = {}
        self._accounts: dict[UserKey, Account] = {}

    async def find(self, user: UserKey) -> Person | None:
        """Return the person, or None for a stranger."""
        return self._people.get(user)

    async def known(self, user: UserKey) -> tuple[Person | None, Account | None]:
        """Return the person, and what is kept of their account."""
        return self._people.get(user), self._accounts.get(user)

    async def put(self, person: Person) -> None:
        """Give a person a role, in place of the one they had."""
        self._people[person.user] = person
        self._strangers.pop(person.user, None)

    async def claim(self, person: Person) -> bool:
        """Make them the first owner of their platform. False, and nothing changed, if it has an owner."""
        platform = person.user.platform
        if any(other.role is Role.OWNER and other.user.platform == platform for other in self._people.values()):
            return False
        await self.put(person)
        return True

    async def all(self) -> Sequence[Person]:
        """Return everybody who has a role, the oldest first."""
        return sorted(self._people.values(), key=lambda person: person.since)

    async def remove(self, user: UserKey) -> None:
        """Make a person a stranger again. One who is a stranger is fine."""
        self._people.pop(user, None)
        self._strangers.pop(user, None)

    async def rename(self, user: UserKey, name: str) -> None:
        """Keep what the platform calls a person now. A stranger is fine, and stays one."""
        if user in self._people:
            self._people[user] = replace(self._people[user], name=name)

    async def note_stranger(self, stranger: Stranger, every: timedelta, denied_for: timedelta = DENIED_FOR) -> bool:
        """Note that a stranger wrote. False, and nothing changed, if they were noted or denied a short while before."""
        noted = self._strangers.get(stranger.user)
        if noted is not None and stranger.at - noted.at < (denied_for if noted.denied else every):
            return False
        self._strangers[stranger.user] = stranger
        return True

    async def stranger(self, user: UserKey) -> Stranger | None:
        """Return what is noted of a stranger, None if nothing."""
        return self._strangers.get(user)

    async def strangers(self, limit: int = 2**62, *, denied: bool = False) -> Sequence[Stranger]:
        """Return the strangers who were denied, or those who were not, the newest first."""
        newest = sorted(self._strangers.values(), key=lambda stranger: stranger.at, reverse=True)
        return [stranger for stranger in newest if stranger.denied is denied][:limit]

    async def drop_strangers(self, before: datetime) -> None:
        """Forget the strangers who were noted before then, and what is kept of their accounts."""
        for user in [user for user, noted in self._strangers.items() if noted.at < before]:
            del self._strangers[user]
            self._accounts.pop(user, None)

    async def put_account(self, account: Account) -> None:
        """Store what is told of an account; another account of its platform loses the same handle."""
        for user, known in self._accounts.items():
            if user.platform == account.user.platform and known.handle.lower() == account.handle.lower():
                self._accounts[user] = replace(known, handle="")
        self._accounts[account.user] = account

    async def account(self, user: UserKey) -> Account | None:
        """Return what is kept of an account, or None for one that never wrote."""
        return self._accounts.get(user)

    async def named(self, handle: str) -> Sequence[UserKey]:
        """Return the accounts of that handle, in any case of letters, on every platform."""
        found = [known.user for known in self._accounts.values() if handle and known.handle.lower() == handle.lower()]
        return sorted(found, key=str)

    async def forget_account(self, user: UserKey) -> None:
        """Remove what is kept of an account."""
        self._accounts.pop(user, None)
