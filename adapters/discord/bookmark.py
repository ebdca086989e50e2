"""What outlives the process: how far each room and each shard was read, and which commands Discord was told of.

A position may lag behind, never run ahead: what is read twice is recognised by its id. While rooms are read back, and
while a message is being stored, the position of before is kept, so that a crash loses nothing. All of it is kept by
shard, which is one worker's at a time; how many shards there are the workers agree on.
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

_MAX_ROOMS: Final = 500  # of one shard
_SAVE_EVERY_S: Final = 5.0
_LOOK_EVERY_S: Final = 30.0
_DISORDER: Final = 10_000 << 22  # ids of 10 s, within which events of different channels may overtake each other
_COMMANDS, _SHARDS, _FILE = "discord.commands", "discord.shards", "discord"
_USABLE: Final = 2
"""A number of shards is gone on with until Discord recommends more than twice as many, or less than half.

It recommends one for 1,000 servers, and refuses one with more than 2,500.
Source: discord.com/developers/docs/events/gateway#sharding, and the topic of large bots there.
"""


@dataclass(slots=True)
class Reading:
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

    def copy(self) -> Reading:
        """Return what is known now, which stays so."""
        return Reading(self.newest, dict(self.recent))


@dataclass(frozen=True, slots=True)
class _Deal:
    """How many shards there are, and were before; each change begins a new `era`, whose shards are kept apart."""

    count: int
    before: int = 0
    era: int = 1


@dataclass(slots=True)
class _Shard:
    """What is known of a shard: how far it was read, and the rooms in which the bot was talked to there.

    Those of them that were silent longest come first, each with the last message seen there. What is `held` is kept in
    place of what is known, until everything was read back; `taking` are ids of messages that are being stored.
    """

    reading: Reading = field(default_factory=Reading)
    rooms: dict[int, tuple[Room, int]] = field(default_factory=dict)
    held: Reading | None = None
    taking: list[int] = field(default_factory=list)

    def kept(self) -> dict[str, Any]:
        """Return it as it is kept. What was seen in a room is known by how far the shard was read."""
        reading = self.held or self.reading
        if self.taking:
            reading = Reading(min(reading.newest, *self.taking), reading.recent)
        return {**asdict(reading), "rooms": [asdict(room) for room, _ in self.rooms.values()]}


class Bookmarks:
    """What is known of the shards that are this worker's."""

    def __init__(self, store: KeptStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._deal = _Deal(1)
        self._shards: dict[int, _Shard] = {}
        self._unsaved: set[int] = set()
        self._saving: asyncio.Task[None] | None = None

    # --- how many shards there are ---

    @property
    def count(self) -> int:
        """How many shards there are, of all workers together."""
        return self._deal.count

    @property
    def era(self) -> int:
        """The number of that decision."""
        return self._deal.era

    async def agree(self, recommended: int, wanted: int) -> None:
        """Agree with the other workers on how many shards there are: as `wanted`, or if that is 0 as recommended.

        Raises:
            StorageError: what they agreed on is not known.
        """
        await self._take_over_file()

        def decided(text: str | None) -> str:
            known = understood(text, _dealt, _Deal(0, era=0))
            is_usable = recommended <= known.count * _USABLE and known.count <= recommended * _USABLE
            if known.count and known.count == (wanted or (known.count if is_usable else recommended)):
                return json.dumps(asdict(known))
            return json.dumps(asdict(_Deal(wanted or recommended, known.count, known.era + 1)))

        before = self._deal
        self._deal = understood(await self._store.change(_SHARDS, decided), _dealt, before)

    async def until_changed(self) -> None:
        """Return when the workers agreed on another number."""
        while True:
            await self._clock.sleep(_LOOK_EVERY_S)
            try:
                deal = understood(await self._store.get(_SHARDS), _dealt, self._deal)
            except StorageError:
                continue
            if deal != self._deal:
                _LOG.info("discord has another number of shards", extra={"shards": deal.count})
                return

    # --- the shards of this worker ---

    async def open(self, shard: int) -> None:
        """Read what is kept of a shard that is this worker's from now on.

        Raises:
            StorageError: it cannot be read.
        """
        kept = await self._store.get(_name(self._deal.era, shard))
        found = understood(kept, _shard, _Shard()) if kept is not None else await self._of_before(shard)
        self._shards[shard] = found
        self._trim(found)

    async def leave(self, shard: int) -> None:
        """Write what is known of a shard, which is another worker's from now on."""
        if shard in self._shards:
            await self._save(shard)
            del self._shards[shard]
            self._unsaved.discard(shard)

    async def _of_before(self, shard: int) -> _Shard:
        """Return what is known of a shard from before there was another number of them.

        What all that there were had taken is known of each.
        """
        names = [_name(self._deal.era - 1, number) for number in range(self._deal.before)]
        kept = [await self._store.get(name) for name in names]
        known = [understood(text, _shard, _Shard()) for text in kept]
        newest = [one.reading.newest for one in known if one.reading.newest]
        rooms = {
            room.id: (room, seen)
            for one in known
            for room, seen in one.rooms.values()
            if room.shard(self.count) == shard
        }
        return _Shard(Reading(min(newest, default=0)), rooms)

    def positions(self) -> list[tuple[Room, int]]:
        """Return every room and the id of the last message seen there, the liveliest room first."""
        rooms = [known for shard in self._shards.values() for known in shard.rooms.values()]
        return sorted(rooms, key=lambda known: known[1])[::-1]

    def room(self, room_id: int) -> Room | None:
        """Return what is known of that room."""
        found = (shard.rooms[room_id][0] for shard in self._shards.values() if room_id in shard.rooms)
        return next(found, None)

    def position(self, room_id: int) -> int:
        """Return the id of the last message seen in that room, 0 if the bot was never talked to there."""
        found = (shard.rooms[room_id][1] for shard in self._shards.values() if room_id in shard.rooms)
        return next(found, 0)

    @contextmanager
    def taking(self, room: Room, message_id: int) -> Iterator[None]:
        """Move the room's shard on to that message, whomever it was said to, when it was taken."""
        number = room.shard(self.count)
        if (shard := self._shards.get(number)) is None:
            yield
            return
        shard.taking.append(message_id)
        try:
            yield
            shard.reading.took(room.id, message_id)
        finally:
            shard.taking.remove(message_id)
        self._save_later(number)

    def took(self, room: Room, message_id: int) -> None:
        """Move the room's shard on to that message."""
        with self.taking(room, message_id):
            pass

    def hold(self, shard: int, reading: Reading | None) -> None:
        """Keep that a shard was read so far until `release`, whatever is said there meanwhile; None: it never was."""
        if reading is not None and (known := self._shards.get(shard)) is not None and known.held is None:
            known.held = reading

    def known(self, shard: int) -> Reading | None:
        """Return how far a shard was read; None if it never was."""
        found = self._shards.get(shard)
        return found.reading.copy() if found is not None and found.reading.newest else None

    async def release(self) -> None:
        """Move on to the present positions: everything was read back."""
        for number, shard in self._shards.items():
            shard.held = None
            self._unsaved.add(number)
        await self._save_all()

    async def saw(self, room: Room, message_id: int, *, addressed: bool) -> None:
        """Move on to that message; a room is known from the first message that was `addressed` to the bot."""
        number = room.shard(self.count)
        if (shard := self._shards.get(number)) is None:
            return
        before = shard.rooms.pop(room.id, None)
        if before is None and not addressed:
            return
        shard.rooms[room.id] = room, max(message_id, before[1] if before else 0)
        self._trim(shard)
        if before is None:
            await self._save(number)

    def forget(self, room: Room) -> None:
        """Drop a room: it is not read back any more."""
        number = room.shard(self.count)
        if number in self._shards and room.id in self._shards[number].rooms:
            del self._shards[number].rooms[room.id]
            self._save_later(number)

    async def close(self) -> None:
        """Write what is not written yet."""
        if self._saving is not None:
            self._saving.cancel()
            self._saving = None
        await self._save_all()

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

    def _trim(self, shard: _Shard) -> None:
        while len(shard.rooms) > _MAX_ROOMS:
            del shard.rooms[next(iter(shard.rooms))]

    def _save_later(self, shard: int) -> None:
        self._unsaved.add(shard)
        if self._saving is None:
            self._saving = asyncio.create_task(self._save_soon())

    async def _save_soon(self) -> None:
        await self._clock.sleep(_SAVE_EVERY_S)
        self._saving = None
        await self._save_all()

    async def _save_all(self) -> None:
        while self._unsaved:
            await self._save(self._unsaved.pop())

    async def _save(self, shard: int) -> None:
        if (known := self._shards.get(shard)) is not None:
            await self._put(_name(self._deal.era, shard), json.dumps(known.kept()))

    async def _put(self, name: str, text: str) -> None:
        try:
            await self._store.put(name, text)
        except StorageError as error:  # more is read back
            _LOG.warning("state not written", extra={"error": type(error).__name__})

    async def _take_over_file(self) -> None:
        """Turn what versions before kept in a file of one process into what is kept by shard."""
        text = await self._store.get(_FILE)
        if text is None:
            return
        nothing: _File = [Reading()], {}, ""
        readings, rooms, commands = understood(text, _file, nothing)
        deal = _Deal(len(readings))
        if await self._store.change(_SHARDS, lambda known: known or json.dumps(asdict(deal))) == json.dumps(
            asdict(deal)
        ):
            for number, reading in enumerate(readings):
                own = {room.id: (room, seen) for room, seen in rooms.values() if room.shard(deal.count) == number}
                await self._store.put(_name(deal.era, number), json.dumps(_Shard(reading, own).kept()))
            await self._store.put(_COMMANDS, commands)
        await self._store.delete(_FILE)


_File: TypeAlias = tuple[list[Reading], dict[int, tuple[Room, int]], str]
"""What was in it: shards, rooms, and the fingerprint of the commands."""


def _name(era: int, shard: int) -> str:
    return f"discord.shard.{era}.{shard}"


def _dealt(kept: Any) -> _Deal:
    return _Deal(int(kept["count"]), int(kept["before"]), int(kept["era"]))


def _shard(kept: Any) -> _Shard:
    reading = _reading(kept)
    rooms = [_room(one) for one in kept["rooms"]]
    return _Shard(reading, {room.id: (room, reading.known(room.id)) for room in rooms})


def _file(kept: Any) -> _File:
    rooms = [(_room(one), int(one["seen"])) for one in kept["rooms"]]
    readings = [_reading(one) for one in kept.get("shards", ())] or [Reading()]
    return readings, {room.id: (room, seen) for room, seen in rooms}, str(kept["commands"])


def _reading(kept: Mapping[str, Any]) -> Reading:
    return Reading(int(kept["newest"]), {int(channel): int(last) for channel, last in kept["recent"].items()})


def _room(kept: Mapping[str, Any]) -> Room:
    return Room(
        id=int(kept["id"]),
        parent=int(kept["parent"]),
        category=int(kept["category"]),
        guild=int(kept["guild"]),
        private=kept["private"] is True,
        ours=kept["ours"] is True,
        language=str(kept["language"]),
    )
