"""Time that goes by when everything rests: what scenarios of every platform share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, Protocol
from unittest import mock

import aiosqlite

from core.answering.chatbot import ChatBot
from core.ports import Clock, MessageHandler
from tests.fakes.clock import FakeClock
from tests.fakes.handler import ScriptedHandler

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


@dataclass
class Bot:
    """A running bot with a scripted handler, the task that runs it, and the server that it is connected to."""

    handler: ScriptedHandler
    task: asyncio.Task[None]
    stop: asyncio.Event
    server: Served
    clock: Clock

    async def answers(self, said: Any) -> Any:
        """Let time go by until what somebody says, or does, was answered; return what the server made of it."""
        before = self.handler.answered
        done = await said if isawaitable(said) else said
        assert isinstance(self.clock, FakeClock)
        await flow(self.server, self.clock, lambda: self.handler.answered > before)
        return done


@asynccontextmanager
async def ending(
    server: Served, clock: Clock, handler: MessageHandler, task: asyncio.Task[None], stop: asyncio.Event
) -> AsyncIterator[None]:
    """Stop a bot gracefully when the context is left, however that is."""
    try:
        yield
    finally:
        stop.set()
        end = asyncio.create_task(_end(task, handler))
        while not end.done():
            await idle(server)
            if isinstance(clock, FakeClock):
                await clock.advance(1.0)  # a view that is cancelled still has a moment to write
        await end


async def _end(task: asyncio.Task[None], handler: MessageHandler) -> None:
    await asyncio.wait({task})
    await asyncio.gather(task, return_exceptions=True)
    if isinstance(handler, ScriptedHandler):
        await handler.close()
    elif isinstance(handler, ChatBot):  # as a stop does, once the platforms had their time
        under_way = set(handler.tasks._under_way)
        handler.abandon()
        await asyncio.gather(*under_way, return_exceptions=True)
