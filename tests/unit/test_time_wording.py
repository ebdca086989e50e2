"""Times and recurrences as people say them, in Portuguese, English and Spanish."""

from __future__ import annotations

from datetime import UTC, datetime
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


@pytest.mark.parametrize(
    ("rule", "portuguese", "english", "spanish"),
    [
        ("FREQ=DAILY", "todo dia às 8:00", "every day at 8:00 AM", "todos los días a las 8:00"),
        ("FREQ=DAILY;INTERVAL=2", "a cada dois dias às 8:00", "every other day at 8:00 AM", "cada dos días a las 8:00"),
        ("FREQ=DAILY;INTERVAL=3", "a cada 3 dias às 8:00", "every 3 days at 8:00 AM", "cada 3 días a las 8:00"),
        (
            "FREQ=DAILY;BYHOUR=8,14,20",
            "todo dia às 8:00, 14:00 e 20:00",
            "every day at 8:00 AM, 2:00 PM, and 8:00 PM",
            "todos los días a las 8:00, 14:00 y 20:00",
        ),
        (
            "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=9,10,11,12,13,14,15,16,17;BYMINUTE=0",
            "de segunda a sexta, de hora em hora, das 9:00 às 17:00",
            "every weekday, every hour from 9:00 AM to 5:00 PM",
            "de lunes a viernes, cada hora, de 9:00 a 17:00",
        ),
        (
            "FREQ=DAILY;BYHOUR=8,10,12,14;UNTIL=20261231",
            "todo dia, a cada duas horas, das 8:00 às 14:00 até quinta-feira, 31 de dezembro",
            "every day, every two hours from 8:00 AM to 2:00 PM until Thursday, December 31",
            "todos los días, cada dos horas, de 8:00 a 14:00 hasta el jueves, 31 de diciembre",
        ),
        (
            "FREQ=DAILY;BYHOUR=1,13",
            "todo dia à 1:00 e às 13:00",
            "every day at 1:00 AM and 1:00 PM",
            "todos los días a la 1:00 y a las 13:00",
        ),
        (
            "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR",
            "de segunda a sexta às 8:00",
            "every weekday at 8:00 AM",
            "de lunes a viernes a las 8:00",
        ),
        ("FREQ=WEEKLY", "toda sexta às 8:00", "every Friday at 8:00 AM", "todos los viernes a las 8:00"),
        (
            "FREQ=WEEKLY;BYDAY=MO,WE",
            "toda segunda e quarta às 8:00",
            "every Monday and Wednesday at 8:00 AM",
            "todos los lunes y miércoles a las 8:00",
        ),
        (
            "FREQ=WEEKLY;BYDAY=TU,TH,SA",
            "toda terça, quinta e todo sábado às 8:00",
            "every Tuesday, Thursday, and Saturday at 8:00 AM",
            "todos los martes, jueves y sábados a las 8:00",
        ),
        (
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR",
            "a cada duas semanas, na sexta às 8:00",
            "every two weeks on Friday at 8:00 AM",
            "cada dos semanas, los viernes a las 8:00",
        ),
        (
            "FREQ=WEEKLY;INTERVAL=3;BYDAY=FR,SA",
            "a cada 3 semanas, na sexta e no sábado às 8:00",
            "every 3 weeks on Friday and Saturday at 8:00 AM",
            "cada 3 semanas, los viernes y sábados a las 8:00",
        ),
        (
            "FREQ=MONTHLY;BYMONTHDAY=5",
            "todo dia 5 às 8:00",
            "on the 5th of every month at 8:00 AM",
            "el día 5 de cada mes a las 8:00",
        ),
        (
            "FREQ=MONTHLY;BYMONTHDAY=1,22,23",
            "nos dias 1, 22 e 23 de cada mês às 8:00",
            "on the 1st, 22nd, and 23rd of every month at 8:00 AM",
            "los días 1, 22 y 23 de cada mes a las 8:00",
        ),
        (
            "FREQ=MONTHLY",
            "todo dia 27 às 8:00",
            "on the 27th of every month at 8:00 AM",
            "el día 27 de cada mes a las 8:00",
        ),
        (
            "FREQ=MONTHLY;BYMONTHDAY=-1",
            "no último dia de cada mês às 8:00",
            "on the last day of every month at 8:00 AM",
            "el último día de cada mes a las 8:00",
        ),
        (
            "FREQ=MONTHLY;BYMONTHDAY=28,29,30;BYSETPOS=-1",
            "todo dia 30 às 8:00",
            "on the 30th of every month at 8:00 AM",
            "el día 30 de cada mes a las 8:00",
        ),
        (
            "FREQ=MONTHLY;BYDAY=1MO",
            "na primeira segunda de cada mês às 8:00",
            "on the first Monday of every month at 8:00 AM",
            "el primer lunes de cada mes a las 8:00",
        ),
        (
            "FREQ=MONTHLY;BYDAY=SA;BYSETPOS=-1",
            "no último sábado de cada mês às 8:00",
            "on the last Saturday of every month at 8:00 AM",
            "el último sábado de cada mes a las 8:00",
        ),
        (
            "FREQ=MONTHLY;BYDAY=1MO,3MO",
            "na primeira e terceira segunda de cada mês às 8:00",
            "on the first and third Monday of every month at 8:00 AM",
            "el primer y tercer lunes de cada mes a las 8:00",
        ),
        (
            "FREQ=MONTHLY;BYDAY=1MO,-1FR",
            "na primeira segunda e na última sexta de cada mês às 8:00",
            "on the first Monday and on the last Friday of every month at 8:00 AM",
            "el primer lunes y el último viernes de cada mes a las 8:00",
        ),
        (
            "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
            "no último dia útil de cada mês às 8:00",
            "on the last weekday of every month at 8:00 AM",
            "el último día hábil de cada mes a las 8:00",
        ),
        (
            "FREQ=MONTHLY;INTERVAL=2;BYMONTHDAY=5",
            "a cada dois meses, no dia 5 às 8:00",
            "every two months on the 5th at 8:00 AM",
            "cada dos meses, el día 5 a las 8:00",
        ),
        (
            "FREQ=MONTHLY;INTERVAL=3;BYMONTHDAY=28,29,30,31;BYSETPOS=-1",
            "a cada 3 meses, no último dia às 8:00",
            "every 3 months on the last day at 8:00 AM",
            "cada 3 meses, el último día a las 8:00",
        ),
        (
            "FREQ=YEARLY",
            "todo dia 27 de novembro às 8:00",
            "every year on November 27 at 8:00 AM",
            "cada 27 de noviembre a las 8:00",
        ),
        (
            "FREQ=YEARLY;INTERVAL=2;BYMONTH=2;BYMONTHDAY=29",
            "a cada dois anos, em 29 de fevereiro às 8:00",
            "every two years on February 29 at 8:00 AM",
            "cada dos años, el 29 de febrero a las 8:00",
        ),
        (
            "FREQ=YEARLY;BYMONTH=11;BYDAY=4TH",
            "todo ano, na quarta quinta de novembro às 8:00",
            "every year on the fourth Thursday of November at 8:00 AM",
            "cada año, el cuarto jueves de noviembre a las 8:00",
        ),
        ("FREQ=HOURLY", "de hora em hora", "every hour", "cada hora"),
        ("FREQ=MINUTELY;INTERVAL=30", "a cada 30 minutos", "every 30 minutes", "cada 30 minutos"),
        (
            "FREQ=HOURLY;INTERVAL=3;UNTIL=20261129",
            "a cada 3 horas até domingo, 29 de novembro",
            "every 3 hours until Sunday, November 29",
            "cada 3 horas hasta el domingo, 29 de noviembre",
        ),
        (
            "FREQ=HOURLY;INTERVAL=3;UNTIL=20261130T025900Z",
            "a cada 3 horas até domingo, 29 de novembro",
            "every 3 hours until Sunday, November 29",
            "cada 3 horas hasta el domingo, 29 de noviembre",
        ),
        (
            "FREQ=HOURLY;INTERVAL=2;UNTIL=20261129T180000",
            "a cada duas horas até domingo, 29 de novembro, às 18:00",
            "every two hours until Sunday, November 29, at 6:00 PM",
            "cada dos horas hasta el domingo, 29 de noviembre, a las 18:00",
        ),
        (
            "FREQ=DAILY;UNTIL=20270131T110000Z",
            "todo dia às 8:00 até domingo, 31 de janeiro de 2027",
            "every day at 8:00 AM until Sunday, January 31, 2027",
            "todos los días a las 8:00 hasta el domingo, 31 de enero de 2027",
        ),
        (
            "FREQ=DAILY;COUNT=5",
            "todo dia às 8:00, 5 vezes",
            "every day at 8:00 AM, 5 times",
            "todos los días a las 8:00, 5 veces",
        ),
        (
            "",
            "sexta-feira, 27 de novembro, às 8:00",
            "Friday, November 27, at 8:00 AM",
            "viernes, 27 de noviembre, a las 8:00",
        ),
    ],
)
def test_a_recurrence_is_told_as_people_say_it(rule: str, portuguese: str, english: str, spanish: str) -> None:
    assert [rule_told(rule, WALL, locale, SAO_PAULO) for locale in (PT, EN, ES)] == [portuguese, english, spanish]


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
