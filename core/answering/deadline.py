"""Stop work after a time limit, or when the person asks to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self

from core.errors import TurnEnded, TurnStopped, TurnTimeout
from core.ports import Clock


class Deadline:
    """An async context that raises TurnTimeout after `delay_s`, or TurnStopped after `stop()`, which calls `on_stop`.

    It is built on `asyncio.timeout`, which tells its own interruption from a cancellation of the task by others.
    """

    def __init__(self, clock: Clock, delay_s: float, on_stop: Callable[[], None] = lambda: None) -> None:
        self._clock = clock
        self._delay_s = delay_s
        self._on_stop = on_stop
        self._scope = asyncio.timeout(None)
        self._reason: TurnEnded | None = None
        self._running = False
        self._timer: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self._scope.__aenter__()
        self._running = True
        self._timer = asyncio.create_task(self._expire())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._running = False
        if self._timer is not None:
            self._timer.cancel()
        try:
            await self._scope.__aexit__(kind, error, traceback)
        except TimeoutError as ended:
            if self._reason is None:  # the work itself raised it
                raise
            raise self._reason from ended

    def stop(self, reason: TurnEnded | None = None) -> None:
        """End the work now, as the person asked, or for another reason."""
        if reason is None:
            self._on_stop()
        self._end(reason or TurnStopped("stopped by the person"))

    async def _expire(self) -> None:
        await self._clock.sleep(self._delay_s)
        self._end(TurnTimeout(f"longer than {self._delay_s:g} s"))

    def _end(self, reason: TurnEnded) -> None:
        if self._running and self._reason is None:
            self._reason = reason
            self._scope.reschedule(asyncio.get_running_loop().time())
