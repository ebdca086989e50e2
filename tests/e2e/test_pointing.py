"""What people point at in a room, on both platforms: replies, chains of replies, and the room's own talk.

Ana asks where lunch is, Bob answers her, Carla replies to Bob and calls the bot. Real libraries over real sockets.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import pytest

from core.answering.chatbot import ChatBot
from core.answering.parts import TurnLimits
from core.dialogue import Prompt, Task
from core.features.access.rules import Mode
from core.features.access.storage import Person
from core.features.admin.storage import Decision, DecisionKind
from core.models import Cycle
from core.types import Role, UserKey
from tests.e2e import discord_kit, telegram_kit
from tests.e2e.discord_kit import ME, ROOM
from tests.e2e.stage import limited_mind
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import BOT
from tests.fakes.discord_world import Person as Member
from tests.fakes.house import House
from tests.fakes.model import Answer, call
from tests.fakes.telegram_people import Person as Friend
from tests.fakes.telegram_server import TelegramServer

GROUP = -1001
Rule: TypeAlias = Callable[[Prompt], Answer]
NAMES = ("Ana", "Bob", "Carla")


@dataclass
class Place(ABC):
    """A room with three people and the bot."""

    ids: ClassVar[Mapping[str, int]]
    clock: FakeClock
    house: House
    bot: ChatBot

    @property
    @abstractmethod
    def room(self) -> str:
        """The room as PLATFORM:ID."""

    @abstractmethod
    async def says(self, who: str, text: str, reply_to: int | None = None) -> int:
        """Somebody writes into the room; return the message's id."""

    @abstractmethod
    def screen(self) -> list[str]:
        """What the bot wrote there."""

    @abstractmethod
    def last(self) -> int:
        """The id of the bot's last message."""

    @abstractmethod
    async def flow(self, condition: Callable[[], object]) -> None:
        """Let time go by until the condition holds."""

    @property
    def called(self) -> str:
        """How people mention the bot."""
        return "@elefante_bot" if isinstance(self, OnTelegram) else ME

    async def asks(self, who: str, text: str, reply_to: int | None = None) -> str:
        """Somebody asks the bot; return its answer."""
        before = len(self.screen())
        await self.says(who, f"{self.called} {text}", reply_to)
        await self.flow(lambda: len(self.screen()) > before and self.screen()[-1] not in {"", "…"} and self.rests())
        return self.screen()[-1]

    def rests(self) -> bool:
        """Whether nothing is being answered."""
        return not self.bot.tasks

    def user(self, who: str) -> UserKey:
        """Who that is to the bot."""
        return UserKey(self.room.partition(":")[0], str(self.ids[who]))

    async def reads_along(self, most: int) -> None:
        """Turn the room's context on."""
        name = self.room
        await self.house.decisions.apply(
            Decision(self.clock.now(), self.user("Ana"), DecisionKind.CONTEXT, name, "", str(most))
        )

    async def lunch(self) -> tuple[int, int]:
        """Ana asks where lunch is, and Bob replies to her."""
        asked = await self.says("Ana", "onde é o almoço?")
        return asked, await self.says("Bob", "no Zé às 13h", reply_to=asked)

    def prompt(self) -> str:
        """The last prompt, as text."""
        return "\n".join(turn.whole_text for turn in self.house.model.prompts[-1].turns)


@dataclass
class OnTelegram(Place):
    server: TelegramServer

    ids: ClassVar = {name: number for number, name in enumerate(NAMES, 7)}

    @property
    def room(self) -> str:
        return f"telegram:{GROUP}"

    async def says(self, who: str, text: str, reply_to: int | None = None) -> int:
        said = self.server.says(Friend(self.ids[who], who), text, chat_id=GROUP, reply_to=reply_to)
        await self.flow(lambda: self.server.offset > self.server.updates[-1]["update_id"] if self.server.updates else 1)
        return int(said["message_id"])

    def screen(self) -> list[str]:
        return self.server.chat(GROUP).screen()

    def last(self) -> int:
        return self.server.chat(GROUP).ours()[-1].id

    async def flow(self, condition: Callable[[], object]) -> None:
        await telegram_kit.flow(self.server, self.clock, condition)


