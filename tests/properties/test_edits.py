"""Whatever is asked, edited, deleted, stopped and killed, in whatever order: one answer stands for each final text."""

from __future__ import annotations

import asyncio
import copy
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.answering.chatbot import ChatBot
from core.answering.outcomes import failure_text
from core.answering.parts import TurnLimits
from core.dialogue import Prompt, Task
from core.errors import MessageLost, TurnStopped
from core.models import Cycle
from core.outgoing import ChannelLimits, OutgoingMessage
from core.ports import Channel, Channels
from core.types import Incoming, Locale, Modal, UserKey, is_said_by_person
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA, House
from tests.fakes.model import Answer, SlowModel, call
from tests.fakes.ram import RamDatabase, copy_of
from tests.profile import examples

STOPPED = failure_text(TurnStopped(), Locale.EN)
WRITE_S, WORD_S = 0.1, 0.3


def answer(prompt: Prompt) -> Answer:
    """Save what begins with "save", and say back what else is said."""
    verb, _, rest = prompt.context.message.partition(" ")
    if verb == "save":
        return call("MemorySave", items=[{"type": "text", "content": rest, "bindings": [rest]}])
    return f"{rest}: the following words, my dear friend, are for you alone"


@dataclass(slots=True)
class Chat:
    """What stands in the chat: by handle, the question that is answered and the text.

    `texts` are what counts of each question: None for one that was deleted before it was answered; `late` are the words
    that were written after they were replaced.
    """

    late: list[str] = field(default_factory=list)

    texts: dict[str, str | None] = field(default_factory=dict)
    posts: dict[str, tuple[str, OutgoingMessage]] = field(default_factory=dict)
    posted: int = 0

    def standing(self, question: str) -> list[str]:
        return [shown.text for of, shown in self.posts.values() if of == question]


@dataclass(slots=True)
class Place(Channel):
    """Writes the answer to one question; each write takes `WRITE_S`."""

    chat: Chat
    clock: FakeClock
    question: str
    limits: ChannelLimits = field(default_factory=lambda: ChannelLimits(max_chars=4096, edit_interval_s=0.5))

    def measure(self, text: str) -> int:
        return len(text)

    async def post(self, shown: OutgoingMessage) -> str:
        self._begin(shown)
        await self.clock.sleep(WRITE_S)
        self.chat.posted += 1
        handle = f"m{self.chat.posted}"
        self.chat.posts[handle] = self.question, shown
        return handle

    async def edit(self, handle: str, shown: OutgoingMessage) -> None:
        self._begin(shown)
        await self.clock.sleep(WRITE_S)
        if handle not in self.chat.posts:
            raise MessageLost(handle)
        assert self.chat.posts[handle][0] == self.question, "an answer took the place of another's"
        self.chat.posts[handle] = self.question, shown

    async def remove(self, handle: str) -> None:
        await self.clock.sleep(WRITE_S)
        self.chat.posts.pop(handle, None)

    def _begin(self, shown: OutgoingMessage) -> None:
        said = re.search(r"code\d+", shown.text)
        text = self.chat.texts.get(self.question, "")
        if said and text != "" and (text is None or said[0] != text.split()[1]):
            self.chat.late.append(said[0])

    def adopt(self, handles: Sequence[str]) -> Sequence[str]:
        return [handle for handle in handles if handle in self.chat.posts]


@dataclass(slots=True)
class Again(Channels):
    chat: Chat
    clock: FakeClock

    def again(self, incoming: Incoming) -> Channel:
        return Place(self.chat, self.clock, incoming.original_id)

    def private(self, user: UserKey, once: str = "") -> Channel:
        raise NotImplementedError


