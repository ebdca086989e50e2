"""Owners are told of a trouble once and of its end once, wherever they can be reached, and never in a flood."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta

import pytest

from core.delivery.alerts import (
    HAS_ROOM,
    IS_AWAY,
    IS_DAMAGED,
    IS_FULL,
    KEPT_AS,
    REACHABLE,
    UNREACHABLE,
    OwnerAlerts,
    read_alarms,
)
from core.delivery.notifier import Notifier
from core.errors import ChannelDown, ChannelForbidden, Damaged, DiskFull, StorageDown, StorageError
from core.stores import KeptStore
from core.types import Locale, Localized, Role, UserKey
from tests.fakes.channel import OneChannel, RecordingChannel
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA, BIA
from tests.fakes.lobby import Lobby

TROUBLE = {Locale.PT: "Disco cheio.", Locale.EN: "The disk is full.", Locale.ES: "Disco lleno."}
OVER = {Locale.PT: "Há espaço de novo.", Locale.EN: "There is room again.", Locale.ES: "Hay espacio otra vez."}
BEGUN, ENDED = TROUBLE[Locale.EN], OVER[Locale.EN]
OLGA, LATER = UserKey("here", "olga"), UserKey("later", "lia")


class Kept(KeptStore):
    """What is kept, in RAM; it can be broken."""

    def __init__(self) -> None:
        self.value: str | None = None
        self.fails = False

    async def get(self, name: str) -> str | None:
        return await self.change(name, lambda value: value)

    async def put(self, name: str, value: str) -> None:
        await self.change(name, lambda _: value)

    async def delete(self, name: str) -> None:
        await self.change(name, lambda _: None)

    async def change(self, name: str, change: Callable[[str | None], str | None]) -> str | None:
        if self.fails:
            raise StorageError("broken")
        assert name == KEPT_AS
        self.value = change(self.value)
        return self.value


class Process:
    """Alarms of two owners, of whom Olga is connected. Another process shares the owners' chats and what is kept."""

    def __init__(self, clock: FakeClock, before: Process | None = None) -> None:
        self.clock = clock
        channels = {user: RecordingChannel(clock) for user in (OLGA, LATER)}
        self.channels: dict[UserKey, RecordingChannel] = before.channels if before else channels
        self.kept: Kept = before.kept if before else Kept()
        self.posts: list[str] = before.posts if before else []
        self.takes_posts = True
        self.locales = {OLGA: Locale.EN, LATER: Locale.ES}
        self.notifier = Notifier(clock)
        self.alerts = OwnerAlerts(self._owners, self.notifier, clock)

    async def _owners(self) -> dict[UserKey, Locale]:
        return self.locales

    async def start(self) -> Process:
        await self.alerts.keep_in(self.kept, self._post)
        self.connect(OLGA)
        await self.clock.advance(6)
        return self

    def connect(self, user: UserKey) -> None:
        self.notifier.connect(user.platform, OneChannel(self.channels[user]))

    async def tell(self) -> None:
        self.alerts.tell("disk", TROUBLE)
        await self.clock.advance(1)

    async def over(self, settle_s: float = 0.0) -> None:
        self.alerts.over("disk", OVER, settle_s=settle_s)
        await self.clock.advance(1)

    async def _post(self, text: str) -> bool:
        self.posts.append(text)
        return self.takes_posts

    @property
    def told(self) -> list[str]:
        return self.channels[OLGA].texts


@pytest.fixture
async def one(clock: FakeClock) -> Process:
    return await Process(clock).start()


async def test_every_owner_is_told_once_and_nobody_else() -> None:
    async with Lobby() as lobby:
        await lobby.give(ANA, Role.OWNER)
        await lobby.give(BIA, Role.ADMIN)
        alerts = lobby.bot.parts.reach.alerts
        for _ in range(2):
            alerts.tell("disk", TROUBLE)
            await lobby.settle()
        assert [shown.text for shown in lobby.seen(ANA)] == [BEGUN]
        assert lobby.seen(BIA) == []
        assert list(alerts.open_now()) == ["disk"]


@pytest.mark.parametrize("locale", Locale)
async def test_begin_and_end_are_told_once_in_the_owners_language(one: Process, locale: Locale) -> None:
    one.locales[OLGA] = locale
    await one.over()
    assert one.told == []
    began = one.clock.now()
    for _ in range(24):
        await one.tell()
        await one.clock.advance(600)
    alarm = one.alerts.open_now()["disk"]
    assert (alarm.since, alarm.text) == (began, TROUBLE)
    for _ in range(2):
        await one.over()
    assert one.told == one.posts == [TROUBLE[locale], OVER[locale]]
    assert one.channels[LATER].texts == []
    assert one.alerts.open_now() == {}


