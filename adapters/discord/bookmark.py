"""What outlives the process: how far each room was read, and which commands Discord was told of.

A position may lag behind, never run ahead: what is read twice is recognised by its id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from adapters.discord.room import Room
from adapters.running import StateFile
from core.ports import Clock

_MAX_ROOMS = 500
_SAVE_EVERY_S = 1.0


class Bookmarks:
    """Rooms in which the bot was talked to, the longest silent first. Without a path nothing outlives the process."""

    def __init__(self, path: Path | None, clock: Clock) -> None:
        self._file = StateFile(path)
        self._clock = clock
        self._seen: dict[int, tuple[Room, int]] = {}
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
        elif self._saving is None:
            self._saving = asyncio.create_task(self._save_soon())

    def forget(self, room: Room) -> None:
        """Drop a room: it is not read back any more."""
        self._seen.pop(room.id, None)

    def told(self, commands: str) -> None:
        """Record the fingerprint of the commands that Discord knows."""
        self.commands = commands
        self.save()

    def save(self) -> None:
        """Write the file now."""
        rooms = [{**asdict(room), "seen": seen} for room, seen in self._seen.values()]
        self._file.save({"commands": self.commands, "rooms": rooms})

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

    async def _save_soon(self) -> None:
        await self._clock.sleep(_SAVE_EVERY_S)
        self._saving = None
        self.save()


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
