"""Write to people who have not just written: an owner whose decision is wanted, a quota's end, a broadcast."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from core.delivery.view import View
from core.errors import ChannelError
from core.outgoing import OutgoingMessage
from core.ports import Channels, Clock
from core.types import UserKey

_LAST_WORDS_S = 2.0
_log = logging.getLogger(__name__)


class Notifier:
    """Write into private chats of the connected platforms. `seen` are all platforms that were connected or wrote."""

    def __init__(self, clock: Clock) -> None:
        self.seen: set[str] = set()
        self._clock = clock
        self._channels: dict[str, Channels] = {}
        self._listeners: list[Callable[[], None]] = []

    @property
    def platforms(self) -> Mapping[str, Channels]:
        """The platforms that are connected."""
        return self._channels

    def connect(self, platform: str, channels: Channels) -> None:
        """Learn how a platform is written into."""
        self.seen.add(platform)
        self._channels[platform] = channels
        for listener in self._listeners:
            listener()

    def disconnect(self, platform: str) -> None:
        """Write nothing more there. One that is not connected is fine."""
        self._channels.pop(platform, None)

    def on_connect(self, listener: Callable[[], None]) -> None:
        """Have `listener` called each time that a platform is connected."""
        self._listeners.append(listener)

    async def tell(self, user: UserKey, shown: OutgoingMessage) -> bool:
        """Say it in the person's private chat, and return whether they have it; False where they cannot be reached."""
        channels = self._channels.get(user.platform)
        if channels is None:
            return False
        view = View(channels.private(user), self._clock)
        try:
            await view.show(shown)
            await view.close()
        except asyncio.CancelledError:
            await view.close(within_s=_LAST_WORDS_S)
            raise
        except ChannelError as error:
            _log.info("notice not delivered", extra={"platform": user.platform, "error": type(error).__name__})
            return False
        return True
