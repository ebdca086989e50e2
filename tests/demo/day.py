"""The day that `make demo` plays: the bot as it is run, without a language model, on Telegram and Discord at once.

The platforms are the loopback servers of the tests, and the clock is theirs, so that a day goes by in seconds. The
people's words are a script; every answer is the bot's.
"""

from __future__ import annotations

import asyncio
import math
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from bot.platforms import PLATFORMS, Start
from bot.settings.settings import Settings, load
from bot.supervisor import Supervisor
from bot.wiring import build, open_chatbot, warm_embedder
from tests.e2e.flowing import counting_the_disk, flow, idle
from tests.fakes import discord_server, discord_world, telegram_people, telegram_server
from tests.fakes.clock import FakeClock
from tests.fakes.discord_limits import Limits as DiscordLimits
from tests.fakes.discord_server import DiscordServer
from tests.fakes.telegram_people import Json
from tests.fakes.telegram_server import TelegramServer
from tests.fakes.telegram_wire import Limits as TelegramLimits
from tests.fakes.telegram_wire import Refused
from tests.transcripts import discord_seen, telegram_seen
from tests.transcripts.transcript import Line

BEGINS: Final = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
CITY, ZONE = "Lisbon", "Europe/Lisbon"
ANA, BEN = telegram_people.Person(7, "Ana", "en"), discord_world.Person(10**17 + 8, "Ben", "en-US")
ANA_ON_DISCORD = discord_world.Person(10**17 + 7, "Ana", "en-US")
GROUP, ROOM = -1001, 10**17 + 100
ME = f"<@{discord_world.BOT_ID}>"
AFTER_S: Final = 20.0
"""Of the day: after so long an answer and all that belongs to it has been written."""

Person = telegram_people.Person | discord_world.Person


@dataclass(frozen=True)
class Beat:
    """A moment to look at: when it is, what it shows, and all that was seen on each platform until then."""

    at: datetime
    caption: str
    telegram: Sequence[Line]
    discord: Sequence[Line]


@dataclass
class Servers:
    """Both platforms as one, for whoever waits until all rests."""

    telegram: TelegramServer
    discord: DiscordServer

    @property
    def busy(self) -> int:
        return self.telegram.busy + self.discord.busy

    @property
    def pulse(self) -> tuple[int, tuple[int, int]]:
        return self.telegram.pulse, self.discord.pulse

    async def stirred(self) -> None:
        await self.discord.stirred()


