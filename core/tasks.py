"""Run works side by side, for as long as a block runs, in a group that outlives their failures, within a time, or in a
thread.

A work knows the turn that it is done for (`Trace`): a context variable, which its tasks inherit.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from core.errors import ClaimLost, TurnEnded, TurnStopped, TurnTimeout
from core.ports import Clock
from core.types import Incoming

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


class Phase(StrEnum):
    """What a turn spends its time on."""

    WAITING = "waiting"  # for earlier answers of the conversation, or for a free place in the room
    MODEL = "model"  # for language models
    DELIVERY = "delivery"  # for writes into the chat
    OWN = "own"  # all else: storage, search, limited mode


@dataclass(slots=True)
class Trace:
    """One turn, from the arrival of its message (`began_s`) to the last edit of its answer.

    The id is the same in every process that goes on with the message. What models are asked is on the account of who
    sent it: `asked`.
    """

    id: str
    began_s: float
    asked: Incoming | None = None
    _spent_s: dict[Phase, float] = field(default_factory=dict)

    def spend(self, phase: Phase, seconds: float) -> None:
        """Add to the time of a phase."""
        self._spent_s[phase] = self._spent_s.get(phase, 0.0) + seconds

    def end(self, now_s: float) -> Mapping[Phase, float]:
        """Return the seconds of every phase until now, and begin anew: an edit is answered under the same id."""
        spent_s = {phase: self._spent_s.get(phase, 0.0) for phase in Phase}
        spent_s[Phase.OWN] = max(now_s - self.began_s - sum(spent_s.values()), 0.0)
        self.began_s, self._spent_s = now_s, {}
        return spent_s


_current: ContextVar[Trace | None] = ContextVar("trace", default=None)


def current() -> Trace | None:
    """Return the turn that the task at hand works for, or None."""
    return _current.get()


def spend(phase: Phase, seconds: float) -> None:
    """Add to the time of a phase of the turn at hand, if there is one."""
    if (trace := _current.get()) is not None:
        trace.spend(phase, seconds)


@contextmanager
def traced(trace: Trace) -> Iterator[None]:
    """Work for that turn inside, as do the tasks that are started there."""
    token = _current.set(trace)
    try:
        yield
    finally:
        _current.reset(token)
