"""One act is one turn: what is collected, for how long, and what never waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from core.answering.chatbot import ChatBot
from core.answering.parts import TurnLimits
from core.dialogue import Task
from core.enclosures import MAX_ATTACHMENTS, Attachment, AttachmentKind, Quote, QuoteKind, Speaker
from core.models import Cycle
from tests.fakes.channel import OneChannel, RecordingChannel
from tests.fakes.clock import FakeClock
from tests.fakes.house import BIA, House
from tests.fakes.workers import Gated

PHOTO = Attachment(AttachmentKind.PHOTO, handle="test:p")


@dataclass
class Talk:
    """Ana's messages, and what a model was asked of them; it answers while its gate is open."""

    house: House
    model: Gated
    channel: RecordingChannel
    bot: ChatBot = field(init=False)
    said: int = 0
    answers: list[Awaitable[None]] = field(default_factory=list)

    async def says(self, text: str = "", *things: Attachment, **more: Any) -> None:
        self.said += 1
        incoming = self.house.incoming(text, message_id=more.pop("message_id", str(self.said)))
        incoming = replace(incoming, attachments=things, **({"at": self.clock.now()} | more))
        self.answers.append(await self.bot.receive(incoming, self.channel))

    @property
    def clock(self) -> FakeClock:
        assert isinstance(self.house.clock, FakeClock)
        return self.house.clock

    async def asked(self, wait_s: float = 1.0) -> list[tuple[str, int]]:
        """What was asked after that time: the words of each turn, and how many things came with them."""
        await self.clock.advance(wait_s)
        contexts = [prompt.context for prompt in self.model.asked(Task.SINGLE)]
        return [(each.message, len(each.attachments) + len(each.quotes)) for each in contexts]

    async def owed(self) -> list[str]:
        return [incoming.message_id for incoming in await self.house.inbox.owed("test")]

    @asynccontextmanager
    async def restarted(self) -> AsyncIterator[None]:
        """Another process over the same database, after the first was killed."""
        await self.clock.advance(0.0)
        self.bot.abandon()
        await self.bot.tasks.__aexit__(None, None, None)
        async with self.house.chatbot() as self.bot:
            await self.bot.resume("test", OneChannel(self.channel))
            yield


@asynccontextmanager
async def talking() -> AsyncIterator[Talk]:
    house, gate = House(limits=TurnLimits(cycle=Cycle.SINGLE)), asyncio.Event()
    gate.set()
    model = Gated({Task.SINGLE: lambda prompt: f"re: {prompt.context.message}"}, gate)
    house.answered_by(model)
    talk = Talk(house, model, house.channel())
    async with house.chatbot() as talk.bot:
        yield talk


async def test_an_album_of_five_with_captions_is_one_turn() -> None:
    async with talking() as ana:
        for number in range(5):
            await ana.says(f"foto {number}", PHOTO, group="album")
        assert await ana.asked(0.4) == []
        assert await ana.asked(0.2) == [("foto 0\nfoto 1\nfoto 2\nfoto 3\nfoto 4", 5)]
        await asyncio.gather(*ana.answers)
        assert len(ana.channel.texts) == 1
        assert await ana.owed() == []


async def test_a_text_alone_and_a_command_never_wait() -> None:
    async with talking() as ana:
        await ana.says("qual a senha?")
        assert await ana.asked(0.0) == [("qual a senha?", 0)]
        await ana.says("/help", PHOTO)
        assert await ana.asked(0.0) == [("qual a senha?", 0)]
        assert "/memories" in ana.channel.texts[-1]


async def test_a_sentence_within_a_moment_of_a_photo_is_about_it_and_one_later_is_not() -> None:
    async with talking() as ana:
        await ana.says("", PHOTO)
        await ana.says("o que é isto?")
        assert await ana.asked() == [("o que é isto?", 1)]
        await ana.says("e esta", PHOTO)
        await ana.asked()
        await ana.says("obrigada")
        assert await ana.asked(0.0) == [("o que é isto?", 1), ("e esta", 1), ("obrigada", 0)]


