"""What a briefing tells: what is due today, and memories that name the day, as far as they may be told there."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from core.features.reminders.agenda import Briefings
from core.features.reminders.reminders import Kind, Reminder
from core.features.reminders.service import ReminderPlace
from core.stores import ChangeContext
from core.times.reading import Once, Recurrence
from core.times.wording import hour_told
from core.types import ChatKey, Locale, MemoryDraft, MemoryKind
from tests.fakes.clock import START, FakeClock
from tests.fakes.house import ANA, House

ZONE = ZoneInfo("Europe/London")
PRIVATE = ReminderPlace(ANA, ChatKey("test", "ana"), private=True, locale=Locale.EN)
ROOM = ReminderPlace(ANA, ChatKey("test", "room"), private=False, locale=Locale.EN, name="Ana")
DAY = "☀️ Today, Saturday, March 14"


@dataclass
class Morning:
    """A house in which a briefing is due at seven on 14 March, with what is known until then."""

    clock: FakeClock = field(default_factory=lambda: FakeClock(start=START.replace(hour=7, minute=0, second=0)))
    house: House = field(init=False)

    def __post_init__(self) -> None:
        self.house = House(clock=self.clock)

    async def remind(self, text: str, time: Once | Recurrence, place: ReminderPlace = PRIVATE) -> Reminder:
        made = await self.house.reminding.set(place, text, time)
        assert isinstance(made, Reminder)
        return made

    async def remember(self, content: str, *, days_ago: int = 0, room: str = "") -> None:
        """Let a memory be said some days ago."""
        house = House(
            clock=FakeClock(start=self.clock.now() - timedelta(days=days_ago)), store=self.house.store, script={}
        )
        await house.memories.of(ANA, ChangeContext("act", room, ANA)).add(
            [MemoryDraft(MemoryKind.TEXT, content, (content,))], {}
        )

    async def told(self, place: ReminderPlace = PRIVATE) -> str:
        made = await self.house.reminding.set(place, "", daily(7, days=1), kind=Kind.BRIEFING)
        assert isinstance(made, Reminder)
        return await Briefings(self.house.reminding, self.house.memories, self.clock).told(made)


def once(hour: int, days: int = 0) -> Once:
    return Once(datetime(2026, 3, 14, hour, tzinfo=ZONE) + timedelta(days=days))


def daily(hour: int, days: int = 0) -> Recurrence:
    return Recurrence("FREQ=DAILY", once(hour, days).at)


def hour(at: datetime, sign: str = "•") -> str:
    return f"{sign} [{hour_told(at, Locale.EN)}](time:{int(at.timestamp())})"


@pytest.fixture
def morning() -> Morning:
    return Morning()


async def test_what_is_due_today_is_told_in_order_and_nothing_of_other_days(morning: Morning) -> None:
    await morning.remind("pay the rent", once(15))
    await morning.remind("take the pills", daily(9))
    await morning.remind("call Bia", once(9, days=1))
    paused = await morning.remind("swim", once(10))
    await morning.house.reminding.pause(PRIVATE, paused.id, paused=True)
    assert await morning.told() == (
        f"{DAY}:\n{hour(once(9).at, '🔁')} take the pills\n{hour(once(10).at, '⏸')} swim (paused)\n"
        f"{hour(once(15).at, '⏰')} pay the rent"
    )


async def test_memories_that_name_the_day_are_read_as_of_when_they_were_said(morning: Morning) -> None:
    await morning.remember("the dentist is tomorrow at 9 am", days_ago=1)
    await morning.remember("the plumber comes tomorrow at 10 am", days_ago=2)
    await morning.remember("the wifi password is 14031999")
    await morning.remember("the fair is on 2026-03-14", days_ago=30)
    assert await morning.told() == (
        f"{DAY}:\n{hour(once(9).at)} the dentist is tomorrow at 9 am\n• the fair is on 2026-03-14"
    )


async def test_what_repeats_in_a_memory_and_birthdays_of_earlier_years_are_of_today(morning: Morning) -> None:
    await morning.remember("yoga every day at 18:00", days_ago=400)
    await morning.remember("Bia's birthday is on 2020-03-14", days_ago=700)
    await morning.remember("the exam was on 2020-03-14", days_ago=700)
    assert await morning.told() == (
        f"{DAY}:\n{hour(once(18).at)} yoga every day at 18:00\n• Bia's birthday is on 2020-03-14"
    )


async def test_what_is_a_reminder_and_a_memory_is_told_once_and_two_reminders_twice(morning: Morning) -> None:
    await morning.remind("Pay the rent", once(15))
    await morning.remember("pay the rent")
    await morning.remind("pay the rent", once(16))
    assert await morning.told() == (
        f"{DAY}:\n{hour(once(15).at, '⏰')} Pay the rent\n{hour(once(16).at, '⏰')} pay the rent"
    )


@pytest.mark.long
async def test_an_old_memory_is_found_by_the_date_that_stands_in_it(morning: Morning) -> None:
    await morning.remember("the fair is on 2026-03-14", days_ago=30)
    for number in range(310):
        await morning.remember(f"fact {number}")
    assert "the fair" in await morning.told()


async def test_a_day_with_nothing_gets_a_kind_line(morning: Morning) -> None:
    assert await morning.told() == f"{DAY}, nothing is planned. Enjoy your day!"
    brazilian = replace(PRIVATE, locale=Locale.PT)
    assert await morning.told(brazilian) == ("☀️ Hoje, sábado, 14 de março, você não tem nada marcado. Aproveite o dia!")


@pytest.mark.spec("T15")
async def test_in_a_room_only_what_was_said_there_is_told(morning: Morning) -> None:
    await morning.remind("secret surgery", once(15))
    await morning.remind("team call", once(16), ROOM)
    await morning.remember("therapy is on 2026-03-14 at 10:00")
    await morning.remember("the sprint ends on 2026-03-14", room="test:room")
    assert await morning.told(ROOM) == (f"{DAY}:\n{hour(once(16).at, '⏰')} team call\n• the sprint ends on 2026-03-14")


async def test_many_things_are_cut_with_their_number(morning: Morning) -> None:
    for number in range(23):
        await morning.remind(f"thing {number}", Once(once(10).at + timedelta(minutes=number)))
    assert (await morning.told()).endswith("thing 19\n… and 3 more things.")


async def test_the_day_is_that_of_the_persons_zone(morning: Morning) -> None:
    """At half past midnight in Auckland it is still the day before in London."""
    await morning.clock.advance((datetime(2026, 3, 14, 11, 30, tzinfo=UTC) - morning.clock.now()).total_seconds())
    auckland = ZoneInfo("Pacific/Auckland")
    await morning.remind("early flight", Once(datetime(2026, 3, 15, 5, tzinfo=auckland)))
    made = await morning.house.reminding.set(
        PRIVATE, "", Recurrence("FREQ=DAILY", datetime(2026, 3, 16, 0, 30, tzinfo=auckland)), kind=Kind.BRIEFING
    )
    assert isinstance(made, Reminder)
    told = await Briefings(morning.house.reminding, morning.house.memories, morning.clock).told(made)
    assert told.startswith("☀️ Today, Sunday, March 15:\n⏰ [5:00")