@dataclass
class Day:
    """A day under way: what people do, and the beats so far. `folder` is where the bot keeps its data now."""

    clock: FakeClock
    servers: Servers
    folder: Path
    tell: Callable[[Beat], None]
    caption: str = ""
    _began_s: float = math.inf

    async def at(self, hour: int, minute: int = 0, caption: str = "") -> None:
        """Let time go by until then; what is shown from then on has that caption, if there is one."""
        await self._pass((BEGINS.replace(hour=hour, minute=minute) - self.clock.now()) / timedelta(seconds=1))
        self.caption = caption or self.caption
        self._began_s = min(self._began_s, self.clock.monotonic())

    async def say(self, person: Person, text: str, *, together: bool = False) -> None:
        """Say something, in private or to the room, and wait until it is answered; both are looked at."""
        if isinstance(person, telegram_people.Person):
            chat_id = GROUP if together else None
            self.servers.telegram.says(person, f"@elefante_bot {text}" if together else text, chat_id=chat_id)
        else:
            room = ROOM if together else 0
            await self.servers.discord.says(person, f"{ME} {text}" if together else text, room=room)
        self.look()
        await self._pass(AFTER_S)
        self.look()

    def look(self) -> None:
        """Tell of a beat; what people did before the first caption is not told."""
        shown = (
            [line for line in sorted(lines, key=lambda line: line.at_s) if line.at_s >= self._began_s]
            for lines in (
                telegram_seen.seen(self.servers.telegram, {ANA.id: "Ana", GROUP: "flat"}),
                discord_seen.seen(self.servers.discord, {ROOM: "team"}),
            )
        )
        if self.caption:
            self.tell(Beat(self.clock.now(), self.caption, *shown))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the bot on both platforms, as `elefante run` does; leaving stops it as a signal does."""
        stop, self.servers.telegram.polled = asyncio.Event(), False
        async with (
            build(settings(self.folder, self.servers), clock=self.clock) as app,
            open_chatbot(app) as chatbot,
            app.features.at_work(stop, serves=True),
        ):
            await warm_embedder(app)
            start = Start(app, chatbot, stop, lambda _: None)
            running = asyncio.create_task(
                Supervisor(start, {name: PLATFORMS[name] for name in ("telegram", "discord")}).run()
            )
            await self._until(lambda: self.servers.telegram.polled and self.servers.discord.gateway.online)
            yield
            stop.set()
            while not running.done():
                await idle(self.servers)
                await self.clock.advance(1.0)
            chatbot.abandon()

    @asynccontextmanager
    async def killed_before_it_answers(self) -> AsyncIterator[None]:
        """Run the bot until it is about to write: nothing that it does from then on reaches anybody or the disk.

        The next one starts from what was committed in that moment, which is what a SIGKILL leaves.
        """
        left, dead = self.folder / "left", asyncio.Event()
        left.mkdir()

        def die(method: str, _: Json) -> None:
            if method == "sendmessage" and not dead.is_set():
                dead.set()
                _copy(self.folder / "elefante.db", left / "elefante.db")
            if dead.is_set():
                raise Refused(502, "Bad Gateway")

        async with self.running():
            self.servers.telegram.faults.append(die)
            yield
            await self._until(dead.is_set)
        self.servers.telegram.faults.remove(die)
        self.folder = left

    async def _pass(self, for_s: float) -> None:
        over = asyncio.ensure_future(self.clock.sleep(for_s))
        await flow(self.servers, self.clock, over.done, for_s + AFTER_S)

    async def _until(self, condition: Callable[[], object]) -> None:
        await flow(self.servers, self.clock, condition)


def settings(folder: Path, servers: Servers) -> Settings:
    """Return the settings of the day: the usual ones, whatever the environment and `.env` say."""
    usual = {name: field.get_default(call_default_factory=True) for name, field in Settings.model_fields.items()}
    own = {
        "data_dir": folder,
        "access": "open",
        "timezone": ZONE,
        "telegram_token": telegram_server.TOKEN,
        "telegram_api_base_url": servers.telegram.url,
        "discord_token": discord_server.TOKEN,
        "discord_api_base_url": servers.discord.api_url,
    }
    return load(None, **usual | own)


def _copy(database: Path, to: Path) -> None:
    with closing(sqlite3.connect(database)) as read, closing(sqlite3.connect(to)) as written:
        read.backup(written)


@asynccontextmanager
async def _dawn(folder: Path, tell: Callable[[Beat], None]) -> AsyncIterator[Day]:
    """Open both platforms."""
    clock = FakeClock(start=BEGINS)
    async with TelegramServer(clock, TelegramLimits()) as telegram, DiscordServer(clock, DiscordLimits()) as discord:
        discord.room(ROOM)
        with counting_the_disk(telegram):
            yield Day(clock, Servers(telegram, discord), folder, tell)


async def play(folder: Path, tell: Callable[[Beat], None]) -> None:
    """Play the day in an empty folder, and tell of each beat as it is there."""
    async with _dawn(folder, tell) as day:
        async with day.running():
            await day.say(ANA, f"/timezone {CITY}")
            await day.at(8, 10, "Two people tell it their locker codes")
            await day.say(ANA, "remember that my locker code is 4417")
            await day.say(BEN, "remember that my locker code is 9031")
            await day.at(9, 0, "Each of them has a memory of their own")
            await day.say(ANA, "what's my locker code?")
            await day.say(BEN, "what's my locker code?")
            await day.at(11, 0, "A room knows nothing of what was said in private")
            await day.say(ANA, "remember that Ben's present is a bread maker")
            await day.say(ANA, "what is Ben's present?", together=True)
            await day.at(12, 30, "In a room, too, everybody is answered with their own")
            await day.say(ANA_ON_DISCORD, "remember that my T-shirt size is S", together=True)
            await day.say(BEN, "remember that my T-shirt size is XL", together=True)
            await day.say(ANA_ON_DISCORD, "what's my T-shirt size?", together=True)
            await day.say(BEN, "what's my T-shirt size?", together=True)
            await day.at(14, 0, "A change is believed, and can be undone")
            await day.say(BEN, "they changed my locker code, it's 5520 now")
            await day.say(BEN, "what's my locker code?")
            await day.at(15, 0, "A reminder is set")
            await day.say(ANA, "remind me to water the plants at 18:00")
        async with day.killed_before_it_answers():
            await day.at(16, 30, "The program is killed before it answers")
            day.servers.telegram.says(ANA, "what did I get for Ben?")
            day.look()
        await day.at(16, 35, "It starts again: what was accepted is answered, once")
        async with day.running():
            await day.at(16, 36)
            day.look()
            await day.at(18, 0, "A reminder comes at its minute")
            await day.at(18, 1)
            day.look()
