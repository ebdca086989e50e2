"""What is said to somebody who has not just written: an owner whose answer is wanted, a quota, a broadcast.

Knows how each platform is written into, once it is connected. Does not know why anything is said.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from core.delivery.view import View
from core.errors import SurfaceError
from core.ports import Clock, Surfaces
from core.screen import Shown
from core.types import UserKey

_LAST_WORDS_S = 2.0
_log = logging.getLogger(__name__)


class Notices:
    """Writes into private chats."""

    def __init__(self, clock: Clock) -> None:
        """Nothing is connected yet."""
        self._clock = clock
        self._surfaces: dict[str, Surfaces] = {}
        self._listeners: list[Callable[[], None]] = []

    @property
    def platforms(self) -> Mapping[str, Surfaces]:
        """The platforms that are connected."""
        return self._surfaces

    def connect(self, platform: str, surfaces: Surfaces) -> None:
        """Learn how a platform is written into."""
        self._surfaces[platform] = surfaces
        for listener in self._listeners:
            listener()

    def disconnect(self, platform: str) -> None:
        """Write nothing more there. One that is not connected is fine."""
        self._surfaces.pop(platform, None)

    def on_connect(self, listener: Callable[[], None]) -> None:
        """Have `listener` called each time that a platform is connected."""
        self._listeners.append(listener)

    async def tell(self, user: UserKey, shown: Shown) -> bool:
        """Say it in the person's private chat, and return whether they have it; False where they cannot be reached."""
        surfaces = self._surfaces.get(user.platform)
        if surfaces is None:
            return False
        view = View(surfaces.private(user), self._clock)
        try:
            await view.show(shown)
            await view.close()
        except asyncio.CancelledError:
            await view.close(within_s=_LAST_WORDS_S)
            raise
        except SurfaceError as error:
            _log.info("notice not delivered", extra={"platform": user.platform, "error": type(error).__name__})
            return False
        return True
