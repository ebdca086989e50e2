"""Write one turn into one channel.

A single task writes, so that neither the pace nor a flood wait nor a slow network delays the answer being made. Each
method returns when what is due is written, or after `patience_s`; `close` waits for the rest.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, TypeAlias

from core.aside import aside
from core.delivery.fallback import ELSEWHERE, FallbackChannel, FindAside
from core.delivery.plan import Edit, Pace, Post, Remove, StreamPlan
from core.errors import ChannelBusy, ChannelError, ChannelUnclear
from core.outgoing import Button, OutgoingMessage
from core.ports import Channel, Clock

_log = logging.getLogger(__name__)
_LEAST_WAIT_S = 0.5
"""A channel that says it is busy without saying how long gets this much."""
_UNSEEN_S = 0.7
"""Who sees nothing of an answer for that long is shown that they were heard; most see it begin within 0.3 s."""

Note: TypeAlias = Callable[[Sequence[str]], Awaitable[None]]


class View:
    """What an action may do to the screen. One for each turn; always closed, also when the turn fails.

    What a channel refuses goes the ways of `FallbackSurface`; Undelivered, or the refusal of a file, comes out of one
    call; afterwards nothing is written and nothing is raised any more.
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
        note: Note | None = None,
    ) -> None:
        """`grace_s` bounds what is written after a failure or a cancellation; `ended` replaces a status left over.

        `find_aside` tells where else an answer may be said if the channel refuses it. `note` is told what stands on the
        screen, before and after each post, in the form of `Inbox.put_posted`; `posted` is what it was told last of a
        turn that an earlier process began.
        """
        self._channel = FallbackChannel(channel, clock, find_aside=find_aside, ended=ended)
        self._clock = clock
        adopted = list(self._channel.adopt(posted)) if posted is not None else []
        self._plan = StreamPlan(
            self._channel.limits, self._channel.measure, pace or Pace(),
            posted=len(adopted), whole=_whole(posted or (), adopted),
        )  # fmt: skip
        self._posted = adopted
        self._note = note
        self._patience_s = patience_s
        self._grace_s = grace_s
        self._ended = ended
        self._handles: dict[int, str] = dict(enumerate(adopted))
        self.goes_on = bool(adopted)  # what an earlier process posted is gone on with in its place
        self._writer: asyncio.Task[None] | None = None
        self._alarm_s = -math.inf  # until when the writer sleeps, if it does
        self._wake = asyncio.Event()
        self._resting = asyncio.Event()
        self._planning = asyncio.Lock()  # a long text is planned in another thread
        self._told = False  # the caller knows of the writer's failure

    @property
    def shows_pictures(self) -> bool:
        """Whether a picture can be seen there."""
        return self._channel.limits.shows_pictures

    @property
    def doubt(self) -> ChannelUnclear | None:
        """Why a text is only assumed to be on the screen, if one is."""
        return self._channel.doubt

    @property
    def said_aside(self) -> bool:
        """Whether the channel refused a text, which was said elsewhere."""
        return self._channel.said_aside

    @property
    def refusal(self) -> ChannelError | None:
        """Why the channel took a whole text in no form, if it did."""
        return self._channel.refusal

    @asynccontextmanager
    async def seen_sign(self) -> AsyncIterator[None]:
        """Show a sign that the message was seen if nothing is written within 0.7 s; leaving ends that."""
        showing = asyncio.create_task(self._show_waiting())
        try:
            yield
        finally:
            showing.cancel()

    async def status(self, text: str) -> None:
        """Show a status, which whatever comes next replaces in place."""
        async with self._planning:
            self._plan.status(text)
        await self._settle()

    async def show(self, shown: OutgoingMessage) -> None:
        """Show a whole message."""
        parts = await aside(len(shown.text), partial(self._plan.parts, shown.text))
        async with self._planning:
            self._plan.show(shown, parts)
        await self._settle()

    async def show_again(self, shown: OutgoingMessage) -> None:
        """Show a whole message that was shown before a restart: what stands there already is left alone."""
        async with self._planning:
            self._plan.show_again(shown)
        await self._settle()

    async def flush(self) -> None:
        """Return when everything shown so far is written: from then on a file that was handed over may go."""
        await self._drain()
        self._raise_once()

    async def fetch(self, file: str, max_bytes: int) -> bytes:
        """Return what is in a file that came with the message, as `Channel.fetch` does.

        Raises:
            FileTooLarge, SurfaceError: it is not had; the screen can still be written on.
        """
        return await self._channel.fetch(file, max_bytes)

    async def stream(self, chunks: AsyncIterator[str], choices: tuple[Button, ...] = ()) -> str:
        """Show a text while it comes, with `choices` below it once it is whole, and return it.

        If `chunks` fails, or this is cancelled, what came is completed on the screen (for at most `grace_s`) before the
        error goes on.
        """
        said: list[str] = []
        whole = False
        try:
            async for chunk in chunks:
                said.append(chunk)
                self._plan.feed(chunk)
                self._start()
                self._raise_once()
            whole = True
        finally:
            async with self._planning:
                await aside(self._plan.unread_chars, partial(self._plan.finish, choices if whole else ()))
            if not whole:
                if isinstance(chunks, AsyncGenerator):  # let go of the model's connection now, not when it is collected
                    await chunks.aclose()
                await self._drain(self._grace_s)
        await self._settle()
        return "".join(said)

    async def show_last(self, shown: OutgoingMessage) -> ChannelError | None:
        """Show the last message and close the view; return the error, which is logged, if it was not delivered."""
        try:
            await self.show(shown)
            await self.close()
        except ChannelError as error:
            _log.warning("not delivered", extra={"error": type(error).__name__})
            return error
        return None

    async def close(self, *, within_s: float = math.inf) -> None:
        """Return when everything is on the screen and nothing on it waits to be replaced. Closing twice is fine.

        What cannot be written `within_s` seconds, or within the grace after a cancellation, is not written at all.
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
        self._raise_once()

    async def _show_waiting(self) -> None:
        await self._clock.sleep(_UNSEEN_S)
        if not self._handles:
            with suppress(ChannelError):  # a sign, no answer
                await self._channel.show_waiting()

    # --- waiting for the writer ---

    def _start(self) -> None:
        """See to it that what is due gets written."""
        if self._planning.locked():  # whoever plans sees to it afterwards
            return
        due_s = self._plan.due_s
        if due_s == math.inf or self._failure() is not None:
            return
        if self._writer is None or self._writer.done():
            self._resting.clear()
            self._writer = asyncio.create_task(self._write())
        elif due_s < self._alarm_s:
            self._resting.clear()
            self._wake.set()

    async def _settle(self) -> None:
        """Return when nothing can be written right now, or when the channel took too long."""
        self._start()
        if self._writer is not None:
            await asyncio.sleep(0)  # a channel that does not wait for anything has written by then
            if not self._resting.is_set():
                rested = asyncio.create_task(self._resting.wait())
                try:
                    await self._until_done(rested, self._patience_s)
                finally:
                    rested.cancel()
        self._raise_once()

    async def _drain(self, limit_s: float = math.inf) -> None:
        """Return when everything is written, or after that time."""
        self._start()
        if self._writer is not None and not self._writer.done():
            await self._until_done(self._writer, limit_s)

    async def _until_done(self, task: asyncio.Future[Any], limit_s: float) -> None:
        """Return when the task is done, or after that time; the task goes on."""
        timer = asyncio.create_task(self._clock.sleep(limit_s)) if limit_s < math.inf else None
        try:
            await asyncio.wait({task, timer} if timer else {task}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if timer is not None:
                timer.cancel()

    def _failure(self) -> BaseException | None:
        done = self._writer is not None and self._writer.done() and not self._writer.cancelled()
        return self._writer.exception() if self._writer is not None and done else None

    def _raise_once(self) -> None:
        failure = self._failure()
        if failure is not None and not self._told:
            self._told = True
            raise failure

    # --- the writer ---

    async def _write(self) -> None:
        """Write until there is nothing left to write."""
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
                await self._channel.remove(self._handles[operation.index])
                del self._handles[operation.index]
                await self._record(self._posted[: operation.index])
            else:
                await self._put(operation.index, operation.shown)
        except ChannelBusy as busy:
            async with self._planning:
                self._plan.hold(self._clock.monotonic() + max(busy.retry_after_s, _LEAST_WAIT_S))
        else:
            async with self._planning:
                self._plan.wrote(operation, self._clock.monotonic())

    async def _put(self, index: int, shown: OutgoingMessage) -> None:
        """Write the message, and record its handle; that it is about to be there is recorded before."""
        handle = self._handles.get(index)
        if not handle and (shown.stays or not self._channel.limits.previews):
            await self._record([*self._posted[:index], ""])
        if handle is None:
            handle = await self._channel.post(shown)
        else:
            handle = await self._channel.edit(handle, shown) or handle
        self._handles[index] = handle
        if handle and not handle.startswith(ELSEWHERE):
            await self._record([*self._posted[:index], handle, *self._posted[index + 1 :]])

    async def _record(self, posted: list[str]) -> None:
        if self._note is not None and posted != self._posted:
            await self._note(posted)
        self._posted = posted

    async def _rest(self, until_s: float, delay_s: float) -> None:
        """Sleep until then, or until something is due earlier."""
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


def _whole(posted: Sequence[str], adopted: Sequence[str]) -> int:
    """Return how many messages of an earlier process are complete: one is only posted once those before it are."""
    if len(adopted) != sum(map(bool, posted)):
        return 0  # and it is not known which ones those are
    known = posted.index("") if "" in posted else len(posted)
    return max(min(known, len(posted) - 1), 0)
