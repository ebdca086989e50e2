"""Reminders are said when they are due: once, in order, where they belong, and none is lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from core.answering.asker import Locales
from core.delivery.notifier import Notifier
from core.errors import ChannelBusy, ChannelError, ChannelGone, StorageError
from core.features.reminders.delivery import DueMessages
from core.features.reminders.reminders import LEASE, DueClaim, Kind, Reminder, ReminderState, Schedule
from core.features.reminders.scheduler import BACKOFF, LONGEST_SLEEP_S, Permission, Scheduler
from core.features.reminders.storage import ReminderStore
from core.outgoing import MAX_COMMAND_BYTES, Button, ChannelLimits, Mention, OutgoingMessage
from core.ports import Channel, Channels
from core.storage.history import SqlHistory
from core.types import ChatKey, Incoming, Locale, Preferences, UserKey
from tests.fakes.channel import RecordingChannel
from tests.fakes.clock import START, FakeClock
from tests.fakes.ram import RamDatabase

ANA, BIA = UserKey("telegram", "ana"), UserKey("telegram", "bia")
ROOM = ChatKey("telegram", "room")
SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@dataclass
class Chats(Channels):
    """One platform. `names` are the names under which messages were to be written (`Channels.private`)."""

    clock: FakeClock
    chats: dict[str, RecordingChannel] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)

    def chat(self, name: str) -> RecordingChannel:
        return self.chats.setdefault(name, RecordingChannel(self.clock, ChannelLimits(4096, 0.0)))

    def again(self, incoming: Incoming) -> Channel:
        return self.chat(incoming.chat.chat)

    def private(self, user: UserKey, once: str = "") -> Channel:
        self.names.append(once)
        return self.chat(user.user)

    def room(self, chat: ChatKey, once: str) -> Channel:
        self.names.append(once)
        return self.chat(chat.chat)


@dataclass
class Town:
    """People with reminders, and what they read. It survives the bot."""

    store: ReminderStore = field(default_factory=lambda: ReminderStore(RamDatabase()))
    clock: FakeClock = field(default_factory=FakeClock)
    permission: Permission = Permission.FIRE
    language: str = ""
    per_s: int = 20
    is_alone: bool = True
    purged_at: list[datetime] = field(default_factory=list)
    made: int = 0

    def __post_init__(self) -> None:
        self.telegram, self.discord = Chats(self.clock), Chats(self.clock)

    def reminder(self, user: UserKey, text: str, after: timedelta, rule: str = "") -> Reminder:
        due = START + after
        schedule = Schedule(due.replace(tzinfo=None), "UTC", rule)
        self.made += 1
        created_at = START + self.made * timedelta(microseconds=1)
        return Reminder(user, ChatKey(user.platform, user.user), text, schedule, due, created_at, locale=Locale.EN)

    async def set(
        self, user: UserKey, text: str, after: timedelta = timedelta(0), rule: str = "", **changes: Any
    ) -> Reminder:
        added = await self.store.add(replace(self.reminder(user, text, after, rule), **changes), most=99_999)
        assert added is not None
        return added

    async def set_in_room(self, user: UserKey, text: str, after: timedelta = timedelta(0), rule: str = "") -> Reminder:
        return await self.set(user, text, after, rule, chat=ROOM, private=False, name=user.user.title())

    async def now(self, reminder: Reminder) -> Reminder:
        found = await self.store.find([reminder.user], reminder.id)
        assert found is not None
        return found

    @asynccontextmanager
    async def working(
        self, *, connected: bool = True, stop: asyncio.Event | None = None
    ) -> AsyncIterator[tuple[Scheduler, Notifier]]:
        """A start of the bot, until the end of the block."""
        notifier = Notifier(self.clock)

        async def preferences(_: UserKey) -> Preferences:
            return Preferences(language=self.language)

        async def briefing(reminder: Reminder) -> str:
            if reminder.text:
                raise RuntimeError(reminder.text)
            return f"Nothing today. ({reminder.locale})"

        async def allowed(_: Reminder) -> Permission:
            return self.permission

        async def purge() -> None:
            self.purged_at.append(self.clock.now())

        messages = DueMessages(Locales(preferences, SqlHistory(RamDatabase())), briefing)
        scheduler = Scheduler(
            self.store,
            notifier,
            messages,
            self.clock,
            allowed=allowed,
            purge=purge,
            is_alone=self.is_alone,
            per_s=self.per_s,
        )
        async with scheduler.until(stop or asyncio.Event()):
            if connected:
                self.connect(notifier)
            try:
                yield scheduler, notifier
            finally:
                leaving = asyncio.create_task(self.pass_(10))  # what is on its way has a moment left
        await leaving

    def connect(self, notifier: Notifier) -> None:
        notifier.connect("telegram", self.telegram)
        notifier.connect("discord", self.discord)

    async def pass_(self, time: timedelta | float) -> None:
        await self.clock.advance(time.total_seconds() if isinstance(time, timedelta) else time)

    async def run(self, time: timedelta | float) -> None:
        """Let the bot run for that time, from a start to a stop."""
        async with self.working():
            await self.pass_(time)

    def texts(self, chat: str | UserKey) -> list[str]:
        return self.telegram.chat(chat if isinstance(chat, str) else chat.user).texts

    def times(self, chat: str | UserKey) -> list[float]:
        return [seen.at_s for seen in self.telegram.chat(chat if isinstance(chat, str) else chat.user).log]


@pytest.fixture
def town() -> Town:
    return Town()


# --- when ------------------------------------------------------------------------------------------------------------


async def test_a_reminder_is_said_once_when_it_is_due_and_not_before(town: Town) -> None:
    reminder = await town.set(ANA, "pay *rent*", HOUR)
    async with town.working():
        await town.pass_(HOUR - SECOND)
        assert town.texts(ANA) == []
        await town.pass_(DAY)
    assert town.texts(ANA) == ["⏰ `pay *rent*`"]
    assert town.times(ANA) == [3600.0]
    done = await town.now(reminder)
    assert (done.state, done.due, done.tries, done.sent_at) == (ReminderState.DONE, None, 0, START + HOUR)


async def test_buttons_of_its_batch_stand_below_it(town: Town) -> None:
    reminder = await town.set(ANA, "pay rent")
    await town.run(1)
    [shown] = town.telegram.chat("ana").screen
    batch = (await town.now(reminder)).batch
    assert shown.choices == (
        Button("✅ Done", f"/reminders done {batch}", in_place=True),
        Button("10 min", f"/remind later {batch} 10m", in_place=True),
        Button("1 h", f"/remind later {batch} 1h", in_place=True),
        Button("Tomorrow", f"/remind later {batch} 1d", in_place=True),
    )
    assert batch
    assert all(len(button.command.encode()) <= MAX_COMMAND_BYTES for button in shown.choices)


async def test_one_that_repeats_is_said_at_each_instant_by_the_clock_on_the_wall(town: Town) -> None:
    wall = datetime(2026, 3, 28, 8, 0)  # noqa: DTZ001  # clocks are set forward in Berlin on the 29th
    start = datetime.fromisoformat("2026-03-28T08:00+01:00")
    reminder = await town.set(ANA, "run", start - START, schedule=Schedule(wall, "Europe/Berlin", "FREQ=DAILY;COUNT=3"))
    await town.run(start - START + 9 * DAY)
    assert town.texts(ANA) == ["⏰ run"] * 3
    assert [after - before for before, after in pairwise(town.times(ANA))] == [23 * 3600, 24 * 3600]
    assert (await town.now(reminder)).state is ReminderState.DONE


async def test_a_reminder_that_was_set_meanwhile_wakes_it_and_one_set_elsewhere_is_seen_in_time(town: Town) -> None:
    async with town.working() as (scheduler, _):
        await town.pass_(10)
        await town.set(ANA, "soon", MINUTE)
        scheduler.wake()
        await town.pass_(MINUTE)
        assert town.times(ANA) == [60.0]
        await town.set(BIA, "from the shell", 2 * MINUTE)
        await town.pass_(LONGEST_SLEEP_S)
    assert len(town.times(BIA)) == 1
    assert town.texts(BIA)[0].startswith("⏰ from the shell\nLate: it was due [today, March 14, at 3:11")


async def test_what_came_due_while_the_bot_was_off_comes_at_its_start_as_one_message(town: Town) -> None:
    await town.set(ANA, "first", MINUTE)
    await town.set(ANA, "every day", 2 * MINUTE, "FREQ=DAILY")
    last = await town.set(ANA, "every\nmonth", 3 * MINUTE, "FREQ=MONTHLY")
    await town.set(ANA, "now", 3 * DAY)
    await town.set(BIA, "other", 4 * DAY)
    await town.pass_(3 * DAY)
    await town.run(1)
    [text] = town.texts(ANA)
    first, daily, monthly = (int((START + number * MINUTE).timestamp()) for number in (1, 2, 3))
    assert text.replace("\u202f", " ") == (
        "⏰ 4 reminders:\n"
        f"• first · Late: it was due [Saturday, March 14, at 3:10 PM](time:{first}).\n"
        f"• every day · Late: it was due [Saturday, March 14, at 3:11 PM](time:{daily}), and 2 more times since.\n"
        f"• every month · Late: it was due [Saturday, March 14, at 3:12 PM](time:{monthly}).\n"
        "• now"
    )
    assert town.texts(BIA) == []
    assert (await town.now(last)).due == last.due.replace(month=4)  # type: ignore[union-attr]


async def test_one_that_missed_more_than_can_be_counted_says_since_when(town: Town) -> None:
    await town.set(ANA, "look", MINUTE, "FREQ=MINUTELY;INTERVAL=5")
    await town.pass_(2 * DAY + HOUR)
    await town.run(4 * MINUTE)
    assert [text.replace("\u202f", " ").partition("](")[0] for text in town.texts(ANA)] == [
        "⏰ look\nLate: it was due [Saturday, March 14, at 3:10 PM",
        "⏰ look",
    ]


async def test_a_clock_set_back_repeats_nothing_and_one_set_forward_says_what_came_due_once(town: Town) -> None:
    hourly = await town.set(ANA, "drink", HOUR, "FREQ=HOURLY")
    async with town.working():
        await town.pass_(HOUR)
        town.clock.jump(-3 * HOUR)
        await town.pass_(3 * HOUR)
        assert town.texts(ANA) == ["⏰ drink"]
        await town.pass_(HOUR)
        assert town.texts(ANA) == ["⏰ drink"] * 2
        town.clock.jump(5 * HOUR + 30 * MINUTE)
        await town.pass_(LONGEST_SLEEP_S)
    assert len(town.texts(ANA)) == 3
    assert town.texts(ANA)[2].endswith("), and 4 more times since.")
    assert (await town.now(hourly)).due == START + 8 * HOUR


# --- once ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_alone", [True, False])
async def test_what_was_being_said_when_the_bot_died_is_said_again_marked(town: Town, *, is_alone: bool) -> None:
    town.is_alone = is_alone
    await town.set(ANA, "pay rent")
    await town.store.claim(DueClaim(START, ["telegram"]))  # and then the lights went out
    await town.set(ANA, "buy milk")
    async with town.working():
        await town.pass_(0.0)
        assert town.texts(ANA) == (["⏰ 2 reminders:\n• ↻ pay rent\n• buy milk"] if is_alone else ["⏰ buy milk"])
        await town.pass_(LEASE)
    if not is_alone:
        assert town.texts(ANA)[1].startswith("↻ ⏰ pay rent\nLate")
    await town.run(DAY)
    assert sum("pay rent" in text for text in town.texts(ANA)) == 1


async def test_the_name_of_a_message_is_the_same_when_it_is_said_again(town: Town) -> None:
    await town.set(ANA, "pay rent", rule="FREQ=HOURLY")
    town.telegram.chat("ana").faults = [ChannelGone("blocked")]
    await town.run(HOUR)
    first, second, third = town.telegram.names
    assert first == second != third


async def test_the_name_of_a_message_is_another_when_more_is_said_in_it(town: Town) -> None:
    town.telegram.chat("ana").faults = [ChannelBusy(500.0)]
    await town.set(ANA, "pay rent", -SECOND)
    await town.run(1)
    await town.set(ANA, "buy milk")
    await town.run(1)
    assert town.texts(ANA) == ["⏰ 2 reminders:\n• ↻ pay rent\n• buy milk"]
    first, second = town.telegram.names
    assert first != second


async def test_what_was_not_begun_when_the_bot_stops_is_said_at_the_next_start_without_a_mark(town: Town) -> None:
    town.per_s = 2
    people = [UserKey("telegram", str(number)) for number in range(6)]
    for user in people:
        await town.set(user, "pay rent")
    stop = asyncio.Event()
    async with town.working(stop=stop):
        await town.pass_(0.1)
        stop.set()
        await town.pass_(5)
        assert sum(len(town.texts(user)) for user in people) == 1
    async with town.working():
        await town.pass_(0.1)
    await town.run(5)
    assert [town.texts(user) for user in people] == [["⏰ pay rent"]] * 6


async def test_a_platform_that_is_being_closed_refuses_nobody(town: Town) -> None:
    reminder = await town.set(ANA, "pay rent")
    town.telegram.chat("ana").faults = [ChannelBusy(2.0), *[ChannelError("closed")] * 2]
    stop = asyncio.Event()
    async with town.working(stop=stop):
        await town.pass_(1)
        stop.set()
        await town.pass_(5)
    assert (await town.now(reminder)).failures == 0
    await town.run(1)
    assert town.texts(ANA) == ["↻ ⏰ pay rent"]


async def test_of_what_was_on_its_way_when_the_bot_stopped_nobody_knows(town: Town) -> None:
    await town.set(ANA, "pay rent")
    town.telegram.chat("ana").faults = [ChannelBusy(500.0)]
    await town.run(1)
    await town.run(1)
    assert town.texts(ANA) == ["↻ ⏰ pay rent"]


async def test_a_reminder_that_was_deleted_or_moved_in_time_is_not_said(town: Town) -> None:
    gone, moved = await town.set(ANA, "gone", HOUR), await town.set(BIA, "moved", HOUR)
    async with town.working() as (scheduler, _):
        await town.pass_(MINUTE)
        assert await town.store.replace(gone, replace(gone, state=ReminderState.REMOVED))
        assert await town.store.replace(moved, replace(moved, due=START + 2 * HOUR))
        scheduler.wake()
        await town.pass_(DAY)
    assert town.texts(ANA) == []
    assert town.times(BIA) == [7200.0]


# --- where -----------------------------------------------------------------------------------------------------------


async def test_in_a_room_it_is_for_the_person_who_set_it(town: Town) -> None:
    await town.set_in_room(ANA, "water the plants")
    await town.set_in_room(BIA, "call home")
    await town.run(1)
    assert [(shown.text, shown.mention) for shown in town.telegram.chat("room").screen] == [
        ("⏰ water the plants", Mention("ana", "Ana")),
        ("⏰ call home", Mention("bia", "Bia")),
    ]
    assert town.texts(ANA) == []


async def test_it_is_said_in_the_language_that_the_person_speaks_now(town: Town) -> None:
    town.language = "es"
    await town.set(ANA, "pagar", -HOUR)
    await town.run(1)
    assert town.texts(ANA)[0].startswith("⏰ pagar\nCon retraso: era para [hoy, 14 de marzo, a las 14:09](time:")
    town.language = ""
    await town.set(BIA, "pagar", -HOUR, locale=Locale.PT)
    await town.run(1)
    assert town.texts(BIA)[0].startswith("⏰ pagar\nAtrasado, era para [hoje, 14 de março, às 14:09](time:")


async def test_a_briefing_says_what_its_day_has_in_a_message_of_its_own(town: Town) -> None:
    await town.set(ANA, "", kind=Kind.BRIEFING, rule="FREQ=DAILY")
    await town.set(ANA, "pay rent")
    await town.run(1)
    shown = sorted(town.telegram.chat("ana").screen, key=lambda each: each.text)
    assert [each.text for each in shown] == ["Nothing today. (en)", "⏰ pay rent"]
    assert shown[0].choices == ()


async def test_a_briefing_that_breaks_is_tried_again_and_given_up(town: Town, caplog: pytest.LogCaptureFixture) -> None:
    broken = await town.set(ANA, "no such day", kind=Kind.BRIEFING, rule="FREQ=WEEKLY")
    await town.run(sum(BACKOFF, HOUR))
    assert (await town.now(broken)).state is ReminderState.FAILED
    assert caplog.messages.count("a reminder broke") == len(BACKOFF) + 1
    assert town.texts(ANA) == []


async def test_a_platform_that_is_not_connected_is_waited_for(town: Town) -> None:
    reminder = await town.set(ANA, "pay rent")
    async with town.working(connected=False) as (_, notifier):
        await town.pass_(HOUR)
        assert await town.now(reminder) == reminder
        town.connect(notifier)
        await town.pass_(0.0)
        assert len(town.texts(ANA)) == 1
        notifier.disconnect("telegram")
        await town.set(BIA, "call home", HOUR)
        await town.pass_(DAY)
        assert town.texts(BIA) == []
        town.connect(notifier)
        await town.pass_(0.0)
    assert len(town.texts(BIA)) == 1


async def test_one_that_was_claimed_when_its_platform_went_is_not_marked(town: Town) -> None:
    await town.set(ANA, "pay rent")
    async with town.working(connected=False) as (scheduler, notifier):
        write = notifier.write

        async def too_late(*arguments: Any, **more: Any) -> Any:
            notifier.disconnect("telegram")
            notifier.write = write  # type: ignore[method-assign]
            return await write(*arguments, **more)

        notifier.write = too_late  # type: ignore[method-assign]
        town.connect(notifier)
        await town.pass_(30)
        assert town.texts(ANA) == []
        town.connect(notifier)
        scheduler.wake()
        await town.pass_(1)
    assert town.texts(ANA) == ["⏰ pay rent"]


# --- refused ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("refusal", [[ChannelGone("blocked")], [ChannelError("no")] * 2])
async def test_a_chat_that_refuses_is_tried_again_with_back_off_and_given_up(
    town: Town, refusal: Sequence[Exception]
) -> None:
    reminder = await town.set(ANA, "pay rent", rule="FREQ=MONTHLY")
    town.telegram.chat("ana").faults = [*refusal] * 99
    tried: list[float] = []
    private = town.telegram.private

    def noted(user: UserKey, once: str = "") -> Channel:
        tried.append(town.clock.monotonic())
        return private(user, once)

    town.telegram.private = noted  # type: ignore[method-assign]
    await town.run(3 * DAY)
    assert [after - before for before, after in pairwise(tried)] == [wait.total_seconds() for wait in BACKOFF]
    failed = await town.now(reminder)
    assert (failed.state, failed.due, failed.sent_at) == (ReminderState.FAILED, reminder.due, None)


async def test_a_chat_that_takes_it_at_last_hears_that_it_is_late_and_not_that_it_is_said_again(town: Town) -> None:
    reminder = await town.set(ANA, "pay rent", rule="FREQ=MONTHLY")
    town.telegram.chat("ana").faults = [ChannelGone("blocked")] * 3
    await town.run(DAY)
    assert [text.partition(" [")[0] for text in town.texts(ANA)] == ["⏰ pay rent\nLate: it was due"]
    assert town.times(ANA) == [36 * 60.0]
    after = await town.now(reminder)
    assert (after.state, after.failures, after.sent_at) == (ReminderState.WAITING, 0, START + 36 * MINUTE)


async def test_what_a_room_refuses_to_the_last_is_told_in_private_and_the_next_at_once(town: Town) -> None:
    reminder = await town.set_in_room(ANA, "water the plants", rule="FREQ=DAILY;INTERVAL=2")
    room = town.telegram.chat("room")
    room.faults = [ChannelGone("kicked")] * 7
    await town.run(DAY)
    [shown] = town.telegram.chat("ana").screen
    assert shown.text.partition(" [")[0] == (
        "Here in private, because I could not write in the room where you asked for it:\n\n"
        "⏰ water the plants\nLate: it was due"
    )
    assert shown.mention is None
    assert len(shown.choices) == 4
    assert town.times(ANA) == [sum(BACKOFF, timedelta(0)).total_seconds()]
    assert (await town.now(reminder)).state is ReminderState.WAITING
    await town.run(DAY + MINUTE)
    assert town.times(ANA)[1] == 2 * DAY.total_seconds()
    await town.run(2 * DAY)
    assert room.texts == ["⏰ water the plants"]
    assert (await town.now(reminder)).failures == 0
    room.faults = [ChannelGone("kicked")] * 2
    await town.run(2 * DAY)
    assert len(town.texts(ANA)) == 2, "the room has taken one meanwhile"


async def test_what_is_refused_in_private_too_is_given_up(town: Town) -> None:
    reminder = await town.set_in_room(ANA, "water the plants")
    town.telegram.chat("room").faults = [ChannelGone("kicked")] * 99
    town.telegram.chat("ana").faults = [ChannelGone("blocked")] * 99
    await town.run(2 * DAY)
    assert (await town.now(reminder)).state is ReminderState.FAILED
    assert len(town.telegram.names) == len(BACKOFF) + 2


async def test_of_a_person_who_may_not_be_written_to_it_is_given_up(town: Town) -> None:
    reminder = await town.set(ANA, "pay rent", rule="FREQ=DAILY")
    town.permission = Permission.DROP
    await town.run(DAY)
    assert (await town.now(reminder)).state is ReminderState.FAILED
    assert town.telegram.names == []


async def test_while_the_bot_is_paused_everything_waits(town: Town) -> None:
    await town.set(ANA, "pay rent")
    town.permission = Permission.WAIT
    async with town.working():
        await town.pass_(30)
        assert town.texts(ANA) == []
        town.permission = Permission.FIRE
        await town.pass_(MINUTE)
    assert town.texts(ANA) == ["⏰ pay rent"]


async def test_where_reminders_were_turned_off_the_person_is_told_in_private(town: Town) -> None:
    room, own = await town.set_in_room(ANA, "water the plants"), await town.set(BIA, "pay rent")
    town.permission = Permission.PRIVATE
    await town.run(1)
    [shown] = town.telegram.chat("ana").screen
    assert shown.text == (
        "Here in private, because reminders are turned off in the room where you asked for it:\n\n⏰ water the plants"
    )
    assert shown.mention is None
    assert town.texts("room") == []
    assert town.texts(BIA) == ["⏰ pay rent"]
    assert {(await town.now(each)).state for each in (room, own)} == {ReminderState.DONE}


async def test_one_whose_rule_cannot_be_read_is_said_and_then_given_up(town: Town) -> None:
    rule = await town.set(ANA, "pay rent", rule="FREQ=SOMETIMES")
    zone = await town.set(BIA, "call home", schedule=Schedule(START.replace(tzinfo=None), "Mars/Base", "FREQ=DAILY"))
    await town.run(DAY)
    assert town.texts(ANA) == ["⏰ pay rent"]
    assert town.texts(BIA) == ["⏰ call home"]
    assert {(await town.now(each)).state for each in (rule, zone)} == {ReminderState.FAILED}


# --- many ------------------------------------------------------------------------------------------------------------


async def test_many_at_once_go_out_at_a_pace_in_order_of_their_due_times(town: Town) -> None:
    people = [UserKey("telegram", str(number)) for number in range(100)]
    for number, user in enumerate(reversed(people)):
        await town.set(user, "pay rent", -timedelta(milliseconds=number))
    await town.set(UserKey("discord", "x"), "elsewhere")
    async with town.working():
        await town.pass_(0.99)
        assert sum(len(town.texts(user)) for user in people) == 20
        assert town.discord.chat("x").texts == ["⏰ elsewhere"]
        await town.pass_(10)
    times = [town.times(user) for user in people]
    assert [len(each) for each in times] == [1] * 100
    assert sorted(times) == times
    assert all(after[0] - before[0] == pytest.approx(0.05) for before, after in pairwise(times))


async def test_no_more_is_claimed_than_can_be_said_soon(town: Town) -> None:
    reminders = [await town.set(UserKey("telegram", str(number)), "pay rent") for number in range(100)]
    async with town.working():
        for _ in range(4):
            await town.pass_(0.6)
            states = [(await town.now(each)).state for each in reminders]
            assert states.count(ReminderState.SENDING) <= 30


async def test_a_busy_chat_holds_up_no_other_and_its_own_stay_in_order(town: Town) -> None:
    town.telegram.chat("room").faults = [ChannelBusy(600.0)]
    for number in range(50):
        await town.set_in_room(UserKey("telegram", f"in the room {number:02}"), f"water {number:02}")
    for number in range(50):
        await town.set(UserKey("telegram", str(number)), "pay rent", SECOND)
    async with town.working() as (scheduler, _):
        await town.pass_(20)
        assert sum(len(town.texts(str(number))) for number in range(50)) == 50
        await town.set(ANA, "later", 30 * SECOND)
        scheduler.wake()
        await town.pass_(20)
        assert town.times(ANA) == [30.0]
        await town.pass_(LONGEST_SLEEP_S)
        assert town.texts("room") == []
        elsewhere = await town.store.claim(DueClaim(town.clock.now(), ["telegram"]))
        assert {each.tries for each in elsewhere} == {1}, "what waits for the room is held"
        await town.store.settle([(each, replace(each, state=ReminderState.WAITING, tries=0)) for each in elsewhere])
        await town.pass_(LONGEST_SLEEP_S)
    said = [text.removeprefix("⏰ water ")[:2] for text in town.texts("room")]
    assert sorted(said) == [f"{number:02}" for number in range(50)]
    assert not any("↻" in text for text in town.texts("room"))


# --- at rest ---------------------------------------------------------------------------------------------------------


class Counted(ReminderStore):
    """Counts what it is asked."""

    def __init__(self) -> None:
        super().__init__(RamDatabase())
        self.asked: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_") and name != "asked":
            self.asked.append(name)
        return super().__getattribute__(name)


async def test_with_nothing_due_it_asks_once_every_five_minutes_and_does_nothing_else() -> None:
    store = Counted()
    town = Town(store)
    await town.set(ANA, "in a year", 365 * DAY)
    async with town.working():
        await town.pass_(1)
        store.asked.clear()
        await town.pass_(2 * HOUR)
    assert store.asked == ["next_due"] * 24
    assert [at - START for at in town.purged_at] == [0 * HOUR, HOUR, 2 * HOUR]


# --- a store that fails ----------------------------------------------------------------------------------------------


class Failing(ReminderStore):
    """Fails as often as `failures` says, by the method's name; "purge" is the town's."""

    def __init__(self, **failures: int) -> None:
        super().__init__(RamDatabase())
        self.failures = failures

    def __getattribute__(self, name: str) -> Any:
        failures = super().__getattribute__("__dict__").get("failures", {})
        if failures.get(name):
            failures[name] -= 1
            raise StorageError("full")
        return super().__getattribute__(name)


@pytest.mark.parametrize("what", ["next_due", "claim", "release"])
async def test_a_disk_that_refuses_is_tried_again_a_minute_later(what: str, caplog: pytest.LogCaptureFixture) -> None:
    town = Town(Failing(**{what: 2}))
    await town.set(ANA, "pay rent")
    async with town.working():
        await town.pass_(119)
        assert town.texts(ANA) == []
        await town.pass_(2)
    assert town.times(ANA) == [120.0]
    assert caplog.messages.count("reminders wait") == 2
    assert all(record.levelno >= logging.WARNING for record in caplog.records)


async def test_what_was_said_and_could_not_be_settled_is_not_said_again(caplog: pytest.LogCaptureFixture) -> None:
    town = Town(Failing(settle=5))
    reminder = await town.set(ANA, "pay rent", rule="FREQ=DAILY")
    await town.run(HOUR)
    assert town.texts(ANA) == ["⏰ pay rent"]
    assert "a reminder waits" in caplog.messages
    assert (await town.now(reminder)).due == START + DAY


async def test_a_failure_of_what_it_asks_besides_loses_nothing(
    town: Town, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failing = [2]

    async def unreadable(*_: object) -> OutgoingMessage:
        if failing[0]:
            failing[0] -= 1
            raise StorageError("locked")
        return OutgoingMessage("⏰ at last")

    monkeypatch.setattr(DueMessages, "message", unreadable)
    await town.set(ANA, "pay rent")
    await town.run(HOUR)
    assert town.texts(ANA) == ["⏰ at last"]
    assert town.times(ANA) == [120.0]
    assert caplog.messages.count("a reminder waits") == 2
