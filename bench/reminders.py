"""How late reminders are, with 10,000 due at once and at rest, and what 100,000 that wait cost."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median, quantiles

from adapters.telegram.config import TelegramConfig
from adapters.telegram.pacer import Pacer, Priority
from bench.table import show
from bench.turn import NoChannel
from core.clock import SystemClock
from core.delivery.notifier import Notifier
from core.features.reminders.delivery import DueMessages
from core.features.reminders.reminders import Claim, Reminder, ReminderStore, Schedule, State
from core.features.reminders.scheduler import Permission, Scheduler
from core.features.reminders.storage import SqlReminders
from core.language_choice import Locales
from core.outgoing import OutgoingMessage
from core.ports import Channel, Channels, Clock
from core.storage.database import Query
from core.storage.sqlite import open_database
from core.types import ChatKey, Incoming, Preferences, UserKey
from core.workers import OneWorker
from tests.fakes.clock import FakeClock
from tests.reference.history import InMemoryHistory
from tests.reference.reminders import InMemoryReminders

AT_ONCE = 10_000
WAITING = 100_000
ROOMS = 10
IN_ROOMS = 1_000
AT_REST = 200
FAST_PER_S = 500
MINUTES = 600


def main() -> None:
    """Print the tables."""
    asyncio.run(_measure())


async def _measure() -> None:
    head = ["what", "p50 s", "p99 s", "last s", "CPU ms each"]
    rows = [await _nothing_costs(), await _at_rest(), *await _at_telegrams_limits()]
    show(f"Lateness: {AT_ONCE:,} due at once in private chats, and alone", head, rows)
    show("What it costs", ["what", "cost"], [*await _idle(), *await _bare()])


@dataclass
class Chat(NoChannel):
    """A chat that notes how late each message is."""

    clock: Clock = field(default_factory=SystemClock)
    due: datetime | None = None
    late_s: list[float] = field(default_factory=list)
    admit: Callable[[], Awaitable[None]] | None = None

    async def post(self, _: OutgoingMessage) -> str:
        """Note when it was."""
        if self.admit is not None:
            await self.admit()
        if self.due is not None:
            self.late_s.append((self.clock.now() - self.due).total_seconds())
        return "m"


class Everywhere(Channels):
    """Makes a chat for each message."""

    def __init__(self, chat: Callable[[str], Channel]) -> None:
        self._chat = chat

    def again(self, incoming: Incoming) -> Channel:
        """Return the chat of a message."""
        return self._chat(incoming.chat.chat)

    def private(self, user: UserKey, once: str = "") -> Channel:  # noqa: ARG002
        """Return a person's chat."""
        return self._chat(user.user)

    def room(self, chat: ChatKey, once: str) -> Channel:  # noqa: ARG002
        """Return a room."""
        return self._chat(chat.chat)


def _new(user: str, due: datetime, now: datetime, room: str = "") -> Reminder:
    key = UserKey("telegram", user)
    schedule = Schedule(due.replace(tzinfo=None), "UTC")
    chat = ChatKey("telegram", room or user)
    return Reminder(key, chat, "pagar o aluguel", schedule, due, now, private=not room, name="Ana")


def _scheduler(store: ReminderStore, notifier: Notifier, clock: Clock, per_s: int) -> Scheduler:
    async def preferences(_: UserKey) -> Preferences:
        return Preferences(language="pt-BR")

    async def briefing(_: Reminder) -> str:
        return ""

    async def allowed(_: Reminder) -> Permission:
        return Permission.FIRE

    async def purge() -> None:
        return None

    messages = DueMessages(Locales(preferences, InMemoryHistory()), briefing)
    return Scheduler(store, notifier, messages, clock, allowed=allowed, purge=purge, per_s=per_s)


