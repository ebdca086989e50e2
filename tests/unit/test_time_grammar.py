"""Times in the words of people: two labelled sets, and phrases that were read on Sunday, 22 November 2026, at 10:15."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from types import FrameType
from zoneinfo import ZoneInfo

import pytest

from bench.times import DATA, RIGHT, WRONG, judge, labels
from core.times.grammar import find_time
from core.times.reading import Beside, Once, Past, Repeated, Time, Unclear
from core.types import Locale

_MOST_CALLS = 200_000

PT = {
    "em 90 segundos": "22 10:16",
    "no fim de semana": "28 09:00?",
    "no próximo fim de semana": "28 09:00?",
    "no começo do mês": "1/12 09:00?",
    "no fim do mês": "30 09:00?",
    "no fim do mês que vem": "31/12 09:00?",
    "dia 30 de cada mês": "FREQ=MONTHLY;BYMONTHDAY=28,29,30;BYSETPOS=-1 30 09:00?",
    "todo fim de mês": "FREQ=MONTHLY;BYMONTHDAY=-1 30 09:00?",
    "todo começo de mês às 8h": "FREQ=MONTHLY;BYMONTHDAY=1 1/12 08:00",
    "3x ao dia": "FREQ=DAILY;BYHOUR=8,14,20;BYMINUTE=0 22 14:00?",
    "duas vezes por dia": "FREQ=DAILY;BYHOUR=8,20;BYMINUTE=0 22 20:00?",
    "3x ao dia às 7h, 15h e 23h": "FREQ=DAILY;BYHOUR=7,15,23;BYMINUTE=0 22 15:00",
    "amanhã no fim da tarde": "23 18:00?",
    "no finalzinho da tarde": "22 18:00?",
    "amanhã na hora do almoço": "23 12:00?",
    "amanhã antes do meio-dia": "23 11:00?",
    "amanhã depois do almoço": "23 15:00?",
    "amanhã logo cedo": "23 08:00?",
    "segunda bem cedo": "23 08:00?",
    "daqui a uma hora mais ou menos": "22 11:15",
    "amanhã à 1 e meia": "23 13:30 or 23 01:30",
    "amanhã 13h em ponto": "23 13:00",
    "amanhã à meia-noite": "23 00:00 or 24 00:00",
    "hoje à meia-noite": "23 00:00",
    "hoje às 12": "22 12:00",
    "amanhã ao meio-dia e meia": "23 12:30",
    "sexta passada": "past",
    "semana passada": "past",
    "mês passado": "past",
    "há 2 dias": "past",
    "dois dias atrás": "past",
    "ontem às 15h": "past",
    "quinze pras nove da noite": "22 20:45",
    "às dez para as oito da manhã de amanhã": "23 07:50",
    "sexta, 27/11, às 14h30": "27 14:30",
    "25 de dezembro de 2026 às 20h": "25/12 20:00",
    "no natal": "25/12 09:00?",
    "a cada 15 dias": "FREQ=DAILY;INTERVAL=15 7/12 09:00?",
    "de segunda a sexta às 7 da manhã": "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR 23 07:00",
    "toda segunda, quarta e sexta às 18h": "FREQ=WEEKLY;BYDAY=MO,WE,FR 23 18:00",
    "todo primeiro sábado do mês às 10h": "FREQ=MONTHLY;BYDAY=1SA 5/12 10:00",
    "todo ano no dia 3 de março": "FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=3 3/3/2027 09:00?",
    "uma hora antes do meu voo": "-60 meu voo",
    "a segunda opção é melhor": "none",
    "31 de fevereiro": "none",
    "meu voo é dia 27 às 15h40": "27 15:40",
    "daqui a duas semanas": "6/12 10:15?",
    "quinta que vem às 9h": "26 09:00",
    "dia 5 às 14h": "5/12 14:00",
    "ver amanhã às 9 o relatório da semana passada": "23 09:00",
    "o que falamos ontem, às 15h30": "22 15:30",
    "amanhã às 10 a segunda parcela": "23 10:00",
    "a cada meia hora": "FREQ=MINUTELY;INTERVAL=30 22 10:45",
    "amanhã entre 8 e 9 da manhã": "none",
    "reunião das 15h, 10 minutos antes": "22 14:50",
    "todo dia às 9 e 21": "none",
    "mais tarde": "none",
    "de 15 em 15 minutos até as 18h": "none",
    "na primeira segunda-feira de dezembro às 9h": "7/12 09:00",
    "3 vezes por semana": "none",
    "todo dia às 8 até sexta": "FREQ=DAILY;UNTIL=20261128T025959Z 23 08:00",
    "todo dia 31": "FREQ=MONTHLY;BYMONTHDAY=-1 30 09:00?",
    "todo quinto dia útil às 9h": "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=5 7/12 09:00",
    "no último dia útil do mês": "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1 30 09:00? or 30 09:00?",
    "todo dia menos domingo às 7h": "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR,SA 23 07:00",
    "todo dia às 7 exceto sábado e domingo": "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR 23 07:00",
    "toda sexta exceto feriado": "FREQ=WEEKLY;BYDAY=FR 27 09:00?",
    "segunda e quarta às 19h": "FREQ=WEEKLY;BYDAY=MO,WE 23 19:00 or 23 19:00",
    "nos dias 1 e 15": "none",
    "10 min antes das 18h": "22 17:50",
    "2h antes da consulta": "-120 consulta",
    "na noite antes da viagem": "none",
    "antes de sexta": "none",
    "em março": "1/3/2027 09:00?",
    "ano que vem": "1/1/2027 09:00?",
    "no fim do ano": "31/12 09:00?",
    "dia 3 do 5 às 10h": "3/5/2027 10:00",
    "daqui a 1,5 hora": "22 11:45",
    "19h30m": "22 19:30",
    "às 15h de Lisboa": "none",
    "nos próximos 3 dias às 9h": "none",
    "dia 22 às 18h": "22 18:00 or 22/12 18:00",
    "dia 22 às 9h": "22/12 09:00",
    "quinta dia 25 às 10h": "25 10:00 or 25/2/2027 10:00",
    "quinta dia 26 às 10h": "26 10:00",
    "3a feira às 10h": "24 10:00",
    "daqui 1h e 15": "22 11:30",
    "a cada 6h": "FREQ=HOURLY;INTERVAL=6 22 16:15",
    "de 8/8h": "FREQ=HOURLY;INTERVAL=8 22 18:15",
    "a cada 1h30": "FREQ=MINUTELY;INTERVAL=90 22 11:45",
    "todo dia 12 de junho": "FREQ=YEARLY;BYMONTH=6;BYMONTHDAY=12 12/6/2027 09:00?",
    "um dia antes do natal": "24/12 09:00?",
    "prova dia 2 às 19h, um dia antes": "1/12 19:00",
    "dentista amanhã às 15h, 1h antes pra sair": "23 14:00",
    "amanhã às 15h com 30 min de antecedência": "23 14:30",
    "todo dia às 8, 5 vezes": "none",
    "amanhã às 9 a reunião das 15h": "23 09:00",
}
EN = {
    "in 90 seconds": "22 10:16",
    "next weekend": "28 09:00?",
    "this weekend": "28 09:00?",
    "at the start of next month": "1/12 09:00?",
    "end of next month": "31/12 09:00?",
    "by the end of the month": "30 09:00?",
    "every 1st of the month": "FREQ=MONTHLY;BYMONTHDAY=1 1/12 09:00?",
    "on the 1st and 15th of every month at 9am": "FREQ=MONTHLY;BYMONTHDAY=1,15 1/12 09:00",
    "three times a day": "FREQ=DAILY;BYHOUR=8,14,20;BYMINUTE=0 22 14:00?",
    "twice a day at 9am and 9pm": "FREQ=DAILY;BYHOUR=9,21;BYMINUTE=0 22 21:00",
    "tomorrow first thing": "23 08:00?",
    "first thing in the morning": "23 08:00?",
    "tomorrow around lunchtime": "23 12:00?",
    "tomorrow before noon": "23 11:00?",
    "tomorrow after lunch": "23 15:00?",
    "late afternoon tomorrow": "23 17:00?",
    "by end of day": "22 17:00?",
    "in an hour or so": "22 11:15",
    "half an hour from now": "22 10:45",
    "tomorrow at midnight": "23 00:00 or 24 00:00",
    "tonight at midnight": "23 00:00",
    "tomorrow at 1pm sharp": "23 13:00",
    "at noon": "22 12:00",
    "tomorrow at half 8": "23 08:30",
    "quarter past 9 tomorrow morning": "23 09:15",
    "ten to six this evening": "22 17:50",
    "last friday": "past",
    "last week": "past",
    "last month": "past",
    "2 days ago": "past",
    "an hour ago": "past",
    "the last friday of the month": "FREQ=MONTHLY;BYDAY=-1FR 27 09:00?",
    "every last friday of the month at 4pm": "FREQ=MONTHLY;BYDAY=-1FR 27 16:00",
    "Nov 27th at 3:15pm": "27 15:15",
    "the day after tomorrow at 18:00": "24 18:00",
    "a week from friday at 10am": "4/12 10:00",
    "two days before my flight": "-2880 my flight",
    "every other tuesday at 7pm": "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU 24 19:00",
    "every weekday at 7:30am": "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR 23 07:30",
    "every 45 minutes": "FREQ=MINUTELY;INTERVAL=45 22 11:00",
    "every hour from 9am to 5pm": "FREQ=DAILY;BYHOUR=9,10,11,12,13,14,15,16,17;BYMINUTE=0 22 11:00",
    "12/25 at 8am": "25/12 08:00",
    "03/05 at 9am": "5/3/2027 09:00 or 3/5/2027 09:00",
    "the second option is better": "none",
    "I may go": "none",
    "we march on": "none",
    "send last week's report tomorrow at 9am": "23 09:00",
    "last week's report": "none",
    "yesterday at 5pm": "past",
    "today at 4pm, before the 5 o'clock call": "22 16:00",
    "the 3pm meeting 10 minutes before": "22 14:50",
    "the 10:20am call 10 minutes before": "past",
    "every day at 9 and 21": "none",
    "every half hour": "FREQ=MINUTELY;INTERVAL=30 22 10:45",
    "in two and a half hours": "22 12:45",
    "every 2 hours until 6pm": "FREQ=HOURLY;INTERVAL=2;UNTIL=20261122T230000Z 22 12:15",
    "between 8 and 9 tomorrow": "none",
    "friday week at 10am": "4/12 10:00",
    "later today": "22 11:15 or 22 12:00 or 22 15:00",
    "on february 29": "29/2/2028 09:00?",
    "on february 30": "none",
    "in a couple of days": "24 10:15?",
    "next month on the 3rd at 2pm": "3/12 14:00",
    "on new year's eve at 11pm": "31/12 23:00",
    "every day except sunday at 7am": "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR,SA 23 07:00",
    "every weekday but friday at 9am": "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH 23 09:00",
    "every 2 days except sunday": "none",
    "mon wed fri at 7am": "FREQ=WEEKLY;BYDAY=MO,WE,FR 23 07:00 or 23 07:00",
    "at 8 and 20 every day": "none",
    "every month on the last friday": "FREQ=MONTHLY;BYDAY=-1FR 27 09:00?",
    "the first day of each month at 9am": "FREQ=MONTHLY;BYMONTHDAY=1 1/12 09:00",
    "every 2 hours between 8 and 20": "FREQ=DAILY;BYHOUR=8,10,12,14,16,18,20;BYMINUTE=0 22 12:00",
    "every 8 hours starting at 6am": "FREQ=HOURLY;INTERVAL=8 23 06:00",
    "tomorrow at 0800": "23 08:00",
    "at 1830": "22 18:30",
    "in 1.5 hours": "22 11:45",
    "at 3pm EST": "none",
    "friday after next at 10am": "none",
    "10 minutes before 6pm": "22 17:50",
    "the night before my exam": "none",
    "before friday": "none",
    "in march": "1/3/2027 09:00?",
    "next year": "1/1/2027 09:00?",
    "on the fifth at 9am": "5/12 09:00",
    "on 2026/12/24 at 9am": "24/12 09:00",
    "tonight at 12": "23 00:00",
    "every mon at 9am and wed at 10am": "none",
    "every march 3rd": "FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=3 3/3/2027 09:00?",
    "friday the 13th on saturday": "none",
    "two weeks before christmas": "11/12 09:00?",
}
ES = {
    "en 90 segundos": "22 10:16",
    "el fin de semana": "28 09:00?",
    "el próximo fin de semana": "28 09:00?",
    "a principios de mes": "1/12 09:00?",
    "a fin de mes": "30 09:00?",
    "el día 30 de cada mes": "FREQ=MONTHLY;BYMONTHDAY=28,29,30;BYSETPOS=-1 30 09:00?",
    "cada fin de mes": "FREQ=MONTHLY;BYMONTHDAY=-1 30 09:00?",
    "3 veces al día": "FREQ=DAILY;BYHOUR=8,14,20;BYMINUTE=0 22 14:00?",
    "dos veces al día a las 9 y a las 21": "FREQ=DAILY;BYHOUR=9,21;BYMINUTE=0 22 21:00",
    "mañana a primera hora": "23 08:00?",
    "mañana a la hora de comer": "23 14:00?",
    "mañana antes del mediodía": "23 11:00?",
    "mañana después de comer": "23 15:00?",
    "mañana al final de la tarde": "23 19:00?",
    "en una hora más o menos": "22 11:15",
    "mañana a la 1 y media": "23 13:30 or 23 01:30",
    "mañana a las 13 en punto": "23 13:00",
    "mañana a medianoche": "23 00:00 or 24 00:00",
    "hoy a medianoche": "23 00:00",
    "hoy a las 12": "22 12:00",
    "mañana a las doce y media": "23 12:30",
    "el viernes pasado": "past",
    "la semana pasada": "past",
    "el mes pasado": "past",
    "hace 2 días": "past",
    "hace una hora": "past",
    "pasado mañana a las 17:30": "24 17:30",
    "mañana por la mañana": "23 09:00?",
    "mañana a las nueve menos cuarto de la mañana": "23 08:45",
    "el lunes que viene a las 16 hs": "23 16:00",
    "el 24 a las 10:30": "24 10:30",
    "el 5 de enero a las 20h": "5/1/2027 20:00",
    "en nochebuena a las 21h": "24/12 21:00",
    "de lunes a viernes a las 7 de la mañana": "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR 23 07:00",
    "todos los martes y jueves a las 19h": "FREQ=WEEKLY;BYDAY=TU,TH 24 19:00",
    "cada 8 horas": "FREQ=HOURLY;INTERVAL=8 22 18:15",
    "cada dos semanas los miércoles a las 20h": "FREQ=WEEKLY;INTERVAL=2;BYDAY=WE 25 20:00",
    "el primer lunes de cada mes a las 9 de la mañana": "FREQ=MONTHLY;BYDAY=1MO 7/12 09:00",
    "el último día del mes": "30 09:00?",
    "dos horas antes de mi vuelo": "-120 mi vuelo",
    "dentro de media hora": "22 10:45",
    "de aquí a tres días": "25 10:15?",
    "la segunda opción es mejor": "none",
    "el 30 de febrero": "none",
    "el martes es trece": "24 09:00?",
    "mi vuelo sale el día 27 a las 15:40": "27 15:40",
    "el sábado a la noche": "28 20:00?",
    "esta noche a las 9": "22 21:00",
    "a las 3 de la madrugada": "23 03:00",
    "en dos horas y media": "22 12:45",
    "más tarde": "none",
    "cada media hora": "FREQ=MINUTELY;INTERVAL=30 22 10:45",
    "tres veces por semana": "none",
    "todos los días menos el domingo a las 7 de la mañana": "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR,SA 23 07:00",
    "cada hora entre las 9 y las 17": "FREQ=DAILY;BYHOUR=9,10,11,12,13,14,15,16,17;BYMINUTE=0 22 11:00",
    "los días 1 y 15": "FREQ=MONTHLY;BYMONTHDAY=1,15 1/12 09:00?",
    "el 3 del 5 a las 10": "3/5/2027 10:00",
    "antes del viernes": "none",
    "el otro jueves a las 9": "none",
    "en un par de horas": "22 12:15",
    "10 minutos antes de las 6 de la tarde": "22 17:50",
    "cada quincena los viernes a las 9": "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR 27 09:00",
    "a las 15h hora de Madrid": "none",
}
CASES = [
    (locale, *pair)
    for locale, phrases in ((Locale.PT, PT), (Locale.EN, EN), (Locale.ES, ES))
    for pair in phrases.items()
]
ZONES = {Locale.PT: "America/Sao_Paulo", Locale.EN: "America/New_York", Locale.ES: "America/Mexico_City"}


@pytest.mark.parametrize(("locale", "phrase", "expected"), CASES)
def test_a_phrase_is_read_as_people_mean_it(locale: Locale, phrase: str, expected: str) -> None:
    found = find_time(phrase, datetime(2026, 11, 22, 10, 15, tzinfo=ZoneInfo(ZONES[locale])), locale)
    assert (shown(found.time) if found else "none") == expected


def shown(time: Time) -> str:
    """A time in few letters: day, month and year where they are not of now, "?" for an hour that was not named."""
    match time:
        case Once(at, has_hour):
            date = f"{at.day}" if (at.month, at.year) == (11, 2026) else f"{at.day}/{at.month}"
            year = f"/{at.year}" if (at.year, at.month) > (2026, 12) else ""
            return f"{date}{year} {at:%H:%M}{'' if has_hour else '?'}"
        case Repeated(rule, first, has_hour):
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
    assert isinstance(time, Repeated)
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
