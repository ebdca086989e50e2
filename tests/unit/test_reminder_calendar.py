"""The calendar file of reminders, read back by the parser of a calendar."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import pytest
from dateutil.rrule import rrulestr
from icalendar import Calendar

from core.features.reminders.reminders import Kind, Reminder, ReminderState, Schedule
from core.features.reminders.section import to_ics
from core.times.rules import next_after
from core.types import ChatKey, Locale, UserKey

NOW = datetime(2026, 11, 22, 13, 15, tzinfo=UTC)
NEW_YORK = "America/New_York"


def reminder(wall: str, zone: str, rule: str = "", text: str = "pay the rent") -> Reminder:
    schedule = Schedule(datetime.fromisoformat(wall), zone, rule)
    return Reminder(UserKey("test", "ana"), ChatKey("test", "c"), text, schedule, None, NOW, id="r1")


def events(*reminders: Reminder) -> list[Any]:
    return list(Calendar.from_ical(to_ics(reminders, NOW)).walk("VEVENT"))


def test_a_reminder_is_an_event_in_its_zone_with_an_alarm_and_its_id() -> None:
    [event] = events(reminder("2026-11-27T08:00", "America/Sao_Paulo"))
    assert (str(event["UID"]), str(event["SUMMARY"])) == ("r1", "pay the rent")
    assert event.start.isoformat() == "2026-11-27T08:00:00-03:00"
    assert event["DTSTART"].params["TZID"] == "America/Sao_Paulo"
    [alarm] = event.walk("VALARM")
    assert (alarm["ACTION"], alarm["TRIGGER"].dt) == ("DISPLAY", timedelta())
    assert "RRULE" not in event


def test_the_rules_of_every_zone_are_in_the_file() -> None:
    text = to_ics([reminder("2026-11-27T08:00", NEW_YORK, "FREQ=DAILY"), reminder("2026-11-27T08:00", "UTC")], NOW)
    [zone] = Calendar.from_ical(text).timezones
    assert zone.tz_name == NEW_YORK
    summer = datetime(2030, 7, 1, 8, tzinfo=zone.to_tz(lookup_tzid=False))
    assert summer.utcoffset() == timedelta(hours=-4)


@pytest.mark.parametrize(
    ("wall", "rule"),
    [
        ("2026-11-27T08:00", "FREQ=WEEKLY;BYDAY=FR;UNTIL=20270401"),
        ("2026-11-22T08:00", "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR"),  # its first day is not the one it begins on
        ("2026-11-01T00:30", "FREQ=HOURLY;INTERVAL=3"),
        ("2026-11-27T08:00", "freq=monthly;bymonthday=28,29,30,31;bysetpos=-1"),
        ("2027-03-13T02:30", "FREQ=DAILY;COUNT=4"),
    ],
)
def test_a_calendar_computes_the_instants_that_we_do(wall: str, rule: str) -> None:
    [event] = events(reminder(wall, NEW_YORK, rule))
    read: Any = rrulestr(event["RRULE"].to_ical().decode(), dtstart=event.start)
    theirs = [at.astimezone(UTC) for at in islice(read, 12)]
    ours: list[datetime] = []
    after = datetime(2026, 1, 1, tzinfo=UTC)
    while len(ours) < 12 and (at := next_after(datetime.fromisoformat(wall), NEW_YORK, rule, after)) is not None:
        ours.append(after := at)
    assert theirs == ours


def test_a_single_one_that_was_put_off_comes_when_it_is_due() -> None:
    late = replace(reminder("2026-11-22T08:00", "UTC"), due=datetime(2026, 11, 22, 14, tzinfo=UTC))
    assert events(late)[0].start == late.due


def test_one_that_is_over_is_left_out_and_a_paused_one_does_not_ring() -> None:
    paused = replace(reminder("2026-11-27T08:00", "UTC", "FREQ=DAILY"), state=ReminderState.PAUSED)
    [event] = events(paused, reminder("2026-11-27T08:00", "UTC", "FREQ=DAILY;UNTIL=20260101"))
    assert not event.walk("VALARM")


def test_no_text_of_a_person_becomes_a_part_of_the_file() -> None:
    text = "a; b, c\\n \r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nUID:x\x00" + "ü" * 200
    [event] = events(reminder("2026-11-27T08:00", "UTC", text=text))
    assert str(event["UID"]) == "r1"
    assert "ü" * 200 in str(event["SUMMARY"])
    assert all(
        len(line.encode()) <= 75 for line in to_ics([reminder("2026-11-27T08:00", "UTC", text=text)], NOW).splitlines()
    )


def test_a_briefing_is_called_by_its_name() -> None:
    briefing = replace(reminder("2026-11-27T07:00", "UTC", "FREQ=DAILY", text=""), kind=Kind.BRIEFING, locale=Locale.EN)
    assert str(events(briefing)[0]["SUMMARY"])


def test_a_calendar_of_nothing_is_a_calendar() -> None:
    assert Calendar.from_ical(to_ics([], NOW)).walk("VEVENT") == []


@pytest.mark.parametrize("rule", ["FREQ=DAILY;BYHOUR=8,20;BYMINUTE=0", "FREQ=HOURLY;INTERVAL=6"])
def test_days_that_are_skipped_are_left_out_of_a_calendar(rule: str) -> None:
    skipped = f"{rule};EXDATE=20261128,20261129"
    [event] = events(reminder("2026-11-27T08:00", NEW_YORK, skipped))
    theirs = rrulestr(event["RRULE"].to_ical().decode(), dtstart=event.start)
    left_out = {each.dt.astimezone(UTC) for each in event["EXDATE"].dts}
    read = [each for each in (one.astimezone(UTC) for one in islice(theirs, 30)) if each not in left_out]
    ours: list[datetime] = []
    after = datetime(2026, 1, 1, tzinfo=UTC)
    while len(ours) < 12 and (at := next_after(datetime(2026, 11, 27, 8), NEW_YORK, skipped, after)) is not None:  # noqa: DTZ001
        ours.append(after := at)
    assert read[:12] == ours
