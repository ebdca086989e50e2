"""The promise of every platform to write to who has not just written: into a room, or in private.

A platform adds itself with one function that yields `Reached`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

import pytest

from adapters.console.person import OneScreen
from core.delivery.notifier import Delivery, Notifier
from core.errors import ChannelGone
from core.outgoing import Mention, OutgoingMessage
from core.types import ChatKey, UserKey
from tests.e2e import discord_kit, telegram_kit
from tests.fakes.channel import RecordingChannel
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import Person as Member
from tests.fakes.telegram_server import TelegramServer
from tests.fakes.telegram_wire import notified


@dataclass(frozen=True, slots=True)
class Reached:
    """A platform: how to write there, what is seen in the room and in private, and who was notified in the room.

    `once` says whether the platform tells a repeat from another message, `rooms` whether there are any.
    """

    notifier: Notifier
    user: UserKey
    room: ChatKey
    seen: Callable[[bool], Sequence[str]]
    notified: Callable[[], set[str]]
    leave: Callable[[], None]
    flow: Callable[[Callable[[], object]], Awaitable[None]]
    once: bool = False
    rooms: bool = True

    async def say(self, text: str, *, private: bool = False, once: str = "1", name: str = "Ana") -> Delivery:
        mention = None if private else Mention(self.user.user, name)
        room = None if private else self.room
        writing = asyncio.create_task(
            self.notifier.write(self.user, room, OutgoingMessage(text, mention=mention), once)
        )
        await self.flow(writing.done)
        return await writing


@asynccontextmanager
async def telegram() -> AsyncIterator[Reached]:
    clock = FakeClock()
    async with TelegramServer(clock) as server, telegram_kit.running(server, clock) as bot:
        chat, room = server.chat(7), server.chat(-1001)
        await telegram_kit.flow(server, clock, lambda: bot.handler.notifier.platforms)

        def leave() -> None:
            chat.refusal, room.refusal = "403: Forbidden: bot was blocked by the user", "403: Forbidden: bot was kicked"

        yield Reached(
            bot.handler.notifier,
            UserKey("telegram", "7"),
            ChatKey("telegram", "-1001"),
            lambda private: (chat if private else room).screen(),
            lambda: {str(one) for post in room.ours() for one in notified(post.text, post.entities)},
            leave,
            lambda condition: telegram_kit.flow(server, clock, condition),
        )


@asynccontextmanager
async def discord() -> AsyncIterator[Reached]:
    clock = FakeClock()
    ana = Member(10**17 + 7, "Ana")
    async with DiscordServer(clock) as server, discord_kit.running(server, clock) as bot:
        chat, room = server.direct(ana), server.room(10**17 + 100)

        def leave() -> None:
            chat.refusal, room.refusal = (403, 50007), (403, 50001)

        yield Reached(
            bot.handler.notifier,
            UserKey("discord", str(ana.id)),
            ChatKey("discord", str(room.id)),
            lambda private: (chat if private else room).screen(),
            lambda: {str(one) for note in room.notes.values() for one in note.pinged},
            leave,
            lambda condition: discord_kit.flow(server, clock, condition),
            once=True,
        )


@asynccontextmanager
async def terminal() -> AsyncIterator[Reached]:
    clock = FakeClock()
    channel = RecordingChannel(clock)
    notifier = Notifier(clock)
    notifier.connect("console", OneScreen(channel))

    def leave() -> None:
        channel.faults.extend([ChannelGone("closed")] * 10)

    yield Reached(
        notifier,
        UserKey("console", "ana"),
        ChatKey("console", "room"),
        lambda _: [shown.words for shown in channel.screen],
        set,
        leave,
        lambda _: clock.advance(1.0),
        rooms=False,
    )


PLATFORMS: dict[str, Callable[[], AbstractAsyncContextManager[Reached]]] = {
    "telegram": telegram,
    "discord": discord,
    "terminal": terminal,
}


@pytest.fixture(params=sorted(PLATFORMS))
async def reached(request: pytest.FixtureRequest) -> AsyncIterator[Reached]:
    async with PLATFORMS[request.param]() as reached:
        yield reached


async def test_what_is_said_in_private_is_seen_there_alone(reached: Reached) -> None:
    assert await reached.say("oi", private=True) is Delivery.ARRIVED
    assert reached.seen(True) == ["oi"]
    assert not reached.rooms or reached.seen(False) == []


async def test_what_is_said_in_a_room_is_seen_there_alone_and_notifies_one_person(reached: Reached) -> None:
    told = await reached.say("avisar @bia_silva e @everyone", name="*A*na @carla_x\n# oi")
    if not reached.rooms:
        assert told is Delivery.GONE
        return
    assert told is Delivery.ARRIVED
    assert reached.seen(True) == []
    [seen] = reached.seen(False)
    assert seen.endswith("everyone")
    assert "\n" not in seen
    assert reached.notified() == {reached.user.user}


async def test_a_repeat_is_there_once_where_the_platform_can_tell_and_another_message_is_there_too(
    reached: Reached,
) -> None:
    for private in (True, False)[: 1 + reached.rooms]:
        for once in ("1/1", "1/1", "1/2", "", ""):
            assert await reached.say("oi", private=private, once=once) is Delivery.ARRIVED
        assert len(reached.seen(private)) == (4 if reached.once else 5)


async def test_a_repeat_of_several_messages_is_there_once_where_the_platform_can_tell(reached: Reached) -> None:
    for _ in range(2):
        await reached.say(" ".join(map(str, range(1500))), private=True)
    seen = reached.seen(True)
    assert seen[-1].endswith(" 1499")
    assert len(seen) == len(set(seen)) * (1 if reached.once else 2)


async def test_where_nobody_reads_any_more_it_says_so(reached: Reached) -> None:
    reached.leave()
    assert await reached.say("oi", private=True) is Delivery.GONE
    assert await reached.say("oi") is Delivery.GONE
