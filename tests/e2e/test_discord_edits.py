"""Questions that are edited or deleted in Discord: real discord.py against loopback, with the whole core."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from adapters.discord.config import DiscordConfig
from core.answering.parts import TurnLimits
from core.dialogue import Prompt, Task
from core.models import Cycle, HotModel
from core.types import ChatKey, UserKey
from tests.e2e.discord_kit import ANA, BIA, ME, ROOM, flow, idle, serving
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import BOT, Note
from tests.fakes.house import House
from tests.fakes.model import Answer, SlowModel


def answer(prompt: Prompt) -> Answer:
    return told(prompt.context.message)


def told(text: str) -> str:
    return f"{text}: the following words, my dear friend, are for you alone"


@dataclass
class Scene:
    clock: FakeClock
    server: DiscordServer
    house: House

    @property
    def asked(self) -> list[Prompt]:
        model = self.house.models.chat
        assert isinstance(model, HotModel)
        assert isinstance(model.model, SlowModel)
        return model.model.prompts

    def screen(self, room: int = ROOM) -> list[str]:
        return self.server.channels[room].screen()

    async def until(self, *texts: str, room: int = ROOM) -> None:
        """Let time go by until these are the texts in the channel, for good."""
        wanted = [told(text) for text in texts]
        await flow(self.server, self.clock, lambda: room in self.server.channels and self.screen(room) == wanted, 600)
        await self.clock.advance(30.0)
        await idle(self.server)
        assert self.screen(room) == wanted


def house(clock: FakeClock) -> House:
    made = House(clock=clock, trusted=("discord",), limits=TurnLimits(cycle=Cycle.SINGLE))
    made.answered_by(SlowModel(clock, {Task.SINGLE: answer}, 0.5))
    return made


@asynccontextmanager
async def scene(config: DiscordConfig | None = None) -> AsyncIterator[Scene]:
    clock = FakeClock()
    made = house(clock)
    async with DiscordServer(clock) as server:
        server.room(ROOM)
        async with made.chatbot() as handler, serving(server, clock, handler, config):
            yield Scene(clock, server, made)


@pytest.mark.parametrize("after_s", [0.3, 4.0, 60.0], ids=["thinking", "growing", "answered"])
async def test_an_edited_question_is_answered_in_the_same_message(after_s: float) -> None:
    async with scene() as it:
        note = await it.server.says(ANA, f"{ME} one", room=ROOM)
        await flow(it.server, it.clock, it.screen)
        await it.clock.advance(after_s)
        await it.server.unfurls(note)
        await it.server.edits(note, f"{ME} two")
        await it.server.unfurls(note)
        await it.until("two")
        assert len(it.server.done("POST", f"/channels/{ROOM}/messages")) == 1
        [ours] = [each for each in it.server.channels[ROOM].notes.values() if each.by.bot]
        assert ours.reply_to == note.id


async def test_a_deleted_question_is_not_answered_and_what_stood_of_its_answer_is_removed() -> None:
    async with scene() as it:
        first = await it.server.says(ANA, f"{ME} one", room=ROOM)
        second = await it.server.says(ANA, f"{ME} two", room=ROOM)
        await it.server.says(ANA, f"{ME} three", room=ROOM)
        await flow(it.server, it.clock, lambda: any("following" in text for text in it.screen()))
        await it.server.deletes(second)
        await it.server.deletes(first)
        await it.until("three")
        fourth = await it.server.says(ANA, f"{ME} four", room=ROOM)
        await it.until("three", "four")
        asked = len(it.server.calls)
        await it.server.deletes(fourth)
        await it.until("three", "four")
        assert not [call for call in it.server.calls[asked:] if call.path.startswith("/channels")]


async def test_questions_that_a_moderator_deletes_together_are_dropped() -> None:
    async with scene() as it:
        notes = [await it.server.says(who, f"{ME} {who.name}", room=ROOM) for who in (ANA, BIA)]
        await flow(it.server, it.clock, lambda: len(it.asked) == 2)
        await it.server.deletes(*notes)
        await it.until()


async def test_a_mention_that_is_added_asks_and_one_that_is_removed_takes_the_question_back() -> None:
    async with scene() as it:
        late = await it.server.says(ANA, "hello everybody", room=ROOM)
        await it.server.edits(late, f"{ME} hello")
        await it.until("hello")
        gone = await it.server.says(ANA, f"{ME} what is this", room=ROOM)
        await flow(it.server, it.clock, lambda: len(it.screen()) == 2)
        await it.server.edits(gone, "what is this, Bia?")
        await it.until("hello")


async def test_a_link_that_is_unfurled_in_a_message_of_long_ago_asks_nothing() -> None:
    async with scene() as it:
        channel = it.server.direct(ANA)
        note = channel.notes[1] = Note(it.server.snowflake(), channel.id, ANA, "see https://example.org")
        await it.server.unfurls(note)
        await it.until(room=channel.id)


async def test_an_edit_that_is_answered_after_a_crash_finds_a_post_that_was_not_recorded() -> None:
    clock = FakeClock()
    made = house(clock)
    async with DiscordServer(clock) as server:
        channel = server.direct(ANA)
        number = server.snowflake()
        asked = replace(
            made.incoming("one", user=UserKey("discord", str(ANA.id)), message_id=str(number)),
            chat=ChatKey("discord", str(channel.id)),
        )
        await made.inbox.accept(asked)
        await made.inbox.put_posted(asked, [""])
        channel.notes[2] = Note(2, channel.id, BOT, "one is", nonce=f"{number}.0")
        server.writing._nonces[channel.id, f"{number}.0"] = clock.monotonic(), 2
        await made.inbox.accept(replace(asked, message_id=f"{number}.1", edits=str(number), text="two"))
        async with made.chatbot() as handler, serving(server, clock, handler):
            await Scene(clock, server, made).until("two", room=channel.id)


async def test_an_edit_that_is_read_back_is_answered_in_place_and_once() -> None:
    clock = FakeClock()
    made = house(clock)
    async with DiscordServer(clock) as server:
        server.room(ROOM)
        it = Scene(clock, server, made)
        async with made.chatbot() as handler, serving(server, clock, handler):
            note = await server.says(ANA, f"{ME} one", room=ROOM)
            await it.until("one")
            await server.gateway.drop(resumable=False)
            new = await server.says(ANA, f"{ME} first", room=ROOM)
            await server.edits(new, f"{ME} two")
            await flow(server, clock, lambda: server.gateway.online)
            await it.until("one", "two")
            await server.edits(note, f"{ME} 1")
            await server.unfurls(new)
            await it.until("1", "two")
