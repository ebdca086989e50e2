"""A platform on which everything is said in one place, or where the test says."""

from __future__ import annotations

from collections.abc import Callable

from core.ports import Channel, Channels
from core.types import Incoming, UserKey


class OneChannel(Channels):
    """Writes everything into one channel; `opened` are the messages that were asked for again."""

    def __init__(self, channel: Channel, private: Callable[[UserKey], Channel] | None = None) -> None:
        self._channel = channel
        self._private = private
        self.opened: list[Incoming] = []

    def again(self, incoming: Incoming) -> Channel:
        self.opened.append(incoming)
        return self._channel

    def private(self, user: UserKey, once: str = "") -> Channel:  # noqa: ARG002
        return self._channel if self._private is None else self._private(user)
