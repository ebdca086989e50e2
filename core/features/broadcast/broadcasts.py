"""Broadcasts, texts for everybody, with who has each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from core.types import Locale, UserKey

DRAFT_KEPT: Final = timedelta(days=1)


class BroadcastState(StrEnum):
    """The state of a broadcast. One that is DONE or CANCELLED is over, and its text was deleted."""

    DRAFT = "draft"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"


class Receipt(StrEnum):
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
class ReceiptCount:
    """How many people have it, cannot be reached, and wait for it."""

    told: int = 0
    unreachable: int = 0
    waiting: int = 0
