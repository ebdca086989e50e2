"""Codes that link another account of the same person, and the port of the store that holds them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from core.types import UserKey


@dataclass(frozen=True, slots=True)
class LinkCode:
    """A code by which somebody's other account may be linked to theirs: `digest` is what is kept of it.

    `asked` is the account that was told last what entering it gives away, and `asked_at` when.
    """

    digest: str
    user: UserKey
    name: str
    at: datetime
    asked: UserKey | None = None
    asked_at: datetime | None = None


class LinkCodes(Protocol):
    """The codes that wait to be entered, at most one for each account."""

    async def put(self, code: LinkCode) -> None:
        """Keep it, in place of the one that the account had."""
        ...

    async def find(self, digest: str) -> LinkCode | None:
        """Return the code, or None if there is none of that digest."""
        ...

    async def take(self, digest: str) -> bool:
        """Forget the code of that digest, and return whether there was one: of several who take it, one has it."""
        ...

    async def drop(self, before: datetime) -> None:
        """Forget what was put before then."""
        ...

    async def forget(self, user: UserKey) -> None:
        """Forget the account's code, and that it was asked about another's. None is fine."""
        ...
