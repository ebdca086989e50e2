"""A closed bot that people meet in private and in rooms, with everybody's private chat on record."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import AsyncExitStack
from dataclasses import replace
from itertools import count
from types import TracebackType
from typing import Any, Self

from core.answering.chatbot import ChatBot
from core.dialogue import Task
from core.features.access.storage import Person
from core.outgoing import Button, OutgoingMessage
from core.types import ChatKey, Role, UserKey
from tests.fakes.channel import OneChannel, RecordingChannel
from tests.fakes.house import House, answered

FINISH = {Task.DECIDE: ["Finish"], Task.FINISH: ["Hello"]}


class Lobby:
    """An async context; everybody whom a test names is reached on the platform of their account."""

    def __init__(self, house: House | None = None, platforms: tuple[str, ...] = ("test",)) -> None:
        self.house = house or House(FINISH, trusted=())
        self.private: dict[UserKey, RecordingChannel] = defaultdict(self.house.channel)
        self.bot: ChatBot
        self._platforms = platforms
        self._numbers = count()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self.bot = await self._stack.enter_async_context(self.house.chatbot())
        for platform in self._platforms:
            await self.bot.resume(platform, OneChannel(self.house.channel(), self.private.__getitem__))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, traceback)

    async def give(self, user: UserKey, role: Role) -> None:
        await self.house.people.put(Person(user, role, user.user, self.house.clock.now()))

    async def say(self, text: str, user: UserKey, *, room: str = "", **changes: Any) -> list[str]:
        """Say something, in private unless a room is named, and return what was answered there."""
        channel = self.house.channel()
        chat = ChatKey(user.platform, room or f"with {user.user}")
        incoming = replace(self.house.incoming(text, user=user, message_id=f"{next(self._numbers)}"), chat=chat)
        incoming = replace(incoming, private=not room, **changes)
        await answered(self.bot, incoming, channel)
        await self.settle()
        return channel.texts

    async def press(self, choice: Button, user: UserKey) -> str:
        """Press a button and return what is said."""
        return "\n".join(await self.say(choice.command, user, pressed=True))

    def seen(self, user: UserKey) -> list[OutgoingMessage]:
        """Return what was written to somebody who had not just written."""
        return self.private[user].screen

    @staticmethod
    async def settle() -> None:
        """Let what nobody waits for be done."""
        for _ in range(50):
            await asyncio.sleep(0)
