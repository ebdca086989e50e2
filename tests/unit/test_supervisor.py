"""A platform that ended is tried again, with its settings read anew, and owners are told once."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from adapters.running import Session
from bot.logs import JsonLines
from bot.platforms import Platform, Start
from bot.settings.settings import Settings, load
from bot.supervisor import Supervisor
from bot.wiring import App, build, open_chatbot
from core.errors import BotError, ChannelBusy, ConfigError
from core.features.admin.machine import Link
from core.ports import MessageHandler
from core.types import ChatKey, Incoming, Locale, UserKey
from tests.fakes.channel import OneChannel, RecordingChannel
from tests.fakes.clock import START, FakeClock

OLGA = UserKey("discord", "1")
REVOKED = ConfigError("TELEGRAM_TOKEN", "Telegram does not know it")
BOTH = ("telegram", "discord")


@dataclass
class Scene:
    """A bot on platforms that end when a test says so."""

    app: App
    clock: FakeClock
    handler: MessageHandler
    stop: asyncio.Event
    said: list[str] = field(default_factory=list)
    starts: list[tuple[str, float, str]] = field(default_factory=list)  # which, when, with which token of Telegram
    refused: dict[str, Exception] = field(default_factory=dict)
    ends: dict[str, asyncio.Future[None]] = field(default_factory=dict)
    connected: dict[str, Callable[[bool], None]] = field(default_factory=dict)
    read: Callable[[], Settings] = load

    def __post_init__(self) -> None:
        self.owner = RecordingChannel(self.clock)

    async def _stopped(self) -> None:
        await self.stop.wait()

    def platform(self, name: str) -> Platform:
        async def run(start: Start) -> None:
            self.starts.append((name, self.clock.monotonic(), start.app.settings.telegram_token.get_secret_value()))
            if name in self.refused:
                raise self.refused[name]
            session = Session(name, start.handler, self.clock, 60.0)
            await session.resume(OneChannel(self.owner))
            start.connected(True)
            self.connected[name] = start.connected
            self.ends[name] = asyncio.get_running_loop().create_future()
            stopping = asyncio.ensure_future(self._stopped())
            try:
                await asyncio.wait([stopping, self.ends[name]], return_when=asyncio.FIRST_COMPLETED)
                if self.ends[name].done():
                    self.ends[name].result()
            finally:
                stopping.cancel()
                await session.drain(0.0)

        async def about(_: Settings) -> list[str]:
            return []

        return Platform(f"{name.upper()}_TOKEN", run, about)

    def settings_now(self) -> Settings:
        return self.read()

    def state(self, name: str) -> tuple[Link, float, str]:
        """Return the connection, since when in seconds of the test, and why it ended."""
        state = self.app.features.platforms.all[name]
        return state.link, (state.since - START).total_seconds(), state.reason

    @property
    def told(self) -> list[str]:
        return [text for text in self.owner.texts if text.removeprefix("⚠️ ").startswith("Telegram: ")]

    async def end(self, name: str, failure: Exception) -> None:
        """End a platform that is connected, and wait until that is noted."""
        self.ends[name].set_exception(failure)
        await self.until(lambda: self.state(name)[0] is Link.ENDED)

    async def until(self, condition: Callable[[], bool], step_s: float = 0.0) -> None:
        """Wait for what the database's thread is asked for, and let time pass meanwhile."""
        async with asyncio.timeout(60):
            while not condition():
                await self.clock.advance(step_s)

    async def until_connected(self, name: str) -> None:
        await self.until(lambda: self.state(name)[0] is Link.CONNECTED)


def settings(**more: object) -> Settings:
    written = {"telegram_token": "1:old", "discord_token": "a.b.c", "language": "en", "storage_url": "memory:"}
    return load(None, **(written | more))


@asynccontextmanager
async def running(
    *platforms: str, refused: Sequence[str] = (), **more: object
) -> AsyncIterator[tuple[Scene, asyncio.Task[BaseException | None]]]:
    clock = FakeClock()
    async with build(settings(**more), clock=clock) as app, open_chatbot(app) as bot:
        await app.features.access.own(OLGA, "Olga")
        scene = Scene(app, clock, bot, asyncio.Event(), refused=dict.fromkeys(refused, REVOKED), read=settings)
        supervisor = Supervisor(
            Start(app, bot, scene.stop, scene.said.append),
            {name: scene.platform(name) for name in platforms},
            reload=scene.settings_now,
        )
        task = asyncio.create_task(supervisor.run())
        for name in platforms:
            await scene.until(lambda name=name: name in refused or scene.state(name)[0] is Link.CONNECTED)  # type: ignore[misc]
        yield scene, task
        scene.stop.set()
        await scene.until(task.done)


