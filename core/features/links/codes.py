"""Codes that link another account of the same person, and the port of the store that holds them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from core.types import UserKey


@dataclass(frozen=True, slots=True)
class LinkCode:
    """A code that links another account to `user`; only its hash, `digest`, is stored.

    `asked` is the account that was last told what entering the code gives away, at `asked_at`.
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
        """Store the code in place of the one that the account had."""
        ...

    async def find(self, digest: str) -> LinkCode | None:
        """Return the code, or None if there is none of that digest."""
        ...

    async def ask(self, digest: str, user: UserKey, at: datetime) -> None:
        """Record that an account was told what entering the code gives away; do nothing if there is no such code."""
        ...

    async def take(self, digest: str) -> bool:
        """Remove the code of that digest; return True to exactly one of several callers, False if there is none."""
        ...

    async def drop(self, before: datetime) -> None:
        """Remove the codes that were stored before then."""
        ...

    async def forget(self, user: UserKey) -> None:
        """Remove the account's code, and the record that it was asked about another's code, if there are any."""
        ...
