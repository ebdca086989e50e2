"""What a person reads of two workers: whatever one of them asked, saved or was told, the other knows."""

from __future__ import annotations

import asyncio
import itertools
import re
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest

from bot.settings.settings import load
from bot.wiring import App, build
from core.answering.chatbot import ChatBot
from core.delivery.alerts import HAS_ROOM, IS_FULL
from core.dialogue import Prompt, StreamEvent
from core.errors import ClaimLost
from core.features.access.storage import Person
from core.features.reminders.scheduler import Scheduler
from core.models import HotModel
from core.outgoing import Button, ChannelLimits, OutgoingMessage
from core.ports import Channel, Channels, ChatModel
from core.types import ChatKey, Incoming, Locale, Role, UserKey
from core.workers.cluster import ClusterWorker
from tests.fakes.channel import RecordingChannel
from tests.fakes.clock import FakeClock
from tests.fakes.workers import Plug, PluggedChannel
from tests.postgres import database_of

PLATFORM = "telegram"
OLGA, ANA, BIA = (UserKey(PLATFORM, name) for name in ("olga", "ana", "bia"))
_PATIENCE_S = 60.0


@dataclass(eq=False)
class Held(ChatModel):
    """A model that answers while its gate is open; `asked` is set once it is asked something."""

    model: ChatModel
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def name(self) -> str:
        return self.model.name

    @asynccontextmanager
    async def stream(self, prompt: Prompt) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        self.asked.set()
        await self.gate.wait()
        async with self.model.stream(prompt) as events:
            yield events


@dataclass(eq=False)
class Bot(Channels):
    """One worker."""

    app: App
    chatbot: ChatBot
    office: Office
    plug: Plug = field(default_factory=Plug)

    def again(self, incoming: Incoming) -> Channel:
        return PluggedChannel(self.office.screen(incoming.chat.chat), self.plug)

    def private(self, user: UserKey, once: str = "") -> Channel:  # noqa: ARG002
        return PluggedChannel(self.office.screen(user.user), self.plug)

    async def die(self) -> None:
        """Let other workers take it for dead; what it was writing hangs, from `plug.pull` to `plug.push`."""
        assert isinstance(self.app.worker, ClusterWorker)
        await self.app.database.rows("DELETE FROM workers WHERE id = ? RETURNING id", (self.app.worker.id,))

    async def say(
        self,
        text: str,
        user: UserKey = ANA,
        *,
        chat: str = "",
        pressed: bool = False,
        edits: str = "",
        message: str = "",
    ) -> str:
        """Let a message come to this worker; return what stands last in its chat once it was answered."""
        room = chat or user.user
        incoming = Incoming(
            ChatKey(PLATFORM, room),
            user,
            user.user.title(),
            message or f"n{next(self.office.numbers)}",
            text,
            self.office.clock.now(),
            private=not chat,
            language="en",
            pressed=pressed,
            edits=edits,
        )
        with suppress(ClaimLost):
            await (await self.chatbot.receive(incoming, self.office.screen(room)))
        return self.office.last(room).text

    def begin(self, text: str, user: UserKey = ANA, *, chat: str = "", pressed: bool = False) -> asyncio.Task[str]:
        """Let a message come whose answer takes its time."""
        return self.office.tasks.create_task(self.say(text, user, chat=chat, pressed=pressed))

    async def press(self, label: str, user: UserKey = ANA, *, chat: str = "") -> str:
        """Press a button of the last message in a chat."""
        return await self.say(self.office.button(label, chat or user.user).command, user, chat=chat, pressed=True)

    def hold(self) -> Held:
        """Let its models answer once the gate is opened."""
        models = self.app.parts.services.models
        held = Held(models.heavy)
        for mode in (models.heavy, models.reasoning, models.chat):
            assert isinstance(mode, HotModel)
            mode.model = Held(mode.model, held.gate, held.asked)
        return held


