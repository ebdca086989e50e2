"""What days have in store: rules expanded, paused reminders and dated memories, each day's in order of hour."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from core.features.reminders.mentions import read_agenda
from core.features.reminders.service import ReminderPlace
from core.limited import LimitedMind
from core.providers.usem3 import Usem3Embedder
from core.text.markdown import plain_times
from core.times.reading import Once, Recurrence
from core.types import ChatKey, Locale, Preferences
from tests.fakes.house import ANA
from tests.fakes.talk import Talk, talking

DATA = Path(__file__).parents[1] / "data"
ZONE = ZoneInfo("America/Sao_Paulo")  # where it is 12:09 on Saturday, 14 March 2026
HERE = ReminderPlace(ANA, ChatKey("test", "c"), private=True, locale=Locale.EN)


@pytest.fixture
async def ana(tmp_path: Path) -> AsyncIterator[Talk]:
    """A chat with a whole bot that has no language model, in the zone of São Paulo."""
    embedder = Usem3Embedder()
    async with talking(tmp_path, embedder=embedder, mind=LimitedMind(embedder)) as talk:
        await talk.house.preferences.put(ANA, Preferences(zone=str(ZONE)))
        await talk.say("hi")  # the first answer of all says more
        yield talk
    await embedder.close()


async def remind(talk: Talk, text: str, rule: str, day: int, hour: int, *, paused: bool = False) -> None:
    at = datetime(2026, 3, day, hour, tzinfo=ZONE)
    made = await talk.house.reminding.set(HERE, text, Recurrence(rule, at) if rule else Once(at))
    if paused:
        await talk.house.reminding.pause(HERE, made.id, paused=True)  # type: ignore[union-attr]


async def shown(talk: Talk, text: str) -> str:
    return plain_times(await talk.say(text))


@pytest.mark.parametrize(("name", "least"), [("agenda_tune", 30), ("agenda_report", 29)])
def test_questions_for_days_are_told_from_others(name: str, least: int) -> None:
    """The second half was only measured."""
    now = datetime(2026, 11, 25, 10, 15, tzinfo=ZONE)
    labels = json.loads((DATA / f"{name}.json").read_text("utf-8"))
    found = [(each["say"], each["days"], read_agenda(each["say"], now)) for each in labels]
    wrong = [each for each in found if each[1] != (each[2] and [str(each[2].first), str(each[2].last)])]
    assert len(labels) - len(wrong) >= least, wrong


async def test_what_i_have_tomorrow_names_the_daily_pill_though_it_is_due_today_first(ana: Talk) -> None:
    await remind(ana, "take the pill", "FREQ=DAILY", 14, 22)
    await remind(ana, "call Bia", "", 15, 9)
    await remind(ana, "swim", "FREQ=WEEKLY;BYDAY=SU", 15, 15, paused=True)
    await ana.keep("the dentist is on 2026-03-15 at 16:00")
    assert await shown(ana, "what do I have tomorrow?") == (
        "**Sunday, March 15** · tomorrow\n"
        "⏰ 9:00 AM call Bia\n"
        "⏸ 3:00 PM swim (paused)\n"
        "• 4:00 PM the dentist is on 2026-03-15 at 16:00\n"
        "🔁 10:00 PM take the pill"
    )


async def test_a_memory_with_several_times_tells_each_in_its_own_words_on_its_day(ana: Talk) -> None:
    await ana.keep("calculus exam tomorrow 8am room 12-305 and the physics one on monday at 10am, lab at 2pm")
    said = await shown(ana, "thanks! what do I have in march, love? bye")
    assert "tomorrow\n• 8:00 AM calculus exam tomorrow 8am room 12-305" in said
    assert "Monday, March 16**\n• 10:00 AM the physics one on monday at 10am\n• 2:00 PM lab at 2pm" in said


async def test_each_hour_of_a_day_is_told_and_many_as_the_first_with_their_rule(ana: Talk) -> None:
    await remind(ana, "take the drops", "FREQ=DAILY;BYHOUR=8,14,20;BYMINUTE=0", 15, 8)
    await remind(ana, "drink water", "FREQ=HOURLY;INTERVAL=2", 15, 7)
    assert (await shown(ana, "what do I have tomorrow?")).splitlines()[1:] == [
        "🔁 7:00 AM drink water · every two hours",
        "🔁 8:00 AM take the drops",
        "🔁 2:00 PM take the drops",
        "🔁 8:00 PM take the drops",
    ]
    assert (await shown(ana, "what do I have on monday?")).splitlines()[1] == "🔁 1:00 AM drink water · every two hours"


@pytest.mark.parametrize("words", ["/agenda", "minha semana", "me mostra minha semana"])
async def test_a_week_is_seven_days_with_their_heads(ana: Talk, words: str) -> None:
    await ana.say("/language pt")
    await remind(ana, "tomar remédio", "FREQ=WEEKLY;BYDAY=SA,MO", 14, 22)
    await remind(ana, "pagar o aluguel", "", 21, 9)
    await ana.keep("prova de inglês em 18/03/2026")
    assert await shown(ana, words) == (
        "**Sábado, 14 de março** · hoje\n🔁 22:00 tomar remédio\n\n"
        "**Domingo, 15 de março** · amanhã · nada marcado\n\n"
        "**Segunda-feira, 16 de março**\n🔁 22:00 tomar remédio\n\n"
        "**Terça-feira, 17 de março** · nada marcado\n\n"
        "**Quarta-feira, 18 de março**\n• prova de inglês em 18/03/2026\n\n"
        "**Quinta-feira, 19 de março** · nada marcado\n\n"
        "**Sexta-feira, 20 de março** · nada marcado"
    )


async def test_one_turns_the_pages_of_the_agenda(ana: Talk) -> None:
    await remind(ana, "pay the rent", "", 21, 9)
    await ana.say("/agenda")
    assert [each.label for each in ana.shown.choices] == ["Next ▶️"]
    later = plain_times(await ana.press("Next"))
    assert later.startswith("**Saturday, March 21**\n⏰ 9:00 AM pay the rent\n\n**Sunday, March 22** · nothing planned")
    assert (await ana.press("Previous")).startswith("**Saturday, March 14** · today")


@pytest.mark.parametrize(
    ("words", "heads"),
    [
        ("tomorrow", ["**Sunday, March 15** · tomorrow · nothing planned"]),
        ("2026-03-21 1", ["**Saturday, March 21**", "⏰ 9:00 AM pay the rent"]),
        ("in march", ["**Saturday, March 21**", "⏰ 9:00 AM pay the rent"]),
        ("in april", ["Nothing is planned for that time."]),
        (
            "yesterday",
            ["Which days? /agenda shows seven from today; /agenda tomorrow or /agenda next week shows others."],
        ),
    ],
)
async def test_the_agenda_of_other_days(ana: Talk, words: str, heads: list[str]) -> None:
    await remind(ana, "pay the rent", "", 21, 9)
    assert (await shown(ana, f"/agenda {words}")).splitlines() == heads


async def test_which_reminders_there_are_on_a_day_names_no_memories(ana: Talk) -> None:
    await remind(ana, "take the pill", "FREQ=DAILY", 14, 22)
    await ana.keep("the dentist is on 2026-03-15 at 16:00")
    assert await shown(ana, "which reminders do I have tomorrow?") == (
        "**Sunday, March 15** · tomorrow\n🔁 10:00 PM take the pill"
    )


async def test_in_a_room_the_agenda_has_what_was_said_there(ana: Talk) -> None:
    await remind(ana, "secret surgery", "", 15, 9)
    await ana.keep("therapy is on 2026-03-15 at 10:00")
    assert "surgery" not in (said := await ana.say("/agenda", chat="room", private=False))
    assert "therapy" not in said
