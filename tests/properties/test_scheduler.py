"""Whatever reminders there are, whenever the bot dies and however clocks jump: each instant is said once, or marked."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias, cast
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.answering.asker import Locales
from core.delivery.notifier import Notifier
from core.errors import ChannelError, ChannelGone, StorageError
from core.features.reminders.delivery import Due, DueMessages
from core.features.reminders.reminders import Reminder, ReminderState, Schedule
from core.features.reminders.scheduler import Permission, Scheduler
from core.features.reminders.storage import ReminderStore
from core.outgoing import ChannelLimits, OutgoingMessage
from core.ports import Channel, Channels
from core.storage.history import SqlHistory
from core.times import rules
from core.types import ChatKey, Incoming, Localized, Preferences, UserKey
from tests.fakes.clock import FakeClock
from tests.fakes.ram import RamDatabase
from tests.profile import long

START: Final = datetime(2026, 3, 28, 20, 0, tzinfo=UTC)
"""The evening before clocks are set forward in Europe."""

PEOPLE: Final = tuple(UserKey("telegram", name) for name in ("ana", "bia", "caro"))
ZONES: Final = ("Europe/Berlin", "America/Sao_Paulo", "Pacific/Apia", "Asia/Kolkata", "UTC")
RULES: Final = (
    "", "", "FREQ=DAILY", "FREQ=HOURLY", "FREQ=MINUTELY;INTERVAL=25", "FREQ=HOURLY;INTERVAL=7",
    "FREQ=DAILY;COUNT=2", "FREQ=WEEKLY;BYDAY=SU,MO",
)  # fmt: skip
SETTLED_S: Final = 16 * 3600.0
"""Longer than any wait after a refusal, and than all that clocks are set back."""

Action: TypeAlias = tuple[str, float]


@dataclass(frozen=True)
class Said:
    """A reminder in a message that somebody can read: which instant, how many missed after it, whether marked."""

    reminder: str
    due: datetime
    missed: int
    is_marked: bool
    latest: datetime
    """What the clock has shown at most until then."""


@dataclass
class World:
    """What outlives the bot: the store, the chats, the clock."""

    clock: FakeClock = field(default_factory=lambda: FakeClock(start=START))
    store: ReminderStore = field(default_factory=lambda: ReminderStore(RamDatabase()))
    said: list[Said] = field(default_factory=list)
    refusals: int = 0
    latest: datetime = START

    async def pass_(self, seconds: float) -> None:
        await self.clock.advance(seconds)
        self.latest = max(self.latest, self.clock.now())


class Life:
    """One run of the bot, which dies at the step after `fuse` others."""

    def __init__(self, fuse: int | None) -> None:
        self.fuse = fuse
        self.is_over = False

    async def step(self) -> None:
        """Die, if it is time: whoever is here never goes on, and nobody does anything any more."""
        if self.is_over:
            raise StorageError("there is no process any more")
        if self.fuse is not None:
            self.fuse -= 1
            if self.fuse < 0:
                self.is_over = True
                await asyncio.get_running_loop().create_future()


class MortalStore:
    """The store as a process has it, which may die before and after every call."""

    def __init__(self, store: ReminderStore, life: Life) -> None:
        self._store = store
        self._life = life

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def called(*arguments: Any, **more: Any) -> Any:
            await self._life.step()
            result = await getattr(self._store, name)(*arguments, **more)
            await self._life.step()
            return result

        return called


class Chat(Channel):
    """A chat in which the process may die before and after a message is there, and which refuses some."""

    limits = ChannelLimits(100_000, 0.0)

    def __init__(self, world: World, life: Life) -> None:
        self._world = world
        self._life = life

    def measure(self, text: str) -> int:
        return len(text)

    async def post(self, shown: OutgoingMessage) -> str:
        try:
            await self._life.step()
        except StorageError as error:
            raise ChannelError("there is no process any more") from error
        if self._world.refusals:
            self._world.refusals -= 1
            raise ChannelGone("blocked")
        world = self._world
        latest = max(world.latest, world.clock.now())
        for reminder, due, missed, is_marked in json.loads(shown.text):
            world.said.append(Said(reminder, datetime.fromisoformat(due), missed, is_marked, latest))
        await self._life.step()
        return "1"

    async def edit(self, handle: str, shown: OutgoingMessage) -> str | None:
        raise NotImplementedError


class Place(Channels):
    """A platform on which everybody is a `Chat`."""

    def __init__(self, world: World, life: Life) -> None:
        self._chat = Chat(world, life)

    def again(self, incoming: Incoming) -> Channel:
        raise NotImplementedError

    def private(self, user: UserKey, once: str = "") -> Channel:
        del user, once
        return self._chat

    def room(self, chat: ChatKey, once: str) -> Channel:
        del chat, once
        return self._chat


class Listed(DueMessages):
    """Messages as data."""

    async def message(self, batch: Sequence[Due], now: datetime, why: Localized | None = None) -> OutgoingMessage:
        shown = await super().message(batch, now, why)
        assert shown.text
        found = [[due.reminder.id, f"{due.reminder.due}", due.missed, due.reminder.tries > 1] for due in batch]
        return OutgoingMessage(json.dumps(found))


@asynccontextmanager
async def living(world: World, life: Life, *, is_alone: bool) -> AsyncIterator[None]:
    """A process, from its start to its death, or to an orderly end."""

    async def preferences(_: UserKey) -> Preferences:
        return Preferences(language="en")

    async def nothing(_: object = None) -> str:
        return ""

    async def purge() -> None:
        return None

    async def allowed(_: Reminder) -> Permission:
        await life.step()
        return Permission.FIRE

    notifier, stop = Notifier(world.clock), asyncio.Event()
    store = cast("ReminderStore", MortalStore(world.store, life))
    messages = Listed(Locales(preferences, SqlHistory(RamDatabase())), nothing)
    scheduler = Scheduler(store, notifier, messages, world.clock, allowed=allowed, purge=purge, is_alone=is_alone)
    async with scheduler.until(stop):
        notifier.connect("telegram", Place(world, life))
        try:
            yield
            stop.set()
            await world.pass_(1.0)
        finally:
            leaving = asyncio.create_task(world.pass_(10.0))  # what is on its way has a moment left
    await leaving


@st.composite
def reminders(draw: st.DrawFn) -> Reminder:
    user, zone, rule = draw(st.sampled_from(PEOPLE)), draw(st.sampled_from(ZONES)), draw(st.sampled_from(RULES))
    after_s = draw(st.sampled_from((-7200, 0, 1, 60, 3600, 18_000, 19_800)) | st.integers(-9_999, 99_999))
    first = START + timedelta(seconds=after_s)
    wall = first.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    is_private = draw(st.booleans())
    chat = ChatKey("telegram", user.user if is_private else "room")
    due = rules.next_after(wall, zone, rule, first - timedelta(days=1)) or first
    return Reminder(user, chat, "words", Schedule(wall, zone, rule), due, START, private=is_private, name="N")


actions = st.lists(
    st.tuples(st.just("pass"), st.floats(0, 20_000))
    | st.tuples(st.just("jump"), st.floats(-10_000, 10_000))
    | st.tuples(st.sampled_from(("refuse", "stop")), st.just(0.0)),
    max_size=8,
)


async def lived(
    world: World, todo: Sequence[Reminder], does: Sequence[Action], fuses: Sequence[int], *, is_alone: bool
) -> list[Reminder]:
    """Let processes live one after another through all that happens, the last until everything is quiet."""
    stored = [await world.store.add(each, most=99) for each in todo]
    left, lives = deque(does), deque(fuses)
    while left:
        life = Life(lives.popleft() if lives else None)
        async with living(world, life, is_alone=is_alone):
            while left and not life.is_over:
                what, amount = left.popleft()
                if what == "pass":
                    await world.pass_(amount)
                elif what == "jump":
                    world.clock.jump(timedelta(seconds=amount))
                elif what == "refuse":
                    world.refusals = min(world.refusals + 1, 2)
                else:
                    break
    world.refusals = 0
    async with living(world, Life(None), is_alone=is_alone):
        await world.pass_(SETTLED_S)
    return [each for each in stored if each is not None]


def instants(reminder: Reminder, until: datetime) -> list[datetime]:
    """Return the instants of a reminder from its first to then."""
    found, schedule = [], reminder.schedule
    at = reminder.due
    while at is not None and at <= until:
        found.append(at)
        at = rules.next_after(schedule.wall, schedule.zone, schedule.rule, at) if schedule.rule else None
    return found


def check(world: World, stored: Sequence[Reminder], sure_until: datetime) -> None:
    """Check that every instant until then was said, and none of them twice without a mark, or before its time."""
    posts: defaultdict[tuple[str, datetime], list[Said]] = defaultdict(list)
    for said in world.said:
        assert said.due <= said.latest, "before its time"
        posts[said.reminder, said.due].append(said)
    for same in posts.values():
        assert all(said.is_marked for said in same[1:]), "twice, and nothing marks the second"
    for reminder in stored:
        every = instants(reminder, world.latest)
        told: dict[datetime, datetime] = {}
        for said in world.said:
            if said.reminder == reminder.id:
                place = every.index(said.due)
                for instant in every[place : place + said.missed + 1]:
                    assert told.setdefault(instant, said.due) == said.due, "in two messages"
        assert [at for at in every if at <= sure_until and at not in told] == [], "lost"


@pytest.mark.parametrize("is_alone", [long(True), False])
@given(st.lists(reminders(), min_size=1, max_size=6), actions, st.lists(st.integers(0, 40), max_size=4))
@example([], [("pass", 9_000.0)], [0])
def test_each_instant_is_said_once_or_marked_and_none_is_lost(
    is_alone: bool, todo: list[Reminder], does: list[Action], fuses: list[int]
) -> None:
    world = World()

    async def scenario() -> None:
        stored = await lived(world, todo, does, fuses, is_alone=is_alone)
        check(world, stored, world.clock.now() - timedelta(seconds=SETTLED_S))
        states = {each.state for user in PEOPLE for each in await world.store.of([user], frozenset(ReminderState))}
        assert states <= {ReminderState.WAITING, ReminderState.DONE}

    asyncio.run(scenario())


@given(st.lists(reminders(), min_size=1, max_size=6), st.lists(st.floats(0, 20_000), max_size=5))
def test_of_several_workers_exactly_one_says_each_instant(todo: list[Reminder], does: list[float]) -> None:
    world = World()

    async def scenario() -> None:
        stored = [await world.store.add(each, most=99) for each in todo]
        async with living(world, Life(None), is_alone=False), living(world, Life(None), is_alone=False):
            for seconds in does:
                await world.pass_(seconds)
            await world.pass_(60.0)
        check(world, [each for each in stored if each is not None], world.latest - timedelta(minutes=2))

    asyncio.run(scenario())
    assert len({(said.reminder, said.due) for said in world.said}) == len(world.said)
    assert not any(said.is_marked for said in world.said)
