"""Times as data: what a question asks for, the day that a fact means, and until when it is true."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from bench.times import DATA, LOCALES
from core.memory.timed import end_of, timed, timed_anew, true_then
from core.text.days import dated, day_phrase, without_day
from core.times.said import TimeWords, asked, meant, until
from core.types import Locale, MemoryDraft, MemoryItem, MemoryKind, Span

SAO_PAULO = ZoneInfo("America/Sao_Paulo")
NEW_YORK = ZoneInfo("America/New_York")
SANTIAGO = ZoneInfo("America/Santiago")
SUNDAY = datetime(2026, 11, 22, 10, 15, tzinfo=SAO_PAULO)
LABELS: list[dict[str, str]] = [
    label for name in ("said_tune.json", "said_report.json") for label in json.loads((DATA / name).read_text("utf-8"))
]


def wall(at: datetime, zone: ZoneInfo) -> str:
    """Return a moment as labels write it: a day for its beginning, "" for ever."""
    local = at.astimezone(zone)
    if not 1971 < local.year < 8999:
        return ""
    return f"{local:%Y-%m-%d}" if (local.hour, local.minute) == (0, 0) else f"{local:%Y-%m-%dT%H:%M}"


def read(label: dict[str, str]) -> str:
    zone, locale = ZoneInfo(label["zone"]), LOCALES[label["lang"]]
    now = datetime.fromisoformat(label["now"]).replace(tzinfo=zone)
    if label["kind"] == "meant":
        return meant(label["say"], now, locale)
    if label["kind"] == "until":
        over = until(label["say"], now, locale)
        return wall(over, zone) if over else ""
    found = asked(label["say"], now, locale)
    if found is None:
        return ""
    begin, end = wall(found.span.start, zone) or "..", wall(found.span.end, zone) or ".."
    return f"{'said' if found.said else 'about'} {begin}/{end}"


def test_labelled_words_are_read_as_labelled() -> None:
    wrong = [(label["say"], found) for label in LABELS if (found := read(label)) != label["want"]]
    assert wrong == []


@pytest.mark.parametrize(
    ("say", "want"),
    [
        ("o que eu te contei depois de maio?", "said 2026-06-01/2026-11-23"),
        ("o que eu disse na semana retrasada?", "said 2026-11-02/2026-11-09"),
        ("o que te falei no fim de semana passado?", "said 2026-11-14/2026-11-16"),
        ("o que eu tenho no próximo fim de semana?", "about 2026-11-28/2026-11-30"),
        ("eu te disse ontem que meu carro é azul", "about 2026-11-21/2026-11-22"),
        ("what did I tell you an hour ago?", "said 2026-11-22T08:15/2026-11-22T10:15"),
        ("what did I tell you from May 3 to May 10?", "said 2026-05-03/2026-05-11"),
        ("what did I say about the meeting on Friday?", "about 2026-11-27/2026-11-28"),
        ("what did we discuss last May?", "said 2026-05-01/2026-06-01"),
        ("¿qué te dije entre el 3 y el 10 de mayo?", "said 2026-05-03/2026-05-11"),
        ("¿qué te conté esta mañana?", "said 2026-11-22T04:00/2026-11-22T12:00"),
        ("o que eu preciso ter em casa?", ""),
        ("what is the second one?", ""),
    ],
)
def test_a_stretch_is_found_in_questions(say: str, want: str) -> None:
    label = {"kind": "span", "lang": "pt", "now": "2026-11-22T10:15", "zone": "America/Sao_Paulo", "say": say}
    assert read(label) == want


@pytest.mark.parametrize(
    ("say", "day"),
    [
        ("comprei o carro na sexta", "2026-11-20"),
        ("marquei o dentista na sexta", "2026-11-27"),
        ("deixei o terno na lavanderia, pego na sexta", "2026-11-27"),
        ("the exam was on the 12th at 9 am", "2026-11-12T09:00"),
        ("promised Rita I'd call on Friday", "2026-11-27"),
        ("I haven't smoked in 6 weeks", ""),
        ("we practise on Sundays at 4pm", ""),
        ("faço pilates na quarta", ""),
        ("reservei o hotel de 12 a 16 de julho", ""),
        ("nunca tomo vinho", ""),
        ("estudo no 4º ano B", ""),
        ("mums bday is 14 march", ""),
        ("my discount is 15%", ""),
        ("la licencia caduca el 31 de enero de 2027", "2027-01-31"),
        ("28 april, 8000 words at most", ""),
        ("Christmas party on 15 December at 19:00", "2026-12-15T19:00"),
        ("festa de Natal dia 15 de dezembro às 19h", "2026-12-15T19:00"),
        ("cena de Navidad el 15 de diciembre", "2026-12-15"),
        ("Christmas lunch tomorrow at 13:00", "2026-11-23T13:00"),
        ("festa de Natal sexta", "2026-11-27"),
        ("cena de Navidad el sábado a las 9 de la noche", "2026-11-28T21:00"),
        ("our Christmas party is on friday at 7pm", "2026-11-27T19:00"),
        ("festa de aniversario do Leo sexta 19h", "2026-11-27T19:00"),
        ("the boiler service is on the 8th of December with a man called Keith", "2026-12-08"),
        ("a man called Keith was here on friday", "2026-11-20"),
        ("my seat is 12A", ""),
        ("assento 12a", ""),
    ],
)
def test_a_fact_means_a_day_only_if_its_words_do(say: str, day: str) -> None:
    assert meant(say, SUNDAY, Locale.PT) == day


@pytest.mark.parametrize(
    "say",
    [
        "a senha mudou hoje, agora é Enf@26",
        "a partir de hoje a senha é 123",
        "minha festa é em março de 2027",
        "gastei 300 esta semana",
        "I have been sick this week",
        "today is Ana's birthday",
        "hoje é meu aniversário",
        "nos últimos 3 dias estou com dor",
    ],
)
def test_what_stays_true_has_no_end(say: str) -> None:
    assert until(say, SUNDAY, Locale.PT) is None


@pytest.mark.parametrize(
    ("say", "end"),
    [
        ("the receipt of March is in the drawer", ""),
        ("o recibo de março é o azul", ""),
        ("el recibo de marzo está en la caja", ""),
        ("until the end of March the code is 33", "2026-04-01"),
        ("in March I work from home", "2026-04-01"),
    ],
)
def test_the_month_that_a_thing_is_of_is_no_end(say: str, end: str) -> None:
    found = until(say, datetime(2026, 3, 10, 12, tzinfo=SAO_PAULO), Locale.PT)
    assert ("" if found is None else wall(found, SAO_PAULO)) == end


@pytest.mark.parametrize(
    ("say", "alone"),
    [
        ("o que eu tenho na sexta?", True),
        ("what's on tomorrow?", True),
        ("¿qué tengo que hacer la semana que viene?", True),
        ("o que eu te disse ontem?", True),
        ("what did I tell you last week about the flat?", False),
        ("when is my dentist appointment next week?", False),
    ],
)
def test_a_question_may_name_nothing_but_a_time(say: str, alone: bool) -> None:
    found = asked(say, SUNDAY, Locale.PT)
    assert found is not None
    assert found.alone is alone


def hours(span: Span) -> float:
    return (span.end - span.start) / timedelta(hours=1)


@pytest.mark.parametrize(
    ("say", "now", "length_h"),
    [
        ("what did I tell you yesterday?", datetime(2026, 11, 2, 9, tzinfo=NEW_YORK), 25),  # clocks went back
        ("what did I tell you yesterday?", datetime(2026, 3, 9, 9, tzinfo=NEW_YORK), 23),
        ("what did I tell you yesterday?", datetime(2026, 11, 10, 9, tzinfo=NEW_YORK), 24),
        ("¿qué te dije el mes pasado?", datetime(2026, 4, 10, 9, tzinfo=ZoneInfo("Europe/Madrid")), 31 * 24 - 1),
        ("¿qué te dije ayer?", datetime(2026, 9, 7, 9, tzinfo=SANTIAGO), 23),  # the day began at 1:00
    ],
)
def test_days_are_those_of_the_wall_when_clocks_change(say: str, now: datetime, length_h: float) -> None:
    found = asked(say, now, Locale.EN)
    assert found is not None
    assert found.said
    assert hours(found.span) == length_h


def test_an_end_is_the_persons_midnight_when_clocks_change() -> None:
    said_at = datetime(2026, 9, 5, 20, tzinfo=SANTIAGO)
    assert until("hoy la clave es 7788", said_at, Locale.ES) == datetime(2026, 9, 6, 4, tzinfo=UTC)
    said_at = datetime(2026, 10, 31, 20, tzinfo=NEW_YORK)
    assert until("until tomorrow the code is 7788", said_at, Locale.EN) == datetime(2026, 11, 2, 5, tzinfo=UTC)


def test_the_day_is_that_of_the_persons_zone() -> None:
    at = datetime(2026, 11, 23, 1, 30, tzinfo=UTC)  # still Sunday in São Paulo
    assert meant("amanhã tenho prova", at.astimezone(SAO_PAULO), Locale.PT) == "2026-11-23"
    assert meant("amanhã tenho prova", at.astimezone(ZoneInfo("Europe/Lisbon")), Locale.PT) == "2026-11-24"


# --- memories ---


def item(content: str = "", **fields: Any) -> MemoryItem:
    at = fields.pop("at", SUNDAY)
    return MemoryItem("m", MemoryKind.TEXT, content, ("b",), at, at, **fields)


def draft(content: str, *bindings: str, **fields: Any) -> MemoryDraft:
    return MemoryDraft(MemoryKind.TEXT, content, bindings or ("b",), **fields)


def test_a_draft_gets_its_day_and_is_found_by_it() -> None:
    ready = timed(draft("amanhã tenho prova"), TimeWords(), SUNDAY, Locale.PT)
    assert (ready.content, ready.meant, ready.until) == ("amanhã tenho prova", "2026-11-23", None)
    assert ready.bindings == ("b", "segunda-feira, 23 de novembro de 2026")


def test_a_draft_gets_its_end_and_a_models_end_counts_if_words_name_none() -> None:
    friday, sunday = datetime(2026, 11, 28, 3, tzinfo=UTC), datetime(2026, 11, 30, 3, tzinfo=UTC)
    ready = timed(draft("até sexta estou em Lisboa", until=sunday), TimeWords(), SUNDAY, Locale.PT)
    assert (ready.until, ready.meant, ready.bindings) == (friday, "", ("b",))
    assert timed(draft("estou em Lisboa", until=sunday), TimeWords(), SUNDAY, Locale.PT).until == sunday
    assert timed(draft("estou em Lisboa", until=SUNDAY), TimeWords(), SUNDAY, Locale.PT).until is None


def test_json_has_no_times() -> None:
    given = MemoryDraft(MemoryKind.JSON, '{"a": "amanhã"}', ("b",))
    assert timed(given, TimeWords(), SUNDAY, Locale.PT) == given


def test_new_words_have_new_times_and_the_same_words_keep_theirs() -> None:
    old = item("amanhã tenho prova", meant="2026-11-20")
    phrase = day_phrase("2026-11-20", Locale.EN)
    kept = timed_anew(draft(old.content, "b", phrase), old, TimeWords(), SUNDAY, Locale.PT)
    assert (kept.meant, kept.bindings) == ("2026-11-20", ("b", phrase))
    new = timed_anew(draft("a prova é na terça", "b", phrase), old, TimeWords(), SUNDAY, Locale.PT)
    assert (new.meant, new.bindings) == ("2026-11-24", ("b", "terça-feira, 24 de novembro de 2026"))


@pytest.mark.parametrize(
    ("day", "end"),
    [
        ("2026-11-27", datetime(2026, 11, 28, 3, tzinfo=UTC)),
        ("2026-11-27T18:00", datetime(2026, 11, 27, 21, tzinfo=UTC)),
        ("2026-11-27T18:00:00+00:00", datetime(2026, 11, 27, 18, tzinfo=UTC)),
        ("friday", None),
        ("2026-02-30", None),
        ("9999-12-31", None),
        ("", None),
    ],
)
def test_a_models_end_is_read_strictly(day: str, end: datetime | None) -> None:
    assert end_of(day, SAO_PAULO) == end


@pytest.mark.parametrize(
    ("locale", "day", "hour", "end"),
    [
        (Locale.PT, " (seg., 23 nov. 2026)", " (sáb., 12 dez. 2026, 14:00)", " (até sex., 27 nov. 2026)"),
        (Locale.EN, " (Mon 23 Nov 2026)", " (Sat 12 Dec 2026, 14:00)", " (until Fri 27 Nov 2026)"),
        (Locale.ES, " (lun, 23 nov 2026)", " (sáb, 12 dic 2026, 14:00)", " (hasta el vie, 27 nov 2026)"),
    ],
)
def test_people_see_the_day_in_brackets(locale: Locale, day: str, hour: str, end: str) -> None:
    friday = datetime(2026, 11, 28, 3, tzinfo=UTC)
    assert dated(item(meant="2026-11-23"), SAO_PAULO, locale) == day
    assert dated(item(meant="2026-12-12T14:00"), SAO_PAULO, locale) == hour
    assert dated(item(until=friday), SAO_PAULO, locale) == end
    assert dated(item(until=friday - timedelta(hours=6)), SAO_PAULO, Locale.EN) == " (until Fri 27 Nov 2026, 18:00)"
    assert dated(item(), SAO_PAULO, locale) == ""


def test_the_phrase_of_a_day_goes_whatever_its_language() -> None:
    phrases = tuple(day_phrase("2026-11-23", locale) for locale in (Locale.PT, Locale.EN, Locale.ES))
    assert phrases[1:] == ("Monday, November 23, 2026", "lunes, 23 de noviembre de 2026")
    assert without_day(("prova", *phrases), "2026-11-23") == ("prova",)
    assert without_day(phrases, "") == phrases


def year(number: int) -> Span:
    return Span(datetime(number, 1, 1, tzinfo=UTC), datetime(number + 1, 1, 1, tzinfo=UTC))


def test_a_question_about_a_time_gets_the_version_of_then() -> None:
    porto = item("Porto", until=datetime(2025, 3, 1, tzinfo=UTC), current="m")
    lisbon = item("Lisboa", until=datetime(2026, 6, 1, tzinfo=UTC), current="m")
    recife = item("Recife")
    for asked_year, answer in ((2020, porto), (2024, porto), (2025, lisbon), (2026, recife), (2030, recife)):
        assert true_then(recife, [lisbon, porto], year(asked_year)) is answer
    before_may = Span(datetime(1970, 1, 1, tzinfo=UTC), datetime(2025, 5, 1, tzinfo=UTC))
    assert true_then(recife, [porto, lisbon], before_may) is porto
    assert true_then(recife, [], year(2024)) is recife
