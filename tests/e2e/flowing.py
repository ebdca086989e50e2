"""Time that goes by when everything rests: what scenarios of every platform share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol
from unittest import mock

import aiosqlite

from tests.fakes.clock import FakeClock

_BREATH_S = 0.05
_TURNS = 40


class Served(Protocol):
    """A server on loopback: how many requests it is working on, and what changes with each thing that happens there."""

    @property
    def busy(self) -> int: ...

    @property
    def pulse(self) -> Hashable: ...

    async def stirred(self) -> None:
        """Return when anything happened there."""


class Counter(Protocol):
    """What counts the work that is under way."""

    busy: int


async def flow(
    server: Served,
    clock: FakeClock,
    condition: Callable[[], object],
    limit_s: float = 7200,
    patience_s: float = 120,
) -> None:
    """Let everything run and time go by, from one sleeper to the next, until the condition holds.

    `limit_s` is how much of the clock's time may go by, `patience_s` how many real seconds.
    """
    until_s = clock.monotonic() + limit_s
    async with asyncio.timeout(patience_s):
        while not condition():
            await idle(server)
            if condition():
                return
            next_s = min((at_s for at_s, _, wake in clock._sleepers if not wake.done()), default=None)
            if next_s is None:  # bytes are on their way through the kernel
                await _breath(server.stirred())
                continue
            assert next_s <= until_s, f"it has not happened within {limit_s} s"
            await clock.advance(next_s - clock.monotonic())


async def idle(server: Served) -> None:
    """Return when nobody does anything but wait: no request and no thread is at work, and the loop turns in vain."""
    quiet, seen = 0, server.pulse
    while quiet < _TURNS:
        await asyncio.sleep(0)
        at_work = server.busy or _threads_at_work() or server.pulse != seen
        quiet, seen = 0 if at_work else quiet + 1, server.pulse


@contextmanager
def counting_the_disk(server: Counter) -> Iterator[None]:
    """Let what databases have under way count as that server's work."""
    execute = aiosqlite.Connection._execute

    async def counted(self: aiosqlite.Connection, work: Callable[..., Any], *given: Any, **named: Any) -> Any:
        server.busy += 1
        try:
            return await execute(self, work, *given, **named)  # type: ignore[no-untyped-call]
        finally:
            server.busy -= 1

    with mock.patch.object(aiosqlite.Connection, "_execute", counted):
        yield


_in_threads: set[asyncio.Future[Any]] = set()
"""The work that event loops of this process gave to threads, and that is not done. The pools' own count of idle threads
is wrong once work has waited for one."""


def _noting_threads() -> None:
    """Note from now on what event loops give to threads."""
    run = asyncio.BaseEventLoop.run_in_executor

    def noted(self: asyncio.BaseEventLoop, executor: Any, work: Callable[..., Any], *given: Any) -> asyncio.Future[Any]:
        future = run(self, executor, work, *given)
        _in_threads.add(future)
        future.add_done_callback(_in_threads.discard)
        return future

    asyncio.BaseEventLoop.run_in_executor = noted  # type: ignore[assignment,method-assign]


_noting_threads()


def _threads_at_work() -> bool:
    here = asyncio.get_running_loop()
    return any(each.get_loop() is here for each in _in_threads)


async def _breath(stirred: Awaitable[None]) -> None:
    try:
        async with asyncio.timeout(_BREATH_S):
            await stirred
    except TimeoutError:
        return