@dataclass(eq=False)
class Office:
    """The workers, their clock and what stands in each chat."""

    clock: FakeClock = field(default_factory=FakeClock)
    numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    bots: list[Bot] = field(default_factory=list)
    tasks: asyncio.TaskGroup = field(default_factory=asyncio.TaskGroup)
    _screens: dict[str, RecordingChannel] = field(default_factory=dict)

    def screen(self, chat: str) -> RecordingChannel:
        limits = ChannelLimits(max_chars=4096, edit_interval_s=0.0)
        return self._screens.setdefault(chat, RecordingChannel(self.clock, limits))

    def last(self, chat: str) -> OutgoingMessage:
        shown = self.screen(chat).screen
        return shown[-1] if shown else OutgoingMessage("")

    def texts(self, user: UserKey) -> list[str]:
        return self.screen(user.user).texts

    def button(self, label: str, chat: str) -> Button:
        shown = self.last(chat)
        buttons = [each for each in (*shown.choices, *shown.menu) if label in each.label]
        assert len(buttons) == 1, (label, shown)
        return buttons[0]

    def code(self, user: UserKey, before: str = "") -> str:
        """Return the code that the last message asks for."""
        [code] = re.findall(before + r"\b([A-Z0-9]{4}(?:-[A-Z0-9]{4})?)\b", self.last(user.user).text)[:1]
        return str(code)

    async def settled(self) -> None:
        """Return when every message was answered and no chat is claimed."""
        owed = "SELECT name FROM claims WHERE name LIKE 'chat:%' UNION SELECT chat FROM inbox WHERE payload IS NOT NULL"
        patience = time.monotonic() + _PATIENCE_S
        while await self.bots[0].app.database.rows(owed):
            assert time.monotonic() < patience, {chat: screen.texts for chat, screen in self._screens.items()}
            await asyncio.sleep(0.005)

    async def until(self, is_so: Callable[[], bool], *, ticking: bool = False) -> None:
        """Return when that is so; while it is not, a second passes again and again if the clock is `ticking`."""
        patience = time.monotonic() + _PATIENCE_S
        while not is_so():
            assert time.monotonic() < patience, {chat: screen.texts for chat, screen in self._screens.items()}
            if ticking:
                await self.clock.advance(1.0)
            await asyncio.sleep(0.005)

    async def found(self, sql: str, *, ticking: bool = False) -> None:
        """Return when a query finds something; until then a second passes again and again if the clock is `ticking`."""
        patience = time.monotonic() + _PATIENCE_S
        while not await self.bots[0].app.database.rows(sql):
            assert time.monotonic() < patience, sql
            if ticking:
                await self.clock.advance(1.0)


@asynccontextmanager
async def two_workers(
    folder: Path, *, owned: bool = True, **settings: object
) -> AsyncIterator[tuple[Bot, Bot, Office]]:
    """Give two workers; Olga owns the bot, Ana and Bia are members, unless nobody has owned it yet."""
    office = Office()
    async with AsyncExitStack() as stack:
        for number in range(2):
            given = load(
                None, data_dir=folder / str(number), storage_url=database_of(str(folder)), language="en", **settings
            )
            app = await stack.enter_async_context(build(given, clock=office.clock))
            assert isinstance(app.worker, ClusterWorker)
            app.worker.lease.lease_s = 1e6  # no busy machine lets it pass
            await stack.enter_async_context(app.worker.at_work())
            chatbot = await stack.enter_async_context(ChatBot(app.parts))
            bot = Bot(app, chatbot, office)
            await chatbot.resume(PLATFORM, bot)
            stack.push_async_callback(chatbot.leave, PLATFORM)
            office.bots.append(bot)
        await stack.enter_async_context(office.tasks)
        first, second = office.bots
        for user, role in ((OLGA, Role.OWNER), (ANA, Role.MEMBER), (BIA, Role.MEMBER)) if owned else ():
            await first.app.features.access.people.put(Person(user, role, user.user.title(), office.clock.now()))
        yield first, second, office


NEWS: Final = "Closed on Sunday"

LOCKER = "my locker code is 4417"


