"""Times and recurrences as people say them, in Portuguese, English and Spanish."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from core.times.wording import hour_told, offset, rule_told, told, zone_told
from core.types import Locale

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
SAO_PAULO = "America/Sao_Paulo"
NOW = datetime(2026, 11, 22, 10, 15, tzinfo=ZoneInfo(SAO_PAULO))
WALL = datetime.fromisoformat("2026-11-27T08:00")


@pytest.mark.parametrize(
    ("at", "locale", "words"),
    [
        ("2026-11-22T15:40", PT, "hoje, 22 de novembro, às 15:40"),
        ("2026-11-23T01:05", PT, "amanhã, 23 de novembro, à 1:05"),
        ("2026-11-27T08:00", PT, "sexta-feira, 27 de novembro, às 8:00"),
        ("2027-01-02T08:00", PT, "sábado, 2 de janeiro de 2027, às 8:00"),
        ("2026-11-22T15:40", EN, "today, November 22, at 3:40 PM"),
        ("2026-11-23T00:00", EN, "tomorrow, November 23, at 12:00 AM"),
        ("2026-11-27T08:00", EN, "Friday, November 27, at 8:00 AM"),
        ("2027-01-02T08:00", EN, "Saturday, January 2, 2027, at 8:00 AM"),
        ("2026-11-22T13:00", ES, "hoy, 22 de noviembre, a las 13:00"),
        ("2026-11-23T01:05", ES, "mañana, 23 de noviembre, a la 1:05"),
        ("2026-11-27T08:00", ES, "viernes, 27 de noviembre, a las 8:00"),
        ("2027-01-02T08:00", ES, "sábado, 2 de enero de 2027, a las 8:00"),
    ],
)
def test_an_instant_is_told_by_its_day_and_hour(at: str, locale: Locale, words: str) -> None:
    instant = datetime.fromisoformat(at).replace(tzinfo=ZoneInfo(SAO_PAULO)).astimezone(UTC)
    assert told(instant, NOW.astimezone(UTC), SAO_PAULO, locale) == words


def test_today_is_the_day_in_the_persons_zone() -> None:
    at, now = datetime(2026, 11, 23, 1, tzinfo=UTC), datetime(2026, 11, 22, 23, tzinfo=UTC)
    assert told(at, now, SAO_PAULO, EN).startswith("today, November 22")
    assert told(at, now, "UTC", EN).startswith("tomorrow, November 23")


@pytest.mark.parametrize(
    ("zone", "words"),
    [
        (SAO_PAULO, ["horário de São Paulo (UTC−3)", "São Paulo time (UTC−3)", "hora de São Paulo (UTC−3)"]),
        ("America/New_York", ["horário de Nova York (UTC−5)", "New York time (UTC−5)", "hora de Nueva York (UTC−5)"]),
        ("Europe/Lisbon", ["horário de Lisboa (UTC)", "Lisbon time (UTC)", "hora de Lisboa (UTC)"]),
        ("Asia/Kolkata", ["horário de Kolkata (UTC+5:30)", "Kolkata time (UTC+5:30)", "hora de Kolkata (UTC+5:30)"]),
        ("Etc/GMT+3", ["UTC−3"] * 3),
        ("UTC", ["UTC"] * 3),
    ],
)
def test_a_zone_is_told_by_its_place_and_offset(zone: str, words: list[str]) -> None:
    assert [zone_told(zone, NOW, locale) for locale in (PT, EN, ES)] == words


def test_an_offset_is_that_of_the_instant() -> None:
    assert offset("America/New_York", datetime(2026, 7, 1, tzinfo=UTC)) == "UTC−4"
    assert offset("America/St_Johns", NOW) == "UTC−3:30"


def test_the_clock_shows_the_hour_as_the_language_writes_it() -> None:
    assert [hour_told(NOW.replace(hour=15), locale) for locale in (PT, EN, ES)] == ["15:15", "3:15 PM", "15:15"]


RULES = tomllib.loads((Path(__file__).parents[1] / "data" / "time_rules.toml").read_text("utf-8"))


@pytest.mark.parametrize("rule", RULES)
def test_a_recurrence_is_told_as_people_say_it(rule: str) -> None:
    assert [rule_told(rule, WALL, locale, SAO_PAULO) for locale in (PT, EN, ES)] == RULES[rule]


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY;BYMONTH=12",
        "FREQ=DAILY;BYHOUR=0,1,2,3,4,5,6,7,9",
        "FREQ=DAILY;BYHOUR=8,9,10;BYMINUTE=0,20,40",
        "FREQ=WEEKLY;BYMONTH=12",
        "FREQ=WEEKLY;BYDAY=MO,TU;BYSETPOS=1",
        "FREQ=MONTHLY;BYMONTH=12",
        "FREQ=MONTHLY;BYMONTHDAY=-2",
        "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13",
        "FREQ=MONTHLY;BYDAY=FR",
        "FREQ=MONTHLY;BYDAY=-2FR",
        "FREQ=MONTHLY;BYDAY=MO,FR;BYSETPOS=2",
        "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=1,2",
        "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=6",
        "FREQ=YEARLY;BYDAY=1MO",
        "FREQ=YEARLY;BYMONTH=1,7;BYMONTHDAY=1",
        "FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=1,2",
        "FREQ=YEARLY;BYMONTH=3;BYDAY=FR",
    ],
)
def test_a_rule_without_words_is_told_by_its_next_days(rule: str) -> None:
    words = rule_told(rule, WALL, EN)
    assert words.startswith("on certain days (")
    assert words.count(";") == 3
    assert words.endswith("; and so on)")


def test_a_rule_that_ends_soon_is_told_by_the_days_it_has() -> None:
    assert rule_told("FREQ=MONTHLY;BYMONTHDAY=-2;COUNT=1", WALL, EN) == (
        "on certain days (Sunday, November 29, at 8:00 AM; and so on), 1 time"
    )
