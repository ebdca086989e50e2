"""Instants of schedules: clocks that change, ends, rules that are wrong, and the work that each takes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from types import FrameType
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from core.times.rules import instant, next_after, problem, read, shortest_interval

NEW_YORK, LISBON, SAO_PAULO = "America/New_York", "Europe/Lisbon", "America/Sao_Paulo"
EARLY = datetime(1990, 1, 1, tzinfo=UTC)


def wall(text: str) -> datetime:
    return datetime.fromisoformat(text)


def instants(first: str, zone: str, rule: str) -> Iterator[datetime]:
    after: datetime | None = EARLY
    while after is not None and (after := next_after(wall(first), zone, rule, after)) is not None:
        yield after


def shown(first: str, zone: str, rule: str, count: int) -> list[str]:
    found = instants(first, zone, rule)
    return [f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M%z}" for at, _ in zip(found, range(count), strict=False)]


def lines(run: Callable[[], object]) -> int:
    """How many lines of Python a call runs, here and in every library."""
    count = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


def test_a_wall_time_is_the_same_instant_everywhere_and_one_that_is_skipped_comes_after_the_gap() -> None:
    assert instant(wall("2026-11-27T08:00"), SAO_PAULO) == datetime(2026, 11, 27, 11, tzinfo=UTC)
    skipped = instant(wall("2026-03-08T02:30"), NEW_YORK).astimezone(ZoneInfo(NEW_YORK))
    assert f"{skipped:%H:%M%z}" == "03:30-0400"


def test_of_an_hour_that_comes_twice_the_first_is_meant() -> None:
    at = wall("2026-11-01T01:30")
    assert instant(at, NEW_YORK) == instant(at.replace(fold=1), NEW_YORK) == datetime(2026, 11, 1, 5, 30, tzinfo=UTC)


def test_a_single_instant_comes_once() -> None:
    at = wall("2026-11-27T08:00")
    due = instant(at, SAO_PAULO)
    assert next_after(at, SAO_PAULO, "", due - timedelta(seconds=1)) == due
    assert next_after(at, SAO_PAULO, "", due) is None


def test_every_day_at_eight_stays_eight_when_clocks_change() -> None:
    assert shown("2026-10-31T08:00", NEW_YORK, "FREQ=DAILY", 2) == ["2026-10-31 08:00-0400", "2026-11-01 08:00-0500"]


def test_every_three_hours_is_three_hours_when_clocks_change() -> None:
    assert shown("2026-10-31T22:00", NEW_YORK, "FREQ=HOURLY;INTERVAL=3", 4) == [
        "2026-10-31 22:00-0400",
        "2026-11-01 01:00-0400",
        "2026-11-01 03:00-0500",
        "2026-11-01 06:00-0500",
    ]


def test_what_a_gap_pushes_together_comes_once_and_in_order() -> None:
    rule = "FREQ=DAILY;BYHOUR=1,2,3;BYMINUTE=0,30"
    assert shown("2026-03-08T01:00", NEW_YORK, rule, 5) == [
        "2026-03-08 01:00-0500",
        "2026-03-08 01:30-0500",
        "2026-03-08 03:00-0400",
        "2026-03-08 03:30-0400",
        "2026-03-09 01:00-0400",
    ]


def test_what_a_gap_moves_behind_a_later_wall_time_comes_after_it() -> None:
    assert shown("2026-10-03T02:10", "Australia/Lord_Howe", "FREQ=DAILY;BYMINUTE=10,35", 5) == [
        "2026-10-03 02:10+1030",
        "2026-10-03 02:35+1030",
        "2026-10-04 02:35+1100",
        "2026-10-04 02:40+1100",  # 02:10 was skipped
        "2026-10-05 02:10+1100",
    ]


def test_what_a_gap_of_a_day_moves_is_found_from_behind_it() -> None:
    behind = datetime(2011, 12, 31, 0, 30, tzinfo=ZoneInfo("Pacific/Apia"))
    found = next_after(wall("2011-12-23T08:00"), "Pacific/Apia", "FREQ=WEEKLY;BYDAY=FR", behind)
    assert found == datetime(2011, 12, 31, 8, tzinfo=ZoneInfo("Pacific/Apia"))


def test_the_day_that_samoa_left_out_is_the_day_after_it() -> None:
    assert shown("2011-12-29T08:00", "Pacific/Apia", "FREQ=DAILY", 3) == [
        "2011-12-29 08:00-1000",
        "2011-12-31 08:00+1400",
        "2012-01-01 08:00+1400",
    ]


@pytest.mark.parametrize(
    ("rule", "days"),
    [
        ("FREQ=MONTHLY;BYMONTHDAY=31", ["2027-01-31", "2027-03-31", "2027-05-31"]),
        ("FREQ=MONTHLY;BYMONTHDAY=28,29,30,31;BYSETPOS=-1", ["2027-01-31", "2027-02-28", "2027-03-31"]),
        ("FREQ=MONTHLY;BYMONTHDAY=-1", ["2027-01-31", "2027-02-28", "2027-03-31"]),
        ("FREQ=MONTHLY;BYDAY=-1FR", ["2027-01-29", "2027-02-26", "2027-03-26"]),
        ("FREQ=MONTHLY;BYDAY=FR;BYSETPOS=-1", ["2027-01-29", "2027-02-26", "2027-03-26"]),
        ("FREQ=MONTHLY;BYDAY=5SU", ["2027-01-31", "2027-05-30", "2027-08-29"]),
        ("FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", ["2027-08-13", "2028-10-13", "2029-04-13"]),
        ("FREQ=MONTHLY", ["2027-01-01", "2027-02-01", "2027-03-01"]),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", ["2028-02-29", "2032-02-29", "2036-02-29"]),
        ("FREQ=YEARLY;BYDAY=1MO", ["2027-01-04", "2028-01-03", "2029-01-01"]),
        ("FREQ=YEARLY;BYMONTH=11;BYDAY=4TH", ["2027-11-25", "2028-11-23", "2029-11-22"]),
        ("FREQ=WEEKLY;INTERVAL=2", ["2027-01-01", "2027-01-15", "2027-01-29"]),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR", ["2027-01-01", "2027-01-11", "2027-01-15"]),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,FR;WKST=SU", ["2027-01-01", "2027-01-10", "2027-01-15"]),
        ("FREQ=WEEKLY;BYDAY=MO,SA;BYSETPOS=2", ["2027-01-02", "2027-01-09", "2027-01-16"]),  # the second of its week
        ("FREQ=DAILY;BYMONTH=2;INTERVAL=20", ["2027-02-10", "2028-02-05", "2028-02-25"]),
    ],
)
def test_days_come_as_the_rule_says(rule: str, days: list[str]) -> None:
    assert not problem(rule)
    assert [day[:10] for day in shown("2027-01-01T08:00", SAO_PAULO, rule, 3)] == days


@pytest.mark.parametrize(
    ("until", "last"),
    [
        ("20270103", "2027-01-03 08:00-0300"),
        ("20270103T075959", "2027-01-02 08:00-0300"),
        ("20270103T110000Z", "2027-01-03 08:00-0300"),
        ("20270103T105959Z", "2027-01-02 08:00-0300"),
    ],
)
def test_until_is_the_last_moment_and_a_day_counts_to_its_end(until: str, last: str) -> None:
    assert shown("2027-01-01T08:00", SAO_PAULO, f"FREQ=DAILY;UNTIL={until}", 9)[-1] == last


@pytest.mark.parametrize("rule", ["FREQ=DAILY;COUNT=3", "FREQ=HOURLY;COUNT=3", "FREQ=WEEKLY;BYDAY=FR,SU,MO;COUNT=3"])
def test_count_holds_however_late_one_asks(rule: str) -> None:
    found = shown("2027-01-01T08:00", SAO_PAULO, rule, 9)
    assert len(found) == 3
    last = datetime.strptime(found[-1], "%Y-%m-%d %H:%M%z")
    assert next_after(wall("2027-01-01T08:00"), SAO_PAULO, rule, last) is None
    assert next_after(wall("2027-01-01T08:00"), SAO_PAULO, rule, last - timedelta(seconds=1)) == last


@pytest.mark.parametrize(
    "rule",
    [
        "",
        "FREQ",
        "every day",
        "FREQ=",
        "FREQ=SECONDLY",
        "FREQ=DAILY;FREQ=DAILY",
        "FREQ=DAILY;BYSECOND=1",
        "FREQ=DAILY;BYEASTER=0",
        "FREQ=DAILY;X-NAME=1",
        "FREQ=DAILY\nEXDATE:20270101",
        "FREQ=DAILY;INTERVAL=0",
        "FREQ=DAILY;INTERVAL=1,2",
        "FREQ=DAILY;INTERVAL=99999999999999999999",
        "FREQ=DAILY;INTERVAL=²",
        "FREQ=YEARLY;INTERVAL=41",
        "FREQ=DAILY;COUNT=0",
        "FREQ=DAILY;COUNT=2;UNTIL=20270101",
        "FREQ=DAILY;UNTIL=tomorrow",
        "FREQ=DAILY;UNTIL=20271301",
        "FREQ=DAILY;UNTIL=00010101",
        "FREQ=DAILY;BYMONTH=13",
        "FREQ=DAILY;BYMONTHDAY=0",
        "FREQ=DAILY;BYHOUR=24",
        "FREQ=DAILY;BYDAY=1MO",
        "FREQ=DAILY;BYDAY=XX",
        "FREQ=MONTHLY;BYDAY=99MO",
        "FREQ=MONTHLY;BYDAY=53MO",
        "FREQ=MONTHLY;BYDAY=MO,1FR",
        "FREQ=WEEKLY;BYMONTHDAY=1",
        "FREQ=WEEKLY;WKST=XX",
        "FREQ=HOURLY;BYDAY=MO",
        "FREQ=MONTHLY;BYSETPOS=1",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=MONTHLY;BYMONTH=4,6,9,11;BYMONTHDAY=31",
        "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=6",
        f"FREQ=DAILY;BYHOUR={','.join(['1'] * 300)}",
    ],
)
def test_a_rule_that_is_wrong_burns_time_or_never_comes_is_a_problem(rule: str) -> None:
    assert problem(rule)


ALL_DAY = f"BYHOUR={','.join(map(str, range(24)))};BYMINUTE={','.join(map(str, range(60)))}"
HOSTILE = [
    "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
    "FREQ=DAILY;INTERVAL=2;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO;COUNT=10000",
    "FREQ=MONTHLY;INTERVAL=2;BYMONTH=2",  # from January: never
    "FREQ=DAILY;INTERVAL=7;BYDAY=FR",  # from Tuesday: never
    "FREQ=WEEKLY;COUNT=10000",
    "FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;BYMONTH=2;BYMONTHDAY=30;BYHOUR=0,6,12;BYSETPOS=1,-1",
    f"FREQ=YEARLY;BYDAY=MO,TU,WE;BYSETPOS={','.join(map(str, range(250, 300)))};{ALL_DAY}",
    "FREQ=MINUTELY;INTERVAL=10000;COUNT=10000",
    "FREQ=DAILY;COUNT=10000",
]


@pytest.mark.parametrize("rule", HOSTILE)
def test_no_rule_takes_long(rule: str) -> None:
    first, now = wall("1901-01-01T08:00"), datetime(2026, 11, 22, tzinfo=UTC)
    assert lines(lambda: problem(rule)) < 400_000
    assert lines(lambda: next_after(first, NEW_YORK, rule, now)) < 1_500_000
    assert lines(lambda: shortest_interval(first, NEW_YORK, rule)) < 1_500_000


@pytest.mark.parametrize("rule", ["FREQ=DAILY", "FREQ=WEEKLY;BYDAY=MO,FR", "FREQ=MONTHLY;BYDAY=-1FR", "FREQ=MINUTELY"])
def test_an_old_schedule_is_as_fast_as_a_new_one(rule: str) -> None:
    def ask(first: str) -> datetime | None:
        return next_after(wall(first), NEW_YORK, rule, datetime(2026, 11, 22, tzinfo=UTC))

    ask("2026-11-01T08:00")  # reads the rule and the zone
    new, old = lines(lambda: ask("2026-11-01T08:00")), lines(lambda: ask("1926-11-01T08:00"))
    assert old < 2 * new + 100


def test_what_is_out_of_the_calendar_does_not_come() -> None:
    for year in ("0001", "9999"):
        assert next_after(wall(f"{year}-01-01T00:00"), "Pacific/Kiritimati", "FREQ=HOURLY", EARLY) is None
        assert shortest_interval(wall(f"{year}-01-01T00:00"), "Pacific/Kiritimati", "FREQ=HOURLY") is None
    assert next_after(wall("8999-12-31T08:00"), "UTC", "FREQ=DAILY", datetime(8999, 12, 31, 9, tzinfo=UTC)) is None


@pytest.mark.parametrize(
    ("rule", "shortest"),
    [
        ("", None),
        ("FREQ=DAILY;COUNT=1", None),
        ("FREQ=MINUTELY;INTERVAL=10", timedelta(minutes=10)),
        ("FREQ=DAILY;BYMONTH=3", timedelta(hours=24)),
        ("FREQ=DAILY;BYHOUR=0,2,4,6,8,10,12,14,16,18,20,22,23", timedelta(hours=1)),
        ("FREQ=WEEKLY;BYDAY=SA;BYHOUR=8,20;BYMINUTE=0,59", timedelta(minutes=59)),
        ("FREQ=MONTHLY;BYMONTHDAY=1,31", timedelta(days=1)),
    ],
)
def test_the_shortest_interval_is_found_wherever_it_is(rule: str, shortest: timedelta | None) -> None:
    assert shortest_interval(wall("2027-01-01T08:00"), NEW_YORK, rule) == shortest


def test_letters_of_a_rule_may_be_small() -> None:
    assert read("freq=weekly;byday=mo,fr") == read("FREQ=WEEKLY;BYDAY=FR,MO")


def test_instants_increase_where_rules_of_days_meet() -> None:
    found = [
        at
        for at, _ in zip(instants("2027-01-30T23:59", LISBON, "FREQ=MONTHLY;BYMONTHDAY=-1,1"), range(20), strict=False)
    ]
    assert all(earlier < later for earlier, later in pairwise(found))
