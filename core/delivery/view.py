"""Write one turn into one channel.

A task of its own writes, so that neither the pace nor a rate limit nor a slow network delays the making of the answer.
Answers that wait in a room keep the order of their questions (`Line`), and a sign shows who waits.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any
from weakref import WeakSet

from core.delivery.fallback import FallbackChannel, FindAside, PostedMessages, Record
from core.delivery.plan import Edit, Pace, Post, Remove, StreamPlan
from core.errors import ChannelBusy, ChannelError, ClaimLost
from core.outgoing import Button, OutgoingMessage
from core.ports import Channel, Clock
from core.tasks import Phase, aside, spend
from core.types import MemoryNote

_log = logging.getLogger(__name__)
_LEAST_WAIT_S = 0.5
"""The wait for a busy channel that names none."""

_LEAST_TYPING_WAIT_S = 0.1

_LAST_WRITE_S = 2.0
"""For so long a write may go on after another worker took over."""

_GRACE_S = 5.0
"""For so long writes may go on after a cancellation."""

_ENDED = "…"
"""What takes the place of a status that is left over."""

_HELD_S = 1.0
"""Who has to wait for so long for the platform's pace is shown that they wait."""

_BEHIND_S = 0.1
"""How often an answer that is whole looks whether those to earlier questions were written."""

_OTHERS_S = 1.0
"""How often a text that may still change looks whether the room has time for it."""


class Writer:
    """The task that performs what a plan says is due, so that no wait of a write delays the making of the answer.

    `perform` writes one message. It raises ChannelBusy for one that must wait, and `Deferred` for one that may.
    """

    def __init__(
        self, plan: StreamPlan, clock: Clock, perform: Callable[[Post | Edit | Remove], Awaitable[None]]
    ) -> None:
        self.plan = plan
        self.planning = asyncio.Lock()
        """Held while the plan is changed or read: a long text is planned in another thread."""
        self._clock = clock
        self._perform = perform
        self._task: asyncio.Task[None] | None = None
        self._alarm_s = -math.inf
        """When the task wakes, if it sleeps."""
        self._wake = asyncio.Event()
        self._resting = asyncio.Event()
        self._has_raised = False
        """Whether the task's failure was raised to the caller."""

    def start(self) -> None:
        """Start or wake the task if a write is due."""
        if self.planning.locked():  # the holder of the lock calls this afterwards
            return
        due_s = self.plan.due_s
        if self._failure() is not None:
            return
        if self._task is None or self._task.done():
            if due_s < math.inf:
                self._resting.clear()
                self._task = asyncio.create_task(self._run())
        elif due_s < self._alarm_s or due_s == math.inf:
            self._resting.clear()
            self._wake.set()

    async def settle(self, patience_s: float) -> None:
        """Return when nothing more is due, or after `patience_s`."""
        self.start()
        if self._task is not None:
            await asyncio.sleep(0)  # a channel without waits has written by then
            if not self._resting.is_set():
                rested = asyncio.create_task(self._resting.wait())
                try:
                    await until_done(rested, patience_s, self._clock)
                finally:
                    rested.cancel()
        self.raise_once()

    async def drain(self, limit_s: float = math.inf) -> None:
        """Return when everything is written, or after `limit_s`."""
        self.start()
        if self._task is not None and not self._task.done():
            await until_done(self._task, limit_s, self._clock)

    def halt(self) -> None:
        """Write nothing more, but for the write under way."""
        self.plan.hold(math.inf, math.inf)
        self._wake.set()

    async def close(self, within_s: float = math.inf) -> None:
        """Return when the task has ended; it is cancelled after `within_s`."""
        if self._task is None:
            return
        if 0.0 < within_s < math.inf:
            await until_done(self._task, within_s, self._clock)
        if within_s < math.inf:
            self._task.cancel()
        await asyncio.wait({self._task})
        self._failure()

    def raise_once(self) -> None:
        """Raise what the task failed with, if that was not raised before."""
        failure = self._failure()
        if failure is not None and not self._has_raised:
            self._has_raised = True
            raise failure

    def _failure(self) -> BaseException | None:
        done = self._task is not None and self._task.done() and not self._task.cancelled()
        return self._task.exception() if self._task is not None and done else None

    async def _run(self) -> None:
        """Write until nothing is left."""
        try:
            while True:
                async with self.planning:
                    due_s = self.plan.due_s
                if due_s == math.inf:
                    return
                now_s = self._clock.monotonic()
                if due_s > now_s:
                    await self._rest(due_s, due_s - now_s)
                    continue
                async with self.planning:
                    operation = await aside(self.plan.unread_chars, partial(self.plan.next, now_s))
                if operation is not None:
                    await self._write(operation)
        finally:
            self._resting.set()

    async def _write(self, operation: Post | Edit | Remove) -> None:
        try:
            await self._perform(operation)
        except Deferred:
            async with self.planning:
                self.plan.defer(self._clock.monotonic() + _OTHERS_S)
        except ChannelBusy as busy:
            now_s, whole_s = self._clock.monotonic(), busy.whole_after_s
            if isinstance(operation, Remove) or operation.shown.stays:
                whole_s = whole_s or _LEAST_WAIT_S
            async with self.planning:
                self.plan.hold(now_s + (busy.retry_after_s or _LEAST_WAIT_S), now_s + whole_s)
        else:
            async with self.planning:
                self.plan.wrote(operation, self._clock.monotonic())

    async def _rest(self, until_s: float, delay_s: float) -> None:
        """Sleep until then, or until a write is due earlier."""
        self._alarm_s = until_s
        self._wake.clear()
        self._resting.set()
        timer = asyncio.create_task(self._ring(delay_s))
        try:
            await self._wake.wait()
        finally:
            timer.cancel()
            self._alarm_s = -math.inf
            self._resting.clear()

    async def _ring(self, delay_s: float) -> None:
        await self._clock.sleep(delay_s)
        self._wake.set()


