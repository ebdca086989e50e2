"""Codes that link another account of the same person."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

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
