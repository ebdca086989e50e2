"""Presses that come to nothing are told to who pressed alone, and leave no message behind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from core.dialogue import Task
from core.features.pending_input import NOTHING_TO_STOP
from core.features.undo import ANOTHERS, NOTHING_OF_IT
from core.types import Locale
from tests.e2e import discord_kit, telegram_kit
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import BOT, EPHEMERAL
from tests.fakes.discord_world import Person as Member
from tests.fakes.house import House
from tests.fakes.telegram_people import BOT_ID, Person, Post
from tests.fakes.telegram_server import TelegramServer

ANA = Person(7, "Ana", "en")
GROUP = -1001
OTHERS = [Person(100 + number, f"P{number}", "en") for number in range(12)]
UNDO = "↩️ Undo"
STOP_OF_ANA = [[{"text": "⏹", "callback_data": "x7"}]]


def house(clock: FakeClock) -> House:
    script = {Task.DECIDE: lambda _: "Finish", Task.FINISH: lambda _: "ok"}
    return House(script, clock=clock, trusted=("telegram", "discord"))


@asynccontextmanager
async def telegram(clock: FakeClock) -> AsyncIterator[TelegramServer]:
    """The real bot, which everybody may use."""
    async with (
        TelegramServer(clock) as server,
        house(clock).chatbot() as handler,
        telegram_kit.serving(server, clock, handler),
    ):
        server.chat(ANA.id)
        server.chat(GROUP)
        yield server


async def test_undo_of_anothers_answer_says_so_for_a_moment_and_fills_no_group(clock: FakeClock) -> None:
    async with telegram(clock) as server:
        server.says(ANA, "/remember@elefante_bot the key is 1111", chat_id=GROUP)
        await telegram_kit.flow(
            server, clock, lambda: server.chat(GROUP).ours() and server.chat(GROUP).ours()[-1].labels
        )
        post = server.chat(GROUP).ours()[-1]
        before = server.chat(GROUP).screen()
        for person in OTHERS:
            server.presses(person, UNDO, chat_id=GROUP, post=post)
        await telegram_kit.flow(server, clock, lambda: len(server.notifier) == len(OTHERS))
        assert server.chat(GROUP).screen() == before
        assert {who for who, _ in server.notifier} == {person.first_name for person in OTHERS}
        assert all("only they can undo it" in told for _, told in server.notifier)
        server.presses(ANA, UNDO, chat_id=GROUP, post=post)
        await telegram_kit.flow(server, clock, lambda: server.chat(GROUP).screen() != before)
    assert len(server.notifier) == len(OTHERS)


async def test_a_stop_button_that_stops_nothing_goes_when_it_is_pressed_and_the_text_stays(clock: FakeClock) -> None:
    async with telegram(clock) as server:
        for chat_id in (ANA.id, GROUP):  # as a crash left it
            chat = server.chat(chat_id)
            chat.posts[500] = Post(500, BOT_ID, "half of an", [], at_s=clock.monotonic(), buttons=STOP_OF_ANA)
            server.presses(ANA, "⏹", chat_id=chat_id, post=chat.posts[500])
            await telegram_kit.flow(server, clock, lambda: not chat.posts[500].buttons)  # noqa: B023
            assert [post.text for post in chat.ours()] == ["half of an"]
    assert server.notifier == [("Ana", NOTHING_TO_STOP[Locale.EN])] * 2


async def test_what_cannot_be_told_by_the_press_any_more_is_a_message(clock: FakeClock) -> None:
    async with telegram(clock) as server:
        chat = server.chat(ANA.id)
        chat.posts[500] = Post(500, BOT_ID, "Saved", [], buttons=[[{"text": "Undo", "callback_data": "+/undo x1"}]])
        server.flood(ANA.id, 0.0)
        server.presses(ANA, "Undo", post=chat.posts[500])
        server.queries.clear()  # as if it had come too late
        await telegram_kit.flow(server, clock, lambda: len(chat.ours()) == 2)
        assert chat.ours()[-1].text == NOTHING_OF_IT[Locale.EN]


@pytest.mark.parametrize("what", ["undo", "stop"])
async def test_discord_tells_who_pressed_and_nobody_else(clock: FakeClock, what: str) -> None:
    ana, bia = replace(discord_kit.ANA, locale="en-US"), Member(10**17 + 9, "Bia", "en-US")
    async with DiscordServer(clock) as server:
        room = server.room(discord_kit.ROOM)
        async with house(clock).chatbot() as handler, discord_kit.serving(server, clock, handler):
            await server.says(ana, f"{discord_kit.ME} /remember the key is 1111", room=room.id)
            await discord_kit.flow(
                server, clock, lambda: any(note.by is BOT and note.buttons for note in room.notes.values())
            )
            note = next(note for note in room.notes.values() if note.by is BOT)
            said = note.content
            if what == "undo":
                pressed = await server.interactions.press(bia, note, note.buttons[0])
                await discord_kit.flow(server, clock, lambda: pressed.screen)
                assert len(note.buttons) == 1
                [told] = pressed.notes
                assert told.text in {ANOTHERS[Locale.EN], "That change is Ana's: only they can undo it."}
            else:
                stop = f"elefante:stop:{ana.id}:{room.id}:"
                note.components = [
                    {"type": 1, "components": [{"type": 2, "style": 2, "label": "⏹", "custom_id": stop}]}
                ]
                pressed = await server.interactions.press(ana, note, "⏹")
                await discord_kit.flow(server, clock, lambda: not note.buttons)
                told = pressed.notes[-1]
                assert told.text == NOTHING_TO_STOP[Locale.EN]
            assert told.flags & EPHEMERAL
            assert note.content == said
            assert sum(each.by is BOT for each in room.notes.values()) == 1