async def test_a_command_or_what_is_no_part_ends_the_waiting_and_keeps_its_place() -> None:
    async with talking() as ana:
        await ana.says("olha", PHOTO)
        await ana.says("/help")
        assert await ana.asked(0.0) == [("olha", 1)]
        assert ana.channel.texts[0] == "re: olha"
        assert "/memories" in ana.channel.texts[1]


async def test_a_button_neither_waits_nor_ends_the_waiting() -> None:
    async with talking() as ana:
        await ana.says("olha", PHOTO)
        await ana.says("/help", pressed=True)
        await ana.says("estas", PHOTO)
        assert await ana.asked(0.0) == []
        assert "/memories" in ana.channel.texts[0]
        assert await ana.asked() == [("olha\nestas", 2)]


async def test_the_pieces_of_a_text_that_a_client_cut_are_one() -> None:
    async with talking() as ana:
        for piece, is_cut in (("a" * 4096, True), ("b" * 4096, True), ("fim", False)):
            await ana.says(piece, is_cut=is_cut)
        [(said, _)] = await ana.asked()
        assert said == "\n".join(["a" * 4096, "b" * 4096, "fim"])


async def test_what_is_forwarded_in_one_go_is_one_turn_with_who_said_each() -> None:
    async with talking() as ana:
        for name in ("Bia", "Caio", "Bia"):
            quote = Quote(QuoteKind.FORWARD, f"sou {name}", Speaker.OTHER, name)
            await ana.says("", quotes=(quote,), quoted_user=name)
        await ana.says("resume")
        assert await ana.asked() == [("resume", 2)]  # the same words of the same person are there once
        [prompt] = ana.model.asked(Task.SINGLE)
        assert [quote.name for quote in prompt.context.quotes] == ["Bia", "Caio"]


async def test_nothing_is_waited_for_longer_than_three_seconds() -> None:
    async with talking() as ana:
        for number in range(10):
            await ana.says(f"{number}", PHOTO)
            await ana.clock.advance(0.4)
        first, second = await ana.asked()
        assert first == ("\n".join(map(str, range(8))), 8)
        assert second == ("8\n9", 2)


async def test_what_was_sent_minutes_apart_and_comes_at_once_is_not_one() -> None:
    async with talking() as ana:
        at = ana.clock.now()
        await ana.says("a", PHOTO, at=at - timedelta(minutes=5))
        await ana.says("b", at=at)
        assert await ana.asked() == [("a", 1), ("b", 0)]


async def test_more_than_a_message_may_bring_is_another_turn() -> None:
    async with talking() as ana:
        for _ in range(MAX_ATTACHMENTS + 2):
            await ana.says("x", PHOTO)
        assert [count for _, count in await ana.asked()] == [MAX_ATTACHMENTS, 2]


async def test_in_a_room_each_persons_own_are_collected() -> None:
    async with talking() as ana:
        room = {"private": False}
        await ana.says("minha", PHOTO, group="1", **room)
        await ana.says("dela", PHOTO, user=BIA, group="2", **room)
        await ana.says("minha também", PHOTO, group="1", **room)
        assert sorted(await ana.asked()) == [("dela", 1), ("minha\nminha também", 2)]


async def test_an_album_that_waits_behind_an_earlier_answer_takes_what_comes_late_and_nothing_else() -> None:
    async with talking() as ana:
        ana.model.gate.clear()
        await ana.says("oi")
        await ana.says("um", PHOTO, group="1")
        await ana.clock.advance(1.0)
        await ana.says("dois", PHOTO, group="1")
        assert await ana.asked() == [("oi", 0)]
        await ana.says("outra coisa")
        ana.model.gate.set()
        assert await ana.asked() == [("oi", 0), ("um\ndois", 2), ("outra coisa", 0)]
        assert ana.channel.texts == ["re: oi", "re: um\ndois", "re: outra coisa"]


# --- edits and deletions of a part ---


async def test_an_edit_of_a_part_has_its_place_while_more_may_come() -> None:
    async with talking() as ana:
        await ana.says("um", PHOTO, group="1")
        await ana.says("dois", PHOTO, group="1")
        await ana.says("UM", PHOTO, message_id="1.9", edits="1", group="1")
        assert await ana.asked() == [("UM\ndois", 2)]
        assert ana.channel.texts == ["re: UM\ndois"]
        assert await ana.owed() == []