async def test_a_platform_that_ended_is_tried_again_later_and_later() -> None:
    async with running(*BOTH) as (scene, task):
        assert scene.state("telegram") == (Link.CONNECTED, 0, "")
        scene.refused["telegram"] = REVOKED
        await scene.end("telegram", REVOKED)
        assert scene.state("telegram") == (Link.ENDED, 0, str(REVOKED))
        await scene.clock.advance(1300)
        tried = [at_s for name, at_s, _ in scene.starts if name == "telegram"]
        assert tried == [0, 5, 15, 35, 75, 155, 315, 615, 915, 1215]
        assert scene.state("telegram") == (Link.ENDED, 0, str(REVOKED))  # since it ended, not since the last attempt
        assert scene.state("discord")[0] is Link.CONNECTED
        assert not task.done()
        await scene.until(lambda: bool(scene.told))
        assert len(scene.told) == 1
        assert scene.told[0].startswith("⚠️ Telegram: I have stopped working there. Most likely TELEGRAM_TOKEN")
        assert len(scene.said) == 1

        del scene.refused["telegram"]
        await scene.clock.advance(215)
        await scene.until_connected("telegram")
        assert scene.state("telegram")[:2] == (Link.CONNECTED, 1515)
        await scene.until(lambda: len(scene.told) == 2)
        assert "I keep answering on Discord" in scene.told[0]
        away = "Telegram: I am connected again. For 25 min I could not answer anybody there."
        assert scene.told[1:] == [away]

        await scene.end("telegram", REVOKED)
        await scene.clock.advance(300)  # it was at work for too short a time to begin at 5 s
        await scene.until_connected("telegram")
        await scene.clock.advance(60)
        assert len(scene.told) == 2  # no flood within the hour


async def test_the_owner_of_the_only_platform_hears_of_the_reconnection_and_where_else_nobody_was_answered() -> None:
    posted: list[str] = []

    async def post(text: str) -> bool:
        posted.append(text)
        return True

    async with running("discord") as (scene, _):
        await scene.app.features.alerts.keep_in(scene.app.kept, post)
        scene.refused["discord"] = ConfigError("DISCORD_TOKEN", "Discord does not know it")
        await scene.end("discord", REVOKED)
        await scene.until(lambda: bool(posted))
        assert "Until then I answer nobody" in posted[0]
        assert "keep answering" not in posted[0]
        assert "/admin" not in posted[0], "nobody can write that now"
        assert scene.owner.texts == []
        await scene.clock.advance(200)
        scene.refused.clear()
        await scene.until(lambda: scene.state("discord")[0] is Link.CONNECTED, 5)
        await scene.until(lambda: len(scene.owner.texts) == len(posted[1:]) == 1, 1)
        # How many minutes go by depends on how long the database's thread takes for what stands between.
        again = r"Discord: I am connected again\. For \d+ min I could not answer anybody there\."
        assert re.fullmatch(again, posted[1])
        await scene.clock.advance(7200)
        assert scene.owner.texts == posted[1:]


async def test_who_was_away_for_seconds_says_nothing_of_it_where_nobody_noticed() -> None:
    async with running("discord") as (scene, _):
        await scene.end("discord", RuntimeError("a bug"))
        await scene.until(lambda: scene.state("discord")[0] is Link.CONNECTED, 5)
        await scene.clock.advance(7200)
        assert scene.owner.texts == []


async def test_its_settings_are_read_anew_and_no_others(caplog: pytest.LogCaptureFixture) -> None:
    async with running(*BOTH) as (scene, _):
        scene.refused["telegram"] = REVOKED
        await scene.end("telegram", REVOKED)

        def broken() -> Settings:
            raise ConfigError("MAX_STEPS", "write a number")

        scene.read = broken
        await scene.clock.advance(5)
        assert scene.state("telegram")[2] == "MAX_STEPS: write a number"
        scene.read = lambda: settings(telegram_token="")
        await scene.clock.advance(10)
        assert scene.state("telegram")[2] == "TELEGRAM_TOKEN: it was removed; write it again, or start without it"

        del scene.refused["telegram"]
        new = settings(telegram_token="2:new", telegram_drafts=True, discord_token="d.e.f", max_steps=3)
        scene.read = lambda: new
        handler = logging.StreamHandler()
        handler.setFormatter(JsonLines())
        logging.getLogger().addHandler(handler)
        await scene.clock.advance(20)
        await scene.until_connected("telegram")
        logging.getLogger().removeHandler(handler)
        assert scene.starts[-1] == ("telegram", 35.0, "2:new")
        assert handler.format(logging.makeLogRecord({"name": "bot", "msg": "bot2:new/getMe"})).count("•••") == 1
        taken = scene_settings(scene)
        assert (taken.telegram_drafts, taken.max_steps) == (True, 8)
        assert taken.discord_token.get_secret_value() == "a.b.c"
        errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
        assert errors == ["alarm platform:telegram"]


def scene_settings(scene: Scene) -> Settings:
    """Return what the telegram platform would take over now."""
    return scene.platform("telegram").take_over(settings(), scene.read())


