"""Reminders as a calendar file (iCalendar, RFC 5545): an event with an alarm for each."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from icalendar import Alarm, Calendar, Event
from icalendar.prop import vRecur

from core.features.reminders.reminders import Kind, Reminder, State
from core.features.reminders.telling import BRIEFING
from core.times.rules import instant, next_after, read

_PRODUCT: Final = "-//Elefante//Reminders//EN"
_AHEAD: Final = timedelta(days=366 * 20)
"""How far ahead the changes of clocks are written."""


def to_ics(reminders: Iterable[Reminder], now: datetime) -> str:
    """Return a calendar with the reminders that are still to come; the id of each is its UID. `now` is aware.

    Those of days and longer are in their zone, of which the rules are in the file; those of hours and minutes in UTC.
    One that is paused has no alarm.
    """
    calendar = Calendar()
    calendar.add("version", "2.0")
    calendar.add("prodid", _PRODUCT)
    starts = [now]
    for each in reminders:
        if (start := _start(each)) is not None:
            calendar.add_component(_event(each, start, now))
            starts.append(start)
    first, last = min(starts) - timedelta(days=1), max(starts) + _AHEAD
    calendar.add_missing_timezones(first.date(), last.date())
    return str(calendar.to_ical(), "utf-8")


def _start(reminder: Reminder) -> datetime | None:
    """Return the first instant that the event has, in the zone that its rule counts in; None if there is none."""
    schedule = reminder.schedule
    begin = instant(schedule.wall, schedule.zone)
    if not schedule.rule:
        return (reminder.due or begin).astimezone(ZoneInfo(schedule.zone))
    first = next_after(schedule.wall, schedule.zone, schedule.rule, begin - timedelta(microseconds=1))
    return first and first.astimezone(UTC if read(schedule.rule).is_sub_daily else ZoneInfo(schedule.zone))


def _event(reminder: Reminder, start: datetime, now: datetime) -> Event:
    """Return the event of a reminder, which takes no time and makes nobody busy."""
    title = BRIEFING[reminder.locale] if reminder.kind is Kind.BRIEFING else reminder.text
    event = Event.new(
        uid=reminder.id, summary=title, start=start, stamp=now.astimezone(UTC), created=reminder.created_at
    )
    event.add("transp", "TRANSPARENT")
    if reminder.schedule.rule:
        event.add("rrule", _recurrence(reminder))
    if reminder.state is not State.PAUSED:
        alarm = Alarm.new(description=title)
        alarm.add("action", "DISPLAY")
        alarm.add("trigger", timedelta())
        event.add_component(alarm)
    return event


def _recurrence(reminder: Reminder) -> vRecur:
    """Return the rule, with an UNTIL in UTC, as it has to be where the start has a zone."""
    schedule = reminder.schedule
    recurrence: vRecur = vRecur.from_ical(schedule.rule.upper())
    if (ends := read(schedule.rule).ends(schedule.zone)) is not None:
        recurrence["UNTIL"] = [ends.replace(microsecond=0)]
    return recurrence