async def test_an_edit_of_a_part_that_is_being_answered_is_answered_with_the_others_and_one_later_is_left_alone() -> (
    None
):
    async with talking() as ana:
        ana.model.gate.clear()
        await ana.says("um", PHOTO, group="1")
        await ana.says("dois", PHOTO, group="1")
        assert await ana.asked() == [("um\ndois", 2)]
        await ana.says("DOIS", PHOTO, message_id="2.9", edits="2", group="1")
        await ana.says("dois", PHOTO, message_id="2", group="1")  # brought again
        ana.model.gate.set()
        assert await ana.asked() == [("um\ndois", 2), ("um\nDOIS", 2)]
        assert ana.channel.texts == ["re: um\nDOIS"]
        for part in ("1", "2"):
            await ana.says("tarde demais", PHOTO, message_id=f"{part}.10", edits=part, group="1")
        assert len(await ana.asked()) == 2
        assert await ana.owed() == []


async def test_the_edit_of_a_lone_photo_is_answered_anew_as_ever() -> None:
    async with talking() as ana:
        await ana.says("um", PHOTO)
        assert await ana.asked() == [("um", 1)]
        await ana.says("UM", PHOTO, message_id="1.9", edits="1")
        assert await ana.asked() == [("um", 1), ("UM", 1)]
        assert ana.channel.texts == ["re: UM"]


@pytest.mark.parametrize("is_answered", [False, True])
async def test_a_part_that_was_deleted_is_left_out_and_if_all_were_nothing_is_answered(is_answered: bool) -> None:
    async with talking() as ana:
        ana.model.gate.clear()
        for part in ("um", "dois", ""):
            await ana.says(part, PHOTO, group="1")
        await ana.clock.advance(0.6 if is_answered else 0.1)
        here = ana.house.incoming("").chat
        await ana.bot.withdraw(here, ["1", "3"])
        ana.model.gate.set()
        assert (await ana.asked())[-1] == ("dois", 1)
        assert ana.channel.texts == ["re: dois"]
        before = await ana.asked()
        ana.model.gate.clear()
        for number in ("7", "8"):
            await ana.says("some", PHOTO, group="2", message_id=number)
        await ana.clock.advance(0.6 if is_answered else 0.1)
        await ana.bot.withdraw(here, ["7", "8"])
        ana.model.gate.set()
        assert len(await ana.asked()) == len(before) + is_answered
        assert ana.channel.texts == ["re: dois"]
        assert await ana.owed() == []


# --- a crash in between ---


async def test_what_was_being_collected_is_collected_again_after_a_crash() -> None:
    async with talking() as ana:
        await ana.says("um", PHOTO, group="1")
        await ana.says("dois", PHOTO, group="1")
        await ana.says("DOIS", PHOTO, message_id="2.9", edits="2", group="1")
        await ana.bot.withdraw(ana.house.incoming("").chat, ["1"])
        await ana.says("três")
        async with ana.restarted():
            assert await ana.asked() == [("DOIS\ntrês", 1)]
            assert await ana.owed() == []


async def test_what_was_collected_is_the_same_after_a_crash_whatever_came_next() -> None:
    async with talking() as ana:
        ana.model.gate.clear()
        await ana.says("um", PHOTO, group="1")
        await ana.says("dois", PHOTO, group="1")
        assert await ana.asked(0.6) == [("um\ndois", 2)]
        await ana.says("e agora?")
        await ana.says("DOIS", PHOTO, message_id="2.9", edits="2", group="1")
        async with ana.restarted():
            ana.model.gate.set()
            assert (await ana.asked())[-2:] == [("e agora?", 0), ("um\nDOIS", 2)]
            assert ana.channel.texts == ["re: e agora?", "re: um\nDOIS"]
            assert await ana.owed() == []


async def test_a_photo_that_was_answered_alone_takes_nothing_after_a_crash() -> None:
    async with talking() as ana:
        ana.model.gate.clear()
        await ana.says("um", PHOTO)
        assert await ana.asked(0.6) == [("um", 1)]
        await ana.says("e agora?")
        async with ana.restarted():
            ana.model.gate.set()
            assert (await ana.asked())[-2:] == [("um", 1), ("e agora?", 0)]
