"""A bot in memory whose model calls are priced and written down, behind a message handler that knows who asks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count

from bot.models.metering import Meter, Price, Prices
from core.history.summary import Summaries, Summarizer
from core.models import MODES, HotModel, Models
from core.outgoing import OutgoingMessage
from core.ports import MessageHandler
from core.types import Incoming, UserKey
from tests.fakes.channel import OneChannel, RecordingChannel
from tests.fakes.house import ANA, House

TURN_TOKENS = 30
"""A decision and an answer of the scripted model: ten tokens in and five out, twice."""

DOLLAR_A_TOKEN = Prices("2026-11-21", {"scripted:*": Price(1e6, 1e6)})
NO_PRICES = Prices("2026-11-21", {})


@dataclass
class MeteredHouse:
    """A house, and the private screens on which its people are told something; a token costs a dollar."""

    house: House
    prices: Prices = DOLLAR_A_TOKEN
    told: dict[UserKey, RecordingChannel] = field(default_factory=dict)
    numbers: count[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        house, meter = self.house, self.meter
        heavy, reasoning, chat, summary = (HotModel(meter.of(house.model, mode)) for mode in MODES)
        house.models = Models(heavy, reasoning, chat, summary, house.embedder)

    @property
    def meter(self) -> Meter:
        return Meter(self.house.quotas.record, self.prices, self.house.clock)

    @asynccontextmanager
    async def summarising(self) -> AsyncIterator[Summaries]:
        """Fold conversations in the background, as a bot with a language model does."""
        house, talks = self.house, self.house.conversations
        summarizer = Summarizer(house.history, house.models.summary, talks.tokenizer, house.clock, talks.limits)
        async with Summaries(summarizer, house.clock) as summaries:
            talks.summaries = summaries
            yield summaries

    @asynccontextmanager
    async def open(self) -> AsyncIterator[MessageHandler]:
        """Run the bot, connected to everybody's private chat."""
        async with self.house.chatbot() as chatbot:
            handler = chatbot
            await handler.resume("test", OneChannel(self.house.channel(), self._private))
            yield handler

    async def say(
        self,
        handler: MessageHandler,
        text: str,
        user: UserKey = ANA,
        *,
        chat: str = "",
        room: bool = False,
        language: str = "en",
    ) -> str:
        return "\n".join(
            shown.text for shown in await self.screen(handler, self.incoming(text, user, chat, room, language))
        )

    def incoming(
        self, text: str, user: UserKey = ANA, chat: str = "", room: bool = False, language: str = "en"
    ) -> Incoming:
        incoming = self.house.incoming(text, user=user, message_id=f"n{next(self.numbers)}", chat=chat or user.user)
        return replace(incoming, private=not room, language=language)

    async def screen(self, handler: MessageHandler, incoming: Incoming) -> list[OutgoingMessage]:
        channel = self.house.channel()
        await (await handler.receive(incoming, channel))
        return channel.screen

    def _private(self, user: UserKey) -> RecordingChannel:
        return self.told.setdefault(user, self.house.channel())

    def told_texts(self, user: UserKey) -> list[str]:
        """What the person was told without having written."""
        return self.told[user].texts if user in self.told else []
