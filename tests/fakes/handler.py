"""A message handler that answers by script: what a platform's tests need of a core."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from core.answering.parts import TurnLimits
from core.answering.questions import ConversationLocks
from core.delivery.notifier import Notifier
from core.delivery.plan import Pace
from core.delivery.view import View
from core.errors import ChannelError
from core.outgoing import Button, OutgoingMessage
from core.ports import Channel, Channels, Clock, MessageHandler
from core.types import Incoming, Invitation, Locale, MemoryNote

USUAL = Pace(status_after_s=TurnLimits().status_after_s)
"""The pace of a bot whose owner set nothing; tests see statuses at once, as the specification has them."""

Script = Callable[[Incoming, View], Awaitable[None]]


async def echo(incoming: Incoming, view: View) -> None:
    """Think visibly, then say back what was said."""
    await view.status("IA está pensando...")
    await tell(view, words(f"Você disse: {incoming.text}"))


async def tell(
    view: View,
    pieces: AsyncIterator[str],
    choices: tuple[Button, ...] = (),
    memories: tuple[MemoryNote, ...] = (),
) -> None:
    """Write an answer as a model says it, and complete it."""
    async for piece in pieces:
        view.write(piece)
    await view.complete(choices, memories)


async def words(text: str) -> AsyncIterator[str]:
    for word in text.split(" "):
        yield word + " "


def slowly(clock: Clock, text: str, pause_s: float) -> Script:
    """Answer with the text, a word at a time, as a model would."""

    async def chunks() -> AsyncIterator[str]:
        for word in re.findall(r"\S+\s*", text):
            await clock.sleep(pause_s)
            yield word

    async def script(_: Incoming, view: View) -> None:
        await view.status("IA está pensando...")
        await tell(view, chunks())

    return script


@dataclass
class ScriptedHandler(MessageHandler):
    """Keeps what it is given, in order, and answers each by the script, a lane a conversation; /stop overtakes."""

    clock: Clock
    script: Script = echo
    received: list[Incoming] = field(default_factory=list)
    owed: list[Incoming] = field(default_factory=list)
    failures: list[ChannelError] = field(default_factory=list)
    invitations: list[Invitation] = field(default_factory=list)
    answered: int = 0
    posted: Sequence[str] = ("",)
    """What is known to stand on the screen for each message that is owed: perhaps something."""
    pace: Pace = field(default_factory=Pace)
    notify_after_s: float = math.inf
    """After so long an answer notifies whoever asked."""

    def __post_init__(self) -> None:
        self.notifier = Notifier(self.clock)
        self._lanes = ConversationLocks()
        self._known: set[tuple[str, str]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._running: dict[object, tuple[View, asyncio.Task[None]]] = {}

    async def receive(self, incoming: Incoming, channel: Channel) -> Awaitable[None]:
        if incoming.text == "/stop" and (running := self._running.get(incoming.conversation)) is not None:
            self.received.append(incoming)
            view, working = running
            view.stop_mark = "⏹ Parei."
            view.stop()
            working.cancel()
            return _done()
        key = (incoming.chat.chat, incoming.message_id)
        if key in self._known:
            return _done()
        self._known.add(key)
        self.received.append(incoming)
        return asyncio.shield(self._start(incoming, channel)) if incoming.addressed else _done()

    async def invited(self, invitation: Invitation, channel: Channel) -> None:
        self.invitations.append(invitation)
        await View(channel, self.clock).show_last(OutgoingMessage(invitation.how[Locale.PT]))

    async def resume(self, platform: str, channels: Channels) -> None:
        self.notifier.connect(platform, channels)
        for incoming in self.owed:
            if incoming.chat.platform == platform:
                self._known.add((incoming.chat.chat, incoming.message_id))
                self._start(incoming, channels.again(incoming), self.posted)

    def _start(self, incoming: Incoming, channel: Channel, posted: Sequence[str] | None = None) -> asyncio.Task[None]:
        task = asyncio.create_task(self._answer(incoming, channel, posted))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _answer(self, incoming: Incoming, channel: Channel, posted: Sequence[str] | None) -> None:
        is_busy = partial(self._lanes.has_others, incoming.conversation)
        late_s = self.clock.monotonic() + self.notify_after_s
        view = View(channel, self.clock, pace=self.pace, posted=posted, is_busy=is_busy, notify_from_s=late_s)
        waits = None if incoming.private else view.waits
        async with self._lanes.lane(incoming.conversation, waits), view.typing():
            working = asyncio.create_task(self._work(incoming, view))
            self._running[incoming.conversation] = view, working
            try:
                await asyncio.wait({working})
                if not working.cancelled():
                    await working
                await view.close()
            except ChannelError as error:
                self.failures.append(error)
            finally:
                working.cancel()
                del self._running[incoming.conversation]
            self.answered += 1

    async def _work(self, incoming: Incoming, view: View) -> None:
        await self.script(incoming, view)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _done() -> Awaitable[None]:
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    done.set_result(None)
    return done
