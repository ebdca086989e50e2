"""Reminders in a whole bot: to whom they are said by the rights of the moment, and at what cost."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from core.features.access.storage import Person
from core.features.admin.storage import ALLOWED, OFF, ON, Decision, DecisionKind
from core.features.reminders.feature import MUTED, permission_by
from core.features.reminders.reminders import Reminder, ReminderState
from core.features.reminders.scheduler import Permission, Scheduler
from core.features.reminders.service import ReminderPlace
from core.times.reading import Once, Recurrence
from core.types import ChatKey, Locale, Role, UserKey
from tests.fakes.channel import OneChannel, RecordingChannel
from tests.fakes.clock import START, FakeClock
from tests.fakes.house import ANA, BIA, House

ROOM = ChatKey("test", "room", "topic")
OWNER = UserKey("test", "owner")


async def set_(house: House, user: UserKey = ANA, *, private: bool = True, rule: str = "") -> Reminder:
    at = house.clock.now() + timedelta(minutes=10)
    place = ReminderPlace(user, ChatKey("test", user.user) if private else ROOM, private, Locale.EN, user.user)
    made = await house.reminding.set(place, "pay rent", Recurrence(rule, at) if rule else Once(at))
    assert isinstance(made, Reminder)
    return made


async def decide(house: House, kind: str, value: str, name: str = "") -> None:
    await house.decisions.apply(Decision(START, OWNER, kind, name, "", value))


@pytest.mark.parametrize(
    ("role", "private", "paused", "let_in", "expected"),
    [
        (Role.MEMBER, True, False, False, Permission.FIRE),
        (Role.MEMBER, True, True, False, Permission.WAIT),
        (Role.OWNER, True, True, False, Permission.FIRE),
        (Role.BLOCKED, True, False, True, Permission.DROP),
        (Role.BLOCKED, False, False, True, Permission.DROP),
        (None, True, False, True, Permission.DROP),
        (None, False, False, True, Permission.FIRE),
        (None, False, True, True, Permission.WAIT),
        (None, False, False, False, Permission.DROP),
    ],
    ids=str,
)
async def test_it_is_said_to_whom_the_bot_would_answer_there_now(
    role: Role | None, private: bool, paused: bool, let_in: bool, expected: Permission
) -> None:
    house = House(trusted=())
    if role is not None:
        await house.people.put(Person(ANA, role, "Ana", START))
    if paused:
        await decide(house, DecisionKind.PAUSE, ON)
    if let_in:
        await decide(house, DecisionKind.ROOM, ALLOWED, "test:room")
    assert await permission_by(house.access(), house.decisions)(await set_(house, private=private)) is expected
    person = await house.people.find(ANA)
    assert person is None or person.name == "Ana"


async def test_what_was_set_in_a_room_where_reminders_are_off_now_is_said_in_private() -> None:
    house = House()
    here, there = await set_(house, private=False), await set_(house)
    await decide(house, MUTED, OFF, "test:room")
    allowed = permission_by(house.access(), house.decisions)
    assert await allowed(here) is Permission.PRIVATE
    assert await allowed(there) is Permission.FIRE


async def test_what_is_due_is_said_and_costs_nothing() -> None:
    house = House()
    screens: dict[UserKey, RecordingChannel] = {}
    features, clock = house.features(), house.clock
    assert isinstance(clock, FakeClock)
    features.notifier.connect(
        "test", OneChannel(house.channel(), lambda user: screens.setdefault(user, house.channel()))
    )
    await set_(house)
    await set_(house, BIA, rule="FREQ=DAILY")
    async with features.get(Scheduler).until(asyncio.Event()):
        await clock.advance(599)
        assert not screens
        await clock.advance(10)
        assert [screen.texts[-1] for screen in screens.values()] == ["⏰ pay rent"] * 2
    assert [each.state for each in await house.reminders.of([ANA], frozenset(ReminderState))] == [ReminderState.DONE]
    [again] = await house.reminders.of([BIA])
    assert again.due == START + timedelta(days=1, minutes=10)
    assert not house.model.prompts
    assert not await house.ledger.sums(datetime(1970, 1, 1, tzinfo=UTC), ())
