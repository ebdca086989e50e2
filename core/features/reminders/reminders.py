"""Reminders, and the port of the store that holds them.

A reminder is durable before it is confirmed to the person, and is due once for each instant. Whoever fires it claims it
first: a claim holds for a lease, which is renewed while the work lasts, so that exactly one worker fires it, and
another may once the first died.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Protocol

from core.types import ChatKey, Locale, UserKey

LEASE: Final = timedelta(minutes=2)
"""How long a claim holds unless it is renewed."""

KEPT: Final = timedelta(days=30)
"""How long a reminder that was fired for the last time stays, for the buttons below it."""


class Kind(StrEnum):
    """What is said when it is due: the text, or what the day has in store."""

    REMINDER = "reminder"
    BRIEFING = "briefing"


class State(StrEnum):
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

OPEN: Final = frozenset({State.WAITING, State.SENDING, State.PAUSED})
"""The states of reminders that count against the person's limit."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """When a reminder is due: one instant, or again and again.

    `wall` is the first instant as the clock on the wall of `zone` shows it (naive), `rule` an RRULE without DTSTART
    ("" for once). `guessed`: the zone is our guess and nobody has confirmed it. Wall time, zone and rule are what was
    agreed on; instants are computed from them, and anew when the rules of the zone change.
    """

    wall: datetime
    zone: str
    rule: str = ""
    guessed: bool = False


@dataclass(frozen=True, slots=True)
class Reminder:
    """One reminder. `id` is "" until stored; `text` are the person's own words.

    `user` set it in `chat`, where it is fired; `private`: nobody else reads along there. `name` is the person's name
    for a mention. `due` is the next instant, aware UTC; None if there is none. `locale` is the language it was set in.
    `tries` counts claims of this instant: more than one means that it may have been said. `failures` counts the posts
    that the chat refused since the last that it took; `sent_at` is when it was said last. `batch` is the id under which
    several that are said in one message are acted on together. `changed_at` and `before` are the last change by the
    person and what it can be taken back to (None: to nothing; the reminder was new), `act` what that was part of.
    """

    user: UserKey
    chat: ChatKey
    text: str
    schedule: Schedule
    due: datetime | None
    created_at: datetime
    private: bool = True
    name: str = ""
    kind: Kind = Kind.REMINDER
    locale: Locale = Locale.PT
    state: State = State.WAITING
    tries: int = 0
    failures: int = 0
    sent_at: datetime | None = None
    batch: str = ""
    changed_at: datetime | None = None
    before: Before | None = None
    act: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Before:
    """What a reminder was before its last change."""

    text: str
    schedule: Schedule
    due: datetime | None
    state: State


@dataclass(frozen=True, slots=True)
class Claim:
    """What one who fires takes: due at or before `now` on those platforms, but not in the `busy` chats, by their ids.

    `limit` is the least number that is taken, if so many are due: those of one person in one chat are taken together.
    """

    now: datetime
    platforms: Collection[str] = field(default_factory=frozenset)
    busy: Collection[str] = field(default_factory=frozenset)
    limit: int = 100


class ReminderStore(Protocol):
    """Reminders of everybody. `users` are the accounts of one person: nobody else's reminders are read or changed."""

    async def add(self, reminder: Reminder, *, most: int) -> Reminder | None:
        """Store a new reminder and return it with its id; None if that account has `most` open ones."""
        ...

    async def find(self, users: Sequence[UserKey], reminder_id: str) -> Reminder | None:
        """Return the person's reminder of that id, in any state, or None."""
        ...

    async def whose(self, reminder_id: str) -> tuple[UserKey, str] | None:
        """Return the account that set that reminder, and the person's name; None if there is none."""
        ...

    async def of(self, users: Sequence[UserKey], states: Collection[State] = OPEN) -> Sequence[Reminder]:
        """Return the person's reminders in those states, the next due first, those without a due time last."""
        ...

    async def in_batch(self, users: Sequence[UserKey], batch: str) -> Sequence[Reminder]:
        """Return the person's reminders that were said in that batch."""
        ...

    async def replace(self, old: Reminder, new: Reminder) -> bool:
        """Store `new` in place of `old`; return False, changing nothing, if it is not `old` any more.

        One that is WAITING can be claimed from its due time, though it was to be tried later.
        """
        ...

    async def purge(self, before: datetime, removed_before: datetime) -> None:
        """Delete those fired for the last time or given up before then, and those removed before `removed_before`.

        No byte of them is left on the disk when this returns.
        """
        ...

    async def next_due(self, platforms: Collection[str], busy: Collection[str] = ()) -> datetime | None:
        """Return when the next reminder on those platforms, not in those chats, can be claimed; None if none waits."""
        ...

    async def claim(self, claim: Claim) -> Sequence[Reminder]:
        """Mark due reminders SENDING until `now + LEASE`, with one more in `tries`; return them, the longest due first.

        Nobody else can claim them until the lease is over. Of several that claim at once each reminder goes to one.
        Those of one person in one chat, of one kind and as many failures get a new `batch` in common.
        """
        ...

    async def renew(self, claimed: Sequence[Reminder], now: datetime) -> None:
        """Hold those claims until `now + LEASE`, as far as nobody else has claimed the reminders since."""
        ...

    async def settle(self, outcomes: Sequence[tuple[Reminder, Reminder]], retry_at: datetime | None = None) -> None:
        """End claims: store what became of each claimed reminder (claimed, settled), all or none.

        Stored are `due`, `state`, `tries`, `failures` and `sent_at`; one that is WAITING can be claimed from
        `retry_at`, if that is later than `due`. One that somebody else has claimed since is left as it is. What the
        person changed meanwhile is kept: of one that has another due time or state only `sent_at` is stored.
        """
        ...

    async def release(self, platforms: Collection[str]) -> None:
        """End every lease on those platforms: what was claimed there by a process that died can be claimed at once."""
        ...

    async def newest_change(self, users: Sequence[UserKey]) -> Reminder | None:
        """Return the reminder that the person changed last, if that change can be taken back, or None."""
        ...

    async def forget(self, user: UserKey) -> None:
        """Delete every reminder of that account; no byte of them is left on the disk when this returns."""
        ...
