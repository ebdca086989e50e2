"""Keep what people call the rooms in which the bot is talked to, and those about which something was decided."""

from __future__ import annotations

import json
from functools import partial
from typing import Final

from core.answering.turn import by_platform
from core.stores import KeptStore
from core.text.markdown import verbatim
from core.types import Incoming, Locale, room_name

_KEPT_AS: Final = "room_titles"
_MOST_ROOMS: Final = 1000


class RoomTitles:
    """Titles of rooms, by PLATFORM:ID; of more than `_MOST_ROOMS` those that were noted last."""

    def __init__(self, kept: KeptStore) -> None:
        self._kept = kept
        self._noted: dict[str, str] = {}  # by this process, so that each message of a room reads nothing

    async def of(self, room: str) -> str:
        """Return the title of a room, "" if none is known."""
        return str(json.loads(await self._kept.get(_KEPT_AS) or "{}").get(room, ""))

    async def told(self, room: str, locale: Locale) -> str:
        """Return how a room, named as PLATFORM:ID, is called for people who were there: its title, if it is known."""
        title = await self.of(room)
        return f"“{verbatim(title)}”" if title else await by_platform(room, locale)

    async def note(self, room: str, title: str) -> None:
        """Keep the title of a room; "" changes nothing."""
        if not title or self._noted.get(room) == title:
            return
        if title != await self.of(room):
            await self._kept.change(_KEPT_AS, partial(_with_title, room=room, title=title))
        if len(self._noted) >= _MOST_ROOMS:
            self._noted.clear()
        self._noted[room] = title

    async def note_here(self, incoming: Incoming) -> None:
        """Keep the title of the room where that was said."""
        await self.note(room_name(incoming.chat), incoming.room_title)


def _with_title(kept: str | None, *, room: str, title: str) -> str:
    titles: dict[str, str] = json.loads(kept or "{}")
    titles.pop(room, None)
    titles[room] = title
    return json.dumps(dict(list(titles.items())[-_MOST_ROOMS:]), ensure_ascii=False)
