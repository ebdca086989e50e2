"""What outlives the process: how far each room and each shard was read, and which commands Discord was told of.

A position may lag behind, never run ahead: what is read twice is recognised by its id. While rooms are read back, the
positions of before are kept in the file, so that a crash loses nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from adapters.discord.room import Room
from adapters.running import StateFile
from core.ports import Clock

_MAX_ROOMS = 500
_SAVE_EVERY_S = 1.0
_DISORDER = 10_000 << 22  # ids of 10 s, within which events of different channels may overtake each other


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


class Bookmarks:
    """Rooms in which the bot was talked to, the longest silent first. Without a path nothing outlives the process."""

    def __init__(self, path: Path | None, clock: Clock) -> None:
        self._file = StateFile(path)
        self._clock = clock
        self._seen: dict[int, tuple[Room, int]] = {}
        self._readings = [Reading()]  # by shard
        self._held: dict[int, Reading] = {}  # by shard, what is saved until everything was read back
        self._held_rooms: dict[int, int] = {}
        self._saving: asyncio.Task[None] | None = None
        self.commands = ""
        self._file.load(self._read)

    def __len__(self) -> int:
        """Return how many rooms are known."""
        return len(self._seen)

    def positions(self) -> list[tuple[Room, int]]:
        """Return every room and the id of the last message seen there, the liveliest room first."""
        return list(reversed(self._seen.values()))

    def room(self, room_id: int) -> Room | None:
        """Return what is known of that room."""
        known = self._seen.get(room_id)
        return known[0] if known else None

    def position(self, room_id: int) -> int:
        """Return the id of the last message seen in that room, 0 if the bot was never talked to there."""
        return self._seen[room_id][1] if room_id in self._seen else 0

    @property
    def shards(self) -> int:
        """How many shards there are."""
        return len(self._readings)

    def took(self, guild: int, channel: int, message_id: int) -> None:
        """Move the server's shard on to that message, whomever it was said to."""
        self._readings[(guild >> 22) % self.shards].took(channel, message_id)
        self._save_later()

    def hold(self, shard: int, shards: int) -> Reading | None:
        """Return how far a shard was read, and keep that until `release`; None if it never was."""
        if shards != self.shards:  # what all of them had taken is known of each
            first = min(self._held.get(at, known).newest for at, known in enumerate(self._readings))
            self._readings, self._held = [Reading(first) for _ in range(shards)], {}
        known = self.known(shard)
        if known is not None:
            self._held.setdefault(shard, known)
        return known

    def known(self, shard: int) -> Reading | None:
        """Return how far a shard was read; None if it never was."""
        return self._readings[shard].copy() if self._readings[shard].newest else None

    def hold_room(self, room_id: int, position: int) -> None:
        """Keep that position of a room until `release`, whatever is said there meanwhile."""
        self._held_rooms.setdefault(room_id, position)

    def release(self) -> None:
        """Move on to the present positions: everything was read back."""
        self._held, self._held_rooms = {}, {}
        self.save()

    def saw(self, room: Room, message_id: int, *, addressed: bool) -> None:
        """Move on to that message; a room is known from the first message that was `addressed` to the bot."""
        before = self._seen.pop(room.id, None)
        if before is None and not addressed:
            return
        self._seen[room.id] = room, max(message_id, before[1] if before else 0)
        if len(self._seen) > _MAX_ROOMS:
            del self._seen[next(iter(self._seen))]
        if before is None:
            self.save()
        else:
            self._save_later()

    def forget(self, room: Room) -> None:
        """Drop a room: it is not read back any more."""
        self._seen.pop(room.id, None)

    def told(self, commands: str) -> None:
        """Record the fingerprint of the commands that Discord knows."""
        self.commands = commands
        self.save()

    def save(self) -> None:
        """Write the file now."""
        rooms = [
            {**asdict(room), "seen": min(seen, self._held_rooms.get(room.id, seen))}
            for room, seen in self._seen.values()
        ]
        readings = [asdict(self._held.get(shard, known)) for shard, known in enumerate(self._readings)]
        self._file.save({"commands": self.commands, "rooms": rooms, "shards": readings})

    def close(self) -> None:
        """Write what is not written yet."""
        if self._saving is not None:
            self._saving.cancel()
            self._saving = None
        self.save()

    def _read(self, kept: Any) -> None:
        rooms = [(_room(one), int(one["seen"])) for one in kept["rooms"]]
        self._seen = {room.id: (room, seen) for room, seen in rooms}
        self.commands = str(kept["commands"])
        self._readings = [_reading(one) for one in kept.get("shards", ())] or [Reading()]

    def _save_later(self) -> None:
        if self._saving is None:
            self._saving = asyncio.create_task(self._save_soon())

    async def _save_soon(self) -> None:
        await self._clock.sleep(_SAVE_EVERY_S)
        self._saving = None
        self.save()


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
