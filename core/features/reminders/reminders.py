"""Reminders, their states and how one is claimed.

A reminder is durable before it is confirmed to the person, and is due once for each instant. Whoever fires it claims it
first: a claim holds for a lease, which is renewed while the work lasts, so that exactly one worker fires it, and
another may once the first died.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from core.types import ChatKey, Locale, UserKey

LEASE: Final = timedelta(minutes=2)
"""How long a claim holds unless it is renewed."""

KEPT: Final = timedelta(days=30)
"""How long a reminder that was fired for the last time stays, for the buttons below it."""


REST: Final = timedelta(days=1)
"""How long one that is said each time that something is mentioned is not said again."""


class Kind(StrEnum):
    """What is said when it is due: the text, what the day has in store, or whether they are back by the zone in it.

    A MENTION is said as soon as the person mentions something; it is over when it is due.
    """

    REMINDER = "reminder"
    MENTION = "mention"
    BRIEFING = "briefing"
    RETURN = "return"


class ReminderState(StrEnum):
    """Where a reminder stands. Only one that is WAITING is fired; SENDING ones are those that were claimed.

    DONE: fired for the last time. FAILED: could not be delivered, and was given up. REMOVED: deleted, can be restored.
    """

    WAITING = "waiting"
    SENDING = "sending"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"
    REMOVED = "removed"


IMPORTED: Final = "import "
"""How the batches begin of reminders that came in a file; the rest is the act that took it in."""

OPEN: Final = frozenset({ReminderState.WAITING, ReminderState.SENDING, ReminderState.PAUSED})
"""The states of reminders that count against the person's limit."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """When a reminder is due: one instant, or again and again.

    Wall time, zone and rule are what was agreed on; instants are computed from them, and anew when the rules of the
    zone change.
    """

    wall: datetime
    """The first instant as the clock on the wall of `zone` shows it, naive."""

    zone: str
    rule: str = ""
    """An RRULE without DTSTART; "" for once."""

    guessed: bool = False
    """Whether the zone is our guess, and nobody has confirmed it."""


@dataclass(frozen=True, slots=True)
class Mention:
    """What the person is to mention, in their own words, and whether they are reminded each time or once."""

    subject: str
    each: bool = False


@dataclass(frozen=True, slots=True)
class Reminder:
    """One reminder."""

    user: UserKey
    """The account that set it."""

    chat: ChatKey
    """Where it was set, and is fired."""

    text: str
    """The person's own words."""

    schedule: Schedule
    due: datetime | None
    """The next instant, aware UTC; None if there is none."""

    created_at: datetime
    private: bool = True
    """Whether nobody else reads along in that chat."""

    name: str = ""
    """The person's name, for a mention."""

    kind: Kind = Kind.REMINDER
    mention: Mention | None = None
    """Of a MENTION."""

    locale: Locale = Locale.PT
    """The language it was set in."""

    state: ReminderState = ReminderState.WAITING
    tries: int = 0
    """Counts claims of this instant: more than one means that it may have been said."""

    failures: int = 0
    """Counts the posts that the chat refused since the last that it took."""

    sent_at: datetime | None = None
    """When it was said last."""

    batch: str = ""
    """The id under which several that are said in one message are acted on together; of a MENTION, the act."""

    changed_at: datetime | None = None
    """When the person changed it last."""

    before: Before | None = None
    """What that change can be taken back to; None: to nothing, as the reminder was new."""

    act: str = ""
    """What that change was part of."""

    id: str = ""
    """"" until stored."""

    @property
    def named_by(self) -> str:
        """The words by which the person may name it."""
        return self.text if self.mention is None else f"{self.text} {self.mention.subject}"

    def is_ready(self, now: datetime) -> bool:
        """Return whether one that waits for a mention is said at the next."""
        is_over = self.due is None or self.due <= now
        has_rested = self.sent_at is None or now - self.sent_at >= REST
        return self.mention is not None and self.state is ReminderState.WAITING and not is_over and has_rested


@dataclass(frozen=True, slots=True)
class Before:
    """What a reminder was before its last change."""

    text: str
    schedule: Schedule
    due: datetime | None
    state: ReminderState


@dataclass(frozen=True, slots=True)
class DueClaim:
    """What one who fires takes: due at or before `now` on those platforms, but not in the `busy` chats, by their ids.

    `limit` is the least number that is taken, if so many are due: those of one person in one chat are taken together.
    """

    now: datetime
    platforms: Collection[str] = field(default_factory=frozenset)
    busy: Collection[str] = field(default_factory=frozenset)
    limit: int = 100
