"""/timezone: what holds is shown, set by words, chosen among several, removed; and what becomes of reminders."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from core.features.reminders.reminders import Reminder
from core.features.reminders.service import ReminderPlace, Reminders
from core.times.reading import Once, Recurrence
from core.types import ChatKey, Locale
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA, BIA
from tests.fakes.talk import Talk

NOW = datetime(2026, 11, 22, 13, 15, tzinfo=UTC)
SAO_PAULO, LISBON = ZoneInfo("America/Sao_Paulo"), ZoneInfo("Europe/Lisbon")


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Talk]:
    talk = Talk(tmp_path / "talk.db", {}, clock=FakeClock(start=NOW))
    await talk.start()
    yield talk
    await talk.stop()


async def zone_of(talk: Talk) -> str:
    return (await talk.house.preferences.of(ANA)).zone


async def remind(talk: Talk, text: str, at: str, rule: str = "", *, guessed: bool = False, room: str = "") -> Reminder:
    first = datetime.fromisoformat(at).replace(tzinfo=SAO_PAULO)
    place = ReminderPlace(ANA, ChatKey("test", room or "c"), not room, Locale.EN)
    time = Recurrence(rule, first) if rule else Once(first)
    made = await talk.house.features().get(Reminders).set(place, text, time, guessed=guessed)
    assert isinstance(made, Reminder)
    return made


async def test_a_zone_that_nobody_told_is_a_guess_and_how_to_tell_it_is_said(talk: Talk) -> None:
    said = await talk.say("/timezone")
    assert said.startswith("I do not know your time zone yet. For now I go by New York time (UTC−5); it is 8:15 AM")
    assert "it is 15:40 here" in said
    assert not await zone_of(talk)


async def test_a_zone_is_set_by_a_city_and_holds_after_a_restart(talk: Talk) -> None:
    said = await talk.say("/timezone sao paulo")
    assert said == "Done. Your time zone: São Paulo time (UTC−3); it is 10:15 AM there now."
    await talk.restart()
    assert await zone_of(talk) == "America/Sao_Paulo"
    shown = await talk.say("/timezone")
    assert shown.startswith("Your time zone: São Paulo time (UTC−3); it is 10:15 AM there now.")
    assert not (await talk.house.preferences.of(BIA)).zone


async def test_of_several_the_person_chooses_and_each_says_where_and_what_the_clock_shows(talk: Talk) -> None:
    assert await talk.say("/timezone San José") == "Which of these?"
    assert talk.button("Costa Rica").label == "San José (Costa Rica) · 7:15 AM"
    assert not await zone_of(talk)
    assert "Costa Rica time (UTC−6)" in await talk.press("Costa Rica")
    assert await zone_of(talk) == "America/Costa_Rica"


async def test_what_the_clock_shows_finds_the_zone(talk: Talk) -> None:
    await talk.say("/timezone it is 10:16 here")
    assert talk.shown.choices[0].label == "São Paulo (Brazil) · 10:15 AM"
    await talk.press("Brazil")
    assert await zone_of(talk) == "America/Sao_Paulo"


async def test_what_is_not_found_changes_nothing_and_says_how_else_to_say_it(talk: Talk) -> None:
    await talk.say("/timezone Lisbon")
    assert "/timezone it is 15:40 here" in await talk.say("/timezone xyzzy")
    assert await zone_of(talk) == "Europe/Lisbon"


@pytest.mark.parametrize(
    ("language", "city", "said"),
    [
        ("pt", "lisboa", "Pronto. Seu fuso: horário de Lisboa (UTC). Agora são 13:15 aí."),
        ("pt", "Havaí", "Pronto. Seu fuso: horário de Honolulu (UTC−10). Agora são 3:15 aí."),
        ("es", "Ciudad de México", "Listo. Tu zona horaria: hora de Ciudad de México (UTC−6). Ahora son las 7:15 ahí."),
    ],
)
async def test_it_is_said_in_the_persons_language(talk: Talk, language: str, city: str, said: str) -> None:
    await talk.say(f"/language {language}")
    assert await talk.say(f"/timezone {city}") == said


async def test_reminders_that_repeat_and_guessed_ones_follow_and_single_ones_keep_their_moment(talk: Talk) -> None:
    await talk.say("/timezone São Paulo")
    await remind(talk, "water the plants", "2026-11-23T08:00", "FREQ=DAILY")
    await remind(talk, "call mother", "2026-11-23T09:00", guessed=True)
    await remind(talk, "the flight", "2026-11-23T10:00")
    said = await talk.say("/timezone Lisbon")
    assert said.split("\n\n") == [
        "Done. Your time zone: Lisbon time (UTC); it is 1:15 PM there now.",
        """\
These reminders keep the hour that was agreed on, now by your new clock:
- “water the plants” · every day at 8:00 AM
- “call mother” · tomorrow, November 23, at 9:00 AM""",
        "This one keeps its moment, which for you will be:\n- “the flight” · tomorrow, November 23, at 1:00 PM",
    ]
    dues = {each.text: each.due for each in await talk.house.reminders.of([ANA])}
    assert dues["water the plants"] == datetime(2026, 11, 23, 8, tzinfo=LISBON)
    assert dues["call mother"] == datetime(2026, 11, 23, 9, tzinfo=LISBON)
    assert dues["the flight"] == datetime(2026, 11, 23, 10, tzinfo=SAO_PAULO)


async def test_in_a_room_only_its_own_reminders_are_told_of_though_all_follow(talk: Talk) -> None:
    await remind(talk, "my secret", "2026-11-23T08:00", "FREQ=DAILY")
    await remind(talk, "our meeting", "2026-11-23T09:00", "FREQ=DAILY", room="room")
    said = await talk.say("/timezone Lisbon", chat="room", private=False)
    assert "our meeting" in said
    assert "my secret" not in said
    assert {each.schedule.zone for each in await talk.house.reminders.of([ANA])} == {"Europe/Lisbon"}


async def test_of_many_reminders_the_first_are_told(talk: Talk) -> None:
    for number in range(7):
        await remind(talk, f"thing {number}", f"2026-11-2{number + 3}T08:00", "FREQ=DAILY")
    said = await talk.say("/timezone Lisbon")
    assert "These reminders keep the hour" in said
    assert said.count("\n- ") == 5
    assert said.endswith("and 2 more")