async def test_what_opens_again_within_the_hour_is_told_only_if_it_lasts(one: Process) -> None:
    for _ in range(30):
        await one.tell()
        await one.over()
    assert one.told == [BEGUN, ENDED]
    await one.tell()
    await one.clock.advance(3480)
    assert one.told == [BEGUN, ENDED]
    await one.clock.advance(120)
    assert one.told == one.posts == [BEGUN, ENDED, BEGUN]


async def test_what_is_still_so_after_a_week_is_told_once_more(one: Process) -> None:
    await one.tell()
    for days, times in ((6, 1), (1, 2), (6, 2)):
        one.clock.jump(timedelta(days=days))
        await one.clock.advance(60)
        await one.tell()
        assert one.told == [BEGUN] * times


async def test_an_end_that_does_not_last_is_not_told_and_stops_nothing(one: Process) -> None:
    for _ in range(30):
        one.alerts.tell("disk", TROUBLE, stops_answers=True)
        await one.clock.advance(60)
        await one.over(180)
        assert not one.alerts.open_now()["disk"].stops_answers
        await one.clock.advance(60)
    assert one.told == [BEGUN]
    await one.clock.advance(180)
    assert one.told == [BEGUN, ENDED]


async def test_an_end_without_words_is_not_told_and_the_next_beginning_is_after_its_hour(one: Process) -> None:
    await one.tell()
    one.alerts.over("disk")
    await one.tell()
    assert one.told == [BEGUN]
    await one.clock.advance(3660)
    assert one.told == [BEGUN] * 2


async def test_owners_are_told_when_they_connect_what_is_so_then(one: Process) -> None:
    await one.tell()
    one.alerts.tell("platform:later", OVER)
    one.notifier.disconnect("here")
    one.connect(LATER)
    one.alerts.over("platform:later")
    await one.over()
    await one.clock.advance(6)
    assert one.channels[LATER].texts == []
    one.connect(OLGA)
    await one.clock.advance(6)
    assert one.told == [BEGUN, ENDED]
    await one.clock.advance(3600)
    await one.tell()
    one.notifier.disconnect("later")
    for _ in range(2):
        one.connect(LATER)
        await one.clock.advance(6)
    assert one.channels[LATER].texts == [TROUBLE[Locale.ES]]


async def test_who_refuses_is_left_alone_for_a_while_or_until_they_connect(one: Process) -> None:
    one.channels[OLGA].faults = [ChannelForbidden("no")] * 30
    await one.tell()
    await one.clock.advance(590)
    left = len(one.channels[OLGA].faults)
    assert left >= 28
    await one.clock.advance(60)
    assert len(one.channels[OLGA].faults) < left
    one.channels[OLGA].faults.clear()
    one.connect(OLGA)
    await one.clock.advance(6)
    assert one.told == [BEGUN]


async def test_a_post_that_is_not_taken_is_sent_again_as_long_as_it_is_true(one: Process) -> None:
    one.takes_posts = False
    await one.tell()
    await one.clock.advance(660)
    assert one.posts == [BEGUN] * 2
    await one.over()
    await one.clock.advance(3600)
    assert one.posts == [BEGUN] * 2


async def test_a_chat_that_hangs_keeps_no_other_owner_from_knowing(one: Process) -> None:
    one.connect(LATER)
    await one.clock.advance(6)
    one.channels[OLGA].faults = [ChannelDown(500.0)]
    await one.tell()
    await one.over()
    assert (one.told, one.channels[LATER].texts) == ([], [TROUBLE[Locale.ES], OVER[Locale.ES]])
    await one.clock.advance(600)
    assert one.told == [BEGUN, ENDED]


async def test_a_crash_loop_floods_nobody_and_the_end_is_told_by_another_process(one: Process) -> None:
    await one.tell()
    process = one
    for _ in range(20):
        process = await Process(one.clock, process).start()
        assert list(process.alerts.open_now()) == ["disk"]
        await process.tell()
    process = await Process(one.clock, process).start()
    await process.over()
    process = await Process(one.clock, process).start()
    await process.tell()  # within the hour, and remembered over the restart
    await process.alerts.close()
    assert one.told == one.posts == [BEGUN, ENDED]
    process = await Process(one.clock, process).start()
    await one.clock.advance(3660)
    assert one.told == one.posts == [BEGUN, ENDED, BEGUN]


