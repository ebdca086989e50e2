"""Write one turn into one channel.

A task of its own writes, so that neither the pace nor a rate limit nor a slow network delays the making of the answer.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from core.aside import aside
from core.delivery.fallback import ELSEWHERE, FallbackChannel, FindAside
from core.delivery.plan import Edit, Pace, Post, Remove, StreamPlan
from core.errors import ChannelBusy, ChannelError, ClaimLost
from core.outgoing import Button, OutgoingMessage
from core.ports import Channel, Clock
from core.trace import Phase, spend
from core.types import MemoryItem, Modal

_log = logging.getLogger(__name__)
_LEAST_WAIT_S = 0.5
"""The wait for a busy channel that names none."""

_LEAST_TYPING_WAIT_S = 0.1

_LAST_WRITE_S = 2.0
"""For so long a write may go on after another worker took over."""

_OTHERS_S = 1.0
"""How often a text that may still change looks whether the room has time for it."""

Record: TypeAlias = Callable[[Sequence[str]], Awaitable[None]]
"""Store the handles of what is on the screen, in the form of `Inbox.put_posted`."""


class View:
    """The screen of one turn; always closed, also when the turn fails.

    Each method returns when all that is due is written, or after `patience_s`; `close` waits for the rest. Refused
    writes go through `FallbackChannel` (`channel`). Undelivered, or the refusal of a file, is raised by one call; after
    that nothing is written or raised. `grace_s` limits the writes after a failure or a cancellation; `ended` replaces a
    status left over. `find_aside` finds another place for a refused answer. `record` is called before and after each
    post; `posted` is what it was last given by an earlier process that began the turn. While `is_busy`, no message is
    begun with a text that may still change. An answer that is completed after `notify_from_s`, on the clock, notifies
    whoever asked. `stop_mark` ends an answer that was stopped.
    """

    def __init__(
        self,
        channel: Channel,
        clock: Clock,
        *,
        pace: Pace | None = None,
        patience_s: float = 1.0,
        grace_s: float = 5.0,
        ended: str = "…",
        find_aside: FindAside | None = None,
        posted: Sequence[str] | None = None,
        record: Record | None = None,
        is_busy: Callable[[], bool] = lambda: False,
        notify_from_s: float = math.inf,
    ) -> None:
        self.channel = FallbackChannel(channel, clock, find_aside=find_aside, ended=ended)
        self._clock = clock
        self._pace = pace or Pace()
        self._take_over(posted)
        self._on_posted = record
        self._patience_s = patience_s
        self._grace_s = grace_s
        self._ended = ended
        self._is_busy = is_busy
        self._notify_from_s = notify_from_s
        self.stop_mark = "⏹"
        self._unseen = True  # nothing of the answer is on the screen
        self._waiting: asyncio.Task[None] | None = None
        self.resumes = bool(self._posted)  # the posts of an earlier process are taken over
        self._writer: asyncio.Task[None] | None = None
        self._alarm_s = -math.inf  # when the writer wakes, if it sleeps
        self._wake = asyncio.Event()
        self._resting = asyncio.Event()
        self._planning = asyncio.Lock()  # a long text is planned in another thread
        self._raised = False  # the writer's failure was raised to the caller

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
        self._waiting = asyncio.create_task(self._show_waiting())

    def stop(self) -> None:
        """Let the answer end with the mark when it is completed, whatever holds its writes back."""
        self._plan.stop(self.stop_mark)

    @property
    def is_marked(self) -> bool:
        """Whether a stopped answer says so."""
        return self._plan.is_marked

    async def status(self, text: str) -> None:
        """Show a status, which the next message replaces in place; none is shown beside a growing answer."""
        async with self._planning:
            self._plan.status(text, self._clock.monotonic())
        await self._settle()

    async def show(self, shown: OutgoingMessage) -> None:
        """Show a whole message, after the growing answer, if there is one, which is complete then."""
        parts = await aside(len(shown.text), partial(self._plan.parts, shown.text, reserved=shown.reserved))
        async with self._planning:
            await aside(self._plan.unread_chars, partial(self._plan.show, shown, parts))
        await self._settle()

    async def flush(self) -> None:
        """Return when everything shown so far is written; a file that was sent may be deleted then."""
        await self._drain()
        self._raise_once()

    def write(self, text: str, *, whole: bool = False) -> None:
        """Add text to the growing answer, or begin one.

        All text until `finish` or `show` is one message, or several if it is too long.
        """
        self._plan.feed(text, whole=whole)
        self._start()
        self._raise_once()

    async def finish(self, choices: tuple[Button, ...] = (), memories: tuple[MemoryItem, ...] = ()) -> None:
        """Complete the growing answer, with `choices` and the memories it rests on below it.

        Without a text to complete, the memories, if any, are a message of their own, and `choices` stand below it. In a
        task that is being cancelled, return when all is written, or after `grace_s`.
        """
        async with self._planning:
            await aside(self._plan.unread_chars, partial(self._plan.finish, choices, memories))
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            await self._drain(self._grace_s)
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
        self._plan.hold(math.inf, math.inf)
        self._wake.set()

    async def leave(self) -> None:
        """Halt, and return when the write under way has ended and is recorded."""
        self.halt()
        if self._writer is not None:
            await asyncio.wait({self._writer})
            self._failure()

    async def drop(self) -> None:
        """Write nothing more: another worker goes on. A message of which that one does not know is removed.

        The write under way has a moment to end: of a post that was broken off nobody knows which message it is.
        """
        self.halt()
        if self._writer is not None:
            await self._until_done(self._writer, _LAST_WRITE_S)
        if tasks := [task for task in (self._writer, self._waiting) if task is not None]:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            self._failure()
        for handle in set(self._handles.values()) - {"", *self._posted}:
            removing = asyncio.create_task(self.channel.withdraw(handle))
            await self._until_done(removing, _LAST_WRITE_S)

    def restart(self, posted: Sequence[str], record: Record | None, *, notify_from_s: float) -> None:
        """Begin anew, after `leave`, in the place of those posts; they are what `record` was last called with."""
        self._writer, self._raised, self._unseen = None, False, True
        self._notify_from_s = notify_from_s
        self._take_over(posted)
        self._on_posted = record

    def _take_over(self, posted: Sequence[str] | None) -> None:
        """Plan the answer in the place of what was posted before; None: of nothing."""
        adopted = list(self.channel.adopt(posted)) if posted is not None else []
        spare = _spare(posted or (), adopted)
        limits, measure = self.channel.limits, self.channel.measure
        self._plan = StreamPlan(limits, measure, self._pace, posted=len(adopted), spare=spare)
        self._posted = adopted
        self._unsure = spare > 0  # what took the place of the spare ones may be there already
        self._handles: dict[int, str] = dict(enumerate(adopted))

    async def close(self, *, within_s: float = math.inf) -> None:
        """Write everything that is left, and replace a status. Closing twice does nothing.

        Writes that take longer than `within_s` seconds, or than the grace after a cancellation, are dropped.
        """
        async with self._planning:
            self._plan.close(self._ended)
        try:
            await self._drain(within_s)
        except asyncio.CancelledError:
            await self._drain(self._grace_s)
            raise
        finally:
            if self._writer is not None and not self._writer.done():
                self._writer.cancel()
                await asyncio.wait({self._writer})
            if self._waiting is not None:
                self._waiting.cancel()
        self._raise_once()

    async def _show_typing(self, after_s: float) -> None:
        await self._clock.sleep(after_s)
        while True:
            pause_s = self.channel.limits.typing_s
            try:
                if self._unseen:
                    await self.channel.show_typing()
            except ClaimLost:
                return
            except ChannelBusy as busy:
                pause_s = max(busy.retry_after_s, _LEAST_TYPING_WAIT_S)
            except ChannelError as error:  # it is only a sign
                _log.debug("no sign of life", extra={"error": type(error).__name__})
            await self._clock.sleep(pause_s)

    async def _show_waiting(self) -> None:
        with suppress(ChannelError, ClaimLost):  # it is only a sign
            await self.channel.show_waiting()

    # --- waiting for the writer ---

    def _start(self) -> None:
        """Start or wake the writer if a write is due."""
        if self._planning.locked():  # the holder of the lock calls this afterwards
            return
        due_s = self._plan.due_s
        if self._failure() is not None:
            return
        if self._writer is None or self._writer.done():
            if due_s < math.inf:
                self._resting.clear()
                self._writer = asyncio.create_task(self._write())
        elif due_s < self._alarm_s or due_s == math.inf:
            self._resting.clear()
            self._wake.set()

    async def _settle(self) -> None:
        """Return when nothing more is due, or after `patience_s`."""
        self._start()
        if self._writer is not None:
            await asyncio.sleep(0)  # a channel without waits has written by then
            if not self._resting.is_set():
                rested = asyncio.create_task(self._resting.wait())
                try:
                    await self._until_done(rested, self._patience_s)
                finally:
                    rested.cancel()
        self._raise_once()

    async def _drain(self, limit_s: float = math.inf) -> None:
        """Return when everything is written, or after `limit_s`."""
        self._start()
        if self._writer is not None and not self._writer.done():
            await self._until_done(self._writer, limit_s)

    async def _until_done(self, task: asyncio.Future[Any], limit_s: float) -> None:
        """Return when the task is done, or after `limit_s`; the task goes on."""
        timer = asyncio.create_task(self._clock.sleep(limit_s)) if limit_s < math.inf else None
        began_s = self._clock.monotonic()
        try:
            await asyncio.wait({task, timer} if timer else {task}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            spend(Phase.DELIVERY, self._clock.monotonic() - began_s)
            if timer is not None:
                timer.cancel()

    def _failure(self) -> BaseException | None:
        done = self._writer is not None and self._writer.done() and not self._writer.cancelled()
        return self._writer.exception() if self._writer is not None and done else None

    def _raise_once(self) -> None:
        failure = self._failure()
        if failure is not None and not self._raised:
            self._raised = True
            raise failure

    # --- the writer ---

    async def _write(self) -> None:
        """Write until nothing is left."""
        try:
            while True:
                async with self._planning:
                    due_s = self._plan.due_s
                if due_s == math.inf:
                    return
                now_s = self._clock.monotonic()
                if due_s > now_s:
                    await self._rest(due_s, due_s - now_s)
                elif (operation := await self._next(now_s)) is not None:
                    await self._perform(operation)
        finally:
            self._resting.set()

    async def _next(self, now_s: float) -> Post | Edit | Remove | None:
        async with self._planning:
            return await aside(self._plan.unread_chars, partial(self._plan.next, now_s))

    async def _perform(self, operation: Post | Edit | Remove) -> None:
        try:
            if isinstance(operation, Remove):
                await self.channel.remove(self._handles[operation.index])
                del self._handles[operation.index]
                await self._record([*self._posted[: operation.index], *([""] if self._unsure else [])])
            elif isinstance(operation, Post) and not operation.shown.stays and self._is_busy():
                async with self._planning:
                    self._plan.defer(self._clock.monotonic() + _OTHERS_S)
                return
            else:
                await self._put(operation)
        except ChannelBusy as busy:
            now_s, whole_s = self._clock.monotonic(), busy.whole_after_s
            if isinstance(operation, Remove) or operation.shown.stays:
                whole_s = whole_s or _LEAST_WAIT_S
            async with self._planning:
                self._plan.hold(now_s + (busy.retry_after_s or _LEAST_WAIT_S), now_s + whole_s)
        else:
            async with self._planning:
                self._plan.wrote(operation, self._clock.monotonic())

    async def _put(self, operation: Post | Edit) -> None:
        """Write the message, and record its handle; before a post, record that it is about to happen."""
        index, shown = operation.index, operation.shown
        handle = self._handles.get(index)
        if self.channel.limits.notifies and self._is_late(operation):
            shown = replace(shown, notify=True)
            if handle and not handle.startswith(ELSEWHERE):
                await self._put_anew(index, handle, shown)
                return
        if not handle and (shown.stays or not self.channel.limits.previews):
            await self._record([*self._posted[:index], ""])
        if handle is None:
            handle = await self._post(shown)
        else:
            handle = await self.channel.edit(handle, shown) or handle
        self._handles[index] = handle
        if handle and not handle.startswith(ELSEWHERE):
            await self._record([*self._posted[:index], handle, *self._posted[index + 1 :]])
        self._saw(shown, handle)

    async def _post(self, shown: OutgoingMessage) -> str:
        unseen, self._unseen = self._unseen, self._unseen and not shown.stays  # what is seen may be confirmed late
        try:
            return await self.channel.post(shown)
        except ChannelBusy:
            self._unseen = unseen
            raise

    async def _put_anew(self, index: int, old: str, shown: OutgoingMessage) -> None:
        """Write the message anew below its place, and remove the `old` one.

        What is recorded meanwhile has the new one first: a restart removes what stands after it.
        """
        before = self._posted[:index]
        await self._record([*before, "", old])
        self._handles[index] = handle = await self.channel.post(shown)
        if not handle.startswith(ELSEWHERE):
            await self._record([*before, handle, old])
        self._saw(shown, handle)
        await self.channel.remove(old)
        await self._record([*before, handle] if not handle.startswith(ELSEWHERE) else before)

    def _is_late(self, operation: Post | Edit) -> bool:
        """Return whether whoever asked is to be notified of a write: it completes an answer that took its time."""
        late = self._clock.monotonic() >= self._notify_from_s
        return late and not operation.shown.urgent and self._plan.completes(operation)

    def _saw(self, shown: OutgoingMessage, handle: str) -> None:
        self._unsure = False
        self._unseen = not handle or shown.modal is Modal.TEXT_FOR_REPLACE

    async def _record(self, posted: list[str]) -> None:
        if self._on_posted is not None and posted != self._posted:
            await self._on_posted(posted)
        self._posted = posted

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


def _spare(posted: Sequence[str], adopted: Sequence[str]) -> int:
    """Return how many of the adopted messages stand after one that was to take the place of the first of them."""
    return min(sum(map(bool, posted[posted.index("") :])), len(adopted)) if "" in posted else 0
