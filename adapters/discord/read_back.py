"""Read back what was said while a shard had no session: every channel whose last message is newer than what is known.

Discord names the last message of each channel and thread in GUILD_CREATE, and has no search for mentions, so rooms in
which the bot was talked to are read first, then the others, the newest first. A resumed session needs none of this.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias

import discord
from discord.utils import snowflake_time, time_snowflake

from adapters.discord.api import DiscordApi
from adapters.discord.bookmark import Bookmarks, ShardPosition
from adapters.discord.room import Room, room_of
from adapters.running import Bucket, until
from core.errors import ChannelError
from core.ports import Clock

_LOG = logging.getLogger(__name__)

_MOST_MESSAGES = 500  # of one room
_PAGE = 100  # Source: discord.com/developers/docs/resources/message#get-channel-messages
_MOST_REQUESTS = 1000  # of one outage
_PER_S = 10.0  # of the 40 a second that are made: people who write now are answered meanwhile
_ROOMS_AT_ONCE = 4
_SETTLE_S = 5.0  # after the last room, for servers that Discord names late
_LIVE_WAITS_S = 3.0  # for what was said before in the same room
_URGENT, _TALKED_TO, _OTHER, _UNLISTED = -1, 0, 1, 2

_WRITTEN = (discord.TextChannel, discord.VoiceChannel, discord.StageChannel)
_Listed: TypeAlias = discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread


class Why(StrEnum):
    """Why a channel was not read back, or not as a whole."""

    NO_RIGHT = "no_right"
    TOO_MUCH = "too_much"
    TOO_OLD = "too_old"


@dataclass(frozen=True, slots=True)
class Unread:
    """What was not read back after an outage: channels for each reason, names of them, and when people wrote there."""

    counts: Mapping[Why, int]
    names: tuple[str, ...]
    since: datetime
    until: datetime


TellUnread: TypeAlias = Callable[[Unread | None], None]
"""Called at the end of each outage; with None if everything was read back."""


@dataclass(slots=True, eq=False)
class _Job:
    """A room to read after that id; `since` is the id from which on the bot was away."""

    room: Room
    after: int
    since: int
    rank: int
    last: int = 0
    name: str = ""
    done: asyncio.Event = field(default_factory=asyncio.Event)
    begun: bool = False
    live: set[int] = field(default_factory=set)  # ids of what was delivered meanwhile
    waits_until_s: float | None = None


@dataclass(frozen=True, slots=True)
class _Missed:
    why: Why
    name: str
    since: int
    until: int


class ReadBack:
    """Reads rooms a few at a time, within a budget of requests, and tells once an outage what it could not read."""

    def __init__(
        self,
        api: DiscordApi,
        bookmarks: Bookmarks,
        clock: Clock,
        take: Callable[[discord.Message, Room], Awaitable[None]],
        *,
        me: int,
        rooms: frozenset[int],
        max_age_s: float,
        tell: TellUnread,
    ) -> None:
        self._api = api
        self._bookmarks = bookmarks
        self._clock = clock
        self._take = take
        self._me = me
        self._rooms = rooms
        self._max_age = timedelta(seconds=max_age_s)
        self._tell = tell
        self._away: dict[int, ShardPosition] = {}  # by server: what was known when it was lost
        self._jobs: dict[int, _Job] = {}  # by room, also those under way
        self._queue: list[tuple[int, int, int, _Job]] = []  # the least rank first, of a rank the newest
        self._numbers = itertools.count()
        self._workers: set[asyncio.Task[None]] = set()
        self._end: asyncio.Task[None] | None = None
        self._missed: dict[int, _Missed] = {}
        self._requests = 0
        self._pace = Bucket(_PER_S, _PER_S, clock.monotonic())

    def begin(self, shard: int, servers: Iterable[int]) -> None:
        """Note that a new session of a shard began, with those servers; direct messages are read back at once.

        Direct messages are events of the first shard, and named nowhere: those of known people are read.
        """
        known = self._bookmarks.known(shard)
        self._bookmarks.hold(shard, known)
        if known is not None:
            for server in servers:
                self._away.setdefault(server, known)
        if shard == 0:
            for room, seen in self._bookmarks.positions():
                if not room.guild:
                    self._add(_Job(room, seen, seen, _TALKED_TO))
        self._go_on()

    def lost(self, guild: discord.Guild) -> None:
        """Note that a server cannot be reached; it is read back when it is there again."""
        known = self._bookmarks.known(guild.shard_id)
        if known is not None:
            self._away.setdefault(guild.id, known)

    def server(self, guild: discord.Guild) -> None:
        """Queue the rooms of a server that is there, as far as something was said in them that is not known.

        Of a server that was never seen before nothing is read: its last ids are what is known from now on.
        """
        start = self._away.pop(guild.id, None)
        self._bookmarks.hold(guild.shard_id, start)
        listed = {channel.id: channel.last_message_id or 0 for channel in _channels(guild)}
        for channel in _channels(guild):
            self._consider(channel, start)
        for room, seen in self._bookmarks.positions():
            if room.guild == guild.id and room.id not in listed:  # a thread in the archive, or a channel that is gone
                self._add(_Job(room, seen, seen, _UNLISTED))
        for channel in sorted(_channels(guild), key=lambda one: one.last_message_id or 0):
            self._bookmarks.took(room_of(channel, self._me), max(channel.last_message_id or 0, guild.id))
        self._go_on()

    async def precede(self, room: Room, message_id: int) -> None:
        """Let what was said in a room before that message be read now, and wait for it, for a few seconds at most."""
        job = self._jobs.get(room.id)
        if job is None:
            return
        job.live.add(message_id)
        now_s = self._clock.monotonic()
        if job.waits_until_s is None:
            job.waits_until_s = now_s + _LIVE_WAITS_S
            self._push(job, _URGENT)
        if job.waits_until_s > now_s:
            await until(job.done, self._clock.sleep(job.waits_until_s - now_s))

    async def close(self) -> None:
        """Stop, and forget what was not read: it is read after the next start, or by another worker."""
        tasks = [*self._workers, *([self._end] if self._end else [])]
        for job in self._jobs.values():
            job.done.set()
        self._workers.clear()
        self._queue.clear()
        self._jobs.clear()
        self._away.clear()
        self._missed.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _consider(self, channel: _Listed, start: ShardPosition | None) -> None:
        """Queue a room if anything new was said in it."""
        room, last = room_of(channel, self._me), channel.last_message_id or 0
        bookmark = self._bookmarks.position(room.id)
        known = start.known(room.id) if start is not None else 0
        # What is said before the servers are named, as our own answers, moves the bookmark past what was not read.
        after = min(bookmark, known) if bookmark and known else bookmark or known or last
        if last <= after or not room.allowed(self._rooms):
            return
        since = max(after, start.newest if start is not None else 0)
        job = _Job(room, after, min(since, last), _TALKED_TO if bookmark else _OTHER, last, f"#{channel.name}")
        if not _may_read(channel, self._me):
            if bookmark:  # elsewhere it never could
                self._bookmarks.forget(room)
                self._miss(job, Why.NO_RIGHT, last)
        elif not bookmark and last < self._oldest():
            self._miss(job, Why.TOO_OLD, last)
        else:
            self._add(job)

    def _add(self, job: _Job) -> None:
        """Queue a room, or let what waits for it begin earlier."""
        waiting = self._jobs.get(job.room.id)
        if waiting is not None and not waiting.begun:
            waiting.after, waiting.since = min(job.after, waiting.after), min(job.since, waiting.since)
            return
        self._jobs[job.room.id] = job
        self._push(job, job.rank)

    def _push(self, job: _Job, rank: int) -> None:
        heapq.heappush(self._queue, (rank, -job.last, next(self._numbers), job))

    def _go_on(self) -> None:
        """Have enough workers, or let the outage end if there is nothing to read."""
        if self._end is not None:
            self._end.cancel()
            self._end = None
        for _ in range(min(_ROOMS_AT_ONCE - len(self._workers), len(self._queue))):
            worker = asyncio.create_task(self._work())
            self._workers.add(worker)
            worker.add_done_callback(self._rested)
        if not self._workers:
            self._end = asyncio.create_task(self._settle())

    def _rested(self, worker: asyncio.Task[None]) -> None:
        if worker in self._workers:
            self._workers.remove(worker)
            self._go_on()

    async def _work(self) -> None:
        while self._queue:
            job = heapq.heappop(self._queue)[-1]
            if job.begun:  # it was queued twice, to be read earlier
                continue
            job.begun = True
            try:
                await self._read(job)
            except Exception as error:  # noqa: BLE001  (the other rooms are read all the same)
                _LOG.warning("room not read back", extra={"room": job.room.id, "error": type(error).__name__})
            finally:
                if self._jobs.get(job.room.id) is job:
                    del self._jobs[job.room.id]
                job.done.set()

    async def _read(self, job: _Job) -> None:
        """Take what was said in a room, the oldest first, of the newest that are within the bounds."""
        messages: list[discord.Message] = []
        why: Why | None = None
        while why is None:
            if self._requests >= _MOST_REQUESTS:
                why = Why.TOO_MUCH
                break
            try:
                page = await self._page(job.room, messages[-1].id if messages else None)
            except ChannelError as error:
                _LOG.info("room not read back", extra={"room": job.room.id, "error": type(error).__name__})
                self._bookmarks.forget(job.room)
                why = Why.NO_RIGHT
                break
            messages += (message for message in page if message.id > job.after)
            if len(page) < _PAGE or page[-1].id <= job.after:
                break
            if page[-1].id < self._oldest():
                why = Why.TOO_OLD
            elif len(messages) >= _MOST_MESSAGES:
                why = Why.TOO_MUCH
        if why is not None and job.name:
            self._miss(job, why, messages[-1].id if messages else job.last)
        for message in reversed(messages):
            if message.id not in job.live:
                await self._take(message, job.room)

    async def _page(self, room: Room, before: int | None) -> list[discord.Message]:
        """Return the last messages of a room before that id, the newest first, at our own pace."""
        self._requests += 1
        self._pace.refill(self._clock.monotonic())
        wait_s = self._pace.wait_s()
        self._pace.tokens -= 1.0
        if wait_s:
            await self._clock.sleep(wait_s)
        return await self._api.history(room, before, _PAGE)

    async def _settle(self) -> None:
        """End the outage: tell what was not read, once, and let the bookmarks move on."""
        await self._clock.sleep(_SETTLE_S)
        missed, self._missed, self._requests = list(self._missed.values()), {}, 0
        await self._bookmarks.release()
        if not missed:
            self._tell(None)
            return
        since, upto = min(one.since for one in missed), max(one.until for one in missed)
        names = tuple(dict.fromkeys(one.name for one in missed))
        counts = Counter(one.why for one in missed)
        self._tell(Unread(counts, names, snowflake_time(since), snowflake_time(upto)))

    def _miss(self, job: _Job, why: Why, until_id: int) -> None:
        self._missed[job.room.id] = _Missed(why, job.name, job.since, until_id)

    def _oldest(self) -> int:
        """Return the least id of what is young enough to be answered."""
        return time_snowflake(self._clock.now() - self._max_age)


def _channels(guild: discord.Guild) -> Iterator[_Listed]:
    """Yield what people write into: forums and categories hold no messages of their own."""
    yield from (one for one in guild.channels if isinstance(one, _WRITTEN))
    yield from guild.threads


def _may_read(channel: _Listed, me: int) -> bool:
    """Whether the bot may read what was said there; yes, if that cannot be told."""
    member = channel.guild.get_member(me)
    if member is None or (isinstance(channel, discord.Thread) and channel.parent is None):
        return True
    rights = channel.permissions_for(member)
    is_voice = isinstance(channel, discord.VoiceChannel | discord.StageChannel)
    return rights.read_messages and rights.read_message_history and (rights.connect or not is_voice)
