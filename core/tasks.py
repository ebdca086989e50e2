"""Run works side by side, for as long as a block runs, in a group that outlives their failures, or in a thread."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from core.errors import ClaimLost

_log = logging.getLogger(__name__)


async def first_of(*works: Coroutine[Any, Any, object]) -> None:
    """Return when the first of these ends, or raise what it raised; the others are cancelled and have ended by then."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Tasks:
    """The tasks of a bot, by platform. Leaving the async context waits for them; a failure of one ends no other."""

    def __init__(self) -> None:
        self._group = asyncio.TaskGroup()
        self._under_way: dict[asyncio.Task[None], str] = {}

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._group.__aexit__(kind, error, traceback)

    def __len__(self) -> int:
        return len(self._under_way)

    def start(self, work: Coroutine[None, None, None], platform: str = "") -> asyncio.Task[None]:
        """Begin a work."""
        task = self._group.create_task(_contained(work))
        self._under_way[task] = platform
        task.add_done_callback(self._under_way.pop)
        return task

    def of(self, platform: str) -> list[asyncio.Task[None]]:
        """Return the tasks under way for a platform."""
        return [task for task, where in self._under_way.items() if where == platform]

    def cancel(self) -> None:
        """Cancel all of them."""
        for task in self._under_way:
            task.cancel()


async def _contained(work: Coroutine[None, None, None]) -> None:
    """Run a task; log its failure."""
    try:
        await work
    except ClaimLost:
        _log.info("another worker goes on with a task of the bot")
    except Exception:  # noqa: BLE001  (the other tasks go on)
        _log.exception("a task of the bot failed")


_Result = TypeVar("_Result")

FEW_CHARS: Final = 2000
"""Shorter work is done before a thread would have started."""


async def aside(chars: int, work: Callable[[], _Result]) -> _Result:
    """Run work on a text of `chars` characters: directly if they are few, else in a thread.

    When cancelled it waits for the work to end first, so that no two tasks change the same things at once.
    """
    if chars <= FEW_CHARS:
        return work()
    working = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait({working})
        raise


@asynccontextmanager
async def background(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run `work` in a task of its own; leaving the block cancels it, and waits until it has ended."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
