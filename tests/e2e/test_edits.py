"""Questions that are edited or deleted on both platforms: the real libraries against loopback, with the whole core."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from adapters.telegram.config import TelegramConfig
from core.answering.parts import TurnLimits
from core.dialogue import Prompt, Task
from core.models import Cycle
from core.types import ChatKey
from tests.e2e import discord_kit, telegram_kit
from tests.e2e.wire import ANA, BIA, ROOM, DiscordWire, TelegramWire, Wire
from tests.fakes.clock import FakeClock
from tests.fakes.discord_world import BOT, Note
from tests.fakes.house import House
from tests.fakes.model import Answer, SlowModel
from tests.fakes.telegram_server import TOKEN


def answer(prompt: Prompt) -> Answer:
    return told(prompt.context.message)


def told(text: str) -> str:
    return f"{text}: the following words, my dear friend, are for you alone"


async def until(wire: Wire, *texts: str, where: str = ANA) -> None:
    """Let time go by until these are the texts there, for good."""
    wanted = [told(text) for text in texts]
    await wire.flow(lambda: wire.screen(where) == wanted, 600)
    await wire.clock.advance(30.0)
    await wire.idle()
    assert wire.screen(where) == wanted


def house(wire: Wire) -> House:
    made = House(clock=wire.clock, trusted=(wire.name,), limits=TurnLimits(cycle=Cycle.SINGLE))
    made.answered_by(SlowModel(wire.clock, {Task.SINGLE: answer}, 0.5))
    return made


@asynccontextmanager
async def bot(wire: Wire, made: House | None = None) -> AsyncIterator[House]:
    made = made or house(wire)
    async with made.chatbot() as handler, wire.serving(handler):
        yield made


def posted(wire: Wire, where: str) -> int:
    return sum(write.is_new for write in wire.written(where))


@pytest.mark.parametrize("where", [ANA, ROOM])
@pytest.mark.parametrize("after_s", [0.3, 4.0, 60.0], ids=["thinking", "growing", "answered"])
async def test_an_edited_question_is_answered_in_the_same_message(wire: Wire, after_s: float, where: str) -> None:
    async with bot(wire):
        said = await wire.says("one", where=where)
        await wire.flow(lambda: wire.screen(where))
        await wire.clock.advance(after_s)
        await wire.idle()
        written, new = len(wire.written(where)), posted(wire, where)  # a late answer is anew
        await wire.edits(said, "two")
        await until(wire, "two", where=where)
        assert not [write for write in wire.written(where)[written:] if write.text.startswith("one")], (
            "it stops at once"
        )
        for text in ("two", "three", "four"):
            await wire.edits(said, text)
        await until(wire, "four", where=where)
        assert posted(wire, where) == new


async def test_a_question_that_is_edited_while_it_waits_keeps_its_place_in_line(wire: Wire) -> None:
    async with bot(wire):
        await wire.says("one")
        second = await wire.says("two")
        await wire.says("three")
        await wire.clock.advance(2.0)
        await wire.edits(second, "2")
        await until(wire, "one", "2", "three")
        ids = [seen.id for seen in wire.ours()]
        assert ids == sorted(ids)


async def test_in_a_room_a_mention_makes_a_question_and_without_it_there_is_none(wire: Wire) -> None:
    async with bot(wire):
        late = await wire.says("hello everybody", where=ROOM, to_all=True)
        await wire.idle()
        await wire.edits(late, "hello")
        await until(wire, "hello", where=ROOM)
        gone = await wire.says("what is this", where=ROOM)
        await wire.flow(lambda: len(wire.ours(ROOM)) == 2)
        await wire.edits(gone, "what is this, Bia?", to_all=True)
        await until(wire, "hello", where=ROOM)
        await wire.edits(late, "hello everybody", to_all=True)
        await until(wire, "hello", where=ROOM)


async def test_edits_of_what_is_too_old_are_left_alone(wire: Wire) -> None:
    async with bot(wire):
        said = await wire.says("one")
        await until(wire, "one")
        await wire.clock.advance(7 * 3600)
        await wire.edits(said, "two")
        await until(wire, "one")


async def test_an_edit_after_a_restart_finds_the_answer(wire: Wire) -> None:
    made = house(wire)
    async with bot(wire, made):
        said = await wire.says("one")
        await until(wire, "one")
    async with bot(wire, made):
        await wire.edits(said, "one")  # a reaction, a link that is shown: no word is another
        await wire.edits(said, "two")
        await until(wire, "two")
    assert posted(wire, ANA) == 1


# --- on Telegram alone ---


async def test_a_draft_goes_on_with_the_answer_to_the_edited_text(clock: FakeClock) -> None:
    drafts = replace(TelegramConfig(TOKEN), drafts=True)
    async with (
        TelegramWire(clock) as wire,
        house(wire).chatbot() as handler,
        telegram_kit.serving(wire.server, clock, handler, drafts),
    ):
        said = await wire.says("one")
        await wire.flow(lambda: any("following" in each.text for each in wire.server.done("sendmessagedraft")))
        await wire.edits(said, "two")
        await until(wire, "two")
        drawn = {call.params["draft_id"] for call in wire.server.done("sendmessagedraft", chat_id=7)}
        assert (len(drawn), posted(wire, ANA)) == (1, 1)


# --- on Discord alone, which tells of deletions and unfurls links ---


@pytest.fixture
async def discord(clock: FakeClock) -> AsyncIterator[DiscordWire]:
    async with DiscordWire(clock) as wire:
        yield wire


async def test_a_deleted_question_is_not_answered_and_what_stood_of_its_answer_is_removed(discord: DiscordWire) -> None:
    async with bot(discord):
        first = await discord.says("one", where=ROOM)
        second = await discord.says("two", where=ROOM)
        await discord.says("three", where=ROOM)
        await discord.flow(lambda: any("following" in text for text in discord.screen(ROOM)))
        await discord.server.deletes(second)
        await discord.server.deletes(first)
        await until(discord, "three", where=ROOM)
        fourth = await discord.says("four", where=ROOM)
        await until(discord, "three", "four", where=ROOM)
        asked = len(discord.server.calls)
        await discord.server.deletes(fourth)
        await until(discord, "three", "four", where=ROOM)
        assert not [call for call in discord.server.calls[asked:] if call.path.startswith("/channels")]


async def test_questions_that_a_moderator_deletes_together_are_dropped(discord: DiscordWire) -> None:
    async with bot(discord) as made:
        notes = [await discord.says(who, who, where=ROOM) for who in (ANA, BIA)]
        await discord.flow(lambda: len(made.models.chat.model.prompts) == 2)  # type: ignore[attr-defined]
        await discord.server.deletes(*notes)
        await until(discord, where=ROOM)


async def test_links_that_are_unfurled_change_no_question_and_ask_none(discord: DiscordWire) -> None:
    async with bot(discord):
        note = await discord.says("one", where=ROOM)
        await discord.server.unfurls(note)
        await discord.edits(note, "two")
        await discord.server.unfurls(note)
        await until(discord, "two", where=ROOM)
        channel = discord.server.direct(discord_kit.ANA)
        old = channel.notes[1] = Note(
            discord.server.snowflake(), channel.id, discord_kit.ANA, "see https://example.org"
        )
        await discord.server.unfurls(old)
        await until(discord)


async def test_an_edit_that_is_answered_after_a_crash_finds_a_post_that_was_not_recorded(discord: DiscordWire) -> None:
    made, server = house(discord), discord.server
    channel, number = server.direct(discord_kit.ANA), server.snowflake()
    asked = replace(
        made.incoming("one", user=discord.user(ANA), message_id=str(number)), chat=ChatKey("discord", str(channel.id))
    )
    await made.inbox.accept(asked)
    await made.inbox.put_posted(asked, [""])
    channel.notes[2] = Note(2, channel.id, BOT, "one is", nonce=f"{number}.0")
    server.writing._nonces[channel.id, f"{number}.0"] = discord.clock.monotonic(), 2
    await made.inbox.accept(replace(asked, message_id=f"{number}.1", edits=str(number), text="two"))
    async with bot(discord, made):
        await until(discord, "two")


async def test_an_edit_that_is_read_back_is_answered_in_place_and_once(discord: DiscordWire) -> None:
    async with bot(discord):
        note = await discord.says("one", where=ROOM)
        await until(discord, "one", where=ROOM)
        await discord.server.gateway.drop(resumable=False)
        new = await discord.says("first", where=ROOM)
        await discord.edits(new, "two")
        await discord.flow(lambda: discord.server.gateway.online)
        await until(discord, "one", "two", where=ROOM)
        await discord.edits(note, "1")
        await discord.server.unfurls(new)
        await until(discord, "1", "two", where=ROOM)