async def test_a_number_means_the_list_that_was_shown_last_by_whichever_worker(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (a, b, _):
        await a.say("/remember my bike is green")
        await b.say("/memories")
        await a.say("/remember my car is red")
        assert "1. 🧠 car" in await a.say("/memories")
        assert "car is red" in await b.say("/forget 1")
        for text in ("/remind water the plants tomorrow at 9", "/remind call the bank tomorrow at 8"):
            await b.say(text)
            await a.say("/reminders")
        shown = await b.say("/reminders")
        assert shown.index("1. ") < shown.index("call the bank") < shown.index("2. ")
        assert "call the bank" in await a.say("/reminders delete 1")


async def test_what_one_worker_asked_is_answered_at_the_other_once(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (a, b, office):
        await a.say(f"remember that {LOCKER}")
        assert "4417" in await b.say("what is my locker code?")
        assert "4417" in await a.say("forget my locker code")
        assert "Deleted" in await b.say("yes")
        assert "Back again" in await a.say("/undo")
        await b.say("forget my locker code")
        assert "Deleted" in await a.press("Delete")
        assert "Back again" in await b.say("/undo")
        await a.say("forget my locker code")
        seen = len(office.texts(ANA))
        yes = office.button("Delete", ANA.user).command
        await asyncio.gather(*(bot.say(yes, pressed=True) for bot in (a, b)))
        await office.settled()
        assert sum("Deleted" in text for text in office.texts(ANA)[seen - 1 :]) == 1
        seen = len(office.texts(ANA))
        below = [button for shown in office.screen(ANA.user).screen for button in shown.choices]
        undo = [button.command for button in below if "Undo" in button.label][-1]
        await asyncio.gather(*(bot.say(undo, pressed=True) for bot in (a, b)))
        await office.settled()
        assert sum("Back again" in text for text in office.texts(ANA)[seen:]) == 1
        assert "4417" in await b.say("/memories")


@pytest.mark.long
async def test_nothing_is_stored_of_who_was_forgotten_while_another_worker_answered_them(tmp_path: Path) -> None:
    async with two_workers(tmp_path, access="open") as (a, b, office):
        await a.say("remember that my zqlocker code is 4417")
        held = b.hold()
        answer = b.begin("remember that my zqbike is green", chat="room")
        await held.asked.wait()
        other = b.begin("remember that my car is red", BIA, chat="room")
        await a.say("/forget all")
        assert "forgotten" in await a.say(f"/forget all {office.code(ANA, 'all ')}")
        held.gate.set()
        await asyncio.gather(answer, other, return_exceptions=True)  # they may end as cancelled
        await office.settled()
        assert await left(a, r"zqlocker|zqbike|\bana\b") == []
        assert "zq" not in "".join(office.screen("room").texts)
        assert "car is red" in "".join(office.screen("room").texts), "others are answered"


@pytest.mark.long
async def test_what_a_worker_read_before_somebody_was_forgotten_is_not_answered_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with two_workers(tmp_path, access="open") as (a, b, office):
        intake, is_read, go_on = b.chatbot.intake, asyncio.Event(), asyncio.Event()
        owed = intake._inbox.owed

        async def read(platform: str, chats: Collection[str] | None = None) -> Mapping[Incoming, Sequence[str]]:
            found = await owed(platform, chats)
            if any(incoming.user == ANA for incoming in found):
                is_read.set()
                await go_on.wait()
            return found

        async def nothing() -> Mapping[str, object]:
            return {}

        monkeypatch.setattr(intake._inbox, "owed", read)
        monkeypatch.setattr(a.app.worker, "owed", nothing)  # it leaves the room to the other
        held = b.hold()
        answer = b.begin("remember that my car is red", BIA, chat="room")
        await held.asked.wait()
        await a.say("remember that my zqbike is green", chat="room")
        await is_read.wait()
        claim = intake._chats["telegram:room"].claim
        await a.say("/forget all")
        assert "forgotten" in await a.say(f"/forget all {office.code(ANA, 'all ')}")
        other = b.begin("remember that my hat is blue", BIA, chat="room")
        await office.until(lambda: intake._chats["telegram:room"].claim not in {claim, None}, ticking=True)
        go_on.set()
        held.gate.set()
        await asyncio.gather(answer, other, return_exceptions=True)
        await office.settled()
        assert await left(a, r"zqbike|\bana\b") == []
        assert all(words in "".join(office.screen("room").texts) for words in ("car is red", "hat is blue"))


async def test_what_comes_to_both_workers_acts_and_counts_once(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (a, b, office):
        await a.say(f"/admin quota {ANA} messages_minute=2", OLGA)
        await asyncio.gather(*(bot.say("/remember my bike is green", message="n0") for bot in (a, b)))
        await office.settled()
        assert "(1)" in await a.say("/memories")
        assert "slow down" in await b.say("/memories")
        await a.say(f"/admin broadcast {NEWS}", OLGA)
        send = office.last(OLGA.user).choices[0].command
        await asyncio.gather(*(bot.say(send, OLGA, pressed=True) for bot in (a, b)))
        await office.settled()
        assert sum("Sending to" in text for text in office.texts(OLGA)) == 1, office.texts(OLGA)


async def test_an_answer_is_stopped_and_overtaken_from_the_other_worker(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (a, b, office):
        await a.say("/remember my bike is green")
        await b.say("/memories")
        undo = office.texts(ANA)
        held = a.hold()
        answer = a.begin("what colour is my bike?")
        await held.asked.wait()
        b.begin("/undo", pressed=True)
        await office.until(lambda: any("No longer saved" in text for text in office.texts(ANA)[len(undo) :]))
        b.begin("/stop")
        await answer
        await office.settled()
        assert any("topped" in text for text in office.texts(ANA)), office.texts(ANA)
        assert not any("green" in text for text in office.texts(ANA)[len(undo) + 1 :])


@pytest.mark.long
async def test_what_an_owner_switches_at_one_worker_holds_at_the_other_at_once(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (a, b, office):
        stranger = UserKey(PLATFORM, "sam")
        await a.say("/admin pause", OLGA)
        assert "paused" in await b.say("hello")
        await b.say("/admin resume", OLGA)
        assert "paused" not in await a.say("hello")
        await a.say("/admin access open", OLGA)
        await b.say(f"/admin access open {office.code(OLGA, 'access open ')}", OLGA)
        assert "private" not in await a.say("hello", stranger)
        assert "private" not in await b.say("hello", stranger)
        await b.say("/admin access private", OLGA)
        assert "private" in await a.say("hello", UserKey(PLATFORM, "tom"))
        await a.say("/admin actions disable MemorySave", OLGA)
        assert "Saved" not in await b.say("remember that my bike is green")
        await b.say("/admin undo", OLGA)
        assert "Saved" in await a.say("remember that my bike is green")
        await a.say("/language pt", ANA)
        assert "bike" in await b.say("/memories")
        assert "Suas" in await b.say("/memories")


async def test_a_reminder_is_said_once_though_both_look_for_it(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (a, b, office):
        schedulers, stop = [bot.app.features.get(Scheduler) for bot in (a, b)], asyncio.Event()

        def said() -> list[str]:
            return [text for text in office.texts(ANA)[2:] if "plants" in text or "bank" in text]

        await a.say("/remind water the plants tomorrow at 9")
        await b.say("/remind call the bank tomorrow at 10")
        async with schedulers[0].until(stop), schedulers[1].until(stop):
            office.clock.jump(timedelta(hours=22))
            for each in schedulers:
                each.wake()
            await office.until(lambda: bool(said()), ticking=True)
            for _ in range(10):
                await office.clock.advance(1.0)
            assert [text.startswith("⏰") for text in said()] == [True], said()


@pytest.mark.long
async def test_an_alarm_and_its_end_are_told_once_by_all_workers(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (a, b, office):
        alerts = [a.app.features.alerts, b.app.features.alerts]
        for bot in (a, b):
            await bot.app.features.alerts.keep_in(bot.app.kept)
        for each in alerts:
            each.tell("disk-full", IS_FULL)
        await office.until(lambda: office.texts(OLGA) == [IS_FULL[Locale.EN]])
        for each in alerts:
            await each.catch_up()
            each.over("disk-full", HAS_ROOM)
        await office.until(lambda: len(office.texts(OLGA)) > 1)
        for each in alerts:
            await each.close(60.0)
        assert office.texts(OLGA) == [IS_FULL[Locale.EN], HAS_ROOM[Locale.EN]]


async def left(bot: Bot, words: str) -> list[str]:
    """Return the rows of the database in which that is found: whole words, for a random id has any two letters."""
    rows = bot.app.database.rows
    tables = await rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    every = [await rows(f"SELECT t::text FROM {table} AS t") for (table,) in tables]  # noqa: S608 - a name of ours
    found = [row for table in every for (row,) in table]
    return [row for row in found if re.search(words, row)]
