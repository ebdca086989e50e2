"""Where a person says that they are is heard: their clock is offered, a yes takes it, and later they are asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from core.answering.asker import Locales
from core.dialogue import Task
from core.features.preferences.timezone import heard_zone
from core.features.reminders.delivery import Due, DueMessages
from core.features.reminders.reminders import Kind, Reminder
from core.limited import LimitedMind
from core.providers.usem3 import Usem3Embedder
from core.text.markdown import plain_times
from core.types import Locale, Preferences
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA
from tests.fakes.talk import Talk, talking

DATA = Path(__file__).parents[1] / "data"
ZONE = ZoneInfo("America/Sao_Paulo")
NOW = datetime(2026, 11, 25, 10, 15, tzinfo=ZONE)  # a Wednesday
LOCALES = {"pt": Locale.PT, "en": Locale.EN, "es": Locale.ES}


@pytest.fixture
async def ana(tmp_path: Path) -> AsyncIterator[Talk]:
    """A chat with a whole bot that has no language model, in the zone of São Paulo."""
    embedder = Usem3Embedder()
    clock = FakeClock(start=NOW.astimezone(UTC))
    async with talking(tmp_path, embedder=embedder, mind=LimitedMind(embedder), clock=clock) as talk:
        await talk.house.preferences.put(ANA, Preferences(zone=str(ZONE)))
        await talk.say("oi, tudo bem?")  # the first answer of all says more
        yield talk
    await embedder.close()


async def zone_of(talk: Talk) -> str:
    return (await talk.house.preferences.of(ANA)).zone


@pytest.mark.parametrize(("name", "least"), [("heard_tune", 29), ("heard_report", 29)])
def test_where_people_are_is_told_from_what_sounds_like_it(name: str, least: int) -> None:
    """Of 29 each; the second half was only measured. A clock that shows what theirs does is theirs."""
    labels = json.loads((DATA / f"{name}.json").read_text("utf-8"))
    wrong = [each for each in labels if not _is_right(each)]
    assert len(labels) - len(wrong) >= least, wrong


def _is_right(label: dict[str, str | int | None]) -> bool:
    found = heard_zone(str(label["say"]), NOW, LOCALES[str(label["lang"])])
    away = found and NOW.astimezone(ZoneInfo(found.zones[0].name)).utcoffset()
    if label["zone"] is None:
        return found is None or away == NOW.utcoffset()
    if isinstance(label["zone"], int):
        return away == timedelta(hours=label["zone"])
    return found is not None and (found.zones[0].name, found.until and str(found.until)) == (
        label["zone"],
        label["until"],
    )


async def test_a_yes_takes_the_zone_of_where_one_lives_and_the_fact_is_kept(ana: Talk) -> None:
    said = await ana.say("moro em Manaus")
    assert said.endswith("Quer que eu siga este fuso: horário de Manaus (UTC−4)? Agora são 9:15 lá.")
    assert await ana.contents() == ["moro em Manaus"]
    assert await zone_of(ana) == str(ZONE)
    assert (await ana.say("sim")).startswith("Pronto. Seu fuso: horário de Manaus (UTC−4).")
    assert await zone_of(ana) == "America/Manaus"


async def test_an_offer_is_taken_once_by_a_word_or_by_its_button(ana: Talk) -> None:
    await ana.say("I'm in Tokyo this week")
    await ana.say("moro em Manaus")
    assert (await ana.say("sim")).startswith("Pronto. Seu fuso: horário de Manaus (UTC−4).")
    assert "?" not in await ana.say("sim"), "the other clock is out of date"
    assert await zone_of(ana) == "America/Manaus"
    await ana.say("aqui são 10:15")
    await ana.press(ana.shown.choices[0].label)
    assert await zone_of(ana) != "America/Manaus"
    moved = await zone_of(ana)
    await ana.say("/timezone Manaus")
    await ana.say("sim")
    assert await zone_of(ana) == "America/Manaus" != moved


async def test_what_a_clock_shows_is_answered_and_not_kept(ana: Talk) -> None:
    said = await ana.say("aqui são 9:15")
    assert said == "Quer que eu siga este fuso: horário de Manaus (UTC−4)? Agora são 9:15 lá."
    assert ana.shown.choices[-1].command == "/timezone"
    await ana.say("sim")
    assert await zone_of(ana) == "America/Manaus"
    assert await ana.contents() == []


async def test_the_clock_that_holds_is_confirmed(ana: Talk) -> None:
    assert await ana.say("aqui são 10:15") == (
        "É o relógio que eu sigo: horário de São Paulo (UTC−3). Agora são 10:15."
    )
    assert ana.shown.choices == ()


@pytest.mark.parametrize("words", ["moro em São Paulo", "minha mãe mora em Lisboa", "estou em casa essa semana"])
async def test_nothing_is_offered_where_no_other_clock_is_heard(ana: Talk, words: str) -> None:
    assert "fuso" not in await ana.say(words)
    await ana.say("sim")
    assert await zone_of(ana) == str(ZONE)


async def test_a_no_leaves_the_zone(ana: Talk) -> None:
    await ana.say("moro em Manaus")
    await ana.say("não")
    assert await zone_of(ana) == str(ZONE)


async def test_who_is_away_for_a_time_is_asked_afterwards_whether_they_are_back(ana: Talk) -> None:
    await ana.say("me lembra de tomar o remédio todo dia às 8h")
    said = await ana.say("I'm in Tokyo this week")
    assert said.endswith(
        "Shall I go by Tokyo time (UTC+9) until Sunday, November 29? Right now it is 10:15 PM there."
        " After that I ask whether you are back."
    )
    assert (await ana.say("yes")).endswith("On Monday, November 30 I ask whether you are back.")
    assert await zone_of(ana) == "Asia/Tokyo"
    [pill] = [each for each in await ana.house.reminders.of([ANA]) if each.kind is Kind.REMINDER]
    assert pill.schedule.zone == "Asia/Tokyo"

    [asked] = [each for each in await ana.house.reminders.of([ANA]) if each.kind is Kind.RETURN]
    assert asked.due == datetime(2026, 11, 30, 9, tzinfo=ZONE)
    assert "Ask whether you are back by São Paulo time" in plain_times(await ana.say("/reminders"))
    message = await _said_when_due(ana, asked)
    assert message[0] == "🏠 Are you back? Then I go by São Paulo time (UTC−3) again, and so do your reminders."
    await ana.say(message[1], pressed=True)
    assert await zone_of(ana) == str(ZONE)
    [pill] = await ana.house.reminders.of([ANA])
    assert pill.schedule.zone == str(ZONE)


async def _said_when_due(talk: Talk, reminder: Reminder) -> tuple[str, str]:
    async def briefing(_: Reminder) -> str:
        return ""

    messages = DueMessages(Locales(talk.house.preferences.of, talk.house.history), briefing)
    assert reminder.due is not None
    message = await messages.message([Due(reminder, reminder)], reminder.due)
    return message.text, message.choices[0].command


async def test_a_model_answers_and_the_offer_stands_below(tmp_path: Path) -> None:
    async with talking(tmp_path, {Task.FINISH: ["How nice!"]}) as talk:
        await talk.house.preferences.put(ANA, Preferences(zone=str(ZONE)))
        assert (await talk.say("I live in Lisbon")).startswith("How nice!\n\nShall I go by Lisbon time (UTC)?")
        await talk.say("yes")
        assert await zone_of(talk) == "Europe/Lisbon"
