"""Broadcasts, texts for everybody, with who has each; and the port of the store that holds them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Protocol

from core.types import Locale, UserKey

DRAFT_KEPT: Final = timedelta(days=1)


class BroadcastState(StrEnum):
    """The state of a broadcast. One that is DONE or CANCELLED is over, and its text was deleted."""

    DRAFT = "draft"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"


class Reach(StrEnum):
    """Whether a person has it. Of one that is SENDING at a start nobody can know whether it arrived."""

    WAITING = "waiting"
    SENDING = "sending"
    TOLD = "told"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class Broadcast:
    """A text for everybody. `by` is its author, None if they were forgotten; `locale` is the author's language."""

    id: int
    at: datetime
    by: UserKey | None
    locale: Locale
    text: str
    state: BroadcastState = BroadcastState.DRAFT


@dataclass(frozen=True, slots=True)
class Tally:
    """How many people have it, cannot be reached, and wait for it."""

    told: int = 0
    unreachable: int = 0
    waiting: int = 0


class Broadcasts(Protocol):
    """Broadcasts and their recipients. At most one broadcast runs."""

    async def draft(self, by: UserKey, locale: Locale, text: str, at: datetime) -> Broadcast:
        """Store a draft in place of the person's earlier one; drafts older than a day are deleted."""
        ...

    async def newest(self) -> Broadcast | None:
        """Return the broadcast that runs, or ran last."""
        ...

    async def discard(self, number: int) -> bool:
        """Delete a draft; return False, and change nothing, if it is not a draft."""
        ...

    async def begin(self, number: int, recipients: Sequence[UserKey]) -> bool:
        """Start a draft and delete the last broadcast; return False if it is no draft, or another runs."""
        ...

    async def take(self, number: int, platforms: Collection[str]) -> tuple[UserKey, bool] | None:
        """Mark the next recipient on one of those platforms as SENDING and return them; None if nobody waits there.

        The bool is True if they were SENDING before: they may have it already.
        """
        ...

    async def mark(self, number: int, user: UserKey, reach: Reach | None) -> None:
        """Record whether somebody has it; with None, remove them from the recipients."""
        ...

    async def end(self, number: int, state: BroadcastState) -> bool:
        """End a running broadcast and delete its text; return False, and change nothing, if it does not run."""
        ...

    async def tally(self, number: int) -> Tally:
        """Return how many have it, how many cannot be reached, and how many wait."""
        ...

    async def forget(self, user: UserKey) -> None:
        """Remove that person as a recipient and as an author."""
        ...
