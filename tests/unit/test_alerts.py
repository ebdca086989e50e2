"""Owners are told of a trouble once and of its end once, wherever they can be reached, and never in a flood."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from copy import deepcopy

import pytest

from core.delivery.alerts import (
    HAS_ROOM,
    IS_AWAY,
    IS_FULL,
    QUIET_S,
    REACHABLE,
    UNREACHABLE,
    Alarms,
    Change,
    OwnerAlerts,
)
from core.delivery.notifier import Notifier
from core.errors import ChannelDown, ChannelForbidden, ChannelGone, DiskFull, StorageDown, StorageError
from core.types import Locale, Role, UserKey
from tests.fakes.channel import RecordingChannel
from tests.fakes.channels import OneChannel
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA, BIA
from tests.fakes.lobby import Lobby

TROUBLE = {Locale.PT: "Disco cheio.", Locale.EN: "The disk is full.", Locale.ES: "Disco lleno."}
OVER = {Locale.PT: "Há espaço de novo.", Locale.EN: "There is room again.", Locale.ES: "Hay espacio otra vez."}
OLGA, LATER = UserKey("here", "olga"), UserKey("later", "lia")


class Book:
    """An alarm book in RAM: what is loaded is a copy of what was saved last."""

    def __init__(self) -> None:
        self.alarms: Alarms = {}

    async def change(self, change: Change) -> Alarms:
        alarms = deepcopy(self.alarms)
        change(alarms)
        self.alarms = deepcopy(alarms)
        return alarms


class Bench:
    """Alarms of two owners, of whom Olga is connected; each start is a new process over the same book."""

    def __init__(self, clock: FakeClock, book: Book | None = None) -> None:
        self.clock, self.book = clock, book
        self.channels = {OLGA: RecordingChannel(clock), LATER: RecordingChannel(clock)}
        self.posts: list[str] = []
        self.takes_posts = True
        self.locales = {OLGA: Locale.EN, LATER: Locale.ES}

    async def start(self, *, connected: bool = True) -> None:
        self.notifier = Notifier(self.clock)
        self.alerts = OwnerAlerts(self._owners, self.notifier, self._locale_of, self.clock)
        if self.book is not None:
            await self.alerts.keep_in(self.book, self._post)
        if connected:
            self.connect(OLGA)

    def connect(self, user: UserKey) -> None:
        self.notifier.connect(user.platform, OneChannel(self.channels[user]))

    def texts(self, user: UserKey = OLGA) -> list[str]:
        return self.channels[user].texts

    async def _owners(self) -> Collection[UserKey]:
        return list(self.channels)

    async def _locale_of(self, user: UserKey) -> Locale:
        return self.locales[user]

    async def _post(self, text: str) -> bool:
        self.posts.append(text)
        return self.takes_posts


async def new_bench(clock: FakeClock, book: Book | None = None) -> Bench:
    bench = Bench(clock, book)
    await bench.start()
    return bench


@pytest.fixture
async def bench(clock: FakeClock) -> Bench:
    return await new_bench(clock)


async def test_notices_of_one_alarm_that_overlap_tell_an_owner_once(bench: Bench) -> None:
    """Finding who the owners are takes longer for the second notice, by ever more steps of the loop."""

    async def owners() -> Collection[UserKey]:
        asked.append(None)
        for _ in range(steps * (len(asked) - 1)):
            await asyncio.sleep(0)
        return [OLGA]

    bench.alerts._owners = owners
    for steps in range(12):
        asked: list[None] = []
        bench.alerts.tell_soon(f"disk {steps}", TROUBLE)
        bench.alerts.tell_soon(f"disk {steps}", TROUBLE)
        await bench.alerts.close(60.0)
        assert bench.texts() == [TROUBLE[Locale.EN]] * (steps + 1)


async def test_every_owner_is_told_once_and_nobody_else() -> None:
    async with Lobby() as lobby:
        await lobby.give(ANA, Role.OWNER)
        await lobby.give(BIA, Role.ADMIN)
        alerts = lobby.bot.parts.reach.alerts
        await alerts.tell("disk", TROUBLE)
        await alerts.tell("disk", TROUBLE)
        assert [shown.text for shown in lobby.seen(ANA)] == [TROUBLE[Locale.EN]]
        assert lobby.seen(BIA) == []
        assert [alarm.key for alarm in alerts.open_now()] == ["disk"]


async def test_the_end_is_told_once_to_who_was_told_of_the_beginning(bench: Bench, clock: FakeClock) -> None:
    await bench.alerts.over("disk", OVER)
    assert bench.texts() == []
    await bench.alerts.tell("disk", TROUBLE)
    [alarm] = bench.alerts.open_now()
    assert (alarm.key, alarm.since, alarm.text) == ("disk", clock.now(), TROUBLE)
    for _ in range(2):
        await bench.alerts.over("disk", OVER)
    assert bench.texts() == [TROUBLE[Locale.EN], OVER[Locale.EN]]
    assert bench.texts(LATER) == []
    assert bench.alerts.open_now() == []


@pytest.mark.parametrize("locale", Locale)
async def test_each_owner_reads_their_own_language(bench: Bench, locale: Locale) -> None:
    bench.locales[OLGA] = locale
    await bench.alerts.tell("disk", TROUBLE)
    await bench.alerts.over("disk", OVER)
    assert bench.texts() == [TROUBLE[locale], OVER[locale]]


async def test_what_opens_again_within_the_hour_is_told_only_if_it_lasts(bench: Bench, clock: FakeClock) -> None:
    await bench.alerts.tell("disk", TROUBLE)
    await bench.alerts.over("disk", OVER)
    await bench.alerts.tell("disk", TROUBLE)
    assert len(bench.alerts.open_now()) == 1
    await clock.advance(3599)
    assert len(bench.texts()) == 2
    await clock.advance(2)
    assert bench.texts() == [TROUBLE[Locale.EN], OVER[Locale.EN], TROUBLE[Locale.EN]]


async def test_an_hour_of_flapping_is_one_message_and_one_end(bench: Bench, clock: FakeClock) -> None:
    for _ in range(60):
        await bench.alerts.tell("disk", TROUBLE)
        await clock.advance(30)
        await bench.alerts.over("disk", OVER)
        await clock.advance(30)
    assert bench.texts() == [TROUBLE[Locale.EN], OVER[Locale.EN]]
    await clock.advance(3600)
    await bench.alerts.tell("disk", TROUBLE)
    assert len(bench.texts()) == 3


async def test_a_day_of_trouble_is_one_message(bench: Bench, clock: FakeClock) -> None:
    for _ in range(24 * 60):
        await bench.alerts.tell("disk", TROUBLE)
        await clock.advance(60)
    assert bench.texts() == [TROUBLE[Locale.EN]]


async def test_an_owner_whose_platform_connects_later_is_told_then_unless_it_is_over(
    bench: Bench, clock: FakeClock
) -> None:
    await bench.alerts.tell("disk", TROUBLE)
    await bench.alerts.tell("platform:later", OVER)
    bench.connect(LATER)
    await bench.alerts.over("platform:later")
    await clock.advance(6)
    assert bench.texts(LATER) == [TROUBLE[Locale.ES]]
    bench.connect(LATER)
    await clock.advance(6)
    assert bench.texts(LATER) == [TROUBLE[Locale.ES]]


async def test_an_owner_who_is_away_at_the_end_is_told_of_it_when_back(bench: Bench, clock: FakeClock) -> None:
    await bench.alerts.tell("disk", TROUBLE)
    bench.notifier.disconnect("here")
    await bench.alerts.over("disk", OVER)
    bench.connect(OLGA)
    await clock.advance(6)
    assert bench.texts() == [TROUBLE[Locale.EN], OVER[Locale.EN]]


async def test_an_owner_whose_chat_refuses_is_told_at_the_next_sign_of_the_trouble(bench: Bench) -> None:
    bench.channels[OLGA].faults = [ChannelForbidden("no")] * 3
    await bench.alerts.tell("disk", TROUBLE)
    assert bench.texts() == []
    bench.channels[OLGA].faults = []
    await bench.alerts.tell("disk", TROUBLE)
    assert bench.texts() == [TROUBLE[Locale.EN]]


async def test_a_crash_loop_floods_nobody(clock: FakeClock) -> None:
    bench = await new_bench(clock, Book())
    await bench.alerts.tell("disk", TROUBLE)
    await clock.advance(1)
    for _ in range(20):
        await bench.start()
        assert [alarm.key for alarm in bench.alerts.open_now()] == ["disk"]
        await bench.alerts.tell("disk", TROUBLE)
        await clock.advance(30)
    await bench.alerts.over("disk", OVER)
    await bench.start()
    await bench.alerts.tell("disk", TROUBLE)  # within the hour, and remembered over the restart
    await clock.advance(60)
    assert bench.texts() == [TROUBLE[Locale.EN], OVER[Locale.EN]]
    assert bench.posts == bench.texts()


async def test_who_was_told_by_the_process_before_reads_of_the_end(clock: FakeClock) -> None:
    bench = await new_bench(clock, Book())
    await bench.alerts.tell("disk", TROUBLE)
    await bench.start()
    await bench.alerts.over("disk", OVER)
    assert bench.texts() == [TROUBLE[Locale.EN], OVER[Locale.EN]]


async def test_what_was_quiet_at_a_restart_is_told_when_its_hour_is_over(clock: FakeClock) -> None:
    bench = await new_bench(clock, Book())
    await bench.alerts.tell("disk", TROUBLE)
    await bench.alerts.over("disk", OVER)
    await bench.alerts.tell("disk", TROUBLE)
    await bench.alerts.close()
    await bench.start()
    await clock.advance(3590)
    assert len(bench.texts()) == 2
    await clock.advance(20)
    assert len(bench.texts()) == 3


async def test_an_alarm_of_last_week_is_forgotten_over_a_restart(clock: FakeClock) -> None:
    bench = await new_bench(clock, Book())
    await bench.alerts.tell("disk", TROUBLE)
    await clock.advance(8 * 86_400)
    await bench.start()
    assert bench.alerts.open_now() == []


async def test_a_post_that_is_not_taken_is_sent_again_while_the_alarm_is_open(clock: FakeClock) -> None:
    bench = await new_bench(clock, Book())
    bench.takes_posts = False
    await bench.alerts.tell("disk", TROUBLE)
    await clock.advance(31)
    assert bench.posts == [TROUBLE[Locale.EN]] * 2
    await bench.alerts.over("disk", OVER)
    await clock.advance(3600)
    assert len(bench.posts) == 2


async def test_a_post_is_sent_without_any_platform_and_its_end_too(clock: FakeClock) -> None:
    bench = await new_bench(clock, Book())
    await bench.start(connected=False)
    await bench.alerts.tell("disk", TROUBLE)
    await clock.advance(1)
    await bench.alerts.over("disk", OVER)
    await clock.advance(1)
    assert bench.posts == [TROUBLE[Locale.EN], OVER[Locale.EN]]
    assert bench.texts() == []


async def test_opening_is_an_error_in_the_log_that_names_what_it_is_about(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for _ in range(3):
        await bench.alerts.tell("key-refused:openai", TROUBLE, about="openai:gpt")
    await bench.alerts.tell("undelivered:x", TROUBLE, level=logging.WARNING)
    await bench.alerts.over("key-refused:openai", OVER)
    assert [(record.levelname, record.msg) for record in caplog.records if record.name == "core.delivery.alerts"] == [
        ("ERROR", "alarm key-refused:openai (openai:gpt)"),
        ("WARNING", "alarm undelivered:x"),
        ("INFO", "alarm over key-refused:openai"),
    ]


async def test_a_database_that_refuses_three_times_in_a_row_is_an_alarm_until_it_takes_a_write(
    bench: Bench, clock: FakeClock
) -> None:
    for _ in range(2):
        bench.alerts.storage_failed(StorageError("locked"))
    bench.alerts.storage_written()
    for _ in range(2):
        bench.alerts.storage_failed(StorageError("locked"))
    await clock.advance(0)
    assert bench.texts() == []
    for _ in range(3):
        bench.alerts.storage_failed(StorageError("locked"))
    await clock.advance(0)
    assert bench.texts() == [UNREACHABLE[Locale.EN]]
    bench.alerts.storage_written()
    await clock.advance(0)
    assert bench.texts() == [UNREACHABLE[Locale.EN], REACHABLE[Locale.EN]]


async def test_a_database_server_that_is_away_is_told_by_the_worker_that_speaks_and_its_return_too(
    bench: Bench, clock: FakeClock
) -> None:
    for _ in range(5):
        bench.alerts.storage_failed(StorageDown("away"))
    bench.alerts.storage_away(speaks=False)
    await clock.advance(0)
    assert bench.texts() == []
    for _ in range(2):
        bench.alerts.storage_away(speaks=True)
    await clock.advance(0)
    assert bench.texts() == [IS_AWAY[Locale.EN]]
    bench.alerts.storage_written()
    await clock.advance(0)
    assert bench.texts() == [IS_AWAY[Locale.EN], REACHABLE[Locale.EN]]


async def test_a_full_disk_is_no_database_that_refuses(bench: Bench, clock: FakeClock) -> None:
    for _ in range(5):
        bench.alerts.storage_failed(DiskFull("full"))
    await clock.advance(0)
    bench.alerts.storage_written()
    await clock.advance(0)
    assert bench.texts() == [IS_FULL[Locale.EN], HAS_ROOM[Locale.EN]]


async def test_a_chat_that_hangs_keeps_no_other_owner_from_knowing(bench: Bench, clock: FakeClock) -> None:
    bench.connect(LATER)
    bench.channels[OLGA].faults = [ChannelDown(600.0)]
    bench.alerts.tell_soon("disk", TROUBLE)
    await clock.advance(0)
    assert (bench.texts(), bench.texts(LATER)) == ([], [TROUBLE[Locale.ES]])
    bench.alerts.over_soon("disk", OVER)
    await clock.advance(0)
    assert bench.texts(LATER) == [TROUBLE[Locale.ES], OVER[Locale.ES]]
    await clock.advance(601)
    assert bench.texts() == [TROUBLE[Locale.EN], OVER[Locale.EN]]


async def test_who_lets_the_bot_write_no_more_is_left_alone_until_it_connects_anew(
    bench: Bench, clock: FakeClock
) -> None:
    bench.channels[OLGA].faults = [ChannelGone("blocked")] * 30
    for _ in range(10):
        await bench.alerts.tell("disk", TROUBLE)
    tried = 30 - len(bench.channels[OLGA].faults)
    assert 1 <= tried <= 2
    bench.channels[OLGA].faults = []
    bench.connect(OLGA)
    await clock.advance(6)
    assert bench.texts() == [TROUBLE[Locale.EN]]


async def test_an_end_that_does_not_last_is_not_told(bench: Bench, clock: FakeClock) -> None:
    for _ in range(30):
        bench.alerts.tell_soon("model", TROUBLE)
        await clock.advance(60)
        bench.alerts.over_soon("model", OVER, settle_s=180)
        await clock.advance(60)
    assert bench.texts() == [TROUBLE[Locale.EN]]
    await clock.advance(120)
    assert bench.texts() == [TROUBLE[Locale.EN], OVER[Locale.EN]]


async def test_a_report_of_what_is_past_ends_by_itself_and_the_next_waits_for_the_quiet_hour(bench: Bench) -> None:
    bench.alerts.report_soon("unread", TROUBLE)
    await bench.clock.advance(60)
    assert bench.texts() == [TROUBLE[Locale.EN]]
    bench.alerts.report_soon("unread", OVER)
    await bench.clock.advance(60)
    assert bench.texts() == [TROUBLE[Locale.EN]]
    await bench.clock.advance(QUIET_S)
    assert bench.texts() == [TROUBLE[Locale.EN], OVER[Locale.EN]]
    await bench.clock.advance(QUIET_S)
    assert not bench.alerts.open_now()
    await bench.alerts.close()
