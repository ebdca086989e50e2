"""The promise of every place to write into, held by each of them: what is posted is seen, and edited in place.

A platform adds itself with one function that yields a `Watched`.
"""

from __future__ import annotations

import os
import pty
import termios
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import discord
import pyte
import pytest
from telegram import Bot

from adapters.console import PipeChannel
from adapters.console.channel import ConsoleChannel
from adapters.console.output import Output
from adapters.discord.api import DiscordApi
from adapters.discord.channel import Destination as DiscordPlace
from adapters.discord.channel import DiscordChannel
from adapters.discord.gateway import point_rest_at
from adapters.discord.pacer import Pacer as DiscordPacer
from adapters.telegram.api import TelegramApi
from adapters.telegram.channel import Destination, DraftChannel, TelegramChannel
from adapters.telegram.config import WritePace
from adapters.telegram.pacer import Pacer
from adapters.telegram.state import Place, State
from core.clock import SystemClock
from core.delivery.view import View
from core.enclosures import AttachmentKind
from core.errors import ChannelError, ChannelGone, FileTooLarge
from core.outgoing import File, OutgoingMessage, memory_line
from core.ports import Channel
from core.storage.kept import SqlKept
from core.types import MemoryNote, Modal
from core.workers.port import Worker
from tests.fakes.channel import FileChannel, RecordingChannel, handed_out
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import TOKEN as DISCORD_TOKEN
from tests.fakes.discord_server import DiscordServer
from tests.fakes.handler import tell
from tests.fakes.ram import RamDatabase
from tests.fakes.telegram_server import TOKEN, TelegramServer

AT = datetime(2026, 3, 14, 12, tzinfo=UTC)
ITEM = MemoryNote("senha do aliexpress", "123456", "14 Mar 2026")
STATUS = OutgoingMessage("IA está pensando...", Modal.TEXT_FOR_REPLACE)


@dataclass(frozen=True, slots=True)
class Watched:
    """A channel, what a person sees of it now (top to bottom), and how to make sure that nobody reads it any more.

    `sends` is what a person does who sends a file with that in it: it returns the handle.
    """

    channel: Channel
    seen: Callable[[], str]
    leave: Callable[[], None]
    sends: Callable[[bytes], str]


@asynccontextmanager
async def recording() -> AsyncIterator[Watched]:
    channel = FileChannel(FakeClock())

    def leave() -> None:
        channel.faults.extend([ChannelGone("blocked")] * 10)

    def sends(content: bytes) -> str:
        channel.sent["recording:f"] = content
        return "recording:f"

    yield Watched(channel, lambda: "\n".join(map(_read, channel.screen)), leave, sends)


def _read(shown: OutgoingMessage) -> str:
    """What is read of a message that is recorded and not drawn."""
    below = shown.memories if shown.modal is Modal.TEXT else ()
    names = (file.name for file in shown.files)
    return "\n".join(filter(None, [shown.text, *names, *map(memory_line, below), shown.folded]))


def _lay_down(folder: Path, content: bytes) -> str:
    (folder / "sent").write_bytes(content)
    return f"console:{folder / 'sent'}"


@asynccontextmanager
async def terminal() -> AsyncIterator[Watched]:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    os.set_blocking(ours, False)
    screen = pyte.Screen(80, 24)
    stream = pyte.ByteStream(screen)
    left: list[bool] = []

    def seen() -> str:
        try:
            while data := os.read(ours, 65536):
                stream.feed(data.replace("\u200d".encode(), b""))  # pyte drops the rest of a text after a joiner
        except BlockingIOError:
            pass
        return "\n".join(row.rstrip() for row in screen.display).rstrip()

    def leave() -> None:
        left.append(True)
        os.close(ours)

    with os.fdopen(theirs, "w", encoding="utf-8") as file, TemporaryDirectory() as folder:
        channel = ConsoleChannel(Output(file), colour=True, exports=Path(folder))
        yield Watched(channel, seen, leave, partial(_lay_down, Path(folder)))
    if not left:
        os.close(ours)


@asynccontextmanager
async def pipe() -> AsyncIterator[Watched]:
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    read: list[bytes] = []
    left: list[bool] = []

    def seen() -> str:
        try:
            while data := os.read(ours, 65536):
                read.append(data)
        except BlockingIOError:
            pass
        return b"".join(read).decode().rstrip("\n")

    def leave() -> None:
        left.append(True)
        os.close(ours)

    with os.fdopen(theirs, "w", encoding="utf-8") as file, TemporaryDirectory() as folder:
        channel = PipeChannel(Output(file), exports=Path(folder))
        yield Watched(channel, seen, leave, partial(_lay_down, Path(folder)))
    if not left:
        os.close(ours)


