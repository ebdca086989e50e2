"""Keep what people call the rooms of which the owners were told, or about which they decided."""

from __future__ import annotations

import json
from functools import partial
from typing import Final

from core.stores import KeptStore
from core.types import Incoming, room_name

_KEPT_AS: Final = "room_titles"
_MOST_ROOMS: Final = 1000


class RoomTitles:
    """Titles of rooms, by PLATFORM:ID; of more than `_MOST_ROOMS` those that were noted last."""

    def __init__(self, kept: KeptStore) -> None:
        self._kept = kept

    async def of(self, room: str) -> str:
        """Return the title of a room, "" if none is known."""
        return str(json.loads(await self._kept.get(_KEPT_AS) or "{}").get(room, ""))

    async def note(self, room: str, title: str) -> None:
        """Keep the title of a room; "" changes nothing."""
        if title and title != await self.of(room):
            await self._kept.change(_KEPT_AS, partial(_with_title, room=room, title=title))

    async def note_here(self, incoming: Incoming) -> None:
        """Keep the title of the room where that was said."""
        await self.note(room_name(incoming.chat), incoming.room_title)


def _with_title(kept: str | None, *, room: str, title: str) -> str:
    titles: dict[str, str] = json.loads(kept or "{}")
    titles.pop(room, None)
    titles[room] = title
    return json.dumps(dict(list(titles.items())[-_MOST_ROOMS:]), ensure_ascii=False)
