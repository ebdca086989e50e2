"""Files: what the bot hands over, what people send it, and what is too large either way. Real sockets."""

from __future__ import annotations

import asyncio
import struct
import zlib
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from telegram import Bot

from adapters.telegram.api import TelegramApi
from adapters.telegram.config import TelegramConfig, WritePace
from adapters.telegram.pacer import Pacer
from adapters.telegram.state import State
from core.delivery.view import View
from core.enclosures import AttachmentKind
from core.errors import ChannelError, FileTooLarge
from core.outgoing import Button, File, OutgoingMessage
from core.ports import Channel
from core.storage.kept import SqlKept
from core.types import Incoming
from core.workers.port import Worker
from tests.e2e.telegram_kit import flow, running, serving
from tests.fakes.channel import handed_out
from tests.fakes.clock import FakeClock
from tests.fakes.handler import Script, ScriptedHandler
from tests.fakes.ram import RamDatabase
from tests.fakes.telegram_people import Person, Post
from tests.fakes.telegram_server import TOKEN, TelegramServer
from tests.fakes.telegram_writing import Upload

ANA = Person(7, "Ana")
GROUP = -1001


def picture() -> bytes:
    """One white pixel, as PNG."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    body = zlib.compress(b"\0\xff\xff\xff")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def handing_over(path: Path, media_type: str, text: str = "Tudo o que **guardo**.") -> Script:
    async def script(_: Incoming, view: View) -> None:
        await view.status("Juntando tudo...")
        kind = AttachmentKind.PHOTO if media_type.startswith("image/") else AttachmentKind.FILE
        file = File(path, f"elefante{path.suffix}", media_type, kind)
        await view.show(OutgoingMessage(text, files=(file,), choices=(Button("Apagar tudo", "/forget all"),)))
        await view.flush()
        await asyncio.to_thread(path.unlink)  # from now on the person has it

    return script


@pytest.mark.parametrize(
    ("content", "media_type", "method"),
    [
        (b'{"kind": "memory"}\n', "application/json", "senddocument"),
        (picture(), "image/png", "sendphoto"),
        (b"no picture at all", "image/png", "senddocument"),
        (b"<svg/>", "image/svg+xml", "senddocument"),
    ],
)
async def test_a_file_arrives_whole_below_its_sentence_as_what_it_is(
    content: bytes, media_type: str, method: str, tmp_path: Path
) -> None:
    (path := tmp_path / "all.bin").write_bytes(content)
    clock = FakeClock()
    async with TelegramServer(clock) as server, running(server, clock, handing_over(path, media_type)) as bot:
        await bot.answers(server.says(ANA, "/export @elefante_bot", chat_id=GROUP))
        said, sent = server.chats[GROUP].ours()  # the sentence took the status' place
    assert said.text == "Tudo o que guardo."
    assert (sent.file, sent.text) == (Upload("elefante.bin", content), "")
    assert sent.labels == [["Apagar tudo"]]
    assert [call.method for call in server.done("senddocument", "sendphoto")] == [method]
    assert not bot.handler.failures


async def test_what_is_refused_as_a_picture_is_not_tried_as_one_again_while_the_chat_can_take_no_more(
    tmp_path: Path,
) -> None:
    (path := tmp_path / "all.bin").write_bytes(b"no picture at all")
    clock = FakeClock()
    config = replace(TelegramConfig(TOKEN), group=WritePace(burst=4, per_s=0.25))
    async with TelegramServer(clock) as server, running(server, clock, handing_over(path, "image/png"), config) as bot:
        await bot.answers(server.says(ANA, "/export @elefante_bot", chat_id=GROUP))
    methods = [call.method for call in server.calls if call.method in {"sendphoto", "senddocument"}]
    assert methods == ["sendphoto", "senddocument"]


async def test_the_first_thing_of_an_answer_can_be_a_file_with_its_caption(clock: FakeClock, tmp_path: Path) -> None:
    (path := tmp_path / "all.json").write_text("{}")

    async def script(_: Incoming, view: View) -> None:
        await view.show(OutgoingMessage("Tudo o que **guardo**.", files=(File(path, "a.json", "application/json"),)))

    async with TelegramServer(clock) as server, running(server, clock, script) as bot:
        asked = await bot.answers(server.says(ANA, "/export @elefante_bot", chat_id=GROUP))
        [sent] = server.chats[GROUP].ours()
    assert (sent.text, sent.entities[0]["type"], sent.reply_to) == ("Tudo o que guardo.", "bold", asked["message_id"])


async def test_a_caption_that_is_too_long_for_one_stands_before_the_file_once_however_often_that_is_tried(
    tmp_path: Path,
) -> None:
    (path := tmp_path / "all.json").write_text("{}")
    text = "palavra " * 150

    async def script(_: Incoming, view: View) -> None:
        await view.show(
            OutgoingMessage(text, files=(File(path, "a.json", "application/json"),), choices=(Button("x", "/y"),))
        )

    clock = FakeClock()
    async with TelegramServer(clock) as server, running(server, clock, script) as bot:

        def flood(method: str, _: object) -> None:
            if method == "senddocument" and not bot.handler.answered and server.chats[7].flooded_until_s == 0.0:
                server.flood(7, 20)

        server.faults.append(flood)
        await bot.answers(server.says(ANA, "/export"))
        said, sent = server.chats[7].ours()
    assert (said.text, said.labels, sent.text, sent.labels) == (text.strip(), [], "", [["x"]])
    assert sent.file == Upload("a.json", b"{}")


@pytest.mark.parametrize(("size", "told"), [(50_000_001, "50 MB"), (None, "cannot be read")])
async def test_a_file_that_cannot_be_sent_is_an_error_that_says_why(
    size: int | None, told: str, tmp_path: Path
) -> None:
    path = tmp_path / "all.json"
    if size is not None:
        with path.open("wb") as file:
            file.truncate(size)

    async def script(_: Incoming, view: View) -> None:
        await view.show(OutgoingMessage("tudo", files=(File(path, "a.json", "application/json"),)))

    clock = FakeClock()
    async with TelegramServer(clock) as server, running(server, clock, script) as bot:
        server.says(ANA, "/export")
        await flow(server, clock, lambda: bot.handler.failures)
    assert type(bot.handler.failures[0]) is ChannelError
    assert told in str(bot.handler.failures[0])
    assert str(tmp_path) not in str(bot.handler.failures[0])


# --- what people send ---


def document(server: TelegramServer, content: bytes, name: str = "m.json", **more: Any) -> dict[str, Any]:
    server.files["file-1"] = content
    return {"document": {"file_id": "file-1", "file_unique_id": "u", "file_name": name}, **more}


class FetchingHandler(ScriptedHandler):
    """Keeps the channels, too, to fetch by."""

    async def receive(self, incoming: Incoming, channel: Channel) -> Any:
        self.channel = channel
        return await super().receive(incoming, channel)


async def test_a_document_is_a_handle_and_its_caption_the_text(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock) as bot:
        server.says(ANA, None, caption="/import", caption_entities=[], **document(server, b"{}"))
        server.says(ANA, None, **document(server, b"{}"))
        server.says(ANA, "oi")
        await flow(server, clock, lambda: bot.handler.answered == 3)
    [kept] = bot.handler.received[0].attachments
    assert (kept.kind, kept.name, kept.handle) == (AttachmentKind.FILE, "m.json", "telegram:file-1")
    assert [(one.text, one.attachments) for one in bot.handler.received] == [
        ("/import", (kept,)),
        ("", (kept,)),
        ("oi", ()),
    ]


async def fetched(content: bytes, max_bytes: int, fault: str = "") -> bytes:
    """Send the bot a file, and return what it can read of it."""
    read: list[bytes] = []
    clock = FakeClock()
    async with TelegramServer(clock) as server:
        handler = FetchingHandler(clock)
        async with serving(server, clock, handler):
            server.says(ANA, None, caption="/import", **document(server, content))
            await flow(server, clock, lambda: handler.answered == 1)
            if fault == "gone":
                server.files.clear()
            elif fault == "cut":
                server.swallow = lambda method, _: method == "getfile"
            elif fault == "no path":
                server.hides.add("file_path")
            elif fault == "no size":
                server.hides.add("file_size")
            read.append(await handed_out(handler.channel, "telegram:file-1", max_bytes))
    return read[0]


async def test_a_file_is_read_whole_through_our_own_server() -> None:
    content = bytes(range(256)) * 8000
    assert await fetched(content, len(content)) == content


@pytest.mark.parametrize(("size", "max_bytes", "limit"), [(101, 100, 100), (25_000_000, 50_000_000, 20_000_000)])
async def test_a_file_that_is_too_large_is_told_as_that_with_the_limit(size: int, max_bytes: int, limit: int) -> None:
    with pytest.raises(FileTooLarge) as caught:
        await fetched(bytes(size), max_bytes)
    assert (caught.value.limit_bytes, caught.value.of_platform) == (limit, limit != max_bytes)


async def test_a_file_of_another_platform_is_asked_for_nowhere() -> None:
    async with TelegramServer(FakeClock()) as server, Bot(TOKEN, base_url=f"{server.url}/bot") as bot:
        pacer = Pacer(WritePace(1, 1.0), WritePace(1, 1.0), WritePace(1, 1.0), FakeClock(), Worker())
        api = TelegramApi(bot, pacer, State(SqlKept(RamDatabase())))
        with pytest.raises(ChannelError, match="another platform"):
            await api.fetch("discord:https://cdn.discordapp.com/attachments/1/2/a.png", 100, BytesIO())
        assert not server.done("getfile")


async def test_a_file_whose_size_is_not_told_is_measured_when_it_came() -> None:
    assert await fetched(b"12345", 5, "no size") == b"12345"
    with pytest.raises(FileTooLarge):
        await fetched(b"123456", 5, "no size")


async def test_a_file_that_the_server_keeps_no_more_is_told_as_that() -> None:
    with pytest.raises(ChannelError, match="not there any more"):
        await fetched(b"{}", 100, "no path")


@pytest.mark.parametrize("fault", ["gone", "cut"])
async def test_a_file_that_cannot_be_had_is_told_without_an_address(fault: str) -> None:
    with pytest.raises(ChannelError) as caught:
        await fetched(b"{}", 100, fault)
    assert "cannot be fetched" in str(caught.value)
    assert "http" not in str(caught.value)


# --- what is handed back ---


def handing_back(*files: File, text: str = "Aqui está.", buttons: tuple[Button, ...] = ()) -> Script:
    async def script(_: Incoming, view: View) -> None:
        await view.show(OutgoingMessage(text, files=files, choices=buttons))

    return script


async def handed_back(
    *files: File, has: dict[str, tuple[str, bytes]] | None = None, text: str = "Aqui está.", buttons: bool = False
) -> tuple[TelegramServer, list[Post]]:
    """Hand files over; `has` are the ids that the server knows, with their kind and content. Return what stands."""
    clock = FakeClock()
    below = (Button("Apagar", "/forget"),) if buttons else ()
    async with (
        TelegramServer(clock) as server,
        running(server, clock, handing_back(*files, text=text, buttons=below)) as bot,
    ):
        for name, (kind, content) in (has or {}).items():
            server.files[name], server.kinds[name] = content, kind
        server.says(ANA, "mostra")
        await flow(server, clock, lambda: bot.handler.answered or bot.handler.failures)
        assert not bot.handler.failures
        return server, server.chats[7].ours()


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        (AttachmentKind.PHOTO, "photo"),
        (AttachmentKind.VOICE, "voice"),
        (AttachmentKind.AUDIO, "audio"),
        (AttachmentKind.VIDEO, "video"),
        (AttachmentKind.ANIMATION, "animation"),
        (AttachmentKind.FILE, "document"),
        (AttachmentKind.VIDEO_NOTE, "video_note"),
        (AttachmentKind.STICKER, "sticker"),
    ],
)
async def test_what_telegram_has_is_sent_by_its_id_as_what_it_was_without_a_byte(
    kind: AttachmentKind, method: str
) -> None:
    file = File(name="a", kind=kind, content=picture(), handle="telegram:id-1")
    server, posts = await handed_back(file, has={"id-1": (method, picture())}, buttons=True)
    assert [call.method for call in server.done(f"send{method.replace('_', '')}")] != []
    assert server.uploaded == 0
    if kind in {AttachmentKind.VIDEO_NOTE, AttachmentKind.STICKER}:  # which have no caption
        assert [post.text for post in posts] == ["Aqui está.", ""]
    else:
        assert [post.text for post in posts] == ["Aqui está."]
    assert posts[-1].file == Upload("id-1", picture())
    assert posts[-1].labels == [["Apagar"]]


@pytest.mark.parametrize("kind", [AttachmentKind.PHOTO, AttachmentKind.FILE])
@pytest.mark.parametrize("handle", ["telegram:of-another-bot", "telegram:/etc/passwd", "discord:https://x/y", ""])
async def test_what_telegram_has_not_is_uploaded(handle: str, kind: AttachmentKind) -> None:
    file = File(name="../à\u202e praia 🏖.png", kind=kind, content=picture(), handle=handle)
    server, [post] = await handed_back(file)
    assert (post.text, post.file.content, server.uploaded) == ("Aqui está.", picture(), len(picture()))
    assert "/" not in post.file.name


async def test_a_kind_that_is_refused_is_sent_as_a_document_with_the_name_it_had() -> None:
    file = File(name="foto.jpg", kind=AttachmentKind.PHOTO, content=b"no picture", handle="telegram:gone")
    server, [post] = await handed_back(file)
    assert post.file == Upload("foto.jpg", b"no picture")
    assert [call.method for call in server.done("senddocument")] == ["senddocument"]


async def test_several_are_albums_with_the_words_below_the_first_and_buttons_below_words() -> None:
    photos = [File(name=f"{n}", kind=AttachmentKind.PHOTO, handle=f"telegram:p{n}") for n in range(11)]
    has = {f"p{n}": ("photo", picture()) for n in range(11)}
    server, posts = await handed_back(*photos, has=has)
    assert [post.text for post in posts] == ["Aqui está.", *[""] * 10]
    assert len(server.done("sendmediagroup")) == 1
    assert len(server.done("sendphoto")) == 1
    assert server.uploaded == 0
    _, posts = await handed_back(*photos[:2], has=has, buttons=True)
    assert [(post.text, post.labels) for post in posts] == [("Aqui está.", [["Apagar"]]), ("", []), ("", [])]


async def test_an_album_that_cannot_stay_together_is_one_of_documents_and_other_kinds_stand_alone() -> None:
    photos = [File(name=f"{n}.jpg", kind=AttachmentKind.PHOTO, content=b"no picture") for n in range(2)]
    voice = File(kind=AttachmentKind.VOICE, content=b"OggS", media_type="audio/ogg")
    server, posts = await handed_back(*photos, voice)
    assert [post.file.name for post in posts] == ["0.jpg", "1.jpg", "voice-message.oga"]
    assert [len(server.done(method)) for method in ("sendmediagroup", "sendvoice")] == [1, 1]


async def test_a_place_is_a_map_pin_and_a_contact_a_contact_below_their_words() -> None:
    pin = File(kind=AttachmentKind.LOCATION, detail="1.5,-2.5")
    cafe = File(kind=AttachmentKind.LOCATION, name="Zé, Rua 1", detail="1.5,-2.5")
    bia = File(kind=AttachmentKind.CONTACT, detail="BEGIN:VCARD\nFN:Bia\\; K\nTEL;TYPE=cell:+55 1\nEND:VCARD")
    _, posts = await handed_back(pin, cafe, bia, text="Você estacionou aqui.")
    assert [post.text for post in posts] == [
        "Você estacionou aqui.", "📍 1.5,-2.5", "📍 Zé · Rua 1 · 1.5,-2.5", "👤 Bia; K · +55 1",
    ]  # fmt: skip


async def test_an_empty_file_and_one_of_which_nothing_is_left_are_told_as_that(clock: FakeClock) -> None:
    for file in (File(name="a.txt", content=b""), File(name="a.txt"), File(kind=AttachmentKind.LOCATION, detail="x")):
        async with TelegramServer(clock) as server, running(server, clock, handing_back(file)) as bot:
            server.says(ANA, "mostra")
            failures = bot.handler.failures
            await flow(server, clock, lambda failures=failures: bool(failures))  # type: ignore[misc]
            assert type(failures[0]) is ChannelError
