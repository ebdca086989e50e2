"""An answer with its memories and buttons is one message and one notification, on both platforms."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adapters.telegram.config import TelegramConfig
from core.delivery.view import View
from core.outgoing import Button
from core.types import Incoming, MemoryNote
from tests.e2e import discord_kit, telegram_kit
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import BOT
from tests.fakes.discord_world import Refused as DiscordRefused
from tests.fakes.handler import Script
from tests.fakes.telegram_people import Json, Person, Post, units
from tests.fakes.telegram_server import TOKEN, TelegramServer
from tests.fakes.telegram_wire import Refused

ANA = Person(7, "Ana")
GROUP = -1001
UNDO = Button("Desfazer", "/undo")
SUPPRESSED = 1 << 2  # a message's flag: Discord adds no previews of links
ITEMS = tuple(
    MemoryNote(binding, content, "14 Mar 2026")
    for number, (binding, content) in enumerate([("wi-fi", "abc123"), ("wi-fi da mãe", "r*o*sa"), ("portão", "4417")])
)
SAID = "Guardei.\n\nA do wi-fi é **abc123**."
TELEGRAM = """\
Guardei.

A do wi-fi é abc123.
🧠 wi-fi: abc123 · 14 Mar 2026
🧠 wi-fi da mãe: r*o*sa · 14 Mar 2026
🧠 portão: 4417 · 14 Mar 2026"""
EMBED = """\
🧠 **wi-fi** ||abc123|| · 14 Mar 2026
🧠 **wi-fi da mãe** ||r\\*o\\*sa|| · 14 Mar 2026
🧠 **portão** ||4417|| · 14 Mar 2026"""


def recalling(clock: FakeClock, text: str = SAID) -> Script:
    """Save, search and answer, each step with its status, in time for each to be seen."""

    async def script(_: Incoming, view: View) -> None:
        await view.status("IA está pensando...")
        await clock.sleep(4)
        saved, answer = text.split("\n\n")
        view.write(saved)
        for status in ("Buscando por memórias...", "IA está pensando..."):
            await clock.sleep(4)
            await view.status(status)
        view.write("\n\n")
        for word in answer.split(" "):
            await clock.sleep(1)
            view.write(f"{word} ")
        await view.complete((UNDO,), ITEMS)

    return script


def check(post: Post) -> None:
    """Everything stands in that message, as Telegram draws it."""
    assert post.text == TELEGRAM
    assert post.labels == [["Desfazer"]]
    above = units(TELEGRAM.partition("🧠")[0])
    [quote] = [entity for entity in post.entities if entity["type"] == "expandable_blockquote"]
    assert (quote["offset"], quote["length"]) == (above, units(TELEGRAM) - above)


@pytest.mark.spec("T5", "T9")
@pytest.mark.parametrize("drafts", [False, True])
@pytest.mark.parametrize("chat_id", [ANA.id, GROUP])
async def test_telegram_posts_one_message_for_all_that_is_said_and_found(chat_id: int, *, drafts: bool) -> None:
    clock = FakeClock()
    config = replace(TelegramConfig(TOKEN), drafts=drafts)
    async with (
        TelegramServer(clock) as server,
        telegram_kit.running(server, clock, recalling(clock), config) as bot,
    ):
        server.says(ANA, "guarde isto @elefante_bot; e qual é a senha?", chat_id=chat_id)
        await telegram_kit.flow(server, clock, lambda: bot.handler.answered == 1)
        [post] = server.chats[chat_id].ours()
    check(post)
    writes = server.done("sendmessage", "editmessagetext")
    assert len(server.done("sendmessage")) == 1
    assert [call.text for call in writes].count("Buscando por memórias...") == 0, "the answer was there already"
    last = [call for call in writes if "Desfazer" in str(call.params) or "🧠" in call.text]
    assert last == writes[-1:], "buttons and memories come with the last edit, whole"
    assert {call.code for call in server.calls} == {200}


async def test_the_end_of_an_answer_that_stands_already_costs_no_request() -> None:
    async def script(_: Incoming, view: View) -> None:
        view.write("É abc123.")
        await clock.sleep(5)
        await view.complete()

    clock = FakeClock()
    config = replace(TelegramConfig(TOKEN), stop_button=False)  # which an edit would take off
    async with TelegramServer(clock) as server, telegram_kit.running(server, clock, script, config) as bot:
        server.says(ANA, "qual é a senha?")
        await telegram_kit.flow(server, clock, lambda: bot.handler.answered == 1)
        assert server.chats[ANA.id].screen() == ["É abc123."]
    assert len(server.done("sendmessage", "editmessagetext")) == 1


async def read_before_it_ends(_: Incoming, view: View) -> None:
    """Answer, and be silent for a while before the end."""
    view.write("É abc123.")
    await view._clock.sleep(5)
    await view.complete()


async def test_the_last_edit_of_a_text_that_stands_takes_only_the_stop_button_away() -> None:
    clock = FakeClock()
    async with (
        TelegramServer(clock) as server,
        telegram_kit.running(server, clock, read_before_it_ends) as bot,
    ):
        server.says(ANA, "qual é a senha?")
        await telegram_kit.flow(server, clock, lambda: bot.handler.answered == 1)
        [post] = server.chats[ANA.id].ours()
        assert (post.text, post.labels) == ("É abc123.", [])
    given, taken = server.done("editmessagereplymarkup")
    assert not server.done("editmessagetext")
    assert not {"text"} & (given.params.keys() | taken.params.keys())
    assert "reply_markup" in given.params
    assert "reply_markup" not in taken.params
    [posted] = server.done("sendmessage")
    assert "reply_markup" not in posted.params, "a message of which nobody knows yet has no Stop button"


@pytest.mark.parametrize("place", ["direct", "slash"])
async def test_nor_does_discord_get_the_text_again(place: str) -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server, discord_kit.running(server, clock, read_before_it_ends) as bot:
        if place == "direct":
            await server.says(discord_kit.ANA, "qual é a senha?")
        else:
            await server.interactions.command(discord_kit.ANA, "ask", message="qual é a senha?", private=True)
        await discord_kit.flow(server, clock, lambda: bot.handler.answered == 1)
        answers = [note for used in server.interactions.all.values() for note in used.notes]
        [note] = answers or [note for note in server.direct(discord_kit.ANA).notes.values() if note.by is BOT]
        assert (note.content, note.buttons) == ("É abc123.", [])
    last = server.done("PATCH", "/messages/")[-1]
    assert "components" in last.body
    assert not last.body.keys() & {"content", "embeds", "flags"}


async def test_telegram_shows_the_text_and_lines_of_memories_if_it_refuses_the_formatting() -> None:
    clock = FakeClock()

    def fault(method: str, params: Json) -> None:
        if method in {"sendmessage", "editmessagetext"} and "expandable_blockquote" in str(params.get("entities")):
            raise Refused(400, "Bad Request: can't parse entities: x")

    async with TelegramServer(clock) as server, telegram_kit.running(server, clock, recalling(clock)) as bot:
        server.faults.append(fault)
        server.says(ANA, "e qual é a senha?")
        await telegram_kit.flow(server, clock, lambda: bot.handler.answered == 1)
        [post] = server.chats[ANA.id].ours()
    assert (post.text, post.entities, post.labels) == (TELEGRAM, [], [["Desfazer"]])
    assert len(server.done("sendmessage")) == 1


@pytest.mark.spec("T5", "T9")
@pytest.mark.parametrize("place", ["direct", "room", "slash"])
async def test_discord_posts_one_message_for_all_that_is_said_and_found(place: str) -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        room = server.room(discord_kit.ROOM)
        async with discord_kit.running(server, clock, recalling(clock)) as bot:
            if place == "slash":
                asked = await server.interactions.command(discord_kit.ANA, "ask", room=room.id, message="a senha?")
                await discord_kit.flow(server, clock, lambda: bot.handler.answered == 1)
                [note] = asked.notes
            else:
                channel = room if place == "room" else server.direct(discord_kit.ANA)
                await server.says(discord_kit.ANA, f"{discord_kit.ME} a senha?", room=channel.id)
                await discord_kit.flow(server, clock, lambda: bot.handler.answered == 1)
                [note] = [note for note in channel.notes.values() if note.by.bot]
        assert note.content == SAID
        assert [embed["description"] for embed in note.embeds] == [EMBED]
        assert len(note.buttons) == 1
        assert place == "slash" or not note.flags & SUPPRESSED
        posts = [write for write in server.writes if write.verb == "post"]
        assert len(posts) <= 1
        assert not any("Buscando" in write.text for write in server.writes), "the answer was there already"
        assert all("🧠" not in write.text for write in server.writes[:-1])
        assert not server.invalid


async def test_discord_fetches_no_link_of_an_answer_that_rests_on_memories() -> None:
    clock = FakeClock()
    linked = "Guardei.\n\nVeja https://example.com/?q=abc123"
    async with DiscordServer(clock) as server, discord_kit.running(server, clock, recalling(clock, linked)) as bot:
        await server.says(discord_kit.ANA, "a senha?")
        await discord_kit.flow(server, clock, lambda: bot.handler.answered == 1)
        [note] = [note for note in server.direct(discord_kit.ANA).notes.values() if note.by.bot]
    assert note.content == f"{linked}\n{EMBED}"
    assert note.flags & SUPPRESSED


async def test_discord_shows_the_text_where_the_bot_may_not_embed() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        room = server.room(discord_kit.ROOM)
        room.no_embeds = True
        async with discord_kit.running(server, clock, recalling(clock)) as bot:
            await server.says(discord_kit.ANA, f"{discord_kit.ME} a senha?", room=room.id)
            await discord_kit.flow(server, clock, lambda: bot.handler.answered == 1)
        [note] = [note for note in room.notes.values() if note.by.bot]
    assert (note.content, note.embeds, len(note.buttons)) == (SAID, [], 1)
    assert not server.invalid


async def test_discord_shows_the_text_and_lines_of_memories_if_it_refuses_the_edit() -> None:
    clock = FakeClock()

    def fault(method: str, path: str) -> None:
        if method == "PATCH" and path.partition("/channels/")[2]:
            raise DiscordRefused(400, 50035, "Invalid Form Body")

    async with DiscordServer(clock) as server, discord_kit.running(server, clock, recalling(clock)) as bot:
        server.faults.append(fault)
        await server.says(discord_kit.ANA, "a senha?")
        await discord_kit.flow(server, clock, lambda: bot.handler.answered == 1)
        assert server.direct(discord_kit.ANA).screen() == [f"{SAID}\n{EMBED}"]
