"""10,000 reminders due in one minute, through the real adapters to loopback servers that keep the platforms' limits.

Time is virtual, the store a file. `reminders` measures the scheduler by itself.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from statistics import quantiles
from typing import TypeVar, cast

from bench.table import show
from core.delivery.notifier import Notifier
from core.features.reminders.delivery import DueMessages
from core.features.reminders.reminders import Reminder, Schedule
from core.features.reminders.scheduler import Permission, Scheduler
from core.features.reminders.storage import SqlReminders
from core.language_choice import Locales
from core.ports import Clock
from core.storage.database import Database, Query, Row
from core.storage.sqlite import open_database
from core.types import ChatKey, Locale, Preferences, UserKey
from tests.e2e import discord_kit, telegram_kit
from tests.fakes.clock import START, FakeClock
from tests.fakes.discord_limits import Limits as DiscordLimits
from tests.fakes.discord_server import DiscordServer
from tests.fakes.telegram_limits import Limits as TelegramLimits
from tests.fakes.telegram_server import TelegramServer
from tests.reference.history import InMemoryHistory

T = TypeVar("T")

AT_ONCE = 10_000
IN_A_ROOM = 100
"""Of them, each of another person in one and the same room; the others are due in private chats."""

FIRST_ID = 10**17
ROOMS = {"telegram": "-1001", "discord": str(FIRST_ID - 1)}
_NUMBER = re.compile(r"task-(\d+)")


@dataclass
class Watched:
    """What reminders need of a database, with its statements kept, and how many transactions and queries run."""

    database: Database
    statements: list[str] = field(default_factory=list)
    at_work: int = 0

    def store(self) -> SqlReminders:
        """Return the reminders in it."""
        return SqlReminders(cast("Database", self))

    async def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Return the rows of a query."""
        self.statements.append(sql)
        self.at_work += 1
        try:
            return await self.database.rows(sql, parameters)
        finally:
            self.at_work -= 1

    async def write(self, job: Callable[[Query], T]) -> T:
        """Run a function of statements as one transaction."""
        self.at_work += 1
        try:
            return await self.database.write(lambda query: job(WatchedQuery(query, self.statements)))
        finally:
            self.at_work -= 1