async def test_of_two_workers_one_tells(one: Process) -> None:
    other = await Process(one.clock, one).start()
    for each in (one, other):
        each.alerts.tell("disk", TROUBLE)
    await one.clock.advance(1)
    await other.over()
    for each in (one, other):
        await each.alerts.catch_up()
    assert one.told == one.posts == [BEGUN, ENDED]


async def test_whom_a_worker_was_telling_when_it_stood_still_another_one_tells(one: Process) -> None:
    one.channels[OLGA].faults = [ChannelDown(900.0)]
    await one.tell()
    await Process(one.clock, one).start()
    await one.clock.advance(580)
    assert (one.told, one.posts) == ([], [BEGUN])
    await one.clock.advance(80)
    assert (one.told, one.posts) == ([BEGUN], [BEGUN])
    await one.clock.advance(900)  # it goes on: what nobody knows to be told is told twice rather than never
    assert (one.told, one.posts) == ([BEGUN] * 2, [BEGUN])


async def test_while_the_database_is_broken_owners_are_told_and_it_learns_that_later(one: Process) -> None:
    one.kept.fails = True
    await one.tell()
    assert one.told == [BEGUN]
    one.kept.fails = False
    await one.clock.advance(60)
    assert read_alarms(one.kept.value)["disk"].told == {"here:olga", "post"}


@pytest.mark.parametrize("kept", ["", "{", "[]", '{"disk": 1}', "\x00"])
async def test_what_cannot_be_read_is_no_alarm(clock: FakeClock, kept: str) -> None:
    one = Process(clock)
    one.kept.value = kept
    await one.start()
    assert one.alerts.open_now() == {}
    await one.tell()
    assert one.told == [BEGUN]


async def test_the_last_notices_are_told_before_it_closes(one: Process) -> None:
    one.alerts.tell("disk", TROUBLE)
    await one.alerts.close(60.0)
    assert one.told == [BEGUN]
    assert not [task for task in asyncio.all_tasks() if "OwnerAlerts" in repr(task)]


async def test_opening_and_closing_are_lines_of_the_log(one: Process, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    for _ in range(3):
        one.alerts.tell("key-refused:openai", TROUBLE, stops_answers=True)
    one.alerts.tell("undelivered:x", TROUBLE)
    one.alerts.over("key-refused:openai", OVER)
    assert [(record.levelname, record.msg) for record in caplog.records if record.name == "core.delivery.alerts"] == [
        ("ERROR", "alarm key-refused:openai"),
        ("WARNING", "alarm undelivered:x"),
        ("INFO", "alarm over key-refused:openai"),
    ]


@pytest.mark.parametrize(
    ("error", "times", "told", "end"),
    [
        (StorageError("locked"), 3, UNREACHABLE, REACHABLE),
        (DiskFull("full"), 1, IS_FULL, HAS_ROOM),
        (Damaged("not sound"), 1, IS_DAMAGED, None),
        (StorageDown("away"), 9, None, None),
    ],
)
async def test_a_database_that_fails_is_an_alarm_until_it_takes_a_write(
    one: Process, error: StorageError, times: int, told: Localized | None, end: Localized | None
) -> None:
    for _ in range(times - 1):
        one.alerts.storage_failed(error)
    one.alerts.storage_written()
    for _ in range(times - 1):
        one.alerts.storage_failed(error)
    await one.clock.advance(0)
    assert one.told == []
    for _ in range(3):
        one.alerts.storage_failed(error)
    await one.clock.advance(0)
    texts = [] if told is None else [told[Locale.EN]]
    assert one.told == texts
    one.alerts.storage_written()
    await one.clock.advance(0)
    assert one.told == texts + ([] if end is None else [end[Locale.EN]])


async def test_a_database_server_that_is_away_is_told_by_the_worker_that_speaks_and_its_return_too(
    one: Process,
) -> None:
    one.kept.fails = True
    one.alerts.storage_away(speaks=False)
    await one.clock.advance(0)
    assert one.told == []
    for _ in range(2):
        one.alerts.storage_away(speaks=True)
    await one.clock.advance(0)
    assert one.told == [IS_AWAY[Locale.EN]]
    one.kept.fails = False
    one.alerts.storage_written()
    await one.clock.advance(0)
    assert one.told == [IS_AWAY[Locale.EN], REACHABLE[Locale.EN]]