@dataclass
class OnDiscord(Place):
    server: DiscordServer

    ids: ClassVar = {name: 10**17 + number for number, name in enumerate(NAMES, 7)}

    @property
    def room(self) -> str:
        return f"discord:{ROOM}"

    async def says(self, who: str, text: str, reply_to: int | None = None) -> int:
        return (await self.server.says(Member(self.ids[who], who), text, room=ROOM, reply_to=reply_to)).id

    def screen(self) -> list[str]:
        return self.server.room(ROOM).screen()

    def last(self) -> int:
        return max(note.id for note in self.server.room(ROOM).notes.values() if note.by is BOT)

    async def flow(self, condition: Callable[[], object]) -> None:
        await discord_kit.flow(self.server, self.clock, condition)


@asynccontextmanager
async def opened(platform: str, answer: Rule | None, *, reads_all: bool = True) -> AsyncIterator[Place]:
    """A bot for everybody in that room, with a model that answers so, or without one."""
    clock = FakeClock()
    script = {} if answer is None else {Task.SINGLE: answer}
    house = House(script, clock=clock, trusted=(), mode=Mode.OPEN, limits=TurnLimits(cycle=Cycle.SINGLE))
    if answer is None:
        house.answered_by(limited_mind())
    place: Place
    async with house.chatbot() as bot:
        if platform == "telegram":
            async with TelegramServer(clock) as server, telegram_kit.serving(server, clock, bot):
                place = OnTelegram(clock, house, bot, server)
                yield place
        else:
            async with DiscordServer(clock) as world:
                world.application_flags = 1 << 19 if reads_all else 0
                world.room(ROOM)
                async with discord_kit.serving(world, clock, bot):
                    place = OnDiscord(clock, house, bot, world)
                    yield place


def says(text: str) -> Rule:
    return lambda _: text


PLATFORMS = pytest.mark.parametrize("platform", ["telegram", "discord"])


@PLATFORMS
async def test_without_a_model_what_is_replied_to_is_kept_with_who_said_it_and_the_question_that_it_answers(
    platform: str,
) -> None:
    async with opened(platform, None) as place:
        _, bobs = await place.lunch()
        told = await place.asks("Carla", "guarda isso", reply_to=bobs)
        [item] = await place.house.memories.of(place.user("Carla")).page(limit=9)
        assert item.content == "Ana: onde é o almoço?\nBob: no Zé às 13h"
        assert "Bob: no Zé às 13h" in told
        assert not await place.house.memories.of(place.user("Bob")).page(limit=9)
        assert "no Zé às 13h" in await place.asks("Carla", "onde é o almoço?")
        told = await place.asks("Carla", "resume isso", reply_to=bobs)
        assert told.startswith("Para resumir, traduzir ou explicar")


@PLATFORMS
async def test_a_model_reads_the_chain_of_replies_the_nearest_first_with_each_speaker(platform: str) -> None:
    async with opened(platform, says("É no Zé.")) as place:
        _, bobs = await place.lunch()
        anas = await place.says("Ana", "qual Zé?", reply_to=bobs)
        assert await place.asks("Carla", "o que ela quis dizer?", reply_to=anas) == "É no Zé."
        told = place.prompt()
        assert (
            "<quote: the message replies to, said by somebody else (Ana)>\nqual Zé?\n</quote>\n"
            "<quote: which replied to, said by somebody else (Bob)>\nno Zé às 13h\n</quote>\n"
            "<quote: which replied to, said by somebody else (Ana)>\nonde é o almoço?\n</quote>"
        ) in told
        assert "<room>" not in told
        # What the bot answered is in the chain, too.
        bots = await place.says("Bob", "e quando?", reply_to=place.last())
        await place.flow(lambda: len(place.screen()) == 2 and place.rests())
        await place.asks("Ana", "resume isso", reply_to=bots)
        assert "said by somebody else (Bob)>\ne quando?" in place.prompt()
        assert "<quote: which replied to, said by you>\nÉ no Zé." in place.prompt()
        assert "<quote: which replied to, said by somebody else (Carla)>\n" in place.prompt()


