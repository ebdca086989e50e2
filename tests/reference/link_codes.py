"""The codes that link accounts, in RAM: the reference."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from core.features.links.codes import LinkCode, LinkCodes
from core.types import UserKey


class InMemoryLinkCodes(LinkCodes):
    """Everything is gone with the process."""

    def __init__(self) -> None:
        self._codes: dict[UserKey, LinkCode] = {}

    async def put(self, code: LinkCode) -> None:
        """Keep it, in place of the one that the account had."""
        self._codes = {user: kept for user, kept in self._codes.items() if kept.digest != code.digest}
        self._codes[code.user] = code

    async def find(self, digest: str) -> LinkCode | None:
        """Return the code, or None if there is none of that digest."""
        return next((code for code in self._codes.values() if code.digest == digest), None)

    async def ask(self, digest: str, user: UserKey, at: datetime) -> None:
        """Keep that an account was told what entering the code gives away; do nothing if there is no such code."""
        if (found := await self.find(digest)) is not None:
            self._codes[found.user] = replace(found, asked=user, asked_at=at)

    async def take(self, digest: str) -> bool:
        """Forget the code of that digest, and return whether there was one."""
        found = await self.find(digest)
        return found is not None and self._codes.pop(found.user, None) is not None

    async def drop(self, before: datetime) -> None:
        """Forget what was put before then."""
        self._codes = {user: code for user, code in self._codes.items() if code.at >= before}

    async def forget(self, user: UserKey) -> None:
        """Forget the account's code, and that it was asked about another's. None is fine."""
        self._codes.pop(user, None)
        self._codes = {
            key: replace(code, asked=None, asked_at=None) if code.asked == user else code
            for key, code in self._codes.items()
        }
