"""The one screen that everybody at a terminal looks at. Knows that there is no other place to write to."""

from __future__ import annotations

from core.ports import Channel, Channels
from core.types import Incoming, UserKey


class OneScreen(Channels):
    """Whatever is said, is said here."""

    def __init__(self, channel: Channel) -> None:
        """Write to that channel."""
        self._channel = channel

    def again(self, incoming: Incoming) -> Channel:
        """Return the screen."""
        del incoming
        return self._channel

    def private(self, user: UserKey) -> Channel:
        """Return the screen."""
        del user
        return self._channel