@asynccontextmanager
async def telegram_chat(*, drafts: bool = False) -> AsyncIterator[Watched]:
    clock = SystemClock()
    boundless = WritePace(burst=5_000, per_s=5_000.0)
    async with TelegramServer(clock) as server, Bot(TOKEN, f"{server.url}/bot", f"{server.url}/file/bot") as bot:
        chat = server.chat(7)
        api = TelegramApi(bot, Pacer(boundless, boundless, boundless, clock, Worker()), State(SqlKept(RamDatabase())))
        to = Destination(Place(chat.id))
        channel: Channel = TelegramChannel(api, to)
        if drafts:
            channel = DraftChannel(api, to, clock, draft_id=1)

        def seen() -> str:
            draft = server.draft(chat.id)
            return "\n".join([*chat.screen(), *([draft] if draft else [])])

        def leave() -> None:
            chat.refusal = "403: Forbidden: bot was blocked by the user"

        def sends(content: bytes) -> str:
            server.files["f"] = content
            return "telegram:f"

        yield Watched(channel, seen, leave, sends)


@asynccontextmanager
async def discord_channel() -> AsyncIterator[Watched]:
    clock = SystemClock()
    pacer = DiscordPacer(clock, Worker())
    no_pings = discord.AllowedMentions.none()
    async with DiscordServer(clock) as server:
        point_rest_at(server.api_url)
        channel = server.room(10**17 + 100)
        async with discord.Client(
            intents=discord.Intents(guilds=True), http_trace=pacer.trace(), allowed_mentions=no_pings
        ) as client:
            await client.login(DISCORD_TOKEN)
            api = DiscordApi(pacer, clock)
            api.use(client)

            def seen() -> str:
                return "\n".join(channel.screen())

            def leave() -> None:
                channel.refusal = (403, 50001)

            def sends(content: bytes) -> str:
                return f"discord:{server.upload('a.bin', content)['url']}"

            place = DiscordPlace(channel.id)
            yield Watched(DiscordChannel(api, place, asked="1"), seen, leave, sends)


CHANNELS: dict[str, Callable[[], AbstractAsyncContextManager[Watched]]] = {
    "discord": discord_channel,
    "recording": recording,
    "terminal": terminal,
    "pipe": pipe,
    "telegram": telegram_chat,
    "telegram-drafts": lambda: telegram_chat(drafts=True),
}


@pytest.fixture(params=sorted(CHANNELS))
async def watched(request: pytest.FixtureRequest) -> AsyncIterator[Watched]:
    async with CHANNELS[request.param]() as watched:
        yield watched


def test_its_limits_are_limits_and_its_measure_is_a_size(watched: Watched) -> None:
    limits = watched.channel.limits
    assert limits.max_chars >= 100
    assert limits.edit_interval_s >= 0
    assert watched.channel.measure("") == 0
    assert 0 < watched.channel.measure("oi") <= watched.channel.measure("oi, tudo bem?")


async def test_what_is_posted_is_seen_in_order(watched: Watched) -> None:
    handles = [await watched.channel.post(OutgoingMessage(text)) for text in ("um", "dois", "três")]
    assert len(set(handles)) == 3
    assert watched.seen().splitlines() == ["um", "dois", "três"]


@pytest.mark.spec("T5")
async def test_a_status_that_was_replaced_is_not_seen_any_more(watched: Watched) -> None:
    await watched.channel.post(OutgoingMessage("antes"))
    handle = await watched.channel.post(STATUS)
    await watched.channel.edit(handle, OutgoingMessage("Buscando por memórias...", Modal.TEXT_FOR_REPLACE))
    await watched.channel.edit(handle, OutgoingMessage("depois"))
    assert watched.seen().splitlines() == ["antes", "depois"]


async def test_a_growing_text_is_seen_once_and_whole(watched: Watched) -> None:
    text = "Uma resposta que cresce até o fim."
    handle = await watched.channel.post(OutgoingMessage(text[:5], final=False))
    for end in range(6, len(text)):
        await watched.channel.edit(handle, OutgoingMessage(text[:end].rstrip(), final=False))
    await watched.channel.edit(handle, OutgoingMessage(text))
    assert watched.seen() == text


async def test_an_edit_that_changes_nothing_is_success(watched: Watched) -> None:
    handle = await watched.channel.post(OutgoingMessage("igual"))
    await watched.channel.edit(handle, OutgoingMessage("igual"))
    assert watched.seen() == "igual"


async def test_an_edit_of_an_earlier_message_is_seen_too_and_later_ones_stay(watched: Watched) -> None:
    first = await watched.channel.post(OutgoingMessage("um"))
    second = await watched.channel.post(OutgoingMessage("dois"))
    await watched.channel.edit(first, OutgoingMessage("primeiro"))
    await watched.channel.edit(second, OutgoingMessage("segundo"))
    assert "primeiro" in watched.seen()
    assert "segundo" in watched.seen()


