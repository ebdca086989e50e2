"""Days and months of a time zone, and what a call spends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from core.features.ledger.calls import (
    BOT,
    Period,
    SpendingScope,
    day_of,
    days_back,
    month_of,
    scopes_of,
)
from core.types import UserKey

SAO_PAULO, LISBON = ZoneInfo("America/Sao_Paulo"), ZoneInfo("Europe/Lisbon")
ZONES = [
    *("UTC", "America/Sao_Paulo", "Europe/Lisbon", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia"),
    *("America/St_Johns", "America/Havana", "Atlantic/Azores", "Africa/Casablanca", "Pacific/Kiritimati"),
]
ANA = UserKey("telegram", "ana")
moments = st.datetimes(datetime(2000, 1, 2), datetime(2036, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
zones = st.sampled_from(ZONES).map(ZoneInfo)


@given(moments, zones)
def test_every_moment_is_in_its_day_and_month_and_they_follow_each_other(at: datetime, zone: ZoneInfo) -> None:
    for period_of in (day_of, month_of):
        period = period_of(at, zone)
        assert at in period
        assert period.end not in period
        for inside in (period.start, period.end - timedelta(microseconds=1)):
            assert period_of(inside, zone) == period
        assert period_of(period.end, zone).start == period.end
        assert period_of(period.start - timedelta(microseconds=1), zone).end == period.start
    day, month = day_of(at, zone), month_of(at, zone)
    assert day.name.startswith(month.name)
    assert month.start <= day.start < day.end <= month.end


@given(moments, zones)
def test_a_day_begins_at_midnight_where_there_is_one(at: datetime, zone: ZoneInfo) -> None:
    day = day_of(at, zone)
    begins = day.start.astimezone(zone)
    before = (day.start - timedelta(seconds=1)).astimezone(zone)
    # The clock there shows midnight, or jumped over it just then.
    assert (begins.hour, begins.minute) == (0, 0) or begins.utcoffset() != before.utcoffset()


def test_a_day_on_which_the_clock_jumps_over_midnight_begins_at_one() -> None:
    day = day_of(datetime(2018, 11, 4, 12, tzinfo=UTC), SAO_PAULO)
    assert day == Period("2018-11-04", datetime(2018, 11, 4, 3, tzinfo=UTC), datetime(2018, 11, 5, 2, tzinfo=UTC))
    assert day.start.astimezone(SAO_PAULO).hour == 1


def test_a_day_is_23_or_25_hours_long_where_the_clock_is_changed() -> None:
    spring = day_of(datetime(2026, 3, 29, 12, tzinfo=UTC), LISBON)
    autumn = day_of(datetime(2026, 10, 25, 12, tzinfo=UTC), LISBON)
    assert spring.end - spring.start == timedelta(hours=23)
    assert autumn.end - autumn.start == timedelta(hours=25)
    october = month_of(datetime(2026, 10, 25, 12, tzinfo=UTC), LISBON)
    assert (october.name, october.end - october.start) == ("2026-10", timedelta(days=31, hours=1))


def test_a_day_that_the_clock_there_shows_twice_has_not_ended_the_first_time() -> None:
    first_midnight = datetime(2006, 10, 29, 2, 30, tzinfo=UTC)
    shown_again = datetime(2006, 10, 29, 2, 45, tzinfo=UTC)  # at 00:01 the clock was put back to 23:01
    assert shown_again.astimezone(ZoneInfo("America/St_Johns")).day == 28
    day = day_of(shown_again, ZoneInfo("America/St_Johns"))
    assert day == Period("2006-10-29", first_midnight, datetime(2006, 10, 30, 3, 30, tzinfo=UTC))


def test_a_day_whose_midnight_was_skipped_begins_when_it_would_have_been() -> None:
    skipped = datetime(1919, 3, 31, 4, 40, tzinfo=UTC)  # from 23:30 the clock was put on to 00:30
    toronto = ZoneInfo("America/Toronto")
    assert skipped.astimezone(toronto).day == 31
    assert day_of(skipped, toronto).name == "1919-03-30"
    assert day_of(skipped, toronto).end == day_of(skipped + timedelta(minutes=20), toronto).start


def test_one_second_parts_two_months() -> None:
    last = datetime(2026, 3, 1, 2, 59, 59, tzinfo=UTC)
    assert (day_of(last, SAO_PAULO).name, month_of(last, SAO_PAULO).name) == ("2026-02-28", "2026-02")
    first = last + timedelta(seconds=1)
    assert (day_of(first, SAO_PAULO).name, month_of(first, SAO_PAULO).name) == ("2026-03-01", "2026-03")


def test_days_are_counted_back_from_the_one_that_is_running() -> None:
    at = datetime(2026, 3, 30, 0, 30, tzinfo=UTC)
    assert days_back(at, LISBON, 1) == datetime(2026, 3, 29, 23, tzinfo=UTC)
    assert days_back(at, LISBON, 3) == datetime(2026, 3, 28, 0, tzinfo=UTC)


def test_the_person_the_room_and_the_bot_pay() -> None:
    assert [scope.name for scope in scopes_of(ANA, "telegram:-1")] == ["telegram:ana", "telegram:-1", "bot"]
    assert scopes_of(ANA, "") == (SpendingScope(ANA), BOT)
    assert scopes_of(None, "") == (BOT,)
