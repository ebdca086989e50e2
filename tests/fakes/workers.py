"""Several workers of one bot in one process, over one PostgreSQL: each with its own clock, database and chatbot."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar, cast

from core.answering.chatbot import ChatBot
from core.answering.parts import TurnLimits
from core.clock import SystemClock
from core.dialogue import StreamEvent, Task
from core.errors import ChannelGone, StorageError
from core.features.access.storage import People
from core.models import Cycle
from core.outgoing import ChannelLimits, OutgoingMessage
from core.ports import Channel, Channels
from core.storage.database import Database, Query, Row
from core.storage.history import SqlHistory
from core.storage.inbox import SqlInbox
from core.storage.postgres import open_postgres
from core.types import ChatKey, Incoming, UserKey
from core.workers.cluster import ClusterWorker
from core.workers.store import SqlWorkers, claims_of, listening
from tests.fakes.channel import RecordingChannel
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA, House, Script
from tests.fakes.model import Answer, ScriptedModel
from tests.fakes.ram import RamDatabase
from tests.postgres import database_of

T = TypeVar("T")

LEASE_S = 3600.0
"""So long that no busy machine lets it pass; a test lets it pass by `Team.age`."""

AGAIN = "↻"
_PATIENCE_S = 60.0


class Plug:
    """What connects one worker to the world. Pulled, all that it asks for hangs; cut, all of it fails."""

    def __init__(self) -> None:
        self._there = asyncio.Event()
        self._there.set()
        self._is_cut = False

    def pull(self) -> None:
        self._there.clear()

    def push(self) -> None:
        self._there.set()

    def cut(self) -> None:
        self._is_cut = True
        self._there.set()

    async def through(self, failure: type[Exception] = StorageError) -> None:
        await self._there.wait()
        if self._is_cut:
            raise failure("gone")


class PluggedDatabase:
    """A database as one worker reaches it."""

    def __init__(self, database: Database, plug: Plug) -> None:
        self._database = database
        self._plug = plug

    async def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        return await self._through(lambda: self._database.rows(sql, parameters))

    async def read(self, job: Callable[[Query], T]) -> T:
        return await self._through(lambda: self._database.read(job))

    async def write(self, job: Callable[[Query], T]) -> T:
        return await self._through(lambda: self._database.write(job))

    async def _through(self, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        await self._plug.through()
        result = await ask()
        await self._plug.through()
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)


@dataclass(slots=True)
class PluggedChannel(Channel):
    """A screen as one worker reaches it."""

    screen: RecordingChannel
    plug: Plug
    is_doubtful: bool = False  # what is posted next may be there already

    @property
    def limits(self) -> ChannelLimits:
        return self.screen.limits

    def measure(self, text: str) -> int:
        return self.screen.measure(text)

    async def post(self, shown: OutgoingMessage) -> str:
        await self.plug.through(ChannelGone)
        marked = dataclasses.replace(shown, text=f"{AGAIN} {shown.text}") if self.is_doubtful else shown
        self.is_doubtful = False
        handle = await self.screen.post(marked)
        await self.plug.through(ChannelGone)
        return handle

    async def edit(self, handle: str, shown: OutgoingMessage) -> str | None:
        await self.plug.through(ChannelGone)
        return await self.screen.edit(handle, shown)

    async def remove(self, handle: str) -> None:
        await self.plug.through(ChannelGone)
        await self.screen.remove(handle)

    def adopt(self, handles: Sequence[str]) -> Sequence[str]:
        known = self.screen.adopt(handles)
        self.is_doubtful = len(known) < len(handles)
        return known


class Gated(ScriptedModel):
    """A model that answers while its gate is open, but for one answer that is `stuck`."""

    def __init__(self, script: Script, gate: asyncio.Event) -> None:
        super().__init__(script)
        self.gate = gate
        self.stuck = ""

    async def _events(self, answer: Answer) -> AsyncIterator[StreamEvent]:
        await (asyncio.Event() if answer == self.stuck else self.gate).wait()
        async for event in super()._events(answer):
            yield event


@dataclass(eq=False)
class Member(Channels):
    """One worker of the team, and the platform as it reaches it."""

    name: str
    team: Team
    house: House
    clock: FakeClock
    database: Database
    worker: ClusterWorker
    plug: Plug
    gate: asyncio.Event
    model: Gated
    chatbot: ChatBot = field(init=False)
    is_gone: bool = False
    _ready: asyncio.Event = field(default_factory=asyncio.Event)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None

    def again(self, incoming: Incoming) -> Channel:
        return self.channel(incoming.chat.chat)

    def private(self, user: UserKey, once: str = "") -> Channel:  # noqa: ARG002
        return self.channel(user.user)

    def channel(self, chat: str) -> PluggedChannel:
        return PluggedChannel(self.team.screen(chat), self.plug)

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run())
        await self._ready.wait()

    async def _run(self) -> None:
        async with self.worker.at_work(), self.house.chatbot(worker=self.worker) as self.chatbot:
            await self.chatbot.resume("test", self)
            self._ready.set()
            await self._stop.wait()
            await self.chatbot.leave("test")
            self.chatbot.abandon()

    async def say(
        self,
        text: str,
        message_id: str,
        *,
        chat: str = "c",
        user: UserKey = ANA,
        edits: str = "",
        pressed: bool = False,
    ) -> None:
        """Let a message come to this worker."""
        at = self.clock.now()
        incoming = Incoming(ChatKey("test", chat), user, user.user, message_id, text, at, language="en")
        incoming = dataclasses.replace(incoming, edits=edits, pressed=pressed)
        await self.chatbot.receive(incoming, self.channel(chat))

    async def stop(self) -> None:
        """End it as SIGTERM does."""
        assert self._task is not None
        self.is_gone = True
        self._stop.set()
        await self._task

    def kill(self) -> None:
        """Let it hang for ever, as if its process had ended or stood still: `thaw` lets it go on."""
        self.plug.pull()

    def thaw(self) -> None:
        self.plug.push()

    async def end(self) -> None:
        """Clean up after the test, whatever it has done to it."""
        if self._task is not None and not self._task.done():
            self.plug.cut()
            self.gate.set()
            self._task.cancel()
            await asyncio.wait([self._task])
        await self.database.close()


class Team:
    """Workers over one database, and the screens of the chats that they write into."""

    def __init__(self, script: Script | None = None) -> None:
        self.url = database_of("team")
        self.script: Script = script or {Task.FINISH: lambda prompt: f"re {prompt.context.message}"}
        self.people = People(RamDatabase())
        self.members: list[Member] = []
        self._screens: dict[str, RecordingChannel] = {}
        self._clock = FakeClock()

    def screen(self, chat: str = "c") -> RecordingChannel:
        limits = ChannelLimits(max_chars=4096, edit_interval_s=0.0)
        return self._screens.setdefault(chat, RecordingChannel(self._clock, limits))

    def texts(self, chat: str = "c") -> list[str]:
        return self.screen(chat).texts

    async def join(
        self, *, hears: bool = True, most_chats: int = 100, is_open: bool = True, off: timedelta | None = None
    ) -> Member:
        """Add a worker. With `hears` it is told what others have for it; its model answers if it `is_open`.

        Its machine's clock stands still; with `off`, it goes by the database's, from which that one is so far off.
        """
        plug, clock, gate = Plug(), FakeClock(), asyncio.Event()
        if off is not None:
            clock.jump(SystemClock().now() + off - clock.now())
        if is_open:
            gate.set()
        inner = await open_postgres(self.url, pool=4)
        database = cast("Database", PluggedDatabase(inner, plug))
        worker = ClusterWorker(
            SqlWorkers(database),
            clock,
            program="test",
            listen=listening(self.url, clock) if hears else None,
            lease_s=LEASE_S,
            most_chats=most_chats,
            set_clock=None if off is None else clock.set,
        )
        house = House(
            self.script,
            clock=clock,
            history=SqlHistory(database),
            inbox=SqlInbox(database, claims_of(worker.wants)),
            people=self.people,
            limits=TurnLimits(cycle=Cycle.STEPWISE, timeout_s=1e9),
        )
        model = Gated(self.script, gate)
        house.answered_by(model)
        member = Member(f"w{len(self.members)}", self, house, clock, database, worker, plug, gate, model)
        self.members.append(member)
        await member.start()
        return member

    async def age(self, member: Member) -> None:
        """Let the lease of a worker pass, as the database sees it."""
        past = int(2 * LEASE_S * 1_000_000)
        await self.rows("UPDATE workers SET beat = beat - ? WHERE id = ? RETURNING id", past, member.worker.id)

    async def rows(self, sql: str, *parameters: object) -> list[Row]:
        database = await open_postgres(self.url, pool=1)
        try:
            return await database.rows(sql, parameters)
        finally:
            await database.close()

    async def until(self, is_so: Callable[[], bool], *, ticking: Sequence[Member] = ()) -> None:
        """Let the workers work until something is so; a second passes again and again for those who are `ticking`."""
        patience = time.monotonic() + _PATIENCE_S
        while not is_so():
            assert time.monotonic() < patience, {chat: screen.texts for chat, screen in self._screens.items()}
            for member in ticking:
                await member.clock.advance(1.0)
            await asyncio.sleep(0.005)

    async def free(self) -> None:
        """Return when no chat is claimed and nothing is owed."""
        patience = time.monotonic() + _PATIENCE_S
        while await self.rows(
            "SELECT name FROM claims WHERE name LIKE 'chat:%' UNION SELECT chat FROM inbox WHERE payload IS NOT NULL"
        ):
            assert time.monotonic() < patience
            await asyncio.sleep(0.01)

    async def settle(self) -> None:
        """Let every worker live, and return when all is answered."""
        for member in self.members:
            if not member.is_gone:
                member.gate.set()
                member.thaw()
                await member.clock.advance(LEASE_S / 3)  # each beats, and hears whether it is alive
        patience = time.monotonic() + _PATIENCE_S
        while await self.rows("SELECT chat FROM inbox WHERE payload IS NOT NULL"):
            assert time.monotonic() < patience, {chat: screen.texts for chat, screen in self._screens.items()}
            for member in self.members:
                if not member.is_gone:
                    await member.clock.advance(1.0)
            await asyncio.sleep(0.01)

    async def end(self) -> None:
        for member in self.members:
            await member.end()


@asynccontextmanager
async def a_team(script: Script | None = None) -> AsyncIterator[Team]:
    """Give workers to be joined; they end with the block."""
    team = Team(script)
    try:
        yield team
    finally:
        await team.end()