@PLATFORMS
async def test_what_was_said_in_the_room_reaches_a_model_only_where_that_is_on_and_is_kept_nowhere(
    platform: str,
) -> None:
    async with opened(platform, says("Almoço no Zé às 13h.")) as place:
        await place.lunch()
        await place.asks("Carla", "resume o que decidimos")
        assert "13h" not in place.prompt().partition("<task>")[2]
        await place.reads_along(20)
        await place.asks("Carla", "e agora, resume o que decidimos")
        room = place.prompt().partition("<room>\n")[2].partition("\n</room>")[0].splitlines()
        assert room[:2] == ["somebody else (Ana): onde é o almoço?", "somebody else (Bob): no Zé às 13h"]
        assert room[2].startswith("the person: ")
        assert room[3] == "you: Almoço no Zé às 13h."
        assert len(room) == 4
        for thread in await place.house.history.threads(place.user("Carla")):
            kept = await place.house.history.since(thread.id)
            assert not any("onde é o almoço" in str(message) for message in kept)
            assert [message.off_record for message in kept] == [False, False, False, True]
        assert not await place.house.memories.of(place.user("Carla")).page(limit=9)


@PLATFORMS
async def test_what_others_decided_is_saved_if_asked_for_with_who_said_it(platform: str) -> None:
    save = call(
        "MemorySave", items=[{"type": "text", "content": "almoço no Zé às 13h", "bindings": ["almoço"]}], asked=True
    )
    async with opened(platform, lambda _: save) as place:
        await place.reads_along(20)
        await place.lunch()
        await place.asks("Carla", "que legal")
        assert not await place.house.memories.of(place.user("Carla")).page(limit=9)
        await place.asks("Carla", "guarda o que decidimos")
        [saved] = await place.house.memories.of(place.user("Carla")).page(limit=9)
        assert saved.content == "Bob, Ana: almoço no Zé às 13h"


async def test_discord_without_the_intent_says_that_it_cannot_read_what_is_replied_to() -> None:
    async with opened("discord", says("ok"), reads_all=False) as place:
        asked, bobs = await place.lunch()
        told = await place.asks("Carla", "o que ele quis dizer?", reply_to=bobs)
        assert told.startswith("Não consigo ler a mensagem a que você respondeu")
        assert not place.house.model.prompts
        assert await place.asks("Carla", "qual a capital da França?", reply_to=bobs) == "ok"
        assert "The platform does not show you this message" in place.prompt()
        named = await place.says("Ana", f"{place.called}, viu?", reply_to=asked)
        await place.asks("Carla", "resume isso", reply_to=named)  # what mentions the bot can be read
        assert "said by somebody else (Ana)>\n" in place.prompt()


@PLATFORMS
async def test_who_turns_context_on_is_told_what_the_platform_hides_and_the_room_what_is_read(platform: str) -> None:
    async with opened(platform, says("ok"), reads_all=False) as place:
        await place.house.people.put(Person(place.user("Ana"), Role.OWNER, "Ana", place.clock.now()))
        await place.says("Ana", f"{'' if platform == 'telegram' else place.called} /admin room context 20".strip())
        await place.flow(lambda: len(place.screen()) == 3 and place.rests())
        told, hidden, room = place.screen()
        assert "desligado → 20" in told
        assert hidden.startswith("Mas ")
        assert room.startswith("A partir de agora, quando alguém me pergunta algo aqui, leio também as últimas 20")


async def test_where_the_bot_is_an_administrator_telegram_hides_nothing() -> None:
    async with opened("telegram", says("ok")) as place:
        assert isinstance(place, OnTelegram)
        place.server.chat(GROUP).administered = True
        await place.house.people.put(Person(place.user("Ana"), Role.OWNER, "Ana", place.clock.now()))
        await place.says("Ana", "/admin room context 20")
        await place.flow(lambda: any(text.startswith("A partir de agora") for text in place.screen()) and place.rests())
        assert not any(call.text.startswith("Mas ") for call in place.server.done("sendmessage"))
