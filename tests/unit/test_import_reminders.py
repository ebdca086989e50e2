"""/import of an export with reminders: what is still to come is set again, once, and nowhere that the person is not."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from functools import partial
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.features.admin.storage import OFF, Decision
from core.features.reminders.feature import MUTED
from core.features.reminders.reminders import Kind, Reminder, ReminderState, Schedule
from core.features.reminders.service import ReminderPlace, Reminders
from core.features.reminders.telling import as_time
from core.features.transfer import export
from core.features.transfer.intake import MAX_MEMORIES, read
from core.types import ChatKey, Locale, UserKey
from tests.fakes.clock import START, FakeClock
from tests.fakes.house import ANA, BIA, House
from tests.unit.test_import import Importer, file_of

HERE = ChatKey("test", "c")
ROOM = ChatKey("test", "room", "topic")
SAO_PAULO = "America/Sao_Paulo"
RENT = {
    "id": "x",
    "user": str(ANA),
    "chat": "elsewhere",
    "topic": "",
    "private": True,
    "name": "Ana",
    "text": "pay rent",
    "kind": "reminder",
    "language": "pt-BR",
    "wall": "2026-04-05T09:00:00",
    "zone": SAO_PAULO,
    "rule": "FREQ=MONTHLY;BYMONTHDAY=5",
    "guessed": True,
    "state": "waiting",
}
DENTIST = RENT | {"text": "dentist", "wall": "2026-03-20T10:30:00", "rule": ""}


def file(*reminders: Any, **head: Any) -> bytes:
    return file_of(reminders=list(reminders), **head)


def wall(text: str) -> datetime:
    return datetime.fromisoformat(text)


async def mine(house: House, user: UserKey = ANA) -> list[Reminder]:
    return list(await house.reminders.of([user], frozenset(ReminderState)))


async def set_(
    house: House, place: ReminderPlace, text: str, schedule: Schedule, kind: Kind = Kind.REMINDER
) -> Reminder:
    made = (
        await house.features().get(Reminders).set(place, text, as_time(schedule), guessed=schedule.guessed, kind=kind)
    )
    assert isinstance(made, Reminder)
    return made


async def exported(house: House, user: UserKey = ANA) -> bytes:
    return "".join(
        [piece async for piece in house.features().get(export.Takeout).pieces(user, export.Tally())]
    ).encode()


async def test_what_is_still_to_come_is_counted_first_and_set_then() -> None:
    async with Importer() as ana:
        told = await ana.say("/import", file(RENT, DENTIST))
        assert told.startswith("The file holds 2 reminders that are still to come.\nNothing is saved yet.")
        assert await mine(ana.house) == []
        assert await ana.press("Save these 2") == "Set 2 reminders."
        dentist, rent = await mine(ana.house)
        assert (dentist.text, dentist.schedule) == (
            "dentist",
            Schedule(wall("2026-03-20T10:30"), SAO_PAULO, guessed=True),
        )
        assert rent.schedule == Schedule(wall("2026-04-05T09:00"), SAO_PAULO, "FREQ=MONTHLY;BYMONTHDAY=5", guessed=True)
        assert (rent.user, rent.chat, rent.private, rent.locale) == (ANA, HERE, True, Locale.PT)
        assert [f"{each.due:%d %H:%M}" for each in (dentist, rent)] == ["20 13:30", "05 12:00"]


async def test_the_same_twice_is_one() -> None:
    async with Importer() as ana:
        await ana.say("/import", file(RENT, RENT | {"text": "Pay  RENT", "id": "y"}, DENTIST))
        await ana.press("Save these 2")
        told = await ana.say("/import", file(RENT, DENTIST | {"text": "another dentist"}))
        assert told.startswith("The file holds 2 reminders that are still to come.\n1 reminder is set already.\n")
        assert await ana.press("Save these 2") == "Set 1 reminder.\n1 reminder is set already."
        await ana.say("/import", file(RENT))
        assert await ana.press("Save this one") == "Set 0 reminders.\n1 reminder is set already."
        assert len(await mine(ana.house)) == 3


async def test_an_export_taken_in_again_by_its_owner_sets_each_where_it_was() -> None:
    house = House()
    here = ReminderPlace(ANA, HERE, private=True, locale=Locale.EN, name="Ana")
    room = ReminderPlace(ANA, ROOM, private=False, locale=Locale.ES, name="Ana")
    weekly = Schedule(wall("2026-03-16T07:00"), SAO_PAULO, "FREQ=WEEKLY;BYDAY=MO")
    await set_(house, here, "dentist", Schedule(wall("2026-03-20T10:30"), SAO_PAULO, guessed=True))
    await set_(house, room, "stand-up", weekly)
    await set_(house, here, "", Schedule(wall("2026-03-15T07:00"), "Europe/Lisbon", "FREQ=DAILY"), Kind.BRIEFING)
    paused = await set_(house, here, "plants", weekly)
    assert isinstance(await house.features().get(Reminders).pause(here, paused.id, paused=True), Reminder)
    for state in (ReminderState.DONE, ReminderState.FAILED, ReminderState.REMOVED):
        over = await set_(house, here, state.value, weekly)
        await house.reminders.replace(over, replace(over, state=state))
    async with Importer(house) as ana:
        await house.conversations.open(house.incoming("x").conversation)
        await house.conversations.open(replace(house.incoming("x").conversation, chat=ROOM))
        before, raw = await mine(house), await exported(house)
        await house.reminders.forget(ANA)
        told = await ana.say("/import", raw)
        assert "The file holds 4 reminders that are still to come.\n3 reminders are left out" in told
        assert await ana.press("Save these 4") == "Set 4 reminders."

    def kept(reminder: Reminder) -> tuple[object, ...]:
        state = reminder.state
        return (
            reminder.text,
            reminder.schedule,
            reminder.chat,
            reminder.private,
            reminder.kind,
            reminder.locale,
            state,
        )

    assert {kept(each) for each in await mine(house)} == {
        kept(each) for each in before if each.state in {ReminderState.WAITING, ReminderState.PAUSED}
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"user": str(BIA)},  # somebody else's export
        {},  # nobody of that account has written there
    ],
)
async def test_nothing_is_said_in_a_room_where_the_person_has_not_written(changes: dict[str, str]) -> None:
    async with Importer() as ana:
        entry = RENT | {"chat": "room", "topic": "topic", "private": False}
        if changes:
            await ana.house.conversations.open(replace(ana.house.incoming("x").conversation, chat=ROOM))
        await ana.say("/import", file(entry | changes, **changes))
        await ana.press("Save")
        [rent] = await mine(ana.house)
        assert (rent.chat, rent.private) == (HERE, True)
        assert await mine(ana.house, BIA) == []


async def test_of_a_room_where_reminders_are_off_it_comes_in_private() -> None:
    async with Importer() as ana:
        decision = Decision(START, BIA, MUTED, "test:room", "", OFF)
        await ana.house.decisions.apply(decision)
        await ana.house.conversations.open(replace(ana.house.incoming("x").conversation, chat=ROOM))
        await ana.say("/import", file(RENT | {"chat": "room", "topic": "topic", "private": False}))
        await ana.press("Save")
        [rent] = await mine(ana.house)
        assert (rent.chat, rent.private) == (HERE, True)


async def test_on_a_linked_account_it_stays_on_that_account() -> None:
    async with Importer() as ana:
        await ana.house.store.link(ANA, BIA)
        chat = replace(HERE, chat="with bia")
        await ana.house.conversations.open(replace(ana.house.incoming("x", user=BIA).conversation, chat=chat))
        await ana.say("/import", file(RENT | {"user": str(BIA), "chat": "with bia"}))
        await ana.press("Save")
        assert await mine(ana.house) == []
        [rent] = await mine(ana.house, BIA)
        assert (rent.chat, rent.private) == (chat, True)


async def test_a_person_has_no_more_than_the_owner_allows() -> None:
    house = House()
    place = ReminderPlace(ANA, HERE, private=True, locale=Locale.EN)
    for number in range(98):
        await set_(house, place, f"thing {number}", Schedule(wall("2026-04-01T08:00"), "UTC"))
    async with Importer(house) as ana:
        told = await ana.say("/import", file(*(RENT | {"text": f"rent {n}"} for n in range(5))))
        assert "still to come.\n3 reminders are left out: " in told
        assert await ana.press("Save these 2") == "Set 2 reminders."
        assert "no memory or reminder" in await ana.say("/import", file(DENTIST))
    assert len(await mine(house)) == 100


@pytest.mark.parametrize(
    "changes",
    [
        {"wall": "2026-03-14T12:09:26", "rule": ""},  # it is 12:09:26 there
        {"rule": "FREQ=MONTHLY;BYMONTHDAY=5;UNTIL=20260301T000000Z", "wall": "2026-01-05T09:00:00"},
        {"rule": "FREQ=MINUTELY"},  # oftener than may be
        {"rule": "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"},  # never
        {"rule": "FREQ=SECONDLY"},
        {"rule": 5},
        {"wall": "2026-04-05T09:00:00+00:00"},
        {"wall": "next week"},
        {"wall": "0001-01-01T00:00:00", "rule": ""},
        {"wall": "9999-12-31T23:59:59", "rule": "", "zone": "America/Adak"},
        {"zone": "Mars/Olympus"},
        {"zone": "../../etc/passwd"},
        {"zone": ""},
        {"zone": "x" * 5000},
        {"text": " "},
        {"text": "x" * 1001},
        {"kind": "alarm"},
        {"state": "done"},
        {"state": ["waiting"]},
    ],
    ids=str,
)
async def test_what_cannot_be_set_is_counted_and_left_out(changes: dict[str, Any]) -> None:
    async with Importer() as ana:
        told = await ana.say("/import", file(RENT | changes, DENTIST, "no reminder"))
        assert told.startswith(
            "The file holds 1 reminder that is still to come.\n2 reminders are left out: they are over"
        )
        assert await ana.press("Save this one") == "Set 1 reminder."
        assert [each.text for each in await mine(ana.house)] == ["dentist"]


async def test_of_a_file_that_is_no_export_reminders_are_not_taken() -> None:
    async with Importer() as ana:
        raw = json.dumps({"memories": ["a"], "reminders": [RENT]}).encode()
        assert (await ana.say("/import", raw)).startswith("The file holds 1 memory.\n- “a”\nNothing is saved yet.")


async def test_there_may_be_so_many_entries_in_all() -> None:
    async with Importer() as ana:
        raw = file_of(*("a" * 1 for _ in range(MAX_MEMORIES)), reminders=[RENT])
        assert "more than 20000" in await ana.say("/import", raw)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["\ud800", 10**4000]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)


@given(st.one_of(_JSON, st.lists(_JSON | st.builds(RENT.__or__, st.dictionaries(st.sampled_from([*RENT]), _JSON)))))
@settings(deadline=None, max_examples=60)
async def test_no_values_of_the_wrong_kind_fail_or_are_set_by_half(entries: Any) -> None:
    raw = file_of("a fact", reminders=entries)
    async with Importer() as ana:
        await ana.house.conversations.open(ana.house.incoming("x").conversation)
        assert "went wrong" not in await ana.say("/import", raw)
        told = await ana.press("Save")
        assert "went wrong" not in told
        held = read(BytesIO(raw), [ANA], ana.house.features().added.sections)
        assert len(await mine(ana.house)) == len(held.besides.get("reminders", []))


async def test_one_undo_takes_all_back_that_came_in_one_file() -> None:
    async with Importer() as ana:
        place = ReminderPlace(ANA, HERE, private=True, locale=Locale.EN)
        await set_(ana.house, place, "my own", Schedule(wall("2026-04-01T08:00"), "UTC"))
        told = await ana.say("/import", file_of("a fact", reminders=[RENT, DENTIST | {"state": "paused"}]))
        assert told.startswith("The file holds 1 memory.\nThe file holds 2 reminders that are still to come.\n")
        assert await ana.press("Save these 3") == "Saved 1 new memory.\nSet 2 reminders."
        told = await ana.press("Undo")
        assert told.startswith("Undone. No longer saved:")
        assert told.endswith("\n2 reminders that came in the file are deleted again.")
        assert [each.text for each in await ana.house.reminders.of([ANA])] == ["my own"]
        assert await ana.memories() == []


async def test_of_reminders_alone_too_by_the_button_or_the_command() -> None:
    async with Importer() as ana:
        for undo in (partial(ana.press, "Undo"), partial(ana.say, "/undo")):
            await ana.say("/import", file(RENT, DENTIST))
            assert await ana.press("Save") == "Set 2 reminders."
            assert await undo() == "2 reminders that came in the file are deleted again."
            assert await ana.house.reminders.of([ANA]) == []


async def test_one_that_was_changed_since_is_not_taken_back_with_the_others() -> None:
    async with Importer() as ana:
        await ana.say("/import", file(RENT, DENTIST))
        await ana.press("Save")
        [_, rent] = await mine(ana.house)
        place = ReminderPlace(ANA, HERE, private=True, locale=Locale.EN)
        assert isinstance(ana.house.clock, FakeClock)
        await ana.house.clock.advance(1)
        await ana.house.features().get(Reminders).reword(place, rent.id, "pay the rent")
        assert "pay rent" in await ana.say("/undo"), "the last change is that of its words"
        await ana.house.features().get(Reminders).reword(place, rent.id, "pay the rent")
        await ana.say(f"/undo {rent.batch.split()[1]}")
        assert [each.text for each in await ana.house.reminders.of([ANA])] == ["pay the rent"]
