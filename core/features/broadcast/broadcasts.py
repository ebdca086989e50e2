"""A text for everybody, and who has it: what a broadcast is, and the socket where it is kept.

Knows states. Does not know how anybody is written to, nor who is meant.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Protocol

from core.types import Locale, UserKey

DRAFT_KEPT: Final = timedelta(days=1)


class BroadcastState(StrEnum):
    """How far a broadcast has come. What is DONE or CANCELLED is over, and has no text any more."""

    DRAFT = "draft"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"


class Reach(StrEnum):
    """Whether somebody has it. SENDING: it is on its way; whoever finds that at a start cannot know whether it came."""

    WAITING = "waiting"
    SENDING = "sending"
    TOLD = "told"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class Broadcast:
    """A text for everybody. `by` is None where that person was forgotten; `locale` is the language they read."""

    id: int
    at: datetime
    by: UserKey | None
    locale: Locale
    text: str
    state: BroadcastState = BroadcastState.DRAFT


@dataclass(frozen=True, slots=True)
class Tally:
    """How many have it, how many cannot be reached, and how many wait for it."""

    told: int = 0
    unreachable: int = 0
    waiting: int = 0


class Broadcasts(Protocol):
    """What is to be told to everybody, and who was told. At most one broadcast runs."""

    async def draft(self, by: UserKey, locale: Locale, text: str, at: datetime) -> Broadcast:
        """Keep a text that nobody was told yet, in place of the person's earlier one; drafts of yesterday go."""
        ...

    async def find(self, number: int) -> Broadcast | None:
        """Return the broadcast of that id."""
        ...

    async def newest(self) -> Broadcast | None:
        """Return the one that runs, or ran last."""
        ...

    async def discard(self, number: int) -> bool:
        """Forget a draft. False, and nothing changed, if it is none."""
        ...

    async def begin(self, number: int, recipients: Sequence[UserKey]) -> bool:
        """Let a draft run, for those people; the one before it is forgotten. False, if it is none, or another runs."""
        ...

    async def take(self, number: int, platforms: Collection[str]) -> tuple[UserKey, bool] | None:
        """Note that the next on one of those platforms is being told, and return them; None, if nobody waits there.

        True with somebody of whom that was noted before: they may have it.
        """
        ...

    async def mark(self, number: int, user: UserKey, reach: Reach) -> None:
        """Note whether somebody has it."""
        ...

    async def drop(self, number: int, user: UserKey) -> None:
        """Let somebody be no recipient."""
        ...

    async def end(self, number: int, state: BroadcastState) -> bool:
        """Let one that runs be over, and keep no word of it. False, and nothing changed, if it does not run."""
        ...

    async def tally(self, number: int) -> Tally:
        """Return how far it has come."""
        ...

    async def forget(self, user: UserKey) -> None:
        """Keep nothing of that person: neither that they were to be told, nor that a broadcast is theirs."""
        ...
