"""Write to people unasked: requests to owners, notes on quotas, broadcasts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from core.delivery.view import View
from core.errors import ChannelError
from core.outgoing import OutgoingMessage
from core.ports import Channels, Clock
from core.types import UserKey

_LAST_WORDS_S = 2.0
_log = logging.getLogger(__name__)


class Notifier:
    """Write into private chats of the connected `platforms`. `seen` are those that were connected or wrote."""

    def __init__(self, clock: Clock) -> None:
        self.seen: set[str] = set()
        self.platforms: dict[str, Channels] = {}
        self._clock = clock
        self._listeners: list[Callable[[], None]] = []

    def connect(self, platform: str, channels: Channels) -> None:
        """Connect a platform, and call the listeners."""
        self.seen.add(platform)
        self.platforms[platform] = channels
        for listener in self._listeners:
            listener()

    def disconnect(self, platform: str) -> None:
        """Disconnect a platform, if it is connected."""
        self.platforms.pop(platform, None)

    def on_connect(self, listener: Callable[[], None]) -> None:
        """Call `listener` each time a platform is connected."""
        self._listeners.append(listener)

    async def tell(self, user: UserKey, shown: OutgoingMessage) -> bool:
        """Send a message to the person's private chat; return whether it arrived."""
        channels = self.platforms.get(user.platform)
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
