"""Instants of recurrences (RRULE of RFC 5545), as people expect them when clocks change."""

from __future__ import annotations

from datetime import datetime, timedelta


def instant(wall: datetime, zone: str) -> datetime:
    """Return the instant, aware UTC, of a wall time; the moment after the gap for one that a change of clocks skips."""
    raise NotImplementedError


def next_after(wall: datetime, zone: str, rule: str, after: datetime) -> datetime | None:
    """Return the first instant of the schedule later than `after`, aware UTC; None if there is none.

    `wall` is DTSTART, naive, in `zone`; `rule` an RRULE without DTSTART, or "" for that one instant. Days and longer
    keep the wall clock, hours and minutes count in UTC.
    """
    raise NotImplementedError


def problem(rule: str) -> str:
    """Return what is wrong with a rule, for a log; "" if nothing. One that burns time or never comes is wrong."""
    raise NotImplementedError


def shortest_interval(wall: datetime, zone: str, rule: str) -> timedelta | None:
    """Return the shortest time between two of its next instants; None if there are not two."""
    raise NotImplementedError
