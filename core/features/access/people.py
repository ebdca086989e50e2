"""People with a role and strangers who wrote, and the port of the store that holds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from core.types import Role, UserKey


@dataclass(frozen=True, slots=True)
class Person:
    """A person with a role. `name` is what the platform calls them, cleaned for display."""

    user: UserKey
    role: Role
    name: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Stranger:
    """A person without a role who wrote. `at` is when they were last told that the bot is private, or were denied.

    `language` is the tag of what they speak, "" if unknown. What they wrote is not kept.
    """

    user: UserKey
    name: str
    at: datetime
    language: str = ""
    denied: bool = False


@dataclass(frozen=True, slots=True)
class Account:
    """An account that wrote, as its platform tells: the @name without the @, and the tag of its language; "" for none.

    It is kept of everybody whom the bot answered or noted as a stranger, whatever their role.
    """

    user: UserKey
    handle: str = ""
    language: str = ""


DENIED = "denied"
"""The decision that a stranger gets no answer, and owners no question about them, for `DENIED_FOR`."""

DENIED_FOR = timedelta(days=30)


class People(Protocol):
    """People with roles, and strangers. A person who gets a role is no longer noted as a stranger."""

    async def find(self, user: UserKey) -> Person | None:
        """Return the person, or None for a stranger."""
        ...

    async def known(self, user: UserKey) -> tuple[Person | None, Account | None]:
        """Return the person, and what is kept of their account; None for what there is not."""
        ...

    async def put(self, person: Person) -> None:
        """Give a person a role, in place of the one they had."""
        ...

    async def claim(self, person: Person) -> bool:
        """Make them the first owner of their platform; return False, and change nothing, if it has an owner."""
        ...

    async def all(self) -> Sequence[Person]:
        """Return everybody who has a role, the oldest first."""
        ...

    async def remove(self, user: UserKey) -> None:
        """Remove the person's role; do nothing if they have none."""
        ...

    async def rename(self, user: UserKey, name: str) -> None:
        """Store what the platform calls a person now; do nothing for a stranger."""
        ...

    async def note_stranger(self, stranger: Stranger, every: timedelta, denied_for: timedelta = DENIED_FOR) -> bool:
        """Record that a stranger wrote; return False, and change nothing, if they were noted or denied shortly before.

        "Shortly" is `every` for a stranger who was noted, `denied_for` for one who was denied.
        """
        ...

    async def stranger(self, user: UserKey) -> Stranger | None:
        """Return what is noted of a stranger, or None."""
        ...

    async def strangers(self, limit: int = 2**62, *, denied: bool = False) -> Sequence[Stranger]:
        """Return the strangers who were denied, or those who were not, the newest first."""
        ...

    async def drop_strangers(self, before: datetime) -> None:
        """Remove the strangers who were noted before then, and what is kept of their accounts."""
        ...

    async def put_account(self, account: Account) -> None:
        """Store what is told of an account; another account of its platform loses the same handle."""
        ...

    async def account(self, user: UserKey) -> Account | None:
        """Return what is kept of an account, or None for one that never wrote."""
        ...

    async def named(self, handle: str) -> Sequence[UserKey]:
        """Return the accounts of that handle, in any case of letters, on every platform."""
        ...

    async def forget_account(self, user: UserKey) -> None:
        """Remove what is kept of an account."""
        ...