async def test_owners_and_a_signal_try_at_once() -> None:
    async with running(*BOTH) as (scene, _):
        await scene.end("telegram", REVOKED)
        await scene.clock.advance(1)
        assert scene.state("telegram")[0] is Link.ENDED
        scene.app.features.platforms.retry()
        await scene.until_connected("telegram")
        assert scene.state("telegram")[:2] == (Link.CONNECTED, 1)
        scene.app.features.platforms.retry()  # nothing waits
        await scene.clock.advance(0)
        assert [name for name, *_ in scene.starts] == ["telegram", "discord", "telegram"]


@pytest.mark.parametrize("refused", [("telegram",), BOTH])
async def test_where_all_are_refused_at_the_start_the_first_says_why(refused: tuple[str, ...]) -> None:
    async with running(*refused, refused=refused) as (scene, task):
        assert await task is REVOKED
        assert scene.stop.is_set()
        assert len(scene.starts) == len(refused)


async def test_one_that_is_refused_at_the_start_is_tried_again_beside_another() -> None:
    async with running(*BOTH, refused=["telegram"]) as (scene, task):
        assert scene.state("telegram")[0] is Link.ENDED
        await scene.clock.advance(5)
        assert [name for name, *_ in scene.starts] == ["telegram", "discord", "telegram"]
        assert not task.done()
        await scene.until(lambda: len(scene.told) == 1)


async def test_the_whole_ends_with_a_platform_where_that_is_wanted() -> None:
    async with running(*BOTH, on_platform_end="exit") as (scene, task):
        scene.ends["telegram"].set_exception(REVOKED)
        await scene.until(task.done, step_s=1.0)
        failure = await task
        assert isinstance(failure, BotError)
        assert not isinstance(failure, ConfigError)
        assert str(failure) == f"telegram ended: {REVOKED}"
        [told] = scene.told
        assert "I end now (ON_PLATFORM_END=exit)" in told
        assert "I connect again by myself" not in told
        assert len(scene.starts) == 2


async def test_a_platform_that_cannot_be_reached_counts_as_not_connected() -> None:
    async with running(*BOTH) as (scene, _):
        await scene.clock.advance(60)
        scene.connected["telegram"](False)
        scene.connected["telegram"](False)
        await scene.clock.advance(60)
        assert scene.state("telegram") == (Link.CONNECTING, 60, "")
        scene.connected["telegram"](True)
        await scene.clock.advance(60)
        assert scene.state("telegram") == (Link.CONNECTED, 120, "")
        assert scene.told == []  # it is nothing that owners can end


@pytest.mark.long
async def test_a_hundred_starts_leave_nothing_behind() -> None:
    async with running(*BOTH) as (scene, _):
        alive, connections = len(asyncio.all_tasks()), 0

        def count() -> None:
            nonlocal connections
            connections += 1

        notifier = scene.app.features.notifier
        notifier.on_connect(count)
        for _ in range(100):
            await scene.end("telegram", OSError("secret words"))
            assert set(notifier.platforms) == {"discord"}
            scene.app.features.platforms.retry()
            await scene.until_connected("telegram")
            assert set(notifier.platforms) == set(BOTH)
        await scene.until(lambda: len(asyncio.all_tasks()) <= alive + 1, step_s=1.0)  # an alarm waits for its hour
        assert connections == 100
        assert "secret" not in "".join(scene.said)


async def test_an_answer_that_was_under_way_is_given_once_when_it_is_connected_again() -> None:
    async with running(*BOTH, access="open") as (scene, _):
        chat, at = ChatKey("telegram", "7"), scene.clock.now()
        incoming = Incoming(chat, UserKey("telegram", "7"), "Ana", "1", "hello there", at, private=True)
        stuck = RecordingChannel(scene.clock)
        stuck.faults = [ChannelBusy(10_000.0)] * 9
        await scene.handler.receive(incoming, stuck)
        await scene.until(lambda: len(stuck.faults) < 9)
        scene.ends["telegram"].set_exception(REVOKED)
        await scene.until(lambda: scene.state("telegram")[0] is Link.ENDED, step_s=0.1)  # its last words get 2 s
        before = len(scene.owner.texts)
        await scene.clock.advance(5)
        await scene.until_connected("telegram")
        async with asyncio.timeout(60):
            while await scene.app.parts.inbox.owed("telegram"):
                await scene.clock.advance(1)
        assert stuck.texts == []
        assert len([text for text in scene.owner.texts[before:] if "Telegram" not in text]) == 1


async def test_the_status_tells_what_else_is_the_matter_and_since_when() -> None:
    async with running(*BOTH) as (scene, _):
        scene.app.features.alerts.tell("disk", dict.fromkeys(Locale, "The disk is full."))
        await scene.end("telegram", REVOKED)
        await scene.clock.advance(61)
        shown = RecordingChannel(scene.clock)
        asked = Incoming(ChatKey("discord", "d"), OLGA, "Olga", "1", "/admin status", START, private=True)
        await (await scene.handler.receive(asked, shown))
        assert "For 1 min: The disk is full." in shown.texts[0].splitlines()
        assert "I have stopped" not in shown.texts[0]
