"""Send a text to everybody, one after the other, in the background; after a restart go on where it stopped."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

from core.answering.language_choice import PreferencesOf
from core.delivery.notifier import Notifier
from core.errors import ClaimLost, StorageError
from core.features.access.rules import Access
from core.features.broadcast.broadcasts import Broadcast, BroadcastState, Receipt
from core.features.broadcast.storage import Broadcasts
from core.memory.memories import Memories
from core.outgoing import OutgoingMessage
from core.ports import Clock
from core.tasks import first_of
from core.text.catalogue import counted, forms
from core.types import Role, UserKey
from core.workers.port import Worker

AGAIN: Final = "↻"
"""Marks a text that the person may have already: the bot was stopped while it was being sent."""

_RETRY_S: Final = 60.0
_log = logging.getLogger(__name__)


class Audience:
    """The people a broadcast is for: owners, admins and members who did not turn news off."""

    def __init__(self, access: Access, preferences: PreferencesOf, memories: Memories, notifier: Notifier) -> None:
        self._access = access
        self._preferences = preferences
        self._memories = memories
        self._notifier = notifier

    async def wants(self, user: UserKey) -> bool:
        """Whether the person gets news."""
        if await self._access.role(user) not in {Role.OWNER, Role.ADMIN, Role.MEMBER}:
            return False
        return (await self._preferences(user)).news

    async def reachable(self) -> Sequence[UserKey]:
        """Return those who get news and can be written to now, one account of each person who linked several."""
        chosen: dict[UserKey, UserKey] = {}
        for person in await self._access.people():
            if person.user.platform in self._notifier.platforms and await self.wants(person.user):
                chosen.setdefault(await self._memories.owner(person.user), person.user)
        return tuple(chosen.values())


class Broadcaster:
    """Send broadcasts while `until` is entered and that is this worker's duty.

    One person is written to every `interval_s`, or slower if the platform asks it. `others_s` is how often it looks for
    a broadcast that another worker began. `wants` is asked again before each person is written to. People on a platform
    that is not connected are written to once it is. At the end the author is told how many people have it.
    """

    def __init__(
        self,
        store: Broadcasts,
        notifier: Notifier,
        wants: Callable[[UserKey], Awaitable[bool]],
        clock: Clock,
        worker: Worker,
        *,
        interval_s: float = 1.0,
        others_s: float = math.inf,
    ) -> None:
        self.interval_s: Final = interval_s
        self._store = store
        self._notifier = notifier
        self._wants = wants
        self._clock = clock
        self._worker = worker
        self._others_s = others_s
        self._wake = asyncio.Event()
        self._wake.set()
        self._halted = False
        notifier.on_connect(self.wake)

    def wake(self) -> None:
        """Look for somebody to write to, soon."""
        self._wake.set()

    @asynccontextmanager
    async def until(self, stop: asyncio.Event) -> AsyncIterator[None]:
        """Work while the context is entered; once `stop` is set, write to nobody else."""
        work = asyncio.create_task(self._serve())
        halt = asyncio.create_task(self._halt_at(stop))
        work.add_done_callback(_log_failure)
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

    async def _serve(self) -> None:
        """Work while that is this worker's duty. Who is being told when it is lost is told again, marked."""
        while True:
            async with self._worker.hold("broadcasts") as duty:
                self.wake()
                with duty.under(), suppress(ClaimLost):
                    await first_of(self._work(), self._look(), duty.lost.wait())

    async def _look(self) -> None:
        """Look again and again for a broadcast that another worker began."""
        if self._others_s == math.inf:
            await asyncio.Event().wait()
        while True:
            await self._clock.sleep(self._others_s)
            self.wake()

    async def _work(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                while not self._halted and await self._tell_next():
                    await self._clock.sleep(self.interval_s)
            except StorageError as error:
                _log.warning("broadcast waits", extra={"error": type(error).__name__})
                await self._clock.sleep(_RETRY_S)
                self.wake()

    async def _tell_next(self) -> bool:
        """Write to one person; return False if there is nobody to write to now."""
        running = await self._store.newest()
        if running is None or running.state is not BroadcastState.RUNNING:
            return False
        taken = await self._store.take(running.id, tuple(self._notifier.platforms))
        if taken is None:
            if not (await self._store.tally(running.id)).waiting:
                await self._finish(running)
            return False
        user, again = taken
        if not await self._wants(user):
            await self._store.mark(running.id, user, None)
            return True
        has_it = await self._notifier.tell(user, OutgoingMessage(f"{AGAIN} {running.text}" if again else running.text))
        if has_it or not self._halted:  # a platform that is being closed refuses everybody
            await self._store.mark(running.id, user, Receipt.TOLD if has_it else Receipt.UNREACHABLE)
        return True

    async def _finish(self, running: Broadcast) -> None:
        tally = await self._store.tally(running.id)
        if not await self._store.end(running.id, BroadcastState.DONE):
            return
        _log.info("broadcast done", extra={"told": tally.told, "unreachable": tally.unreachable})
        if running.by is not None:
            lines = [counted(DONE, running.locale, tally.told)]
            if tally.unreachable:
                lines.append(counted(UNREACHABLE, running.locale, tally.unreachable))
            await self._notifier.tell(running.by, OutgoingMessage("\n".join(lines)))


def _log_failure(work: asyncio.Task[None]) -> None:
    if not work.cancelled() and (error := work.exception()) is not None:
        _log.error("broadcast broke", exc_info=error)


DONE = forms("broadcast.report.done")
UNREACHABLE = forms("broadcast.report.unreachable")
