"""Set, change, find and take back reminders: what actions, commands and the shell share. It says nothing to anybody."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Final

from core.features.reminders.reminders import Kind, Reminder, ReminderStore
from core.memory.memories import Memories
from core.ports import Clock
from core.times.reading import Once, Repeated
from core.types import ChatKey, Locale, UserKey

MAX_TEXT_CHARS: Final = 1_000


class Refusal(Enum):
    """Why a reminder was not set or changed."""

    TOO_MANY = auto()  # the person has as many as the owner allows
    TOO_OFTEN = auto()  # it would repeat more often than the owner allows
    PAST = auto()  # no instant of it is ahead
    NO_TEXT = auto()
    OFF_HERE = auto()  # reminders are off in this room
    NOT_HERE = auto()  # its text was said elsewhere, and would be heard by others here
    GONE = auto()  # it is not there any more, or was changed meanwhile


@dataclass(frozen=True, slots=True)
class Limits:
    """What the owner allows: open reminders a person, and the smallest interval of one that repeats."""

    most: int = 100
    smallest_interval: timedelta = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a person says something: their account and name, the chat, and whether nobody else reads along."""

    user: UserKey
    chat: ChatKey
    private: bool
    locale: Locale
    name: str = ""


class Reminders:
    """The reminders of everybody. `wake` is called whenever the next due time may have become earlier."""

    def __init__(
        self, store: ReminderStore, memories: Memories, clock: Clock, limits: Limits, wake: Callable[[], None]
    ) -> None:
        self.store = store
        self.limits = limits
        self._memories = memories
        self._clock = clock
        self._wake = wake

    async def set(
        self, place: Place, text: str, time: Once | Repeated, *, guessed: bool = False, kind: Kind = Kind.REMINDER
    ) -> Reminder | Refusal:
        """Store a reminder; it is on disk when this returns. `time` is in the person's zone; `guessed`: our guess."""
        raise NotImplementedError

    async def of(self, place: Place) -> Sequence[Reminder]:
        """Return the person's reminders that may be spoken of there, the next first: in a room those of that room."""
        raise NotImplementedError

    async def find(self, place: Place, reminder_id: str) -> Reminder | None:
        """Return the reminder of that id, in any state, if it is the person's and may be spoken of there."""
        raise NotImplementedError

    async def matching(self, place: Place, words: str) -> Sequence[Reminder]:
        """Return those of `of` of which the text shares a word that tells with `words`, the best first."""
        raise NotImplementedError

    async def remove(self, place: Place, reminder_id: str) -> Reminder | Refusal:
        """Delete a reminder; it can be taken back for as long as a deleted memory can."""
        raise NotImplementedError

    async def reword(self, place: Place, reminder_id: str, text: str) -> Reminder | Refusal:
        """Change the text. That of a room's reminder is changed only there, before those who will read it."""
        raise NotImplementedError

    async def reschedule(self, place: Place, reminder_id: str, time: Once | Repeated) -> Reminder | Refusal:
        """Change when it is due."""
        raise NotImplementedError

    async def pause(self, place: Place, reminder_id: str, *, paused: bool) -> Reminder | Refusal:
        """Hold a reminder, or let it go on from its next instant that is ahead."""
        raise NotImplementedError

    async def snooze(self, place: Place, batch: str, until: datetime) -> Sequence[Reminder]:
        """Let the reminders that were said in that batch be said again then; a repeated one goes on besides."""
        raise NotImplementedError

    async def undo(self, place: Place, reminder_id: str) -> Reminder | Refusal:
        """Take back the last change of a reminder, and return it as it is then (REMOVED, if it was new)."""
        raise NotImplementedError

    async def move_zone(self, user: UserKey, zone: str) -> tuple[Sequence[Reminder], Sequence[Reminder]]:
        """Let the person's reminders follow them to another zone; return those that moved, and those that stayed.

        One that repeats, and one that was set by our guess of the zone, keeps its wall time. Any other single one keeps
        its instant.
        """
        raise NotImplementedError
