"""People with a role, and strangers who wrote."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

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
