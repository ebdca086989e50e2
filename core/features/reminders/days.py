"""Days that are asked for, and when a reminder is due on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Final, Self

from core.features.reminders.reminders import OPEN, Reminder, ReminderState
from core.times import rules

MOST_DAYS: Final = 31
MOST_A_DAY: Final = 4
"""Instants of one reminder that are told one by one; of more the first is, with the rule."""

_DAY: Final = timedelta(days=1)
_MOMENT: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Days:
    """The days from `first` to `last`, both of them asked for."""

    first: date
    last: date

    @classmethod
    def of(cls, first: date, count: int = 1) -> Self:
        """Return some days from one on."""
        return cls(first, first + timedelta(days=count - 1))

    def __iter__(self) -> Iterator[date]:
        """Yield each of them."""
        return (self.first + timedelta(days=at) for at in range((self.last - self.first).days + 1))

    def ahead(self, today: date) -> Days | None:
        """Return those of them that have not passed, at most a month; None if all have."""
        first = max(self.first, today)
        return None if self.last < today else Days(first, min(self.last, first + timedelta(days=MOST_DAYS - 1)))


def instants(reminder: Reminder, now: datetime, days: Days) -> Sequence[datetime]:
    """Return when a reminder is due on those days, in the zone of `now`: not before its next instant.

    One that is paused is due when it would be if it went on. Of more than four on one day there are five. One that
    waits for a mention is due on no day.
    """
    schedule, due = reminder.schedule, reminder.due
    if reminder.mention is not None:
        return []
    begin, end = (datetime.combine(day, time(), now.tzinfo) for day in (days.first, days.last + _DAY))
    if not schedule.rule or reminder.state not in OPEN:
        return [due.astimezone(now.tzinfo)] if due is not None and begin <= due < end else []

    def following(after: datetime) -> datetime | None:
        return rules.next_after(schedule.wall, schedule.zone, schedule.rule, after)

    if reminder.state is ReminderState.PAUSED or due is None:
        start, found = max(now, begin) - _MOMENT, list[datetime]()
    else:  # one that was put off is due at no instant of its rule
        found = [due.astimezone(now.tzinfo)] if begin <= due < end else []
        start = due if due >= begin else begin - _MOMENT
    at = following(start)
    while at is not None and at < end:
        found.append(at.astimezone(now.tzinfo))
        is_full = len(found) > MOST_A_DAY and found[-1].date() == found[-1 - MOST_A_DAY].date()
        at = following(_midnight_after(found[-1]) - _MOMENT if is_full else at)
    return found


def _midnight_after(at: datetime) -> datetime:
    return datetime.combine(at.date() + _DAY, time(), at.tzinfo)
