"""Write to people unasked: requests to owners, notes on quotas, broadcasts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto

from core.delivery.view import View
from core.errors import ChannelError, ChannelGone, Undelivered
from core.outgoing import OutgoingMessage
from core.ports import Channel, Channels, Clock
from core.types import ChatKey, UserKey

_LAST_WORDS_S = 2.0
_log = logging.getLogger(__name__)


class Delivery(Enum):
    """What became of a message to somebody who has not just written. OFFLINE: their platform is not connected now.

    GONE: they do not let the bot write there any more. REFUSED: the platform refused this message.
    """

    ARRIVED = auto()
    OFFLINE = auto()
    GONE = auto()
    REFUSED = auto()


class Notifier:
    """Write into private chats of the connected `platforms`. `seen` are those that were connected or wrote."""

    def __init__(self, clock: Clock) -> None:
        self.seen: set[str] = set()
        self.platforms: dict[str, Channels] = {}
        self.account_ids: dict[str, str] = {}  # the form of ids, also of a platform that was disconnected
        self.account_urls: dict[str, str] = {}
        self._clock = clock
        self._listeners: list[Callable[[], None]] = []

    def connect(self, platform: str, channels: Channels) -> None:
        """Connect a platform, and call the listeners."""
        self.seen.add(platform)
        self.platforms[platform] = channels
        self.account_ids[platform] = channels.account_ids
        self.account_urls[platform] = channels.account_url
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
        return await self.write(user, None, shown) is Delivery.ARRIVED

    async def write(self, user: UserKey, room: ChatKey | None, shown: OutgoingMessage, once: str = "") -> Delivery:
        """Send a message to the person's private chat, or into a room; return what became of it.

        `once` names the message, so that a platform that can tells a repeat from another one.
        """
        platform = user.platform if room is None else room.platform
        channels = self.platforms.get(platform)
        if channels is None:
            return Delivery.OFFLINE
        try:
            channel = channels.private(user, once) if room is None else channels.room(room, once)
            await self._write(channel, shown)
        except ChannelError as error:
            refusal = error.refusal if isinstance(error, Undelivered) else error
            _log.info("notice not delivered", extra={"platform": platform, "error": type(refusal).__name__})
            return Delivery.GONE if isinstance(refusal, ChannelGone) else Delivery.REFUSED
        return Delivery.ARRIVED

    async def _write(self, channel: Channel, shown: OutgoingMessage) -> None:
        view = View(channel, self._clock)
        try:
            await view.show(shown)
            await view.close()
        except asyncio.CancelledError:
            with suppress(ChannelError):  # the caller is to end, whatever becomes of it
                await view.close(within_s=_LAST_WORDS_S)
            raise