@dataclass
class World:
    """A bot, and what a person did."""

    clock: FakeClock = field(default_factory=FakeClock)
    chat: Chat = field(default_factory=Chat)
    house: House = field(init=False)
    bot: ChatBot = field(init=False)
    sent: list[Incoming] = field(default_factory=list)
    stops: int = 0
    bots: list[tuple[ChatBot, asyncio.Task[None]]] = field(default_factory=list)

    async def start(self, before: House | None = None) -> None:
        database = RamDatabase() if before is None else copy_of(before.database)
        self.house = House(clock=self.clock, database=database, limits=TurnLimits(cycle=Cycle.SINGLE))
        self.house.answered_by(SlowModel(self.clock, {Task.SINGLE: answer}, WORD_S))
        self.bot = self.house.chatbot()
        opened = asyncio.Event()
        self.bots.append((self.bot, asyncio.create_task(self._live(self.bot, opened))))
        await opened.wait()
        await self.bot.resume("test", Again(self.chat, self.clock))

    async def _live(self, bot: ChatBot, opened: asyncio.Event) -> None:
        with suppress(asyncio.CancelledError):
            async with bot:
                opened.set()
                await asyncio.Event().wait()

    async def kill(self) -> None:
        """Let the process die as it is: what it still does is seen by nobody."""
        self.chat = copy.deepcopy(self.chat)
        await self.start(self.house)

    async def say(self, text: str, *, edits: str = "", message_id: str = "") -> None:
        number = len(self.sent) + 1
        incoming = replace(
            self.house.incoming(text, message_id=message_id or (f"{edits}.{number}" if edits else str(number))),
            edits=edits,
        )
        self.sent.append(incoming)
        await self._take(incoming)

    async def _take(self, incoming: Incoming) -> None:
        before = [each.message_id for each in await self.house.inbox.owed("test")]
        await self.bot.receive(incoming, Place(self.chat, self.clock, incoming.original_id))
        owed = [each.message_id for each in await self.house.inbox.owed("test")]
        if incoming.message_id in owed and incoming.message_id not in before:
            self.chat.texts[incoming.original_id] = incoming.text

    async def repeat(self, at: int) -> None:
        if self.sent:
            await self._take(self.sent[at % len(self.sent)])

    async def edit(self, at: int, verb: str) -> None:
        if questions := list(self.chat.texts):
            await self.say(f"{verb} code{len(self.sent) + 1}", edits=questions[at % len(questions)])

    async def delete(self, at: int) -> None:
        questions = list(self.chat.texts)
        if not questions:
            return
        question = questions[at % len(questions)]
        is_open = any(each.original_id == question for each in await self.house.inbox.owed("test"))
        await self.bot.withdraw(self.sent[0].chat, [question])
        if is_open:
            self.chat.texts[question] = None

    async def stop(self) -> None:
        if self.bot.pipeline.running:
            self.stops += 1
            await self.bot.receive(
                self.house.incoming("/stop", message_id=f"stop{self.stops}"), Place(self.chat, self.clock, "stop")
            )

    async def rest(self) -> None:
        for _ in range(200):
            await self.clock.advance(1.0)
            if not await self.house.inbox.owed("test"):
                break
        await self.clock.advance(10.0)

    async def close(self) -> None:
        for bot, task in self.bots:
            bot.abandon()
            task.cancel()
        ending = asyncio.gather(*(task for _, task in self.bots))
        while not ending.done():
            await self.clock.advance(5.0)
        await ending


Steps: TypeAlias = list[tuple[Any, ...]]
STEPS = st.one_of(
    st.tuples(st.just("ask"), st.sampled_from(["say", "save"])),
    st.tuples(st.just("edit"), st.integers(0, 3), st.sampled_from(["say", "save"])),
    st.tuples(st.just("repeat"), st.integers(0, 9)),
    st.tuples(st.just("delete"), st.integers(0, 3)),
    st.tuples(st.just("stop")),
    st.tuples(st.just("kill")),
    st.tuples(st.just("wait"), st.sampled_from([0.05, 0.4, 3.0, 10.0])),
)


@settings(max_examples=examples(60))
@example([("ask", "say"), ("wait", 3.0), ("edit", 0, "say")])  # while the answer grows
@given(st.lists(STEPS, max_size=14))
def test_each_final_text_has_one_standing_answer_and_of_the_earlier_ones_nothing_stays(steps: Steps) -> None:
    async def live() -> None:
        world = World()
        await world.start()
        for verb, *given_ in steps:
            match verb, given_:
                case "ask", [what]:
                    await world.say(f"{what} code{len(world.sent) + 1}")
                case "wait", [seconds]:
                    await world.clock.advance(seconds)
                case _:
                    await getattr(world, verb)(*given_)
        await world.rest()
        assert not await world.house.inbox.owed("test")
        assert not world.chat.late
        for question, text in world.chat.texts.items():
            standing = [shown for shown in world.chat.standing(question) if shown != STOPPED]
            fewer = 1 if world.stops and text is not None else 0
            assert (text is not None) - fewer <= len(standing) <= (text is not None), (question, text, standing)
            assert all(text is not None and text.split()[1] in shown for shown in standing)
        assert all(shown.modal is not Modal.TEXT_FOR_REPLACE for _, shown in world.chat.posts.values())
        open_ = await world.house.conversations.open(world.house.incoming("").conversation)
        kept = await open_.store.tail(open_.thread.id, 999)
        said = [message.text for message in kept if is_said_by_person(message)]
        assert sorted(said) == sorted(filter(None, world.chat.texts.values())) or world.stops
        saved = {item.content for item in await world.house.memories.of(ANA).page(limit=99)}
        wanted = {text.split()[1] for text in world.chat.texts.values() if text and text.startswith("save")}
        assert saved <= wanted
        assert saved == wanted or world.stops
        await world.close()

    asyncio.run(live())
