"""Messages that ask for a reminder, and those that do not: read on Sunday, 22 November 2026, at 10:15."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from core.features.reminders.request import read_request, read_requests
from core.times.reading import Beside, Once, Past, Recurrence, Unclear
from core.types import Locale

NOW = datetime(2026, 11, 22, 10, 15, tzinfo=ZoneInfo("America/Sao_Paulo"))


@pytest.mark.parametrize(
    ("locale", "message", "text", "kind"),
    [
        (Locale.PT, "me lembra de pagar o aluguel amanhã às 8", "pagar o aluguel", Once),
        (Locale.PT, "Amanhã às 15h me avisa que tenho dentista", "tenho dentista", Once),
        (Locale.PT, "oi, pode me lembrar todo dia às 7h de tomar o remédio? obrigada", "tomar o remédio", Recurrence),
        (Locale.PT, "me lembra às 8 de ligar pro João", "ligar pro João", Unclear),
        (Locale.PT, "me lembra hoje às 8 da manhã de regar as plantas", "regar as plantas", Past),
        (Locale.PT, "me lembra 1 hora antes da minha consulta de sair", "sair", Beside),
        (Locale.PT, "me acorda amanhã às 7h", "Acordar", Once),
        (Locale.PT, "timer 10 minutos", "Timer", Once),
        (Locale.EN, "remind me to call Mr. O'Neil tomorrow at 3pm", "call Mr. O'Neil", Once),
        (Locale.EN, "hey, every friday at 5pm remind me to send the report, thanks", "send the report", Recurrence),
        (Locale.EN, "set a timer for 10 minutes", "Timer", Once),
        (Locale.EN, "wake me up at 6:30am", "Wake up", Once),
        (Locale.ES, "recuérdame comprar pan mañana a las 18h", "comprar pan", Once),
        (Locale.ES, "avisame cada lunes a las 9 de la mañana de sacar la basura", "sacar la basura", Recurrence),
        (Locale.ES, "avísame que tengo dentista mañana a las 15h", "tengo dentista", Once),
        (Locale.PT, "não esquece de me lembrar amanhã às 8 de ligar", "ligar", Once),
        (Locale.PT, "me avisa qdo for 18h pra eu sair", "eu sair", Once),
        (Locale.EN, "set a 10 minute timer", "Timer", Once),
        (Locale.EN, "set an alarm for 7", "Wake up", Unclear),
        (Locale.EN, "remind me every friday at 4 to do invoices", "do invoices", Unclear),
        (
            Locale.ES,
            "los martes y jueves Leo tiene natacion a las 5 recuerdame a las 4 y media esos dias",
            "los martes y jueves Leo tiene natacion a las 5",
            Recurrence,
        ),
        (Locale.EN, "remind me every friday at 7 to do invoices", "do invoices", Recurrence),
        (Locale.EN, "set a reminder for tomorrow at 8am called pay bills", "pay bills", Once),
        (Locale.EN, "remind me about tomorrow's meeting at 8am", "meeting", Once),
        (Locale.ES, "despiértame mañana a las 6 de la mañana", "Despertar", Once),
    ],
)
def test_a_request_is_read_with_the_persons_own_words(locale: Locale, message: str, text: str, kind: type) -> None:
    request = read_request(message, NOW, locale)
    assert request is not None
    assert request.text == text
    assert request.found is not None
    assert isinstance(request.found.time, kind)


@pytest.mark.parametrize(
    ("locale", "message", "found"),
    [
        (
            Locale.PT,
            "me avisa amanhã às 11h para ligar pra ele e quarta às 15h para levar o casaco",
            [("ligar pra ele", "23 11:00"), ("levar o casaco", "25 15:00")],
        ),
        (
            Locale.PT,
            "me lembra qui 19h d estuda mat e seg q vem d entrega o trab",
            [("estuda mat", "26 19:00"), ("entrega o trab", "23 09:00")],
        ),
        (
            Locale.PT,
            "me lembra amanhã às 9h de ligar pra Ana, às 11h de pagar a luz e às 15h de nadar",
            [("ligar pra Ana", "23 09:00"), ("pagar a luz", "23 11:00"), ("nadar", "23 15:00")],
        ),
        (
            Locale.ES,
            "recuerdame mañana a las 7 de la mañana el lonche y el miercoles a las 6 de la tarde pagar la luz",
            [("el lonche", "23 07:00"), ("pagar la luz", "25 18:00")],
        ),
        (
            Locale.EN,
            "remind me tomorrow at 4pm to call Ana, and Thursday 9:30 the man comes, remind me half an hour before",
            [("call Ana", "23 16:00"), ("Thursday 9:30 the man comes", "26 09:00")],
        ),
        (Locale.EN, "remind me at 8pm, and also at 9pm to call Ana", []),
        (Locale.EN, "remind me tomorrow at 9am to buy bread and milk", [("buy bread and milk", "23 09:00")]),
        (
            Locale.EN,
            "remind me tomorrow at 9am to call Ana and ask about the party",
            [("call Ana and ask about the party", "23 09:00")],
        ),
        (Locale.PT, "a consulta é dia 3 às 14h, me avisa um dia antes", [("a consulta é dia 3 às 14h", "02 14:00")]),
        (Locale.PT, "a reunião é quinta às 15h, me lembra às 14h", [("a reunião é quinta às 15h", "26 14:00")]),
        (
            Locale.EN,
            "Mum's train gets in friday at 5pm, remind me at 4",
            [("Mum's train gets in friday at 5pm", "27 16:00")],
        ),
        (Locale.PT, "dentista sexta às 10h, me lembra quinta à noite", [("dentista sexta às 10h", "26 20:00")]),
        (
            Locale.ES,
            "el jueves tengo dentista a las 3 pm, avísame 2 horas antes",
            [("el jueves tengo dentista a las 3 pm", "26 13:00")],
        ),
    ],
)
def test_each_reminder_that_a_message_asks_for_has_its_own_words_and_time(
    locale: Locale, message: str, found: list[tuple[str, str]]
) -> None:
    read = read_requests(message, NOW, locale)
    times = [each.found.time for each in read if each.found is not None]
    assert [
        (each.text, f"{time.at:%d %H:%M}") for each, time in zip(read, times, strict=True) if isinstance(time, Once)
    ] == found


@pytest.mark.parametrize(
    ("locale", "message"),
    [
        (Locale.PT, "me lembra de comprar leite"),
        (Locale.EN, "remind me to buy milk"),
        (Locale.ES, "recuérdame comprar leche"),
        (Locale.PT, "me lembra mais tarde de comprar leite"),
        (Locale.PT, "me lembra até sexta de pagar"),
        (Locale.EN, "remind me monday or tuesday to call"),
        (Locale.EN, "remind me later to mow"),
        (Locale.ES, "recuérdame antes del viernes pagar"),
    ],
)
def test_a_request_may_name_no_time(locale: Locale, message: str) -> None:
    request = read_request(message, NOW, locale)
    assert request is not None
    assert request.found is None
    assert request.text.split()[-1] in message


@pytest.mark.parametrize(
    ("locale", "message"),
    [
        (Locale.PT, "me lembra qual é a senha do wifi"),
        (Locale.PT, "eu lembro de você todo dia às 8"),
        (Locale.PT, "lembra que eu sou alérgica a dipirona"),
        (Locale.PT, "meu voo é dia 27 às 15h40"),
        (Locale.EN, "remind me what my landlord is called"),
        (Locale.EN, "that song reminds me of you every friday night"),
        (Locale.EN, "remember that I pay rent on the 5th"),
        (Locale.ES, "recuérdame cuál era la clave del portón"),
        (Locale.ES, "esa foto me recuerda al verano"),
        (Locale.PT, "essa música me lembra você toda noite"),
        (Locale.PT, "me lembra a senha pra entrar no wifi"),
        (Locale.PT, "me lembra o que eu tenho que fazer amanhã"),
        (Locale.EN, "remind me what time the game is tomorrow"),
        (Locale.ES, "recuérdame qué tengo que comprar"),
        (Locale.EN, ""),
    ],
)
def test_a_question_or_a_memory_is_no_request(locale: Locale, message: str) -> None:
    assert read_request(message, NOW, locale) is None


@pytest.mark.parametrize(
    ("locale", "message"),
    [
        (Locale.PT, "todo dia às 7h me diz o que eu tenho hoje"),
        (Locale.PT, "toda manhã às 7h me manda minha agenda"),
        (Locale.EN, "every morning at 7am tell me what I have today"),
        (Locale.ES, "todos los días a las 7 de la mañana dime qué tengo hoy"),
    ],
)
def test_a_briefing_has_no_text_of_its_own(locale: Locale, message: str) -> None:
    request = read_request(message, NOW, locale)
    assert request is not None
    assert request.briefing
    assert request.text == ""
    assert request.found is not None
    assert isinstance(request.found.time, Recurrence)


def test_the_words_for_the_time_are_kept_beside_the_text() -> None:
    request = read_request("remind me to stretch in 20 minutes", NOW, Locale.EN)
    assert request is not None
    assert request.when == "in 20 minutes"


def test_a_text_of_any_length_is_kept_whole() -> None:
    long = "x" * 5_000
    request = read_request(f"remind me tomorrow at 9am to send {long}", NOW, Locale.EN)
    assert request is not None
    assert request.text == f"send {long}"


@pytest.mark.parametrize(
    ("locale", "message", "text"),
    [
        (Locale.PT, "me lembra quando eu sair às 18h30 de comprar pão", "quando eu sair comprar pão"),
        (Locale.EN, "remind me when I get home at 6pm to feed the cat", "when I get home feed the cat"),
        (Locale.EN, "remind me an hour before my flight", "my flight"),
    ],
)
def test_an_occasion_belongs_to_the_text(locale: Locale, message: str, text: str) -> None:
    request = read_request(message, NOW, locale)
    assert request is not None
    assert request.text == text


@pytest.mark.parametrize("message", ["me lembra quando eu pago o aluguel?", "remind me when I pay rent?"])
def test_a_question_about_when_is_no_request(message: str) -> None:
    assert read_request(message, NOW, Locale.EN) is None
