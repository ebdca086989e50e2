"""Everybody is told once, at a pace, and after a restart it goes on where it stopped."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest

from core.delivery.notifier import Notifier
from core.errors import ChannelBusy, ChannelError, ChannelGone, StorageError
from core.features.broadcast.commands import Broadcaster
from core.features.broadcast.storage import Broadcasts, BroadcastState, ReceiptCount
from core.outgoing import ChannelLimits, OutgoingMessage
from core.ports import Channel
from core.storage.database import Database
from core.storage.sqlite import open_database
from core.types import Locale, UserKey
from core.workers.port import Worker
from tests.fakes.channel import OneChannel, RecordingChannel
from tests.fakes.clock import START, FakeClock

OWNER = UserKey("telegram", "0")
MANY = tuple(UserKey("telegram", str(each)) for each in range(1, 6))
TEXT = "Novo horário: 9 às 18."


@dataclass
class Town:
    """People with a private chat each, on a real database that can be opened again."""

    database: Database
    clock: FakeClock = field(default_factory=FakeClock)
    chats: dict[UserKey, RecordingChannel] = field(default_factory=dict)
    unwilling: set[UserKey] = field(default_factory=set)

    @property
    def store(self) -> Broadcasts:
        return Broadcasts(self.database)

    def chat(self, user: UserKey) -> RecordingChannel:
        return self.chats.setdefault(user, RecordingChannel(self.clock, ChannelLimits(4096, 0.0)))

    def told(self) -> dict[str, list[str]]:
        return {user.user: chat.texts for user, chat in self.chats.items() if chat.texts}

    async def begin(self, *users: UserKey) -> int:
        drafted = await self.store.draft(OWNER, Locale.PT, TEXT, START)
        assert await self.store.begin(drafted.id, users)
        return drafted.id

    @asynccontextmanager
    async def working(self, *, connected: bool = True, stop: asyncio.Event | None = None) -> AsyncIterator[Notifier]:
        """A start of the bot, until the end of the block."""
        notifier = Notifier(self.clock)

        async def wants(user: UserKey) -> bool:
            return user not in self.unwilling

        broadcaster = Broadcaster(self.store, notifier, wants, self.clock, Worker(), interval_s=1.0)
        async with broadcaster.until(stop or asyncio.Event()):
            if connected:
                self.connect(notifier)
            yield notifier

    def connect(self, notifier: Notifier) -> None:
        def private(user: UserKey) -> Channel:
            return self.chat(user)

        notifier.connect("telegram", OneChannel(RecordingChannel(self.clock), private))

    async def pass_(self, seconds: float) -> None:
        """Let time pass, and SQLite's threads do what is due at each step: they work in the order they are asked."""
        for _ in range(round(seconds * 2)):
            await self.clock.advance(0.5)
            for _ in range(20):
                await self.database.rows("SELECT 1")
                await self.database.write(lambda _: None)


@pytest.fixture
async def town(tmp_path: Path) -> AsyncIterator[Town]:
    database = await open_database(tmp_path / "elefante.db")
    yield Town(database)
    await database.close()


async def test_everybody_is_told_once_one_a_second_and_the_owner_how_it_went(town: Town) -> None:
    number = await town.begin(*MANY)
    async with town.working():
        await town.pass_(0.5)
        assert town.told() == {"1": [TEXT]}
        await town.pass_(30)
        for _ in range(100):  # a busy machine tells the owner later
            if "0" not in town.told():
                await town.pass_(1)
    assert town.told() == {
        **{user.user: [TEXT] for user in MANY},
        "0": ["O comunicado terminou: 5 pessoas o receberam."],
    }
    times = [chat.log[0].at_s for user, chat in town.chats.items() if user != OWNER]
    assert all(later - earlier >= 1.0 for earlier, later in pairwise(times))
    over = await town.store.newest()
    assert over is not None
    assert (over.state, over.text) == (BroadcastState.DONE, "")
    assert await town.store.tally(number) == ReceiptCount(told=5)


async def test_who_cannot_be_reached_is_counted_and_stops_nobody(town: Town) -> None:
    town.chat(MANY[0]).faults = [ChannelGone("blocked")]
    town.chat(MANY[2]).faults = [ChannelError("refused")] * 2
    number = await town.begin(*MANY)
    async with town.working():
        await town.pass_(30)
    assert await town.store.tally(number) == ReceiptCount(told=3, unreachable=2)
    assert town.told()["0"] == [
        "O comunicado terminou: 3 pessoas o receberam.\n2 pessoas não puderam ser alcançadas.",
    ]


async def test_a_flood_wait_is_obeyed_and_nobody_is_lost(town: Town) -> None:
    town.chat(MANY[1]).faults = [ChannelBusy(35.0)]
    number = await town.begin(*MANY)
    async with town.working():
        await town.pass_(20)
        assert await town.store.tally(number) == ReceiptCount(told=1, waiting=4)
        await town.pass_(25)
    assert await town.store.tally(number) == ReceiptCount(told=5)
    assert town.chat(MANY[1]).log[0].at_s >= 36.0


async def test_who_does_not_want_it_any_more_is_not_told_and_not_counted(town: Town) -> None:
    town.unwilling = {MANY[1], MANY[4]}
    number = await town.begin(*MANY)
    async with town.working():
        await town.pass_(30)
    assert sorted(town.told()) == ["0", "1", "3", "4"]
    assert await town.store.tally(number) == ReceiptCount(told=3)


