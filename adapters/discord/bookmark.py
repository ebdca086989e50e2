"""What outlives the process: how far each shard and each room was read, and which commands Discord was told of.

A position may lag behind, never run ahead: what is read twice is recognised by its id. While rooms are read back, and
while a message is being stored, the position of before is kept, so that a crash loses nothing. It is kept by the one
worker that is connected.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Final, TypeAlias

from adapters.discord.room import Room
from adapters.running import understood
from core.errors import StorageError
from core.ports import Clock
from core.stores import KeptStore

_LOG = logging.getLogger(__name__)

_MAX_ROOMS: Final = 1000
_SAVE_EVERY_S: Final = 5.0
_DISORDER: Final = 10_000 << 22  # ids of 10 s, within which events of different channels may overtake each other
_COMMANDS, _READ = "discord.commands", "discord.read"


@dataclass(slots=True)
class ShardPosition:
    """How far the events of a shard were taken: the newest id, and the last id of each channel shortly before it.

    A shard delivers what is said everywhere, so a channel without an id of its own is known up to the newest one.
    """

    newest: int = 0
    recent: dict[int, int] = field(default_factory=dict)

    def took(self, channel: int, message_id: int) -> None:
        """Move on to a message of that channel."""
        self.newest = max(self.newest, message_id)
        self.recent[channel] = max(self.recent.pop(channel, 0), message_id)
        while self.recent[first := next(iter(self.recent))] < self.newest - _DISORDER:
            del self.recent[first]

    def known(self, channel: int) -> int:
        """Return the id up to which everything said in that channel was taken."""
        return max(self.recent.get(channel, 0), self.newest - _DISORDER)

    def copy(self) -> ShardPosition:
        """Return what is known now, which stays so."""
        return ShardPosition(self.newest, dict(self.recent))


@dataclass(slots=True)
class _Shard:
    """How far a shard was read.

    What is `held` is kept in place of what is known, until everything was read back; `taking` are ids of messages that
    are being stored.
    """

    reading: ShardPosition = field(default_factory=ShardPosition)
    held: ShardPosition | None = None
    taking: list[int] = field(default_factory=list)

    def kept(self) -> ShardPosition:
        """Return how far a process that begins now would have to trust it.

        A shard that was never read before is read back from the first message that it told of.
        """
        reading = self.held or self.reading
        if not self.taking:
            return reading
        return ShardPosition(min(reading.newest or self.taking[0], *self.taking), reading.recent)


class Bookmarks:
    """How far was read, of the worker that is connected; another one knows nothing.

    `_rooms` are those in which the bot was talked to, each with the last message seen there; the one that was silent
    longest comes first.
    """

    def __init__(self, store: KeptStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._shards: list[_Shard] = []
        self._rooms: dict[int, tuple[Room, int]] = {}
        self._saving: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()  # what is older is never written last

    async def open(self, shards: int) -> None:
        """Read what is kept, for so many shards from now on.

        If there were more or fewer, of each is known what all of them had taken.

        Raises:
            StorageError: it cannot be read.
        """
        nothing: _Read = [], []
        readings, rooms = understood(await self._store.get(_READ), _read, nothing)
        if len(readings) != shards:
            newest = min((reading.newest for reading in readings if reading.newest), default=0)
            readings = [ShardPosition(newest) for _ in range(shards)]
        self._shards = [_Shard(reading) for reading in readings]
        self._rooms = {room.id: (room, readings[room.shard(shards)].known(room.id)) for room in rooms}

    async def close(self, *, is_lost: bool = False) -> None:
        """Write what is not written yet, unless another worker is connected by now, and forget all."""
        if self._saving is not None:
            self._saving.cancel()
            self._saving = None
        if not is_lost:
            await self._save()
        self._shards, self._rooms = [], {}

    # --- rooms ---

    def positions(self) -> list[tuple[Room, int]]:
        """Return every room and the id of the last message seen there, the liveliest room first."""
        return sorted(self._rooms.values(), key=lambda known: known[1], reverse=True)

    def room(self, room_id: int) -> Room | None:
        """Return what is known of that room."""
        return self._rooms[room_id][0] if room_id in self._rooms else None

    def position(self, room_id: int) -> int:
        """Return the id of the last message seen in that room, 0 if the bot was never talked to there."""
        return self._rooms[room_id][1] if room_id in self._rooms else 0

    async def saw(self, room: Room, message_id: int, *, addressed: bool) -> None:
        """Move on to that message; a room is known from the first message that was `addressed` to the bot."""
        before = self._rooms.pop(room.id, None)
        if not self._shards or (before is None and not addressed):
            return
        self._rooms[room.id] = room, max(message_id, before[1] if before else 0)
        while len(self._rooms) > _MAX_ROOMS:
            del self._rooms[next(iter(self._rooms))]
        if before is None:
            await self._save()

    def forget(self, room: Room) -> None:
        """Drop a room: it is not read back any more."""
        if self._rooms.pop(room.id, None) is not None:
            self._save_later()

    # --- shards ---

    @contextmanager
    def taking(self, room: Room, message_id: int) -> Iterator[None]:
        """Move the room's shard on to that message, whomever it was said to, when it was taken."""
        if not self._shards:
            yield
            return
        shard = self._shards[room.shard(len(self._shards))]
        shard.taking.append(message_id)
        try:
            yield
            shard.reading.took(room.id, message_id)
        finally:
            shard.taking.remove(message_id)
        self._save_later()

    def took(self, room: Room, message_id: int) -> None:
        """Move the room's shard on to that message."""
        with self.taking(room, message_id):
            pass

    def known(self, shard: int) -> ShardPosition | None:
        """Return how far a shard was read; None if it never was."""
        found = self._shards[shard].reading if shard < len(self._shards) else None
        return found.copy() if found is not None and found.newest else None

    def hold(self, shard: int, reading: ShardPosition | None) -> None:
        """Keep that a shard was read so far until `release`, whatever is said there meanwhile; None: it never was."""
        if reading is not None and shard < len(self._shards) and self._shards[shard].held is None:
            self._shards[shard].held = reading

    async def release(self) -> None:
        """Move on to the present positions: everything was read back."""
        for shard in self._shards:
            shard.held = None
        await self._save()

    # --- commands ---

    async def commands(self) -> str:
        """Return the fingerprint of the commands that Discord knows, "" if it is not known."""
        try:
            return await self._store.get(_COMMANDS) or ""
        except StorageError as error:
            _LOG.warning("state not read", extra={"error": type(error).__name__})
            return ""

    async def told(self, commands: str) -> None:
        """Record the fingerprint of the commands that Discord knows."""
        await self._put(_COMMANDS, commands)

    # --- how it is kept ---

    def _save_later(self) -> None:
        if self._saving is None and self._shards:
            self._saving = asyncio.create_task(self._save_soon())

    async def _save_soon(self) -> None:
        await self._clock.sleep(_SAVE_EVERY_S)
        self._saving = None
        await self._save()

    async def _save(self) -> None:
        async with self._writing:
            if self._shards:
                kept = {
                    "shards": [asdict(shard.kept()) for shard in self._shards],
                    "rooms": [asdict(room) for room, _ in self._rooms.values()],
                }
                await self._put(_READ, json.dumps(kept))

    async def _put(self, name: str, text: str) -> None:
        try:
            await self._store.put(name, text)
        except StorageError as error:  # more is read back
            _LOG.warning("state not written", extra={"error": type(error).__name__})


_Read: TypeAlias = tuple[list[ShardPosition], list[Room]]
"""What is kept."""


def _read(kept: Any) -> _Read:
    return [_position(one) for one in kept["shards"]], [Room(**one) for one in kept["rooms"]]


def _position(kept: Mapping[str, Any]) -> ShardPosition:
    return ShardPosition(int(kept["newest"]), {int(channel): int(last) for channel, last in kept["recent"].items()})