@asynccontextmanager
async def _stored(count: int, due: Callable[[int], datetime], now: datetime) -> AsyncIterator[SqlReminders]:
    """Open a store with so many reminders, each of another person."""
    with tempfile.TemporaryDirectory() as folder:
        database = await open_database(Path(folder) / "bench.db")
        store = SqlReminders(database)
        template = await store.add(_new("0", due(0), now), most=1)
        assert template is not None
        microsecond, epoch = timedelta(microseconds=1), datetime.fromtimestamp(0, tz=now.tzinfo)
        same = "topic, private, name, text, kind, language, wall, zone, rule, guessed, state, tries, failures, created,"
        same += "sent, batch, changed, before"

        def fill(query: Query) -> None:
            query.run_many(
                f'INSERT INTO reminders (id, platform, "user", chat, due, claimable, {same})'  # noqa: S608
                f" SELECT ?, platform, ?, ?, ?, ?, {same} FROM reminders WHERE id = ?",
                (
                    (f"r{number}", f"{number}", f"{number}", at_us, at_us, template.id)
                    for number in range(1, count)
                    for at_us in [(due(number) - epoch) // microsecond]
                ),
            )

        await database.write(fill)
        yield store
        await database.close()


async def _nothing_costs() -> Sequence[str]:
    """Fire them all at a pace that no platform takes."""
    clock = SystemClock()
    due, late_s = clock.now(), list[float]()
    async with _stored(AT_ONCE, lambda _: due, due) as store:
        notifier = Notifier(clock)
        due, started_s = clock.now(), time.process_time()
        async with _scheduler(store, notifier, clock, FAST_PER_S).until(asyncio.Event()):
            notifier.connect("telegram", Everywhere(lambda _: Chat(clock=clock, due=due, late_s=late_s)))
            while len(late_s) < AT_ONCE or await store.next_due(["telegram"]) is not None:
                await clock.sleep(0.05)
    return _row(
        f"{FAST_PER_S} a second, a platform that costs nothing; a disk", late_s, time.process_time() - started_s
    )


async def _at_rest() -> Sequence[str]:
    """Fire one now and then."""
    clock, late_s = SystemClock(), list[float]()
    first = clock.now() + timedelta(seconds=1)
    dues = {f"{number}": first + timedelta(seconds=number / 20) for number in range(AT_REST)}
    async with _stored(AT_REST, lambda number: dues[f"{number}"], first) as store:
        notifier = Notifier(clock)
        started_s = time.process_time()
        async with _scheduler(store, notifier, clock, 20).until(asyncio.Event()):
            notifier.connect("telegram", Everywhere(lambda name: Chat(clock=clock, due=dues[name], late_s=late_s)))
            while len(late_s) < AT_REST:
                await clock.sleep(0.05)
    return _row("at rest, one every 0.05 s; a disk", late_s, time.process_time() - started_s)


async def _at_telegrams_limits() -> Sequence[Sequence[str]]:
    """Fire them by the pace of a bot, and by Telegram's limits; time is virtual, the store in RAM."""
    clock, config = FakeClock(), TelegramConfig(token="")
    store, late_s, late_in_rooms_s = InMemoryReminders(), list[float](), list[float]()
    pacer = Pacer(config.private, config.group, config.overall, clock, OneWorker())
    due, dice = clock.now(), random.Random(1)
    for number in range(AT_ONCE):
        room = f"-{dice.randrange(1, ROOMS + 1)}" if number < IN_ROOMS else ""
        await store.add(_new(f"{number + 1}", due, due, room), most=1)

    def chat(name: str) -> Channel:
        noted = late_in_rooms_s if name.startswith("-") else late_s
        return Chat(clock=clock, due=due, late_s=noted, admit=lambda: pacer.admit(int(name), Priority.ANSWER))

    notifier, started_s = Notifier(clock), time.process_time()
    async with _scheduler(store, notifier, clock, 20).until(asyncio.Event()):
        notifier.connect("telegram", Everywhere(chat))
        while len(late_s) + len(late_in_rooms_s) < AT_ONCE:
            await clock.advance(10)
    cpu_s = time.process_time() - started_s
    return [
        _row("20 a second and Telegram's limits: private chats", late_s, cpu_s),
        _row(f"- {IN_ROOMS:,} in {ROOMS} of its groups meanwhile", late_in_rooms_s),
    ]


async def _idle() -> Sequence[Sequence[str]]:
    """Let ten hours pass with many that wait, none of them due."""
    clock = FakeClock()
    asked: list[float] = []
    later = clock.now() + timedelta(days=1)
    async with _stored(WAITING, lambda number: later + timedelta(seconds=number), clock.now()) as store:
        next_due = store.next_due

        async def counted(*arguments: Sequence[str]) -> datetime | None:
            asked.append(clock.monotonic())
            return await next_due(*arguments)

        store.next_due = counted  # type: ignore[method-assign,assignment]
        notifier = Notifier(clock)
        async with _scheduler(store, notifier, clock, 20).until(asyncio.Event()):
            notifier.connect("telegram", Everywhere(lambda _: Chat(clock=clock)))
            while not asked:
                await clock.advance(0.01)
                await next_due([])  # SQLite's threads do what they were asked
            asked.clear()
            started_s = time.process_time()
            for _ in range(MINUTES):
                await clock.advance(60.0)
                await next_due([])
            cpu_s = time.process_time() - started_s
        first_ms = await _timed(lambda: next_due(["telegram"]))
    return [
        [f"{WAITING:,} wait, none is due: times it wakes a minute", f"{len(asked) / MINUTES:.2f}"],
        ["- CPU ms a minute, with the virtual clock", f"{cpu_s * 1000 / MINUTES:.2f}"],
        ["- one look for the next, ms", f"{first_ms:.2f}"],
    ]


async def _bare() -> Sequence[Sequence[str]]:
    """Claim and settle without saying anything."""
    now, second = SystemClock().now(), timedelta(seconds=1)
    async with _stored(AT_ONCE, lambda _: now, now) as store:
        many_ms = await _claimed(store, now, 0 * second, 20)
    async with _stored(WAITING, lambda number: now + number * second, now) as store:
        one_ms = await _claimed(store, now, second, 1)
    return [
        [f"{AT_ONCE:,} are due: 20 claimed, each settled; ms of wall time each", f"{many_ms:.2f}"],
        [f"{WAITING:,} wait, one is due: claimed and settled, ms of wall time", f"{one_ms:.2f}"],
    ]


async def _claimed(store: ReminderStore, now: datetime, step: timedelta, limit: int) -> float:
    """Claim and settle again and again, each time by a later clock; return the milliseconds of one reminder."""
    started_s, count = time.perf_counter(), 0
    for number in range(100):
        for each in await store.claim(Claim(now + number * step, ["telegram"], limit=limit)):
            await store.settle([(each, replace(each, state=State.DONE, due=None, tries=0, sent_at=now))])
            count += 1
    return (time.perf_counter() - started_s) * 1000 / count


async def _timed(ask: Callable[[], Awaitable[object]], repeats: int = 200) -> float:
    """Return the median in milliseconds."""
    took_ms = []
    for _ in range(repeats):
        started_s = time.perf_counter()
        await ask()
        took_ms.append((time.perf_counter() - started_s) * 1000)
    return median(took_ms)


def _row(what: str, late_s: Sequence[float], cpu_s: float = 0.0) -> Sequence[str]:
    p99_s = quantiles(late_s, n=100, method="inclusive")[98]
    figures = (median(late_s), p99_s, max(late_s))
    return [what, *(f"{figure:.3f}" for figure in figures), f"{cpu_s * 1000 / len(late_s):.2f}" if cpu_s else ""]


if __name__ == "__main__":
    main()
