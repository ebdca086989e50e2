"""Reminders as an export has them, and as an import takes them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from core.features.reminders.reminders import OPEN, Kind, Reminder, Schedule, State
from core.features.reminders.service import MAX_TEXT_CHARS
from core.text.language import from_tag
from core.text.unicode import clean, fold
from core.times.rules import problem
from core.types import ChatKey, JSONValue, Locale, UserKey

_YEARS: Final = range(1900, 9000)
"""Of times that every zone has."""


@dataclass(frozen=True, slots=True)
class TakenReminder:
    """A reminder of a file that was still to come.

    `user` and `chat` are where it was set, if that was on an account of the person who imports it; else None.
    """

    text: str
    schedule: Schedule
    kind: Kind
    locale: Locale | None
    paused: bool
    private: bool
    user: UserKey | None
    chat: ChatKey | None


def same(reminder: Reminder | TakenReminder) -> tuple[str, ...]:
    """Return what two reminders have in common that say the same at the same times."""
    schedule = reminder.schedule
    return (reminder.kind, fold(reminder.text), schedule.wall.isoformat(), schedule.zone, schedule.rule)


def to_entry(reminder: Reminder) -> dict[str, JSONValue]:
    """Return everything that is kept of a reminder."""
    before = reminder.before
    return {
        "id": reminder.id,
        "user": str(reminder.user),
        "chat": reminder.chat.chat,
        "topic": reminder.chat.thread,
        "private": reminder.private,
        "name": reminder.name,
        "text": reminder.text,
        "kind": reminder.kind.value,
        "language": reminder.locale.value,
        **_schedule(reminder.schedule),
        "due": _time(reminder.due),
        "state": reminder.state.value,
        "tries": reminder.tries,
        "failures": reminder.failures,
        "created_at": _time(reminder.created_at),
        "sent_at": _time(reminder.sent_at),
        "batch": reminder.batch,
        "changed_at": _time(reminder.changed_at),
        "before": None
        if before is None
        else {
            "text": before.text,
            **_schedule(before.schedule),
            "due": _time(before.due),
            "state": before.state.value,
        },
    }


def from_entry(entry: Any, accounts: Collection[UserKey]) -> TakenReminder | None:
    """Return the reminder of an entry for the person with those accounts, or None if it is over or cannot be set."""
    try:
        text, kind, state = clean(str(entry["text"])), Kind(entry["kind"]), State(entry["state"])
        wall, zone = datetime.fromisoformat(entry["wall"]), ZoneInfo(entry["zone"]).key
        schedule = Schedule(wall, zone, str(entry["rule"]), entry["guessed"] is True)
        is_time = wall.tzinfo is None and wall.year in _YEARS and not (schedule.rule and problem(schedule.rule))
        if state not in OPEN or not is_time or len(text) > MAX_TEXT_CHARS or not (text or kind is Kind.BRIEFING):
            return None
        user = next((user for user in accounts if str(user) == entry["user"]), None)
        return TakenReminder(
            text,
            schedule,
            kind,
            from_tag(str(entry.get("language"))),
            state is State.PAUSED,
            entry["private"] is True,
            user,
            ChatKey(user.platform, str(entry["chat"]), str(entry["topic"])) if user else None,
        )
    except (KeyError, TypeError, ValueError, OSError):  # OSError: the name of a zone that no file can have
        return None


def _schedule(schedule: Schedule) -> dict[str, JSONValue]:
    return {
        "wall": schedule.wall.isoformat(),
        "zone": schedule.zone,
        "rule": schedule.rule,
        "guessed": schedule.guessed,
    }


def _time(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat(timespec="microseconds")