async def test_it_goes_on_at_the_next_start_once_the_platform_is_connected(town: Town) -> None:
    number = await town.begin(*MANY)
    async with town.working():
        await town.pass_(2)
    told = dict(town.told())
    assert 0 < len(told) < 5
    async with town.working(connected=False) as notifier:
        await town.pass_(5)
        assert town.told() == told
        town.connect(notifier)
        await town.pass_(30)
    assert all(texts == [TEXT] for user, texts in town.told().items() if user != "0")
    assert await town.store.tally(number) == ReceiptCount(told=5)


async def test_who_was_being_told_when_it_broke_off_may_be_told_again_with_a_mark(town: Town) -> None:
    number = await town.begin(*MANY)
    assert await town.store.take(number, ("telegram",)) == (MANY[0], False)  # and then the lights went out
    async with town.working():
        await town.pass_(30)
    assert town.told()["1"] == [f"↻ {TEXT}"]
    assert [town.told()[user.user] for user in MANY[1:]] == [[TEXT]] * 4


async def test_what_was_cancelled_reaches_nobody_else_and_is_not_announced(town: Town) -> None:
    number = await town.begin(*MANY)
    async with town.working():
        await town.pass_(0.5)
        assert await town.store.end(number, BroadcastState.CANCELLED)
        await town.pass_(30)
    assert town.told() == {"1": [TEXT]}


async def test_one_that_is_cancelled_at_its_very_end_is_not_announced(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = await town.begin(MANY[0])
    tally = Broadcasts.tally

    async def cancelling(self: Broadcasts, number: int) -> ReceiptCount:
        await self.end(number, BroadcastState.CANCELLED)
        return await tally(self, number)

    monkeypatch.setattr(Broadcasts, "tally", cancelling)
    async with town.working():
        await town.pass_(4)
    assert town.told() == {"1": [TEXT]}
    over = await town.store.newest()
    assert over is not None
    assert over.state is BroadcastState.CANCELLED
    assert await tally(Broadcasts(town.database), number) == ReceiptCount(told=1)


async def test_what_is_on_its_way_when_the_bot_stops_has_a_moment_left(town: Town) -> None:
    town.chat(MANY[0]).faults = [ChannelBusy(500.0)]
    number = await town.begin(*MANY)
    async with town.working():
        await town.pass_(2)
        leaving = asyncio.get_running_loop().time()
        moving = asyncio.create_task(town.pass_(10))
    assert asyncio.get_running_loop().time() - leaving < 5
    await moving
    assert town.told() == {}
    assert await town.store.take(number, ("telegram",)) == (MANY[0], True)


async def test_once_the_bot_is_stopping_nobody_is_begun_with_and_a_refusal_says_nothing_of_the_person(
    town: Town,
) -> None:
    stop = asyncio.Event()
    number = await town.begin(*MANY)
    town.chat(MANY[1]).faults = [ChannelBusy(2.0), *[ChannelError("the client was closed")] * 2]
    async with town.working(stop=stop):
        await town.pass_(2)
        stop.set()
        await town.pass_(30)
    assert town.told() == {"1": [TEXT]}
    assert await town.store.tally(number) == ReceiptCount(told=1, waiting=4)
    assert await town.store.take(number, ("telegram",)) == (MANY[1], True)


async def test_a_platform_that_has_ended_is_waited_for_and_refuses_nobody(town: Town) -> None:
    number = await town.begin(*MANY)
    async with town.working() as notifier:
        await town.pass_(0.5)
        notifier.disconnect("telegram")
        notifier.disconnect("discord")
        await town.pass_(30)
        assert await town.store.tally(number) == ReceiptCount(told=1, waiting=4)
        assert not await notifier.tell(MANY[0], OutgoingMessage("hello"))
        town.connect(notifier)
        await town.pass_(30)
    assert await town.store.tally(number) == ReceiptCount(told=5)


async def test_whose_broadcast_it_was_may_be_forgotten_meanwhile(town: Town) -> None:
    number = await town.begin(*MANY)
    await town.store.forget(OWNER)
    async with town.working():
        await town.pass_(30)
    assert await town.store.tally(number) == ReceiptCount(told=5)
    assert "0" not in town.told()


@contextmanager
def broken(broadcaster_store: type[Broadcasts], error: Exception) -> Iterator[list[int]]:
    """Have the store fail once when it is asked who is next."""
    original, calls = broadcaster_store.take, [0]

    async def take(self: Broadcasts, number: int, platforms: tuple[str, ...]) -> tuple[UserKey, bool] | None:
        calls[0] += 1
        if calls[0] == 2:
            raise error
        return await original(self, number, platforms)

    broadcaster_store.take = take  # type: ignore[method-assign,assignment]
    try:
        yield calls
    finally:
        broadcaster_store.take = original  # type: ignore[method-assign]


async def test_a_disk_that_refuses_is_tried_again_a_minute_later(town: Town, caplog: pytest.LogCaptureFixture) -> None:
    number = await town.begin(*MANY)
    with broken(Broadcasts, StorageError("full")):
        async with town.working():
            await town.pass_(30)
            assert await town.store.tally(number) == ReceiptCount(told=1, waiting=4)
            await town.pass_(65)
    assert await town.store.tally(number) == ReceiptCount(told=5)
    assert "broadcast waits" in caplog.messages


async def test_what_nobody_foresaw_is_logged_and_loses_nobody(town: Town, caplog: pytest.LogCaptureFixture) -> None:
    number = await town.begin(*MANY)
    with broken(Broadcasts, RuntimeError("closed")):
        async with town.working():
            await town.pass_(5)
    assert [record.levelno for record in caplog.records if record.message == "broadcast broke"] == [logging.ERROR]
    assert await town.store.tally(number) == ReceiptCount(told=1, waiting=4)
