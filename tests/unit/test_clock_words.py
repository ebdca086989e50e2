"""Times by another clock, several hours, holidays, and hours that a change of clocks skips."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bench.times import RIGHT, judge, labels
from core.answering.asker import Locales
from core.features.reminders.delivery import Due, DueMessages
from core.features.reminders.reminders import Reminder
from core.limited import LimitedMind
from core.providers.usem3 import Usem3Embedder
from core.text.markdown import plain_times
from core.times import rules, wording
from core.times.grammar import find_time
from core.times.reading import Once, Recurrence
from core.types import Locale, Preferences
from tests.fakes.house import ANA
from tests.fakes.talk import Talk, talking

DATA = Path(__file__).parents[1] / "data"
ZONE = "America/Sao_Paulo"  # where it is 12:09 on Saturday, 14 March 2026
NEW_YORK = ZoneInfo("America/New_York")  # where clocks go forward at 2:00 on Sunday, 14 March 2027


@pytest.fixture
async def ana(tmp_path: Path) -> AsyncIterator[Talk]:
    """A chat with a whole bot that has no language model, in the zone of São Paulo."""
    embedder = Usem3Embedder()
    async with talking(tmp_path, embedder=embedder, mind=LimitedMind(embedder)) as talk:
        await talk.house.preferences.put(ANA, Preferences(zone=ZONE))
        await talk.say("oi, tudo bem?")  # the first answer of all says more
        yield talk
    await embedder.close()


async def shown(talk: Talk, text: str) -> str:
    return plain_times(await talk.say(text))


async def kept(talk: Talk) -> list[str]:
    found = await talk.house.reminders.of([ANA])
    return [f"{each.text} @ {each.due:%d %H:%M} {each.schedule.zone} {each.schedule.rule}".strip() for each in found]


@pytest.mark.parametrize(("name", "least"), [("clock_tune", 25), ("clock_report", 25)])
def test_such_words_are_read_or_asked_about_and_never_left_over(name: str, least: int) -> None:
    """Of 26 each; the second half was only measured."""
    verdicts = [judge(each) for each in labels(DATA / f"{name}.json")]
    right = [each for each in verdicts if each.outcome == RIGHT]
    assert len(right) >= least
    assert [each.label["say"] for each in verdicts if each.text_right is False] == []


# --- another clock ----------------------------------------------------------------------------------------------------


async def test_an_hour_of_another_zone_is_told_by_both_clocks(ana: Talk) -> None:
    assert await shown(ana, "me lembra amanhã às 9 horário de Lisboa de ligar pro banco") == (
        "Combinado, vou te lembrar: “ligar pro banco”\n"
        "⏰ domingo, 15 de março, às 9:00 · horário de Lisboa (UTC)\n"
        "Para você: amanhã, 15 de março, às 6:00 · horário de São Paulo (UTC−3)"
    )
    assert await kept(ana) == ["ligar pro banco @ 15 09:00 Europe/Lisbon"]


async def test_where_it_is_another_day_it_is_asked_whose_tomorrow_is_meant(ana: Talk) -> None:
    """It is Sunday in Tokyo."""
    said = await shown(ana, "remind me tomorrow at 9 Tokyo time to call Ken")
    assert said == "Which time do you mean? “call Ken”"
    assert [each.label for each in ana.shown.choices] == [
        "Monday, March 16, at 9:00 AM · Tokyo time (UTC+9)",
        "Sunday, March 15, at 9:00 AM · Tokyo time (UTC+9)",
        "Another time",
    ]
    await ana.press("Sunday")
    assert await kept(ana) == ["call Ken @ 15 00:00 Asia/Tokyo"]


async def test_of_a_zone_that_is_not_known_it_is_asked(ana: Talk) -> None:
    said = await shown(ana, "me lembra amanhã às 9h no fuso de Nárnia de comprar pão")
    assert said == (
        "Não conheço esse fuso horário. Pelo seu relógio seria amanhã, 15 de março, às 9:00. É isso? “comprar pão”"
    )
    await ana.say("sim")
    assert await kept(ana) == [f"comprar pão @ 15 12:00 {ZONE}"]


@pytest.mark.parametrize(
    "words",
    ["me lembra às 15h hora da reunião", "remind me at 9am reading time", "me avisa em meia hora pra tirar o bolo"],
)
def test_what_only_sounds_like_a_zone_is_none(words: str) -> None:
    now = datetime(2026, 3, 14, 12, 9, tzinfo=ZoneInfo(ZONE))
    found = find_time(words, now, Locale.EN if "remind" in words else Locale.PT)
    assert found is None or (isinstance(found.time, Once) and found.time.at.tzinfo == now.tzinfo)


async def test_what_repeats_by_another_clock_stays_by_it_when_the_person_moves(ana: Talk) -> None:
    await ana.say("todo dia às 8h horário de Tóquio me lembra de checar a bolsa")
    await ana.say("me lembra todo dia às 8h de tomar café")
    assert "checar" not in await ana.say("/timezone Manaus")
    assert {(each.text, each.schedule.zone) for each in await ana.house.reminders.of([ANA])} == {
        ("checar a bolsa", "Asia/Tokyo"),
        ("tomar café", "America/Manaus"),
    }


# --- several hours and holidays ---------------------------------------------------------------------------------------


async def test_two_hours_of_one_day_are_one_reminder_with_both(ana: Talk) -> None:
    assert await shown(ana, "me lembra hoje às 18h30 e às 20h do remédio") == (
        "Combinado, vou te lembrar: “remédio”\n"
        "⏰ sábado, 14 de março, às 18:30 e 20:00; a próxima vez: hoje, 14 de março, às 18:30"
        " · horário de São Paulo (UTC−3)"
    )
    assert await kept(ana) == [f"remédio @ 14 21:30 {ZONE} FREQ=DAILY;COUNT=2;BYHOUR=18,20;BYMINUTE=0,30;BYSETPOS=2,3"]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("FREQ=DAILY;BYHOUR=18,20;BYMINUTE=0,30;BYSETPOS=2,3", "every day at 6:30 PM and 8:00 PM"),
        ("FREQ=WEEKLY;BYDAY=TU;BYHOUR=18,20;BYMINUTE=0,30;BYSETPOS=2,3", "every Tuesday at 6:30 PM and 8:00 PM"),
        (
            "FREQ=WEEKLY;BYDAY=MO,TU;BYHOUR=18,20;BYMINUTE=0,30;BYSETPOS=2,3,6,7",
            "every Monday and Tuesday at 6:30 PM and 8:00 PM",
        ),
    ],
)
def test_hours_with_different_minutes_are_told(rule: str, words: str) -> None:
    wall = datetime(2026, 12, 1, 18, 30)  # noqa: DTZ001  # a wall time
    assert wording.rule_told(rule, wall, Locale.EN) == words


def test_hours_with_different_minutes_come_on_each_of_several_days() -> None:
    now = datetime(2026, 3, 14, 12, 9, tzinfo=ZoneInfo(ZONE))
    found = find_time("every monday and tuesday at 6:30pm and at 8pm", now, Locale.EN)
    assert found is not None
    assert isinstance(found.time, Recurrence)
    at, seen = now, []
    for _ in range(5):
        following = rules.next_after(found.time.first.replace(tzinfo=None), ZONE, found.time.rule, at)
        assert following is not None
        at = following
        seen.append(f"{at.astimezone(now.tzinfo):%a %H:%M}")
    assert seen == ["Mon 18:30", "Mon 20:00", "Tue 18:30", "Tue 20:00", "Mon 18:30"]


async def test_holidays_are_not_known_which_is_said_and_asked(ana: Talk) -> None:
    said = await shown(ana, "todo dia útil às 7h exceto feriado me lembra de bater o ponto")
    assert said == (
        "Não sei quais são os feriados. Lembro assim: de segunda a sexta às 7:00, feriado também? “bater o ponto”"
    )
    assert await kept(ana) == []
    await ana.say("pode ser")
    assert await kept(ana) == [f"bater o ponto @ 16 10:00 {ZONE} FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"]


# --- an hour that a change of clocks skips ----------------------------------------------------------------------------


def following(first: Recurrence, zone: ZoneInfo, count: int) -> list[str]:
    at, seen = first.first.astimezone(UTC) - timedelta(seconds=1), list[str]()
    for _ in range(count):
        due = rules.next_after(first.first.replace(tzinfo=None), str(zone), first.rule, at)
        assert due is not None
        at = due
        seen.append(f"{due.astimezone(zone):%d %H:%M}")
    return seen


def test_a_daily_hour_that_is_skipped_on_the_first_day_is_that_hour_on_all_others() -> None:
    now = datetime(2027, 3, 13, 20, 0, tzinfo=NEW_YORK)
    found = find_time("every day at 2:30am", now, Locale.EN)
    assert found is not None
    assert isinstance(found.time, Recurrence)
    assert following(found.time, NEW_YORK, 3) == ["14 03:30", "15 02:30", "16 02:30"]


async def test_the_one_day_is_explained_when_it_is_set_and_when_it_is_said(tmp_path: Path) -> None:
    embedder = Usem3Embedder()
    async with talking(tmp_path, embedder=embedder, mind=LimitedMind(embedder)) as talk:
        await talk.house.preferences.put(ANA, Preferences(zone=str(NEW_YORK)))
        await talk.clock.advance((datetime(2027, 3, 13, 20, 0, tzinfo=NEW_YORK) - talk.clock.now()).total_seconds())
        said = await shown(talk, "remind me every day at 2:30am to turn the eggs")
        why = (
            "The clocks go forward on Sunday, March 14: 2:30 AM does not exist that day, so it comes right after."
            " From the next time on it is 2:30 AM again."
        )
        assert said.splitlines()[1:3] == [
            "⏰ every day at 2:30 AM; next time: tomorrow, March 14, at 3:30 AM · New York time (UTC−4)",
            why,
        ]
        [made] = await talk.house.reminders.of([ANA])
        assert why in await _said_when_due(talk, made)
    await embedder.close()


async def _said_when_due(talk: Talk, reminder: Reminder) -> str:
    async def briefing(_: Reminder) -> str:
        return ""

    messages = DueMessages(Locales(talk.house.preferences.of, talk.house.history), briefing)
    assert reminder.due is not None
    return (await messages.message([Due(reminder, reminder)], reminder.due)).text