async def test_an_edit_that_makes_a_text_shorter_leaves_nothing_of_the_longer_one(watched: Watched) -> None:
    handle = await watched.channel.post(OutgoingMessage("uma\nduas\ntrês linhas", final=False))
    await watched.channel.edit(handle, OutgoingMessage("uma", final=False))
    await watched.channel.edit(handle, OutgoingMessage("uma só"))
    assert watched.seen() == "uma só"


@pytest.mark.spec("T1")
async def test_a_memory_is_seen_with_what_it_holds(watched: Watched) -> None:
    await watched.channel.post(OutgoingMessage("senha do aliexpress: 123456", Modal.MEMORY, (ITEM,)))
    assert "123456" in watched.seen()
    assert "senha do aliexpress" in watched.seen()


@pytest.mark.spec("T9")
async def test_what_an_answer_rests_on_is_seen_below_it_posted_or_edited(watched: Watched) -> None:
    await watched.channel.post(OutgoingMessage("A senha é 123456.", memories=(ITEM,)))
    posted = watched.seen()
    handle = await watched.channel.post(OutgoingMessage("A senha", final=False))
    await watched.channel.edit(handle, OutgoingMessage("A senha é 123456.", memories=(ITEM,)))
    assert watched.seen() == f"{posted}\n{posted}"
    text, memory = posted.splitlines()
    assert text == "A senha é 123456."
    assert memory.startswith("🧠 ")
    assert "senha do aliexpress" in memory
    assert "123456" in memory
    assert memory.endswith("14 Mar 2026")


async def test_what_is_folded_is_there_below_the_answer_and_what_it_rests_on(watched: Watched) -> None:
    await watched.channel.post(
        OutgoingMessage("A senha é 123456.", memories=(ITEM,), folded="Como: 2 passos\n• Procurei\n• Escrevi")
    )
    lines = watched.seen().replace("||", "").splitlines()  # a spoiler
    assert [lines[0], *lines[2:]] == ["A senha é 123456.", "Como: 2 passos", "• Procurei", "• Escrevi"]


async def test_any_text_can_be_shown(watched: Watched) -> None:
    for text in ("**meio", "```python\nx = 1", "\x1b[2J\x00\ud800", "👨‍👩‍👧‍👦 e\u0301 世界", "<b>&", "@everyone"):
        handle = await watched.channel.post(OutgoingMessage(text, final=False))
        await watched.channel.edit(handle, OutgoingMessage(f"{text} fim"))
    assert watched.seen().count("fim") == 6


async def test_a_view_can_drive_it(watched: Watched) -> None:
    async def chunks() -> AsyncIterator[str]:
        for word in ("A ", "senha ", "é ", "123456."):
            yield word

    clock = watched.channel.clock if isinstance(watched.channel, RecordingChannel) else SystemClock()
    view = View(watched.channel, clock)
    await view.status("IA está pensando...")
    await view.show(OutgoingMessage("senha do aliexpress: 123456", Modal.MEMORY, (ITEM,)))
    await tell(view, chunks())
    await view.close()
    assert watched.seen().splitlines()[-1] == "A senha é 123456."


async def test_what_came_is_read_whole_and_no_more_than_is_allowed(watched: Watched) -> None:
    handle = watched.sends(b"12345")
    assert await handed_out(watched.channel, handle, 5) == b"12345"
    with pytest.raises(FileTooLarge):
        await handed_out(watched.channel, handle, 4)
    for other in (handle.partition(":")[2], f"elsewhere:{handle}", ""):
        with pytest.raises(ChannelError):
            await handed_out(watched.channel, other, 5)


async def test_things_are_handed_over_with_their_words_whoever_had_them_before(watched: Watched) -> None:
    things = [
        File(None, "a.txt", "text/plain", content=b"12345", handle="elsewhere:x"),
        File(kind=AttachmentKind.LOCATION, name="Zé, Rua 1", detail="1.5,-2.5"),
        File(kind=AttachmentKind.CONTACT, name="Bia", detail="BEGIN:VCARD\nTEL:1\nEND:VCARD"),
    ]
    for number, thing in enumerate(things):
        await watched.channel.post(OutgoingMessage(f"palavras {number}", files=(thing,)))
    seen = watched.seen()
    assert [f"palavras {number}" in seen for number in range(3)] == [True] * 3
    assert "Zé" in seen
    assert "Bia" in seen


async def test_when_nobody_reads_any_more_it_says_so(watched: Watched) -> None:
    await watched.channel.post(OutgoingMessage("oi"))
    watched.leave()
    with pytest.raises(ChannelGone):
        await _keep_writing(watched.channel)


async def _keep_writing(channel: Channel) -> None:
    for _ in range(3):
        await channel.post(OutgoingMessage("tchau"))
