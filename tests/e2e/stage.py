"""A bot over real sockets and real SQLite, which is stopped and started again, and three people who talk to it.

Knows who says and presses what where, and everything that anybody was ever shown. What differs between platforms is in
`stage_telegram` and `stage_discord`.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from zoneinfo import ZoneInfo

from bot.metering import AttributedDoor, Meter
from core.chatbot import ChatBot
from core.commands.decided import ways_by
from core.history.conversation import Conversations
from core.llm import MODES, HotModel, Models
from core.mind import LimitedMind
from core.people import ALLOWED, Decision, Matter, Person, Standing
from core.ports import ChatModel, Door, Surface, Surfaces
from core.quota.limits import Defaults
from core.quota.quotas import Quotas
from core.storage.awaited import SqliteAwaited
from core.storage.broadcasts import SqliteBroadcasts
from core.storage.decisions import SqliteDecisions
from core.storage.history import SqliteHistory
from core.storage.inbox import SqliteInbox
from core.storage.ledger import SqliteLedger
from core.storage.link_codes import SqliteLinkCodes
from core.storage.memories import SqliteMemories
from core.storage.people import SqlitePeople
from core.storage.preferences import SqlitePreferences
from core.storage.sqlite import Database, open_database
from core.types import Incoming, Locale, UserKey
from tests.fakes.clock import FakeClock
from tests.fakes.house import House
from tests.fakes.machine import machine
from tests.fakes.metered import NO_PRICES
from tests.fakes.model import HashEmbedder

PRIVATE, ROOM, OTHER = "private", "room", "other"
ANA, BIA, EVA, ADA = "Ana", "Bia", "Eva", "Ada"
STANDINGS = {ANA: Standing.OWNER, BIA: Standing.MEMBER, ADA: Standing.MEMBER}
"""Eva is nobody's friend."""


@dataclass(frozen=True)
class Shown:
    """Something that was written: to whom (a person, or a room), in which message, what, with all that is below it."""

    to: str
    message: str
    text: str
    wire: str


@dataclass(frozen=True)
class Button:
    """What can be pressed: whom it is shown to, below which message, what it says and what it sends."""

    to: str
    message: str
    label: str
    data: str


class Heard(Door):
    """Hands on, and counts."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self.messages = 0

    async def receive(self, incoming: Incoming, surface: Surface) -> Awaitable[None]:
        answered = await self._door.receive(incoming, surface)
        self.messages += 1
        return answered

    async def resume(self, platform: str, surfaces: Surfaces) -> None:
        await self._door.resume(platform, surfaces)


@dataclass
class Stage(ABC):
    """One platform, and a bot on it."""

    folder: Path
    mind: ChatModel = field(default_factory=lambda: limited_mind())  # noqa: PLW0108  (it is defined below)
    clock: FakeClock = field(default_factory=FakeClock)
    limits: Defaults = field(default_factory=Defaults)
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    platform: str = ""
    house: House = field(init=False)
    bot: ChatBot = field(init=False)
    heard: Heard = field(init=False)
    said: int = 0

    @abstractmethod
    def user(self, who: str) -> UserKey:
        """Who that is to the bot."""

    @abstractmethod
    def room(self, where: str) -> str:
        """What a room is called by the bot, as PLATFORM:ID."""

    @abstractmethod
    async def says(self, who: str, text: str, where: str) -> None:
        """Somebody writes to the bot."""

    @abstractmethod
    async def touches(self, who: str, button: Button) -> None:
        """Somebody presses a button; one who does not see it forges the press."""

    @abstractmethod
    def shown(self) -> Sequence[Shown]:
        """Everything that was ever written, in order."""

    @abstractmethod
    def buttons(self, who: str) -> list[Button]:
        """What can be pressed in a person's private chat, or in a room."""

    @abstractmethod
    def waits(self) -> bool:
        """Whether something was not taken yet, or somebody's client still waits for a sign."""

    @abstractmethod
    async def idle(self) -> None:
        """Return when nobody does anything but wait."""

    @abstractmethod
    def serving(self, door: Door) -> AbstractAsyncContextManager[object]:
        """Run the adapter, as a context."""

    async def say(self, who: str, text: str, where: str = PRIVATE) -> str:
        """Let somebody write, and return what they were answered there."""
        return await self._after(self.says(who, text, where), who if where == PRIVATE else where)

    async def press(self, who: str, button: Button) -> str:
        """Let somebody press, and return what they were shown by that, where they see it."""
        return await self._after(self.touches(who, button), who, *{button.to} & {ROOM, OTHER})

    async def _after(self, deed: Awaitable[None], *readers: str) -> str:
        before = len(self.shown())
        await deed
        await self.rest()
        last = {shown.message: shown.text for shown in self.shown()[before:] if shown.to in readers}
        return "\n".join(last.values())

    async def rest(self) -> None:
        """Return when everything that was said is taken, and everything that was taken is answered."""
        async with asyncio.timeout(30):
            while True:
                await self.idle()
                if not self.waits() and not self.bot._under_way and self.heard.messages >= self.said:
                    return
                await self.clock.advance(1.0)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        """Start the bot on what is in the folder; leaving stops it."""
        database = await open_database(self.folder / "elefante.db")
        self.house = self._house(database)
        for name, standing in STANDINGS.items():
            if await self.house.people.find(self.user(name)) is None:
                await self.house.people.put(Person(self.user(name), standing, name, self.clock.now()))
        if not await self.house.decisions.value(Matter.ROOM, self.room(ROOM)):
            for where in (ROOM, OTHER):
                let_in = Decision(self.clock.now(), self.user(ANA), Matter.ROOM, self.room(where), "", ALLOWED)
                await self.house.decisions.apply(let_in)
        async with self.house.chatbot() as self.bot:
            await self.bot._parts.desk.open()
            self.heard, self.said = Heard(AttributedDoor(self.bot)), 0
            async with self.serving(self.heard):
                yield self
        await database.close()

    def _house(self, database: Database) -> House:
        house = House(
            clock=self.clock,
            trusted=(),
            language=Locale.EN,
            people=SqlitePeople(database),
            inbox=SqliteInbox(database),
            history=SqliteHistory(database),
            store=SqliteMemories(database),
            preferences=SqlitePreferences(database),
            links=SqliteLinkCodes(database),
            awaited=SqliteAwaited(database),
            broadcasts=SqliteBroadcasts(database),
        )
        house.decisions = SqliteDecisions(database)
        ledger = SqliteLedger(database, self.zone)
        house.quotas = Quotas(ledger, house.decisions, self.clock, self.limits, self.zone)
        house.conversations = Conversations(house.history, self.clock, ways=ways_by(house.decisions))
        meter = Meter(house.quotas.record, NO_PRICES, self.clock)
        heavy, reasoning, chat, summary = (HotModel(meter.of(self.mind, mode)) for mode in MODES)
        house.models = Models(heavy, reasoning, chat, summary, house.embedder)
        house.machine = machine(house.models)
        return house


def limited_mind() -> LimitedMind:
    """What answers where no model is set, by its cues alone."""
    embedder = HashEmbedder()
    embedder.down = True
    return LimitedMind(embedder)
