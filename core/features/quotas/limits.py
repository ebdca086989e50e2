"""Limits and their notation: `messages_minute=10 tokens_day=50000 cost_month=2.50`.

0 means zero; a limit that is not written does not hold; "none" is written where nothing is limited.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Final, TypeAlias

QUOTA: Final = "quota"
"""The kind of decision on limits, of a person or room (PLATFORM:ID), a Role, or "bot", as `written` writes them."""

NO_LIMITS: Final = "none"
EXAMPLE: Final = "messages_minute=10 tokens_day=50000 cost_month=2.50"

_NUMBER = re.compile(r"\d{1,12}(\.\d{1,6})?")


class Limit(StrEnum):
    """What is limited: messages in any 60 seconds; tokens in and out, and US dollars, of a day and of a month."""

    MESSAGES_MINUTE = "messages_minute"
    TOKENS_DAY = "tokens_day"
    TOKENS_MONTH = "tokens_month"
    COST_DAY = "cost_day"
    COST_MONTH = "cost_month"

    @property
    def is_cost(self) -> bool:
        """Whether it is money; the others are whole numbers."""
        return self in {Limit.COST_DAY, Limit.COST_MONTH}

    @property
    def is_monthly(self) -> bool:
        """Whether it is of a month."""
        return self in {Limit.TOKENS_MONTH, Limit.COST_MONTH}


SPENDING: Final = frozenset(Limit) - {Limit.MESSAGES_MINUTE}
"""The limits of what models cost; the other limit is one of messages of any kind."""

Limits: TypeAlias = Mapping[Limit, Decimal]


def stricter(one: Limits, other: Limits) -> Limits:
    """Return the limits of both, of each the smaller one."""
    return {limit: min(of[limit] for of in (one, other) if limit in of) for limit in {**one, **other}}


@dataclass(frozen=True, slots=True)
class Defaults:
    """The limits that hold where none were decided: of each person, each guest, each room, and the whole bot."""

    person: Limits = field(default_factory=dict)
    guest: Limits = field(default_factory=dict)
    room: Limits = field(default_factory=dict)
    bot: Limits = field(default_factory=dict)


class NotALimit(ValueError):
    """A text is not a limit; `part` is what was written."""

    def __init__(self, part: str) -> None:
        super().__init__(f"{part!r} is no limit; write some of {', '.join(Limit)}, such as {EXAMPLE}, or {NO_LIMITS}")
        self.part = part


def read(text: str) -> Limits:
    """Return the limits that a text writes, in any order and case.

    Raises:
        NotALimit: there is no limit in it, one stands there twice, or one has an unknown name or no number.
    """
    parts = text.casefold().split()
    if parts == [NO_LIMITS]:
        return {}
    limits: dict[Limit, Decimal] = {}
    for part in parts or [""]:
        name, _, number = part.partition("=")
        try:
            limit = Limit(name)
        except ValueError:
            raise NotALimit(part) from None
        if limit in limits or not _NUMBER.fullmatch(number) or ("." in number and not limit.is_cost):
            raise NotALimit(part)
        limits[limit] = Decimal(number)
    return limits


def written(limits: Limits) -> str:
    """Return the limits as `read` reads them, always in the same order."""
    return " ".join(f"{limit}={limits[limit]}" for limit in Limit if limit in limits) or NO_LIMITS
