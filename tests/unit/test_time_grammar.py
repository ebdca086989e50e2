"""Times in the words of people: two labelled sets, and phrases that were read on Sunday, 22 November 2026, at 10:15."""

from __future__ import annotations

import sys
import tomllib
from datetime import UTC, datetime
from types import FrameType
from zoneinfo import ZoneInfo

import pytest

from bench.times import DATA, RIGHT, WRONG, judge, labels
from core.times.grammar import find_time
from core.times.reading import Beside, Once, Past, Recurrence, Time, Unclear
from core.types import Locale

_MOST_CALLS = 200_000

PHRASES = tomllib.loads((DATA / "time_phrases.toml").read_text("utf-8"))
CASES = [(Locale(tag), *pair) for tag, phrases in PHRASES.items() for pair in phrases.items()]
ZONES = {Locale.PT: "America/Sao_Paulo", Locale.EN: "America/New_York", Locale.ES: "America/Mexico_City"}


def test_phrases_are_read_as_people_mean_them() -> None:
    wrong = {}
    for locale, phrase, expected in CASES:
        found = find_time(phrase, datetime(2026, 11, 22, 10, 15, tzinfo=ZoneInfo(ZONES[locale])), locale)
        if (read := shown(found.time) if found else "none") != expected:
            wrong[phrase] = read, expected
    assert wrong == {}


def shown(time: Time) -> str:
    """A time in few letters: day, month and year where they are not of now, "?" for an hour that was not named."""
    match time:
        case Once(at, has_hour):
            date = f"{at.day}" if (at.month, at.year) == (11, 2026) else f"{at.day}/{at.month}"
            year = f"/{at.year}" if (at.year, at.month) > (2026, 12) else ""
            return f"{date}{year} {at:%H:%M}{'' if has_hour else '?'}"
        case Recurrence(rule, first, has_hour):
            return f"{rule} {shown(Once(first, has_hour))}"
        case Unclear(options):
            return " or ".join(map(shown, options))
        case Beside(offset, event):
            return f"{offset.total_seconds() / 60:.0f} {event}"
        case Past():
            return "past"


@pytest.mark.parametrize(
    ("name", "min_right", "max_wrong", "min_texts"),
    [
        ("times_tune.json", 0.98, 0.0, 0.98),
        ("times_tune2.json", 0.98, 0.0, 0.98),
        ("times_tune3.json", 0.95, 0.02, 0.8),
        ("times_report.json", 0.95, 0.02, 0.8),
    ],
)
def test_labelled_messages_are_read_right_and_hardly_any_wrong(
    name: str, min_right: float, max_wrong: float, min_texts: float
) -> None:
    verdicts = [judge(label) for label in labels(DATA / name)]
    assert sum(each.outcome == WRONG for each in verdicts) <= max_wrong * len(verdicts)
    assert sum(each.outcome == RIGHT for each in verdicts) >= min_right * len(verdicts)
    texts = [each.text_right for each in verdicts if each.text_right is not None]
    assert sum(texts) >= min_texts * len(texts)


def read(phrase: str, now: str, zone: str = "America/New_York", locale: Locale = Locale.EN) -> Time | None:
    found = find_time(phrase, datetime.fromisoformat(now).replace(tzinfo=ZoneInfo(zone)), locale)
    return found.time if found else None


@pytest.mark.parametrize(
    ("phrase", "now", "utc"),
    [
        ("tomorrow at 2:30am", "2027-03-13T10:00", "2027-03-14T07:30"),  # skipped: the moment after the gap
        ("tomorrow at 1:30am", "2026-10-31T10:00", "2026-11-01T05:30"),  # there twice: the first
        ("in 3 hours", "2027-03-14T00:30", "2027-03-14T08:30"),  # real hours, over the gap
        ("in 3 days", "2027-03-12T08:00", "2027-03-15T12:00"),  # the wall clock
        ("in a month", "2027-01-31T08:00", "2027-02-28T13:00"),
        ("on the 31st at 9am", "2027-02-10T08:00", "2027-03-31T13:00"),
        ("february 29 at noon", "2027-03-01T08:00", "2028-02-29T17:00"),
        ("january 1st at 9am", "2026-12-31T23:59", "2027-01-01T14:00"),
    ],
)
def test_a_time_keeps_to_the_calendar_and_the_clock(phrase: str, now: str, utc: str) -> None:
    time = read(phrase, now)
    assert isinstance(time, Once)
    assert time.at.astimezone(UTC) == datetime.fromisoformat(utc).replace(tzinfo=UTC)


def test_a_bare_hour_offers_both_halves_of_the_day_the_next_one_first() -> None:
    time = read("at 8", "2026-11-22T10:15")
    assert isinstance(time, Unclear)
    assert shown(time) == "22 20:00 or 23 08:00"


def test_an_end_bounds_a_recurrence_to_the_end_of_its_day() -> None:
    time = read("every day at 9am until december 1", "2026-11-22T10:15")
    assert isinstance(time, Recurrence)
    assert time.rule == "FREQ=DAILY;UNTIL=20261202T045959Z"


def test_an_afternoon_that_is_over_is_that_of_tomorrow() -> None:
    time = read("por la tarde", "2026-11-22T21:30", locale=Locale.ES)
    assert time is not None
    assert shown(time) == "23 15:00?"


def test_a_text_in_another_language_than_the_persons_is_read() -> None:
    for phrase in ("amanhã às 15h", "mañana a las 15h", "tomorrow at 15:00"):
        for locale in Locale:
            time = read(phrase, "2026-11-22T10:15", locale=locale)
            assert time is not None, phrase
            assert shown(time) == "23 15:00", (phrase, locale)


def test_the_words_for_the_time_are_cut_out_of_the_text() -> None:
    text = "tomorrow call Ana at 3pm, please"
    found = find_time(text, datetime(2026, 11, 22, 10, 15, tzinfo=UTC), Locale.EN)
    assert found is not None
    assert [text[start:end] for start, end in found.spans] == ["tomorrow", "at 3pm"]
    assert found.without(text) == "call Ana , please"


@pytest.mark.parametrize(
    "words", ["tomorrow at 8 every", "every friday every 2 hours", "on friday on tuesday", "at 25:00"]
)
def test_words_that_are_not_understood_to_the_last_are_no_time(words: str) -> None:
    assert read(words, "2026-11-22T10:15") is None


@pytest.mark.parametrize(
    "words",
    [
        "a ",
        "de 8 em ",
        "8 ",
        "8, ",
        "8 e ",
        "segunda , ",
        "dia 5 e ",
        "half past ",
        "1/2 ",
        "in 5 h and ",
        "a partir ",
        "- ",
    ],
)
def test_reading_a_hostile_text_is_bounded_work(words: str) -> None:
    now = datetime(2026, 11, 22, 10, 15, tzinfo=UTC)
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    find_time("amanhã", now, Locale.PT)  # the tables are read once
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        find_time((words * 32_000)[:32_000], now, Locale.PT)
    finally:
        sys.setprofile(before)
    assert 0 < calls < _MOST_CALLS
