"""Reminders as an iCalendar file (RFC 5545), for other calendars to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from core.features.reminders.reminders import Reminder


def to_ics(reminders: Sequence[Reminder], now: datetime) -> str:
    """Return the file's text, with an event for each reminder."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//elefante//reminders//EN"]
    for each in reminders:
        lines += _event(each, now)
    return "".join(f"{line}\r\n" for line in (*lines, "END:VCALENDAR"))


def _event(reminder: Reminder, now: datetime) -> Iterator[str]:
    schedule = reminder.schedule
    yield "BEGIN:VEVENT"
    yield f"UID:{reminder.id}@elefante"
    yield f"DTSTAMP:{now.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    yield f"DTSTART;TZID={schedule.zone}:{schedule.wall:%Y%m%dT%H%M%S}"
    if schedule.rule:
        yield f"RRULE:{schedule.rule}"
    text = reminder.text.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,").replace("\n", "\\n")
    yield f"SUMMARY:{text}"
    yield "END:VEVENT"