class Deferred(Exception):
    """A text that may still change is not written now: the room has no time for it."""


async def until_done(task: asyncio.Future[Any], limit_s: float, clock: Clock) -> None:
    """Return when the task is done, or after `limit_s`; the task goes on."""
    timer = asyncio.create_task(clock.sleep(limit_s)) if limit_s < math.inf else None
    began_s = clock.monotonic()
    try:
        await asyncio.wait({task, timer} if timer else {task}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        spend(Phase.DELIVERY, clock.monotonic() - began_s)
        if timer is not None:
            timer.cancel()


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


class View:
    """The screen of one turn; always closed, also when the turn fails.

    Each method returns when all that is due is written, or after `patience_s`; `close` waits for the rest. Refused
    writes go through `FallbackChannel` (`channel`). Undelivered, or the refusal of a file, is raised by one call; after
    that nothing is written or raised. `find_aside` finds another place for a refused answer. `posted` and `record` are
    those of `PostedMessages`. While `is_busy`, no message is begun with a text that may still change. An answer that is
    completed after `notify_from_s`, on the clock, notifies whoever asked. `place` is its place in the line of a room.
    """

    def __init__(
        self,
        channel: Channel,
        clock: Clock,
        *,
        pace: Pace | None = None,
        patience_s: float = 1.0,
        find_aside: FindAside | None = None,
        posted: Sequence[str] | None = None,
        record: Record | None = None,
        is_busy: Callable[[], bool] = lambda: False,
        notify_from_s: float = math.inf,
        place: PlaceInLine | None = None,
    ) -> None:
        self._clock = clock
        self._pace = pace or Pace()
        self._patience_s = patience_s
        self._is_busy = is_busy
        self._notify_from_s = notify_from_s
        self._place = place
        self._held_s = math.inf
        """Since when the platform's pace holds the answer back."""
        self.stop_mark = "⏹"
        """The end of an answer that was stopped."""
        self.chat = channel
        """The chat itself, for all that is not written into it."""
        self._begin(FallbackChannel(channel, clock, find_aside=find_aside, ended=_ENDED), posted, record)
        self.sign = WaitingSign(self.channel, may_stand=place is not None and posted is not None)
        self.resumes = self._posted.adopted > 0
        """Whether the posts of an earlier process are taken over."""

    def _begin(self, channel: FallbackChannel, posted: Sequence[str] | None, record: Record | None) -> None:
        """Plan the answer in the place of what was posted before; None: of nothing."""
        self._posted = was = PostedMessages(channel, posted, record)
        plan = StreamPlan(channel.limits, channel.measure, self._pace, posted=was.adopted, spare=was.spare)
        self._writer = Writer(plan, self._clock, self._perform)

    @property
    def _plan(self) -> StreamPlan:
        return self._writer.plan

    @property
    def channel(self) -> FallbackChannel:
        """The chat, and what became of the writes that it refused."""
        return self._posted.channel

    @asynccontextmanager
    async def typing(self, after_s: float = 0.0) -> AsyncIterator[None]:
        """Show, from `after_s` on, that the bot is typing while nothing of the answer is on the screen."""
        showing = asyncio.create_task(self._show_typing(after_s)) if self.channel.limits.typing_s else None
        try:
            yield
        finally:
            if showing is not None:
                showing.cancel()

    def waits(self) -> None:
        """Show that the message waits for others, and notify whoever asked when it is answered."""
        if self._notify_from_s < math.inf:
            self._notify_from_s = -math.inf
        self.sign.show()

    def stop(self) -> None:
        """Let the answer end with the mark when it is completed, whatever holds its writes back."""
        self._plan.stop(self.stop_mark)

    @property
    def is_marked(self) -> bool:
        """Whether a stopped answer says so."""
        return self._plan.is_marked

    async def status(self, text: str) -> None:
        """Show a status, which the next message replaces in place; none is shown beside a growing answer."""
        async with self._writer.planning:
            self._plan.status(text, self._clock.monotonic())
        await self._settle()

    async def show(self, shown: OutgoingMessage) -> None:
        """Show a whole message, after the growing answer, if there is one, which is complete then."""
        split = partial(self._plan.parts, shown.text, reserved=shown.reserved)
        parts = await aside(len(shown.text), split)
        async with self._writer.planning:
            await aside(self._plan.unread_chars, partial(self._plan.show, shown, parts))
        await self._settle()

    async def flush(self) -> None:
        """Return when everything shown so far is written; a file that was sent may be deleted then."""
        await self._writer.drain()
        self._writer.raise_once()

    def write(self, text: str, *, whole: bool = False) -> None:
        """Add text to the growing answer, or begin one.

        All text until `complete` or `show` is one message, or several if it is too long.
        """
        self._plan.feed(text, whole=whole)
        self._writer.start()
        self._writer.raise_once()

    def rest(self) -> None:
        """Let what was written so far wait for what may follow it, if nothing of the answer is on the screen yet."""
        self._plan.rest()

    async def complete(
        self, choices: tuple[Button, ...] = (), memories: tuple[MemoryNote, ...] = (), folded: str = ""
    ) -> None:
        """Complete the growing answer, with `choices`, the memories it rests on and what is `folded` below it.

        Without a text to complete, the memories, if any, are a message of their own, and `choices` stand below it. In a
        task that is being cancelled, return when all is written, or after a grace of some seconds.
        """
        async with self._writer.planning:
            await aside(self._plan.unread_chars, partial(self._plan.complete, choices, memories, folded))
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            await self._writer.drain(_GRACE_S)
        else:
            await self._settle()

    async def show_last(self, shown: OutgoingMessage | None) -> ChannelError | None:
        """Show a last message, if any, and close the view; log and return the error if something was not delivered."""
        try:
            if shown is not None:
                await self.show(shown)
            await self.close()
        except ChannelError as error:
            _log.warning("not delivered", extra={"error": type(error).__name__})
            return error
        return None

    def halt(self) -> None:
        """Write nothing more, but for the write under way; what stands on the screen stays."""
        self._writer.halt()

    async def leave(self) -> None:
        """Halt, and return when the write under way has ended and is recorded."""
        self._writer.halt()
        await self._writer.close()
        self._leave_line()

    async def drop(self) -> None:
        """Write nothing more: another worker goes on. A message of which that one does not know is removed.

        The write under way has a moment to end: of a post that was broken off nobody knows which message it is.
        """
        self._writer.halt()
        await self._writer.close(_LAST_WRITE_S)
        self._leave_line()
        await self.sign.cancel()
        for handle in self._posted.unrecorded:
            removing = asyncio.create_task(self.channel.withdraw(handle))
            await until_done(removing, _LAST_WRITE_S, self._clock)

    def restart(self, posted: Sequence[str], record: Record | None, *, notify_from_s: float) -> None:
        """Begin anew, after `leave`, in the place of those posts; they are what `record` was last called with."""
        self._notify_from_s = notify_from_s
        self._begin(self.channel, posted, record)

    async def close(self, *, within_s: float = math.inf) -> None:
        """Write everything that is left, and replace a status. Closing twice does nothing.

        Writes that take longer than `within_s` seconds, or than the grace after a cancellation, are dropped.
        """
        async with self._writer.planning:
            self._plan.close(_ENDED)
        try:
            await self._writer.drain(within_s)
        except asyncio.CancelledError:
            await self._writer.drain(_GRACE_S)
            raise
        finally:
            await self._writer.close(0.0)
            self._leave_line()
        self._writer.raise_once()

    async def _settle(self) -> None:
        await self._writer.settle(self._patience_s)

    async def _perform(self, operation: Post | Edit | Remove) -> None:
        """Perform one write of the plan."""
        if isinstance(operation, Remove):
            await self._posted.remove(operation.index)
            return
        if isinstance(operation, Post) and not operation.shown.stays and self._is_busy():
            raise Deferred
        notify = self.channel.limits.notifies and self._is_late(operation)
        shown = replace(operation.shown, notify=True) if notify else operation.shown
        try:
            self._queue(shown)
            await self._posted.put(operation.index, shown)
        except ChannelBusy as busy:
            self._is_held(shown, busy)
            raise
        except BaseException:
            self._leave_line()
            raise
        self._leave_line()

    def _queue(self, shown: OutgoingMessage) -> None:
        """Let the answers to earlier questions of the room go first, if they wait for the platform's pace.

        Raises:
            ChannelBusy: they do.
        """
        if shown.stays and not shown.urgent and self._place is not None and self._place.is_behind:
            raise ChannelBusy(_BEHIND_S)

    def _is_held(self, shown: OutgoingMessage, busy: ChannelBusy) -> None:
        """Keep the place in line of an answer that the platform's pace holds back, and show that it waits."""
        if self._place is None:
            return
        if shown.stays:
            self._place.wait()
        now_s = self._clock.monotonic()
        self._held_s = min(self._held_s, now_s)
        if self._posted.is_unseen and now_s + busy.retry_after_s - self._held_s >= _HELD_S:
            self.sign.show()

    def _leave_line(self) -> None:
        if self._place is not None:
            self._place.leave()

    def _is_late(self, operation: Post | Edit) -> bool:
        """Return whether whoever asked is to be notified of a write: it completes an answer that took its time."""
        late = self._clock.monotonic() >= self._notify_from_s
        return late and not operation.shown.urgent and self._plan.completes(operation)

    async def _show_typing(self, after_s: float) -> None:
        await self._clock.sleep(after_s)
        while True:
            pause_s = self.channel.limits.typing_s
            try:
                if self._posted.is_unseen:
                    await self.channel.show_typing()
            except ClaimLost:
                return
            except ChannelBusy as busy:
                pause_s = max(busy.retry_after_s, _LEAST_TYPING_WAIT_S)
            except ChannelError as error:  # it is only a sign
                _log.debug("no sign of life", extra={"error": type(error).__name__})
            await self._clock.sleep(pause_s)
