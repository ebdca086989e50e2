"""Reminders are steered in words: put off, moved, skipped, corrected, all deleted; and only who asks is reminded."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from core.features.admin.storage import OFF, Decision
from core.features.reminders import scheduler
from core.features.reminders.feature import MUTED
from core.features.reminders.reminders import Reminder
from core.features.reminders.service import ReminderPlace
from core.limited import LimitedMind
from core.providers.usem3 import Usem3Embedder
from core.text.markdown import plain_times
from core.times import rules, wording
from core.times.reading import Once, Recurrence
from core.types import ChatKey, Locale, Preferences
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA
from tests.fakes.steered import BEGIN, ZONE, following, what_is_wrong
from tests.fakes.talk import Talk, talking

DATA = Path(__file__).parents[1] / "data"
HERE = ReminderPlace(ANA, ChatKey("test", "c"), private=True, locale=Locale.EN)
THURSDAY = datetime(2026, 11, 26, 20, tzinfo=ZONE)


@pytest.fixture
async def ana(tmp_path: Path) -> AsyncIterator[Talk]:
    """A chat with a whole bot that has no language model; the trash comes on Thursdays at 20:00."""
    embedder = Usem3Embedder()
    async with talking(tmp_path, embedder=embedder, mind=LimitedMind(embedder), clock=FakeClock(start=BEGIN)) as talk:
        await talk.house.preferences.put(ANA, Preferences(zone=str(ZONE)))
        await talk.say("hi")  # the first answer of all says more
        yield talk
    await embedder.close()


async def trash(talk: Talk) -> Reminder:
    made = await talk.house.reminding.set(HERE, "take out the trash", Recurrence("FREQ=WEEKLY;BYDAY=TH", THURSDAY))
    assert isinstance(made, Reminder)
    return made


async def only(talk: Talk) -> Reminder:
    [found] = await talk.house.reminders.of([ANA])
    return found


async def shown(talk: Talk, text: str) -> str:
    return plain_times(await talk.say(text))


@pytest.mark.parametrize(("name", "least"), [("steer_tune", 44), ("steer_report", 26)])
async def test_what_people_say_to_steer_a_reminder_is_done(tmp_path: Path, name: str, least: int) -> None:
    """Of 44 and 30; the second half was only measured."""
    labels = json.loads((DATA / f"{name}.json").read_text("utf-8"))
    embedder = Usem3Embedder()
    async with talking(tmp_path, embedder=embedder, mind=LimitedMind(embedder), clock=FakeClock(start=BEGIN)) as talk:
        wrong = [(each["say"], told) for each in labels if (told := await what_is_wrong(talk, each))]
    await embedder.close()
    assert len(labels) - len(wrong) >= least, wrong


async def test_what_is_put_off_comes_then_and_goes_on_by_its_rule(ana: Talk) -> None:
    await trash(ana)
    assert await shown(ana, "snooze the trash reminder for a day") == (
        "New time for: “take out the trash”\n"
        "⏰ every Thursday at 8:00 PM; next time: Friday, November 27, at 8:00 PM · São Paulo time (UTC−3)"
    )
    assert following(await only(ana)) == ["11-27T20:00", "12-03T20:00"]
    week = await shown(ana, "my week")
    assert "**Friday, November 27**\n🔁 8:00 PM take out the trash" in week
    assert "**Thursday, November 26** · tomorrow · nothing planned" in week
    await ana.say("undo")
    assert following(await only(ana)) == ["11-26T20:00", "12-03T20:00"]


async def test_what_was_said_just_now_is_put_off_from_now_on(ana: Talk) -> None:
    made = await trash(ana)
    now = ana.clock.now()
    later = replace(made, sent_at=now - timedelta(minutes=3), due=THURSDAY + timedelta(days=7))
    await ana.house.reminders.replace(made, later)
    await ana.say("snooze it for 20 minutes")
    assert (await only(ana)).due == now + timedelta(minutes=20)


async def test_skipped_days_are_told_and_end_with_undo_or_when_they_are_over(ana: Talk) -> None:
    await trash(ana)
    assert await shown(ana, "skip the trash next week") == (
        "New time for: “take out the trash”\n"
        "⏰ every Thursday at 8:00 PM, not on December 3; next time: tomorrow, November 26, at 8:00 PM"
        " · São Paulo time (UTC−3)"
    )
    assert "Thursday, December 3** · nothing planned" in await shown(ana, "what do I have next week?")
    assert (await only(ana)).schedule.rule == "FREQ=WEEKLY;BYDAY=TH;EXDATE=20261203"
    await ana.say("undo")
    assert (await only(ana)).schedule.rule == "FREQ=WEEKLY;BYDAY=TH"


async def test_what_is_due_once_is_deleted_where_it_is_skipped(ana: Talk) -> None:
    await ana.house.reminding.set(HERE, "call home", Once(THURSDAY))
    assert (await shown(ana, "skip call home tomorrow")).startswith("Deleted the reminder: “call home”")
    assert await ana.house.reminders.of([ANA]) == []


async def test_days_on_which_it_is_not_due_are_not_skipped(ana: Talk) -> None:
    await trash(ana)
    assert await shown(ana, "skip the trash on friday") == "It is not due then, so there is nothing to skip."


def test_days_that_are_left_out_are_told_as_ranges_and_forgotten_when_they_are_over() -> None:
    today = datetime(2026, 11, 25).date()  # noqa: DTZ001  # a day
    days = [today + timedelta(days=at) for at in (1, 2, 3, 9)]
    rule = rules.skipping("FREQ=DAILY", days, today)
    wall = datetime(2026, 11, 20, 8)  # noqa: DTZ001  # a wall time
    assert wording.rule_told(rule, wall, Locale.EN) == (
        "every day at 8:00 AM, not on November 26 to November 28 and December 4"
    )
    assert rules.next_after(wall, str(ZONE), rule, datetime(2026, 11, 25, 12, tzinfo=ZONE)) == datetime(
        2026, 11, 29, 8, tzinfo=ZONE
    )
    assert rules.skipping(rule, (), days[-1]) == "FREQ=DAILY;EXDATE=20261204"
    assert rules.skipping(rule, (), days[-1] + timedelta(days=1)) == "FREQ=DAILY"


async def test_an_hour_alone_keeps_the_day_of_what_is_moved(ana: Talk) -> None:
    await ana.house.reminding.set(HERE, "call home", Once(THURSDAY + timedelta(days=4)))
    await ana.say("move call home to 10am")
    assert (await only(ana)).due == datetime(2026, 11, 30, 10, tzinfo=ZONE)


PILLS = "FREQ=DAILY;BYHOUR=8,14,20;BYMINUTE=0"
WEEKLY = "FREQ=WEEKLY;BYDAY=TU,TH;BYHOUR=8,20;BYMINUTE=0"


@pytest.mark.parametrize(
    ("rule", "words", "hours"),
    [
        (PILLS, "move the evening one to 9", ((8, 0), (14, 0), (21, 0))),
        (PILLS, "push the 2pm one to 2:30", ((8, 0), (14, 30), (20, 0))),
        (PILLS, "cancel the 8pm reminder", ((8, 0), (14, 0))),
        (WEEKLY, "move the morning pills to 7:15", ((7, 15), (20, 0))),
    ],
)
async def test_one_of_the_hours_of_a_reminder_is_moved_or_left_out(
    rule: str, words: str, hours: Sequence[tuple[int, int]], ana: Talk
) -> None:
    await ana.house.reminding.set(HERE, "pills", Recurrence(rule, THURSDAY.replace(hour=8)))
    await ana.say(words)
    schedule = (await only(ana)).schedule
    assert rules.read(schedule.rule).times == hours
    assert schedule.rule.startswith(rule.split(";BYHOUR", maxsplit=1)[0])


@pytest.mark.parametrize(("to", "hour"), [("10", 10), ("7", 7), ("1", 13)])
async def test_a_moved_hour_stays_in_its_half_of_the_day(to: str, hour: int, ana: Talk) -> None:
    await ana.say("remind me tomorrow at 9am to call home")
    await ana.say(f"make it {to}")
    assert following(await only(ana)) == [f"11-26T{hour:02}:00"]


async def test_a_reminder_is_moved_by_its_day_where_it_is_the_only_one_there(ana: Talk) -> None:
    await ana.house.reminding.set(HERE, "pay the rent", Once(THURSDAY))
    await ana.house.reminding.set(HERE, "call home", Once(THURSDAY + timedelta(days=1)))
    await ana.say("passa o da sexta pras 19h")
    hours = {each.text: each.due.astimezone(ZONE).hour for each in await ana.house.reminders.of([ANA]) if each.due}
    assert hours == {"pay the rent": 20, "call home": 19}


async def test_what_else_the_message_says_is_answered_too(ana: Talk) -> None:
    await trash(ana)
    said = await shown(ana, "skip the trash tomorrow. remember that the locker is 57, and what do I have tomorrow?")
    assert "not on November 26" in said
    assert "Saved: “the locker is 57" in said
    assert "**Thursday, November 26** · tomorrow" in said
    assert "Undo: take out the trash" in " ".join(each.label for each in ana.shown.choices)


@pytest.mark.parametrize(
    "words", ["apaga aquele negócio do lixo", "borra lo de la basura xfa", "scrap that trash thing please"]
)
async def test_a_reminder_is_deleted_by_its_words_where_no_memory_has_them(words: str, ana: Talk) -> None:
    await ana.house.reminding.set(HERE, "trash, lixo, basura", Once(THURSDAY))
    await ana.say(words)
    assert await ana.house.reminders.of([ANA]) == []


async def test_what_a_memory_may_be_meant_by_deletes_no_reminder(ana: Talk) -> None:
    await trash(ana)
    await ana.say("/remember the trash goes out in the blue bags")
    await ana.say("delete the trash thing")
    await only(ana)


async def test_who_tells_that_an_alarm_was_changed_moves_no_reminder(ana: Talk) -> None:
    for told in ("mudaram o alarme, agora é 8215", "cambiaron la alarma, ahora es 8215"):
        assert "8215" in await ana.say(told)
    assert await ana.house.reminders.of([ANA]) == []


async def test_what_names_several_reminders_or_none_moves_none(ana: Talk) -> None:
    await ana.house.reminding.set(HERE, "call home", Once(THURSDAY))
    await ana.house.reminding.set(HERE, "call the bank", Once(THURSDAY))
    for words in ("move call to 10am", "move the dentist to 10am", "skip the small talk"):
        await ana.say(words)
        assert {each.due for each in await ana.house.reminders.of([ANA])} == {THURSDAY}


async def test_the_last_is_corrected_unless_a_memory_was_kept_since(ana: Talk) -> None:
    await ana.say("remind me in 30 minutes to check the oven")
    await ana.say("actually make that an hour")
    assert (await only(ana)).due == ana.clock.now() + timedelta(hours=1)
    await ana.clock.advance(60)
    await ana.say("remember that the dentist is at 9")
    before = (await only(ana)).due
    await ana.say("actually make it 3pm")
    assert (await only(ana)).due == before


async def test_all_are_deleted_after_a_yes_and_come_back_together(ana: Talk) -> None:
    await trash(ana)
    await ana.house.reminding.set(HERE, "call home", Once(THURSDAY))
    said = await shown(ana, "delete all my reminders")
    assert said.startswith("Delete all 2 reminders?\n- ")
    assert len(await ana.house.reminders.of([ANA])) == 2
    assert await ana.say("no") == "All right, your reminders stay."
    await ana.say("delete all my reminders")
    assert await ana.say("yes") == "Deleted 2 reminders."
    assert await ana.house.reminders.of([ANA]) == []
    assert await ana.press("Undo") == "2 reminders are back."
    assert len(await ana.house.reminders.of([ANA])) == 2


async def test_in_a_room_somebody_else_is_not_reminded_and_it_is_offered_for_oneself(ana: Talk) -> None:
    said = await ana.say("lembra a Bia de trazer o bolo amanhã às 9h", chat="room", private=False)
    assert said == (
        "Só lembro quem me pede, então a pessoa precisa pedir ela mesma. Quer que eu lembre você?"
        " “lembrar a Bia de trazer o bolo”"
    )
    assert await ana.house.reminders.of([ANA]) == []
    await ana.say("sim", chat="room", private=False)
    made = await only(ana)
    assert (made.text, made.due, made.private) == (
        "lembrar a Bia de trazer o bolo",
        datetime(2026, 11, 26, 9, tzinfo=ZONE),
        False,
    )


async def test_in_a_room_it_may_be_said_there_to_who_is_named(ana: Talk) -> None:
    await ana.say("lembra a Bia de trazer o bolo amanhã às 9h", chat="room", private=False)
    told = await ana.say(ana.button("Avisar aqui").command, chat="room", private=False, pressed=True)
    made = await only(ana)
    assert (made.text, made.due, made.private) == (
        "Bia: trazer o bolo",
        datetime(2026, 11, 26, 9, tzinfo=ZONE),
        False,
    )
    assert "“Bia: trazer o bolo”" in told


async def test_in_a_room_without_a_time_it_is_asked_when_it_is_to_be_said_there(ana: Talk) -> None:
    await ana.say("remind my brother to bring the cake", chat="room", private=False)
    asked = await ana.say(ana.button("Say it here").command, chat="room", private=False, pressed=True)
    assert asked == "When shall I remind you? “my brother: bring the cake”"
    await ana.say("tomorrow at 9am", chat="room", private=False)
    assert (await only(ana)).text == "my brother: bring the cake"


@pytest.mark.parametrize("where", ["in private", "where reminders are off"])
async def test_it_is_not_offered_to_be_said(where: str, ana: Talk) -> None:
    is_private = where == "in private"
    await ana.house.decisions.apply(Decision(ana.clock.now(), ANA, MUTED, "test:room", "", OFF))
    await ana.say("remind Bia to bring the cake", chat="c" if is_private else "room", private=is_private)
    assert not any("Say it here" in each.label for each in ana.shown.choices)


async def test_without_a_time_it_is_asked_when(ana: Talk) -> None:
    await ana.say("remind Bia to bring the cake")
    assert await ana.press("Yes, remind me") == "When shall I remind you? “remind Bia to bring the cake”"
    await ana.say("tomorrow at 9am")
    assert (await only(ana)).due == datetime(2026, 11, 26, 9, tzinfo=ZONE)


async def test_a_skipped_day_is_forgotten_once_it_is_over(ana: Talk) -> None:
    made = await trash(ana)
    await ana.say("skip the trash next week")
    skipped = await only(ana)
    then = scheduler._due(replace(skipped, due=THURSDAY), THURSDAY.astimezone(UTC)).then
    assert (then.due, then.schedule.rule) == (THURSDAY + timedelta(days=14), made.schedule.rule)


async def test_a_model_is_not_asked_about_what_steers_a_reminder(tmp_path: Path) -> None:
    async with talking(tmp_path, {}, clock=FakeClock(start=BEGIN)) as talk:
        await talk.house.preferences.put(ANA, Preferences(zone=str(ZONE)))
        await talk.house.reminding.set(HERE, "call home", Once(THURSDAY))
        await talk.say("move call home to 10am")
        assert (await only(talk)).due == datetime(2026, 11, 26, 10, tzinfo=ZONE)
        assert talk.house.model.prompts == []


async def test_one_is_answered_in_the_language_of_the_verb(ana: Talk) -> None:
    await ana.house.reminding.set(HERE, "tirar o lixo", Recurrence("FREQ=WEEKLY;BYDAY=TH", THURSDAY))
    assert (await ana.say("pula o lixo semana que vem")).startswith("Mudei o horário: “tirar o lixo”")


async def test_a_reminder_that_is_not_there_is_not_put_off(ana: Talk) -> None:
    await trash(ana)
    assert (await ana.say("snooze the dentist for a day")).startswith("I found no reminder for “dentist”, so nothing")
    assert following(await only(ana)) == ["11-26T20:00", "12-03T20:00"]
