"""Tells a text to everybody, one after the other, in the background, and goes on after a restart where it stopped.

Knows the pace, and that nobody is told twice. Does not know who is meant, nor how a platform is written into.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeAlias

from core.delivery.notifier import Notifier
from core.errors import StorageError
from core.features.broadcast.broadcasts import Broadcast, Broadcasts, BroadcastState, Reach
from core.outgoing import OutgoingMessage
from core.ports import Clock
from core.text.catalogue import forms
from core.text.plural import counted
from core.types import UserKey

Wants: TypeAlias = Callable[[UserKey], Awaitable[bool]]

AGAIN: Final = "↻"
"""Stands before a text that may have come before: the bot was stopped while it was being sent."""

_RETRY_S: Final = 60.0
_log = logging.getLogger(__name__)


class Broadcaster:
    """Works while `until` is entered. Tells one person every `interval_s`; a platform's own wait is obeyed besides.

    Before each is told, `wants` is asked whether they are still to be. Of whom is on a platform that is not connected
    it waits for that. When it is over, whoever began it is told how many have it.
    """

    def __init__(
        self, store: Broadcasts, notifier: Notifier, wants: Wants, clock: Clock, *, interval_s: float = 1.0
    ) -> None:
        self.store: Final = store
        self.interval_s: Final = interval_s
        self._notices = notifier
        self._wants = wants
        self._clock = clock
        self._news = asyncio.Event()
        self._news.set()
        self._halted = False
        notifier.on_connect(self.wake)

    def wake(self) -> None:
        """See soon whether there is somebody to tell."""
        self._news.set()

    @asynccontextmanager
    async def until(self, stop: asyncio.Event) -> AsyncIterator[None]:
        """Work while the context is entered, and begin with nobody once `stop` is set."""
        work = asyncio.create_task(self._work())
        halt = asyncio.create_task(self._halt_at(stop))
        work.add_done_callback(_tell_of_failure)
        try:
            yield
        finally:
            self._halted = True
            for task in (work, halt):
                task.cancel()
            await asyncio.wait({work, halt})

    async def _halt_at(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._halted = True

    async def _work(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                while not self._halted and await self._tell_next():
                    await self._clock.sleep(self.interval_s)
            except StorageError as error:
                _log.warning("broadcast waits", extra={"error": type(error).__name__})
                await self._clock.sleep(_RETRY_S)
                self.wake()

    async def _tell_next(self) -> bool:
        """Tell one person; False if nobody can be told now."""
        running = await self.store.newest()
        if running is None or running.state is not BroadcastState.RUNNING:
            return False
        taken = await self.store.take(running.id, tuple(self._notices.platforms))
        if taken is None:
            if not (await self.store.tally(running.id)).waiting:
                await self._finish(running)
            return False
        user, again = taken
        if not await self._wants(user):
            await self.store.drop(running.id, user)
            return True
        has_it = await self._notices.tell(user, OutgoingMessage(f"{AGAIN} {running.text}" if again else running.text))
        if has_it or not self._halted:  # a platform that is being closed refuses, whoever it is
            await self.store.mark(running.id, user, Reach.TOLD if has_it else Reach.UNREACHABLE)
        return True

    async def _finish(self, running: Broadcast) -> None:
        tally = await self.store.tally(running.id)
        if not await self.store.end(running.id, BroadcastState.DONE):
            return
        _log.info("broadcast done", extra={"told": tally.told, "unreachable": tally.unreachable})
        if running.by is not None:
            lines = [counted(DONE, running.locale, tally.told)]
            if tally.unreachable:
                lines.append(counted(UNREACHABLE, running.locale, tally.unreachable))
            await self._notices.tell(running.by, OutgoingMessage("\n".join(lines)))


def _tell_of_failure(work: asyncio.Task[None]) -> None:
    if not work.cancelled() and (error := work.exception()) is not None:
        _log.error("broadcast broke", exc_info=error)


DONE = forms("broadcast.report.done")
UNREACHABLE = forms("broadcast.report.unreachable")
