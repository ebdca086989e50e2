"""The reminders of a person: what may be set, seen and changed where, and what a change is taken back to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from core.features.reminders.reminders import DueClaim, Kind, Reminder, ReminderState
from core.features.reminders.service import Limits, Refusal, ReminderPlace, Reminders
from core.features.reminders.storage import ReminderStore
from core.memory.memories import Memories
from core.times.reading import Once, Recurrence
from core.types import ChatKey, Locale, UserKey
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA, BIA, House
from tests.fakes.ram import RamDatabase

ZONE = ZoneInfo("America/Sao_Paulo")
NOW = datetime(2026, 3, 14, 12, 9, 26, tzinfo=ZONE)
PRIVATE = ReminderPlace(ANA, ChatKey("test", "ana"), private=True, locale=Locale.EN)
ROOM = ReminderPlace(ANA, ChatKey("test", "room"), private=False, locale=Locale.EN, name="Ana")
OTHER_ROOM = replace(ROOM, chat=ChatKey("test", "other"))


def once(hour: int, minute: int = 0, days: int = 0) -> Once:
    return Once(NOW.replace(hour=hour, minute=minute, second=0) + timedelta(days=days))


def daily(hour: int) -> Recurrence:
    return Recurrence("FREQ=DAILY", NOW.replace(hour=hour, minute=0, second=0))


@dataclass
class Desk:
    """A service over RAM."""

    clock: FakeClock = field(default_factory=FakeClock)
    store: ReminderStore = field(default_factory=lambda: ReminderStore(RamDatabase()))
    limits: Limits = field(default_factory=Limits)
    woken: int = 0
    memories: Memories = field(init=False)
    service: Reminders = field(init=False)

    def __post_init__(self) -> None:
        self.memories = House(clock=self.clock).memories
        self.service = Reminders(self.store, self.memories, self.clock, self.limits, self._wake)

    def _wake(self) -> None:
        self.woken += 1

    async def set(self, text: str, time: Once | Recurrence, place: ReminderPlace = PRIVATE) -> Reminder:
        made = await self.service.set(place, text, time)
        assert isinstance(made, Reminder)
        return made

    async def fire(self) -> Reminder:
        """Say what is due, as the scheduler does: a single one is over, a repeated one waits for its next instant."""
        [claimed] = await self.store.claim(DueClaim(self.clock.now(), {"test"}))
        now = self.clock.now()
        over = not claimed.schedule.rule
        due = None if over else now + timedelta(days=1)
        state = ReminderState.DONE if over else ReminderState.WAITING
        await self.store.settle([(claimed, replace(claimed, state=state, sent_at=now, due=due, tries=0))])
        return claimed

    async def now(self, reminder: Reminder) -> Reminder:
        found = await self.service.find(replace(PRIVATE, user=reminder.user), reminder.id)
        assert found is not None
        return found


@pytest.fixture
def desk() -> Desk:
    return Desk()


async def test_a_reminder_is_stored_with_what_was_agreed_on_and_the_scheduler_is_woken(desk: Desk) -> None:
    made = await desk.set("pay the rent", once(8, days=1), ROOM)
    stored = await desk.store.find([ANA], made.id)
    assert stored == made
    assert (made.schedule.wall, made.schedule.zone) == (once(8, days=1).at.replace(tzinfo=None), "America/Sao_Paulo")
    assert made.due == datetime(2026, 3, 15, 8, tzinfo=ZONE)
    assert (made.chat, made.private, made.name, made.locale) == (ROOM.chat, False, "Ana", Locale.EN)
    assert desk.woken == 1


@pytest.mark.parametrize(
    ("text", "time", "refusal"),
    [
        ("  ", once(8, days=1), Refusal.NO_TEXT),
        ("tea", once(12), Refusal.PAST),
        ("tea", Recurrence("FREQ=DAILY;UNTIL=20200101", NOW), Refusal.PAST),
        ("tea", Recurrence("FREQ=MINUTELY;INTERVAL=2", NOW), Refusal.TOO_OFTEN),
    ],
)
async def test_what_cannot_be_set_is_refused_and_leaves_nothing(
    desk: Desk, text: str, time: Once | Recurrence, refusal: Refusal
) -> None:
    assert await desk.service.set(PRIVATE, text, time) is refusal
    assert await desk.service.of(PRIVATE) == []


async def test_a_briefing_needs_no_text(desk: Desk) -> None:
    made = await desk.service.set(PRIVATE, "", daily(7), kind=Kind.BRIEFING)
    assert isinstance(made, Reminder)
    assert made.kind is Kind.BRIEFING


async def test_a_person_has_no_more_open_ones_than_allowed_on_all_accounts_together() -> None:
    desk = Desk(limits=Limits(most=2))
    await desk.memories.link(ANA, BIA)
    first = await desk.set("one", once(13))
    await desk.set("two", once(14), replace(PRIVATE, user=BIA))
    assert await desk.service.set(PRIVATE, "three", once(15)) is Refusal.TOO_MANY
    await desk.service.remove(PRIVATE, first.id)
    await desk.set("three", once(15))


async def test_one_that_is_over_is_not_set_again_beyond_the_limit() -> None:
    desk = Desk(limits=Limits(most=1))
    over = await desk.set("one", once(13))
    await desk.clock.advance(3600)
    await desk.fire()
    await desk.set("two", once(15))
    assert await desk.service.reschedule(PRIVATE, over.id, once(16)) is Refusal.TOO_MANY


async def test_a_long_text_is_cut_with_a_sign_of_it(desk: Desk) -> None:
    made = await desk.set("word " * 1000, once(13))
    assert len(made.text) <= 1000
    assert made.text.endswith("…")


@pytest.mark.spec("T15")
async def test_in_a_room_only_its_own_are_seen_and_in_private_all_of_all_accounts(desk: Desk) -> None:
    await desk.memories.link(ANA, BIA)
    private = await desk.set("secret surgery", once(15))
    room = await desk.set("team call", once(14), ROOM)
    linked = await desk.set("water plants", once(13), replace(PRIVATE, user=BIA, chat=ChatKey("test", "bia")))
    assert list(await desk.service.of(PRIVATE)) == [linked, room, private]
    assert list(await desk.service.of(ROOM)) == [room]
    assert list(await desk.service.of(OTHER_ROOM)) == []
    assert await desk.service.find(ROOM, private.id) is None
    assert await desk.service.remove(ROOM, private.id) is Refusal.GONE
    assert await desk.service.matching(ROOM, "surgery") == []
    stranger = replace(PRIVATE, user=UserKey("test", "eve"))
    assert await desk.service.find(stranger, private.id) is None
    assert await desk.service.pause(stranger, private.id, paused=True) is Refusal.GONE


async def test_one_set_in_a_topic_is_of_that_topic(desk: Desk) -> None:
    topic = replace(ROOM, chat=ChatKey("test", "room", "7"))
    there = await desk.set("in the topic", once(13), topic)
    everywhere = await desk.set("in the room", once(14), ROOM)
    assert list(await desk.service.of(topic)) == [there, everywhere]
    assert list(await desk.service.of(ROOM)) == [everywhere]


async def test_the_words_of_a_rooms_reminder_are_changed_only_there_and_its_time_anywhere(desk: Desk) -> None:
    made = await desk.set("team call", once(14), ROOM)
    assert await desk.service.reword(PRIVATE, made.id, "Bia is ill") is Refusal.NOT_HERE
    assert await desk.service.reword(ROOM, made.id, " ") is Refusal.NO_TEXT
    reworded = await desk.service.reword(ROOM, made.id, "team lunch")
    assert isinstance(reworded, Reminder)
    assert reworded.text == "team lunch"
    moved = await desk.service.reschedule(PRIVATE, made.id, once(16))
    assert isinstance(moved, Reminder)
    assert moved.due == once(16).at


async def test_matching_goes_by_stems_the_best_first_and_never_by_words_that_say_nothing(desk: Desk) -> None:
    pill = await desk.set("tomar o remédio da tireoide", once(13))
    pressure = await desk.set("tomar os remédios da pressão", once(14))
    await desk.set("ligar para a Bia", once(15))
    assert list(await desk.service.matching(PRIVATE, "remedio para pressao")) == [pressure, pill]
    assert list(await desk.service.matching(PRIVATE, "o da que")) == []


async def test_a_paused_one_goes_on_from_its_next_instant_ahead(desk: Desk) -> None:
    made = await desk.set("pills", daily(13))
    paused = await desk.service.pause(PRIVATE, made.id, paused=True)
    assert isinstance(paused, Reminder)
    assert paused.state is ReminderState.PAUSED
    await desk.clock.advance(2 * 86_400)
    assert await desk.store.claim(DueClaim(desk.clock.now(), {"test"})) == []
    resumed = await desk.service.pause(PRIVATE, made.id, paused=False)
    assert isinstance(resumed, Reminder)
    assert (resumed.state, resumed.due) == (ReminderState.WAITING, daily(13).first + timedelta(days=2))


async def test_a_single_one_that_passed_while_it_was_paused_says_so(desk: Desk) -> None:
    made = await desk.set("pills", once(13))
    await desk.service.pause(PRIVATE, made.id, paused=True)
    await desk.clock.advance(2 * 86_400)
    assert await desk.service.pause(PRIVATE, made.id, paused=False) is Refusal.PAST


async def test_each_change_can_be_taken_back_once(desk: Desk) -> None:
    made = await desk.set("pills", once(13))
    for change in (
        desk.service.reword(PRIVATE, made.id, "vitamins"),
        desk.service.reschedule(PRIVATE, made.id, daily(15)),
        desk.service.pause(PRIVATE, made.id, paused=True),
        desk.service.remove(PRIVATE, made.id),
    ):
        assert isinstance(await change, Reminder)
        back = await desk.service.undo(PRIVATE, made.id)
        assert back == replace(made, changed_at=None)
        assert await desk.service.undo(PRIVATE, made.id) is Refusal.TOO_LATE


async def test_after_the_undo_time_nothing_is_taken_back(desk: Desk) -> None:
    made = await desk.set("pills", once(15))
    await desk.clock.advance(desk.service.undo_within.total_seconds())
    assert await desk.service.newest_change(PRIVATE) is not None
    await desk.clock.advance(1)
    assert await desk.service.newest_change(PRIVATE) is None
    assert await desk.service.undo(PRIVATE, made.id) is Refusal.TOO_LATE


async def test_words_taken_back_after_it_was_said_do_not_say_it_again(desk: Desk) -> None:
    made = await desk.set("pills", Recurrence("FREQ=DAILY", NOW.replace(hour=12, minute=10, second=0)))
    await desk.service.reword(PRIVATE, made.id, "vitamins")
    await desk.clock.advance(60)
    await desk.fire()
    back = await desk.service.undo(PRIVATE, made.id)
    assert isinstance(back, Reminder)
    assert back.text == "pills"
    assert back.due is not None
    assert back.due > desk.clock.now()


async def test_a_pause_taken_back_after_it_was_due_is_said_late_and_not_lost(desk: Desk) -> None:
    made = await desk.set("pills", once(12, 10))
    await desk.service.pause(PRIVATE, made.id, paused=True)
    await desk.clock.advance(120)
    back = await desk.service.undo(PRIVATE, made.id)
    assert isinstance(back, Reminder)
    assert (await desk.fire()).text == "pills"


async def test_a_snooze_taken_back_leaves_it_as_said(desk: Desk) -> None:
    made = await desk.set("pills", once(12, 10))
    await desk.clock.advance(60)
    fired = await desk.fire()
    await desk.service.snooze(PRIVATE, fired.batch, desk.clock.now() + timedelta(minutes=5))
    back = await desk.service.undo(PRIVATE, made.id)
    assert isinstance(back, Reminder)
    assert back.state is ReminderState.DONE


async def test_a_repeated_one_goes_on_beside_its_snooze_and_pressing_twice_adds_one(desk: Desk) -> None:
    made = await desk.set("pills", daily(13))
    await desk.clock.advance(3600)
    fired = await desk.fire()
    first, second = (desk.clock.now() + timedelta(minutes=minutes) for minutes in (10, 60))
    await desk.service.snooze(PRIVATE, fired.batch, first)
    await desk.service.snooze(PRIVATE, fired.batch, second)
    snoozed, going = await desk.service.of(PRIVATE)
    assert (snoozed.text, snoozed.due, snoozed.schedule.rule) == ("pills", second, "")
    assert going.id == made.id
    assert going.schedule == made.schedule


async def test_a_change_is_made_on_what_it_is_then(desk: Desk) -> None:
    """Whoever fires it changes it between the reading and the writing."""
    made = await desk.set("pills", daily(13))
    find, fired = desk.store.find, False

    async def find_and_change(users: list[UserKey], reminder_id: str) -> Reminder | None:
        nonlocal fired
        found = await find(users, reminder_id)
        if not fired:
            fired = True
            await desk.clock.advance(3600)
            await desk.fire()
        return found

    desk.store.find = find_and_change  # type: ignore[method-assign, assignment]
    reworded = await desk.service.reword(PRIVATE, made.id, "vitamins")
    assert isinstance(reworded, Reminder)
    assert reworded.text == "vitamins"
    assert reworded.due == desk.clock.now() + timedelta(days=1), "the next instant stays"


async def test_without_undo_a_deletion_is_final_at_once() -> None:
    desk = Desk()
    desk.memories.undo_within = timedelta(0)
    made = await desk.set("pills", once(13))
    await desk.clock.advance(1)
    await desk.service.remove(PRIVATE, made.id)
    assert await desk.service.undo(PRIVATE, made.id) is Refusal.GONE
    assert await desk.store.find([ANA], made.id) is None


async def test_reminders_follow_a_person_to_another_zone(desk: Desk) -> None:
    repeated = await desk.set("pills", daily(13))
    single = await desk.set("flight", once(18))
    guess = await desk.service.set(PRIVATE, "guess", once(20), guessed=True)
    assert isinstance(guess, Reminder)
    moved, stayed = await desk.service.move_zone(ANA, "Europe/Lisbon")
    lisbon = ZoneInfo("Europe/Lisbon")
    assert [(each.text, each.due) for each in moved] == [
        ("pills", datetime(2026, 3, 15, 13, tzinfo=lisbon)),
        ("guess", datetime(2026, 3, 14, 20, tzinfo=lisbon)),
    ]
    assert list(stayed) == [single]
    assert (await desk.now(repeated)).schedule.zone == "Europe/Lisbon"
    assert not await desk.service.any_guessed(ANA)


async def test_a_guess_that_was_right_is_confirmed_and_nothing_moves(desk: Desk) -> None:
    guess = await desk.service.set(PRIVATE, "guess", once(20), guessed=True)
    assert isinstance(guess, Reminder)
    assert await desk.service.any_guessed(ANA)
    assert await desk.service.move_zone(ANA, "America/Sao_Paulo") == ([], [])
    assert (await desk.now(guess)).due == guess.due
    assert not await desk.service.any_guessed(ANA)


async def test_what_a_wrong_guess_made_past_is_said_at_once_and_not_lost(desk: Desk) -> None:
    guess = await desk.service.set(PRIVATE, "guess", once(13), guessed=True)
    assert isinstance(guess, Reminder)
    await desk.service.move_zone(ANA, "Europe/Lisbon")
    assert (await desk.fire()).id == guess.id
