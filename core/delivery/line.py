"""Order of the answers that wait in a room: the first question is answered first, and a sign shows who waits."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from weakref import WeakSet

from core.delivery.fallback import FallbackChannel
from core.errors import ChannelError, ClaimLost


class Line:
    """The answers of one room that are whole and could not be written yet."""

    def __init__(self) -> None:
        self.waiting: WeakSet[PlaceInLine] = WeakSet()


class PlaceInLine:
    """The place of one answer in its room's line; `number` is that of its question."""

    def __init__(self, line: Line, number: int) -> None:
        self._line = line
        self._number = number

    @property
    def is_behind(self) -> bool:
        """Whether the answer to an earlier question waits."""
        return any(other._number < self._number for other in self._line.waiting)  # noqa: SLF001

    def wait(self) -> None:
        """Make the answers to later questions wait for this one."""
        self._line.waiting.add(self)

    def leave(self) -> None:
        """Let the answers to later questions be written."""
        self._line.waiting.discard(self)


class WaitingSign:
    """The sign on a message that it waits, which goes when its answer came.

    With `may_stand` an earlier process may have shown it.
    """

    def __init__(self, channel: FallbackChannel, *, may_stand: bool) -> None:
        self._channel = channel
        self.may_stand = may_stand
        """Whether it may be there."""
        self._showing: asyncio.Task[None] | None = None

    def show(self) -> None:
        """Show it, once."""
        self.may_stand = True
        if self._showing is None:
            self._showing = asyncio.create_task(self._set(waits=True))

    async def take_back(self) -> None:
        """Take it back."""
        if self._showing is not None:
            await asyncio.wait({self._showing})
        await self._set(waits=False)

    async def cancel(self) -> None:
        """Show it no more."""
        if self._showing is not None:
            self._showing.cancel()
            await asyncio.wait({self._showing})

    async def _set(self, *, waits: bool) -> None:
        with suppress(ChannelError, ClaimLost):  # it is only a sign
            await self._channel.show_waiting(waits=waits)
