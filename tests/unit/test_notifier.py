"""Whoever stops a message on its way is not kept from ending by a chat that refuses it."""

from __future__ import annotations

import asyncio

from core.delivery.notifier import Delivery, Notifier
from core.errors import ChannelGone
from core.outgoing import ChannelLimits, OutgoingMessage
from core.ports import Channel
from core.types import ChatKey, UserKey
from tests.fakes.channel import OneChannel, RecordingChannel
from tests.fakes.clock import FakeClock


class Rooms(OneChannel):
    """A platform with rooms."""

    def room(self, chat: ChatKey, once: str) -> Channel:
        del chat, once
        return self._channel


class SlowChannel(RecordingChannel):
    """Refuses what is written once `answers` is set."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock, ChannelLimits(4096, 0.0))
        self.answers = asyncio.Event()

    async def post(self, shown: OutgoingMessage) -> str:
        del shown
        await self.answers.wait()
        raise ChannelGone("blocked")


async def test_a_message_that_is_stopped_and_then_refused_is_stopped() -> None:
    clock = FakeClock()
    channel, notifier = SlowChannel(clock), Notifier(clock)
    notifier.connect("telegram", OneChannel(channel))
    writing = asyncio.create_task(notifier.tell(UserKey("telegram", "1"), OutgoingMessage("hello")))
    await clock.advance(1)
    writing.cancel()
    await clock.advance(0.1)
    channel.answers.set()
    await clock.advance(10)
    assert writing.cancelled()


async def test_a_room_of_another_platform_than_the_person_s_is_written_into_there() -> None:
    clock = FakeClock()
    home, away = (RecordingChannel(clock, ChannelLimits(4096, 0.0)) for _ in range(2))
    notifier = Notifier(clock)
    notifier.connect("discord", Rooms(home))
    notifier.connect("telegram", Rooms(away))
    shown = OutgoingMessage("I read along from now on.")
    assert await notifier.write(UserKey("discord", "1"), ChatKey("telegram", "-100"), shown) is Delivery.ARRIVED
    assert (home.texts, away.texts) == ([], ["I read along from now on."])
