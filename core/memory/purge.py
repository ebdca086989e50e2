"""Remove the words of what was deleted once it can no longer be undone."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from core.errors import StorageError
from core.ports import Clock
from core.stores import MemoryStore

_log = logging.getLogger(__name__)

_TOGETHER_S: Final = 60.0
"""Deletions of one minute are forgotten together: leaving no byte of them costs a reading of the whole file."""

_REST: Final = 19
"""However much is deleted, purging takes no more than a twentieth of the time."""


Redact: TypeAlias = Callable[[datetime], Awaitable[None]]
"""Removes what conversations tell of memories that were deleted or replaced before then."""


class Purge:
    """Removes what was deleted, and what conversations tell of it, when it can no longer be undone.

    `close` it.
    """

    def __init__(self, store: MemoryStore, clock: Clock, undo_within: timedelta, redact: Redact | None = None) -> None:
        self._store = store
        self._clock = clock
        self._undo_within = undo_within
        self._redact = redact
        self._due_s: deque[float] = deque()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Remove what is past its time already; what was deleted shortly before is removed later."""
        await self._purge()
        self.plan()

    def plan(self) -> None:
        """Plan to remove what was deleted or replaced until now, within a minute after it can no longer be undone."""
        over_s = self._clock.monotonic() + self._undo_within.total_seconds()
        if self._due_s and self._due_s[-1] > over_s:
            return
        self._due_s.append(over_s + _TOGETHER_S)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Stop waiting; the next start goes on with it."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while self._due_s:
            await self._clock.sleep(self._due_s[0] - self._clock.monotonic())
            began_s = self._clock.monotonic()
            while self._due_s and self._due_s[0] <= began_s:
                self._due_s.popleft()
            try:
                await self._purge()
            except StorageError as error:
                _log.warning("deleted memories could not be purged: %s", error)
            await self._clock.sleep(_REST * (self._clock.monotonic() - began_s))

    async def _purge(self) -> None:
        before = self._clock.now() - self._undo_within
        if self._redact is not None:
            await self._redact(before)
        await self._store.purge(before)
