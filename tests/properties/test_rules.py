"""The laws of recurrences, in every zone and over every change of clocks."""

from __future__ import annotations

from calendar import monthrange
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from core.times.rules import WEEKDAYS, Frequency, Rule, instant, next_after, problem, read, shortest_interval
from tests.profile import examples

ZONES = (
    "America/New_York", "America/Sao_Paulo", "America/St_Johns", "Africa/Cairo", "Africa/Casablanca", "Asia/Kolkata",
    "Asia/Tehran", "Australia/Lord_Howe", "Europe/Dublin", "Europe/Lisbon", "Pacific/Apia", "Pacific/Chatham", "UTC",
)  # fmt: skip
A_DAY = timedelta(days=1)
START = datetime.fromisoformat("2010-01-01")

zones = st.sampled_from(ZONES)
walls = st.integers(0, 20 * 366 * 24 * 60).map(lambda minutes: START + timedelta(minutes=minutes))
several = st.sampled_from  # of parts, with "" for none


@st.composite
def rules(draw: st.DrawFn) -> str:
    """Draw a rule of days or longer with a match in most years."""
    frequency = draw(several(["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]))
    parts: dict[str, str] = {"FREQ": frequency, "INTERVAL": str(draw(st.integers(1, 4)))}
    days = draw(st.lists(several(WEEKDAYS), max_size=4, unique=True))
    if frequency in {"MONTHLY", "YEARLY"} and draw(st.booleans()):
        parts["BYMONTHDAY"] = draw(several(["5", "31", "-1", "1,15,-2", "28,29,30,31"]))
        days = []
    if frequency in {"MONTHLY", "YEARLY"} and days and draw(st.booleans()):
        days = [draw(several(["1", "2", "-1", "+3"])) + day for day in days]
    parts["BYDAY"] = ",".join(days)
    if frequency in {"DAILY", "YEARLY"} and int(parts["INTERVAL"]) == 1:
        parts["BYMONTH"] = draw(several(["", "1", "3,10", "2,4,11"]))
    parts["BYHOUR"] = draw(several(["", "2", "1,2,3", "0,23"]))
    parts["BYMINUTE"] = draw(several(["", "30", "0,30"]))
    if frequency in {"MONTHLY", "YEARLY"} and (days or "BYMONTHDAY" in parts):
        parts["BYSETPOS"] = draw(several(["", "1", "-1", "1,-2", "2,3"]))
    parts["WKST"] = draw(several(["", "SU"]))
    parts["COUNT"] = draw(several(["", "", "1", "7"]))
    return ";".join(f"{name}={value}" for name, value in parts.items() if value)


def some(wall: datetime, zone: str, rule: str, most: int = 12) -> list[datetime]:
    found = [instant(wall, zone) - timedelta(microseconds=1)]
    while len(found) <= most and (at := next_after(wall, zone, rule, found[-1])) is not None:
        found.append(at)
    return found[1:]


def periods(rule: Rule, wall: datetime, at: datetime) -> int:
    """How many periods lie between that of `wall` and that of `at`."""
    match rule.frequency:
        case Frequency.YEARLY:
            return at.year - wall.year
        case Frequency.MONTHLY:
            return (at.year - wall.year) * 12 + at.month - wall.month
        case Frequency.WEEKLY:
            begins = [day.date().toordinal() - (day.weekday() - rule.week_start) % 7 for day in (wall, at)]
            return (begins[1] - begins[0]) // 7
        case _:
            return (at.date() - wall.date()).days


@given(wall=walls, rule=rules())
def test_every_instant_is_in_a_period_that_counts_and_on_a_day_and_at_a_time_that_the_rule_names(
    wall: datetime, rule: str
) -> None:
    if problem(rule):
        return
    parts = read(rule)
    for at in (each.replace(tzinfo=None) for each in some(wall, "UTC", rule)):
        from_end = at.day - monthrange(at.year, at.month)[1] - 1
        assert at >= wall
        assert periods(parts, wall, at) % parts.interval == 0
        assert not parts.months or at.month in parts.months
        assert not parts.month_days or {at.day, from_end} & {*parts.month_days}
        assert not parts.days or at.weekday() in {day for _, day in parts.days}
        assert at.hour in (parts.hours or {wall.hour})
        assert at.minute in (parts.minutes or {wall.minute})
        if not (parts.days or parts.month_days):
            assert parts.frequency is not Frequency.WEEKLY or at.weekday() == wall.weekday()
            assert parts.frequency > Frequency.MONTHLY or at.day == wall.day


@given(wall=walls, rule=rules())
def test_an_interval_leaves_out_whole_periods_and_nothing_else(wall: datetime, rule: str) -> None:
    parts = read(rule)
    endless = ";".join(part for part in rule.split(";") if not part.startswith("COUNT"))
    every = ";".join(part for part in endless.split(";") if not part.startswith("INTERVAL"))
    if problem(endless):
        return
    kept = [
        at for at in some(wall, "UTC", every, 60) if periods(parts, wall, at.replace(tzinfo=None)) % parts.interval == 0
    ]
    assert some(wall, "UTC", endless, len(kept)) == kept


@given(wall=walls, zone=zones, rule=rules(), count=st.integers(1, 9))
def test_count_and_until_keep_the_first_ones(wall: datetime, zone: str, rule: str, count: int) -> None:
    endless = ";".join(part for part in rule.split(";") if not part.startswith("COUNT"))
    if problem(endless):
        return
    assert some(wall, "UTC", f"{endless};COUNT={count}") == some(wall, "UTC", endless, count)
    if found := some(wall, zone, endless, count):
        assert some(wall, zone, f"{endless};UNTIL={found[-1]:%Y%m%dT%H%M%SZ}") == found


@given(wall=walls, zone=zones, rule=rules())
def test_instants_increase_and_none_is_lost_or_doubled_in_any_zone(wall: datetime, zone: str, rule: str) -> None:
    if problem(rule):
        return
    found = some(wall, zone, rule)
    assert all(earlier < later for earlier, later in pairwise(found))
    expected = sorted({instant(at.replace(tzinfo=None), zone) for at in some(wall, "UTC", rule, 30)})
    assert found == expected[: len(found)]
    assert len(found) == min(len(expected), 12)


@given(wall=walls, zone=zones, rule=rules(), late=st.timedeltas(timedelta(), timedelta(days=4000)))
def test_whenever_one_asks_the_next_instant_is_the_same(wall: datetime, zone: str, rule: str, late: timedelta) -> None:
    if problem(rule):
        return
    after = instant(wall, zone) + late
    found = next_after(wall, zone, rule, after)
    assert found is None or found > after
    if found is not None:
        assert next_after(wall, zone, rule, found - timedelta(microseconds=1)) == found
        earlier = max(after - A_DAY, instant(wall, zone))
        between = next_after(wall, zone, rule, earlier)
        assert between is not None
        assert between <= found


@given(wall=walls, zone=zones, days=st.integers(1, 9))
def test_days_keep_the_wall_clock_but_where_it_is_skipped(wall: datetime, zone: str, days: int) -> None:
    local = ZoneInfo(zone)
    for at in some(wall, zone, f"FREQ=DAILY;INTERVAL={days}", 40):
        shown = at.astimezone(local)
        if shown.time() != wall.time():
            said = datetime.combine(shown.date(), wall.time(), local)
            assert said.astimezone(UTC).astimezone(local).time() != wall.time()  # there is no such moment that day
        assert shown.fold == 0


@settings(max_examples=examples(25))
@given(wall=walls, zone=zones, rule=st.sampled_from(["HOURLY", "MINUTELY"]), interval=st.integers(1, 600))
def test_hours_and_minutes_keep_the_interval(wall: datetime, zone: str, rule: str, interval: int) -> None:
    step = interval * (timedelta(hours=1) if rule == "HOURLY" else timedelta(minutes=1))
    found = some(wall, zone, f"FREQ={rule};INTERVAL={interval}", 40)
    assert {later - earlier for earlier, later in pairwise(found)} == {step}
    assert found[0] == instant(wall, zone)
    assert shortest_interval(wall, zone, f"FREQ={rule};INTERVAL={interval}") == step