@dataclass
class WatchedQuery(Query):
    """A query whose statements are kept."""

    query: Query
    statements: list[str]

    def run(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Run one statement."""
        self.statements.append(sql)
        return self.query.run(sql, parameters)

    def run_many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run one statement for each row."""
        self.statements.append(sql)
        self.query.run_many(sql, rows)

    def lock(self, *names: object) -> None:
        """Wait until no other transaction holds this name."""
        self.query.lock(*names)


async def fill(path: Path, platform: str, dues: Sequence[datetime], in_a_room: int = 0) -> None:
    """Store a reminder of another person for each of these instants, `in_a_room` of them in one room."""
    database = await open_database(path)
    user = UserKey(platform, "0")
    schedule = Schedule(datetime(2026, 3, 14, 12), "UTC")  # noqa: DTZ001 (a wall time)
    template = Reminder(user, ChatKey(platform, "0"), "task", schedule, dues[0], dues[0], locale=Locale.EN)
    added = await SqlReminders(database).add(template, most=1)
    assert added is not None
    await database.close()
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    first = dict(connection.execute("SELECT * FROM reminders").fetchone())
    rows = []
    for number, due in enumerate(dues):
        person, due_us = str(FIRST_ID + number), int(due.timestamp() * 1e6)
        is_room = number * in_a_room // len(dues) != (number + 1) * in_a_room // len(dues)
        changed = {"id": f"{number:012}", "user": person, "text": f"task-{number}", "due": due_us, "claimable": due_us}
        chat = ROOMS[platform] if is_room else person
        rows.append(tuple((first | changed | {"chat": chat, "private": int(not is_room), "name": person}).values()))
    with connection:
        connection.execute("DELETE FROM reminders")
        connection.executemany(f"INSERT INTO reminders VALUES ({', '.join('?' * len(first))})", rows)  # noqa: S608
    connection.close()


def scheduler(store: SqlReminders, notifier: Notifier, clock: Clock, purge: Callable[[], Awaitable[None]]) -> Scheduler:
    """Return a scheduler that may say everything to everybody."""

    async def preferences(_: UserKey) -> Preferences:
        return Preferences(language="en")

    async def briefing(_: Reminder) -> str:
        return ""

    async def allowed(_: Reminder) -> Permission:
        return Permission.FIRE

    messages = DueMessages(Locales(preferences, InMemoryHistory()), briefing)
    return Scheduler(store, notifier, messages, clock, allowed=allowed, purge=purge)


async def nothing() -> None:
    """Purge nothing."""


async def drive(clock: FakeClock, database: Watched, idle: Callable[[], Awaitable[None]], until_s: float) -> None:
    """Let time go by, from one sleeper to the next, each time that everything rests."""
    while True:
        await idle()
        if database.at_work:
            await asyncio.sleep(0.0002)
            continue
        next_s = min((at_s for at_s, _, wake in clock._sleepers if not wake.done()), default=None)  # noqa: SLF001
        if next_s is None:  # bytes are on their way through the kernel
            await asyncio.sleep(0.001)
            continue
        if next_s >= until_s:
            return
        await clock.advance(next_s - clock.monotonic())


@dataclass(frozen=True)
class Said:
    """What people read: when, and the number of the reminder."""

    at_s: float
    number: int
    is_room: bool


async def at_once(platform: str, folder: Path) -> tuple[Sequence[Said], int, Sequence[str]]:
    """Fire what is due within one minute; return what was said, the refusals met, and the SQL statements."""
    clock, path = FakeClock(), folder / f"{platform}.db"
    dues = [START + timedelta(seconds=60 + 60 * number / AT_ONCE) for number in range(AT_ONCE)]
    await fill(path, platform, dues, IN_A_ROOM)
    database = Watched(await open_database(path))
    lasts_s = 60 + AT_ONCE / 20 + 400
    room = ROOMS[platform]
    if platform == "telegram":
        async with TelegramServer(clock, TelegramLimits()) as server, telegram_kit.running(server, clock) as bot:
            for chat in (int(room), *(FIRST_ID + number for number in range(AT_ONCE))):
                server.chat(chat)  # everybody has written once
            fired = scheduler(database.store(), bot.handler.notifier, clock, nothing)
            async with fired.until(asyncio.Event()):
                await drive(clock, database, lambda: telegram_kit.idle(server), lasts_s)
            posts = [(call.at_s, call.params["text"], str(call.chat_id)) for call in server.done("sendmessage")]
            refusals = sum(call.code == 429 for call in server.calls)
    else:
        async with DiscordServer(clock, DiscordLimits()) as world:
            world.room(int(room))
            async with discord_kit.running(world, clock) as client:
                fired = scheduler(database.store(), client.handler.notifier, clock, nothing)
                async with fired.until(asyncio.Event()):
                    await drive(clock, database, lambda: discord_kit.idle(world), lasts_s)
            posts = [(write.at_s, write.text, str(write.channel)) for write in world.writes if write.verb == "post"]
            refusals = len(world.invalid)
    await database.database.close()
    said = [Said(at_s, int(number), chat == room) for at_s, text, chat in posts for number in _NUMBER.findall(text)]
    return said, refusals, database.statements


def shares(values_s: Sequence[float], digits: int = 0) -> tuple[str, str, str]:
    """Word the median, the 99th percentile and the longest of some waits."""
    cuts = quantiles(values_s, n=100, method="inclusive")
    return f"{cuts[49]:.{digits}f} s", f"{cuts[98]:.{digits}f} s", f"{max(values_s):.{digits}f} s"


async def many(folder: Path) -> None:
    """Print how late many are that are due at once."""
    rows = []
    for platform in ("telegram", "discord"):
        said, refusals, statements = await at_once(platform, folder)
        for is_room, where in ((False, "private chats"), (True, "one room")):
            seen = sorted((each for each in said if each.is_room is is_room), key=lambda each: each.at_s)
            late_s = [each.at_s - 60 - 60 * each.number / AT_ONCE for each in seen]
            order = sum(after.number < before.number for before, after in pairwise(seen))
            once = len({each.number for each in seen})
            counts = (f"{once:,} of {len(seen):,}", str(order), str(refusals), f"{len(statements) / AT_ONCE:.1f}")
            rows.append((f"{platform}, {where}", *shares(late_s), *counts))
    head = ("where", "late, p50", "p99", "longest", "once", "out of order", "429s (aim 0)", "SQL statements each")
    show(f"{AT_ONCE:,} due in one minute, at most 20 messages a second", head, rows)


async def _measure() -> None:
    with tempfile.TemporaryDirectory() as folder:
        await many(Path(folder))


def main() -> None:
    """Measure and print."""
    asyncio.run(_measure())
