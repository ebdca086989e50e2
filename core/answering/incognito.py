"""What is said in incognito: conversations in RAM, each gone soon after it is over."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from core.history.conversation import Conversations
from core.memory.memories import Memories
from core.ports import Clock
from core.types import UserKey
from core.workers.port import unclaimed

_GRACE: Final = timedelta(minutes=10)
"""How long what was said is held in RAM after it is over: an answer may be under way."""

_EVERY_S: Final = 60.0

OpenTalk: TypeAlias = Callable[[AsyncExitStack], Awaitable[tuple[Conversations, Memories]]]
"""Opens empty conversations and memories over a database of their own in RAM, which the stack closes."""


@dataclass(slots=True)
class _Talk:
    conversations: Conversations
    memories: Memories
    over: datetime
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)


class IncognitoTalks:
    """The talks of people who are incognito, one each, over databases in RAM. `close` them.

    Another process has none of it: after a restart, or at another worker, a talk begins without what was said before.
    """

    def __init__(self, open_talk: OpenTalk, clock: Clock) -> None:
        self._open_talk = open_talk
        self._clock = clock
        self._talks: dict[UserKey, _Talk] = {}
        self._ended: list[_Talk] = []
        self._opening = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def of(self, user: UserKey, until: datetime) -> tuple[Conversations, Memories]:
        """Return the conversations, and the memories, of which there are none, of a person's talk until then."""
        async with self._opening:
            if (talk := self._talks.get(user)) is None:
                stack = AsyncExitStack()
                conversations, memories = await self._open_talk(stack)
                talk = self._talks[user] = _Talk(conversations, memories, until, stack)
            talk.over = max(until, self._clock.now()) + _GRACE
        if self._task is None or self._task.done():
            with unclaimed():
                self._task = asyncio.get_running_loop().create_task(self._run())
        return talk.conversations, talk.memories

    def end(self, user: UserKey) -> None:
        """Let nothing of a person's talk be seen any more, and soon let go of it: they are not incognito."""
        if (talk := self._talks.pop(user, None)) is not None:
            talk.over = self._clock.now() + _GRACE
            self._ended.append(talk)

    async def close(self) -> None:
        """Let go of all of them."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        for talk in (*self._ended, *self._talks.values()):
            await talk.stack.aclose()

    async def _run(self) -> None:
        while self._talks or self._ended:
            await self._clock.sleep(_EVERY_S)
            now = self._clock.now()
            self._ended += [self._talks.pop(user) for user, talk in [*self._talks.items()] if talk.over <= now]
            over = [talk for talk in self._ended if talk.over <= now]
            self._ended = [talk for talk in self._ended if talk.over > now]
            for talk in over:
                await talk.stack.aclose()
