"""A closed bot that Ana owns and Bia administers, begun anew for each thing said, with a private chat for each."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from typing import Any

from core.answering.chatbot import ChatBot
from core.dialogue import Task
from core.features.access.storage import Person
from core.outgoing import ChannelLimits, OutgoingMessage
from core.types import Role, UserKey
from tests.fakes.channel import OneChannel, RecordingChannel
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA, BIA, House, NamedModels

CARO = UserKey("test", "caro")
THINK = {Task.DECIDE: ["Finish"], Task.FINISH: ["Hello"]}


class Office:
    """What staff and others say to the bot. `chats` are the private chats in which it writes unasked."""

    def __init__(self, house: House | None = None) -> None:
        self.house = house or House(dict(THINK), trusted=())
        self.chats: dict[UserKey, RecordingChannel] = {}
        self._numbers = count()

    @property
    def models(self) -> NamedModels:
        models = self.house.machine.models
        assert isinstance(models, NamedModels)
        return models

    @property
    def clock(self) -> FakeClock:
        assert isinstance(self.house.clock, FakeClock)
        return self.house.clock

    async def give(self, user: UserKey, role: Role) -> None:
        await self.house.people.put(Person(user, role, user.user, self.house.clock.now()))

    async def role(self, user: UserKey) -> Role | None:
        person = await self.house.people.find(user)
        return None if person is None else person.role

    async def open(self, *members: UserKey) -> Office:
        for user, role in ((ANA, Role.OWNER), (BIA, Role.ADMIN), *((each, Role.MEMBER) for each in members)):
            await self.give(user, role)
        return self

    def chat(self, user: UserKey) -> RecordingChannel:
        return self.chats.setdefault(user, RecordingChannel(self.clock, ChannelLimits(4096, 0.0)))

    async def shown(
        self, text: str, user: UserKey = ANA, *, chat: str = "c", private: bool = True, **more: Any
    ) -> list[OutgoingMessage]:
        """Say it, and return what stayed on the screen."""
        channel = self.house.channel()
        number = f"{id(self)}-{next(self._numbers)}"
        incoming = self.house.incoming(text, user=user, message_id=number, chat=chat)
        async with self.bot() as bot:
            await (await bot.receive(replace(incoming, private=private, **more), channel))
        return channel.screen

    async def say(self, text: str, user: UserKey = ANA, **more: Any) -> str:
        return "\n".join(shown.text for shown in await self.shown(text, user, **more))

    @asynccontextmanager
    async def bot(self) -> AsyncIterator[ChatBot]:
        async with self.house.chatbot() as bot:
            await bot.resume("test", OneChannel(self.house.channel(), self.chat))
            yield bot

    def system(self) -> str:
        """The system prompt of the last call."""
        return self.house.model.prompts[-1].system
