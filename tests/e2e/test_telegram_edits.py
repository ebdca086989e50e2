"""Questions that are edited in Telegram: real python-telegram-bot, a Bot API on loopback, and the whole core."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from adapters.telegram.config import TelegramConfig
from core.answering.parts import TurnLimits
from core.dialogue import Prompt, Task
from core.models import Cycle
from tests.e2e.telegram_kit import flow, idle, serving
from tests.fakes.clock import FakeClock
from tests.fakes.house import House
from tests.fakes.model import Answer, SlowModel
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TOKEN, TelegramServer

ANA, BIA = Person(7), Person(8, "Bia")
GROUP = -1001


def answer(prompt: Prompt) -> Answer:
    return told(prompt.context.message)


def told(text: str) -> str:
    return f"{text}: the following words, my dear friend, are for you alone"


@dataclass
class Scene:
    clock: FakeClock
    server: TelegramServer
    house: House

    async def until(self, *texts: str, chat_id: int = 7) -> None:
        """Let time go by until these are the texts in the chat."""
        wanted = [told(text) for text in texts]
        await flow(self.server, self.clock, lambda: self.server.chat(chat_id).screen() == wanted, limit_s=600)
        await idle(self.server)
        await self.clock.advance(30.0)
        await idle(self.server)
        assert self.server.chat(chat_id).screen() == wanted

    def handles(self, chat_id: int = 7) -> list[int]:
        return [post.id for post in self.server.chat(chat_id).ours()]


def house(clock: FakeClock) -> House:
    made = House(clock=clock, trusted=("telegram",), limits=TurnLimits(cycle=Cycle.SINGLE))
    made.answered_by(SlowModel(clock, {Task.SINGLE: answer}, 0.5))
    return made


@asynccontextmanager
async def scene(config: TelegramConfig | None = None) -> AsyncIterator[Scene]:
    clock = FakeClock()
    made = house(clock)
    async with (
        TelegramServer(clock) as server,
        made.chatbot() as handler,
        serving(server, clock, handler, config),
    ):
        yield Scene(clock, server, made)


@pytest.mark.parametrize("after_s", [0.3, 4.0, 15.0], ids=["thinking", "growing", "answered"])
async def test_an_edited_question_is_answered_in_the_same_message(after_s: float) -> None:
    async with scene() as it:
        message = it.server.says(ANA, "one")
        await flow(it.server, it.clock, lambda: it.server.done("sendchataction"))
        await it.clock.advance(after_s)
        await flow(it.server, it.clock, it.server.chat(7).screen)
        await it.clock.advance(after_s)
        await idle(it.server)
        written, posted = len(it.server.calls), len(it.server.done("sendmessage", chat_id=7))  # a late answer is anew
        removed = len(it.server.done("deletemessage", chat_id=7))
        it.server.edits(message, "two")
        await it.until("two")
        assert not [call for call in it.server.calls[written:] if call.text.startswith("one")], "it stops at once"
        assert len(it.server.done("sendmessage", chat_id=7)) == posted
        assert len(it.server.done("deletemessage", chat_id=7)) == removed
        it.server.edits(message, "two")
        it.server.edits(message, "three")
        it.server.edits(message, "four")
        await it.until("four")
        assert len(it.server.done("sendmessage", chat_id=7)) == posted


async def test_a_question_that_is_edited_while_it_waits_keeps_its_place_in_line() -> None:
    async with scene() as it:
        it.server.says(ANA, "one")
        second = it.server.says(ANA, "two")
        it.server.says(ANA, "three")
        await it.clock.advance(2.0)
        it.server.edits(second, "2")
        await it.until("one", "2", "three")
        assert it.handles() == sorted(it.handles())


async def test_a_draft_goes_on_with_the_answer_to_the_edited_text() -> None:
    async with scene(replace(TelegramConfig(TOKEN), drafts=True)) as it:
        message = it.server.says(ANA, "one")
        await flow(
            it.server, it.clock, lambda: any("following" in each.text for each in it.server.done("sendmessagedraft"))
        )
        it.server.edits(message, "two")
        await it.until("two")
        drafts = {call.params["draft_id"] for call in it.server.done("sendmessagedraft", chat_id=7)}
        assert len(drafts) == 1
        assert len(it.server.done("sendmessage", chat_id=7)) == 1


async def test_in_a_group_a_mention_makes_a_question_and_without_it_there_is_none() -> None:
    async with scene() as it:
        late = it.server.says(ANA, "hello everybody", chat_id=GROUP)
        await idle(it.server)
        it.server.edits(late, "@elefante_bot hello")
        await it.until("hello", chat_id=GROUP)
        gone = it.server.says(ANA, "@elefante_bot what is this", chat_id=GROUP)
        await flow(it.server, it.clock, lambda: len(it.handles(GROUP)) == 2)
        it.server.edits(gone, "what is this, Bia?")
        await it.until("hello", chat_id=GROUP)
        it.server.edits(late, "hello everybody")
        await it.until("hello", chat_id=GROUP)


async def test_edits_of_what_is_too_old_are_left_alone() -> None:
    async with scene() as it:
        message = it.server.says(ANA, "one")
        await it.until("one")
        await it.clock.advance(7 * 3600)
        it.server.edits(message, "two")
        await it.until("one")


async def test_an_edit_after_a_restart_finds_the_answer() -> None:
    clock = FakeClock()
    made = house(clock)
    async with TelegramServer(clock) as server:
        it = Scene(clock, server, made)
        async with made.chatbot() as handler, serving(server, clock, handler):
            message = server.says(ANA, "one")
            await it.until("one")
        async with made.chatbot() as handler, serving(server, clock, handler):
            server.edits(message, "one")  # a reaction, a link that is shown: no word is another
            server.edits(message, "two")
            await it.until("two")
        assert len(server.done("sendmessage", chat_id=7)) == 1
