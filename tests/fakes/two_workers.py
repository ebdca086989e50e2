"""Two whole bots of one owner over one PostgreSQL, and the platform on which people write to either of them."""

from __future__ import annotations

import asyncio
import itertools
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from bot.settings.settings import load
from bot.wiring import App, build
from core.answering.chatbot import ChatBot
from core.dialogue import Prompt, StreamEvent
from core.errors import ClaimLost
from core.features.access.storage import Person
from core.models import HotModel
from core.outgoing import Button, ChannelLimits, OutgoingMessage
from core.ports import Channel, Channels, ChatModel
from core.types import ChatKey, Incoming, Role, UserKey
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
