"""Files in Discord: handed over, refused, read as long as their address is good."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from pathlib import Path

import pytest

from adapters.discord.api import MAX_FILE_BYTES
from core.delivery.view import View
from core.enclosures import AttachmentKind, QuoteKind
from core.errors import ChannelError, FileTooLarge
from core.outgoing import File, OutgoingMessage
from core.ports import Channel
from core.types import Incoming
from tests.e2e.discord_kit import ANA, BIA, ME, ROOM, flow, running, serving
from tests.e2e.test_discord_enclosed import snapshot
from tests.fakes.channel import handed_out
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import EPHEMERAL, Note
from tests.fakes.handler import Script, ScriptedHandler


def handing_over(path: Path) -> Script:
    async def script(_: Incoming, view: View) -> None:
        await view.show(OutgoingMessage("Aqui está.", files=(File(path, "memorias.json", "application/json"),)))
        await view.flush()

    return script


@pytest.mark.parametrize("by", ["message", "command", "button"])
async def test_a_file_is_handed_over_with_its_sentence(clock: FakeClock, tmp_path: Path, by: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"{}" * 1000)
    async with DiscordServer(clock) as server, running(server, clock, handing_over(path)) as bot:
        if by == "message":
            await bot.answers(server.says(ANA, "exporte"))
            notes: Sequence[Note] = [note for note in server.direct(ANA).notes.values() if note.by is not ANA]
        else:
            used = await server.interactions.command(ANA, "export", room=ROOM)
            await flow(server, clock, lambda: bot.handler.answered)
            notes = used.notes
        if by == "button":
            notes[0].components = [{"type": 1, "components": [
                {"type": 2, "label": "Exportar", "style": 2, "custom_id": "elefante:do:p0:/export"}]}]  # fmt: skip
            pressed = await bot.answers(server.interactions.press(ANA, notes[0], "Exportar"))
            notes = pressed.notes[1:]
        assert [note.text for note in notes] == ["Aqui está.\n📎 memorias.json"]
        assert list(server.uploaded.values())[-1] == path.read_bytes()
        assert (by == "message") != bool(notes[0].flags & EPHEMERAL)


async def test_a_file_beyond_ten_megabytes_or_not_there_is_an_error_that_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"\0" * (MAX_FILE_BYTES + 1))
    clock = FakeClock()
    async with DiscordServer(clock) as server, running(server, clock, handing_over(path)) as bot:
        await bot.answers(server.says(ANA, "exporte"))
        path.unlink()
        await bot.answers(server.interactions.command(ANA, "export"))
        assert [str(error) for error in bot.handler.failures] == [
            "a file of 10.5 MB; the platform takes 10.5 MB from a bot",
            "the file to send cannot be read (No such file or directory)",
        ]  # fmt: skip
        assert not server.uploaded


async def test_an_album_a_contact_and_a_place_are_handed_back_with_their_words(clock: FakeClock) -> None:
    things = (
        *(File(name=f"{n}.png", kind=AttachmentKind.PHOTO, content=b"png", handle="telegram:x") for n in range(3)),
        File(kind=AttachmentKind.CONTACT, name="Bia", detail="BEGIN:VCARD"),
        File(kind=AttachmentKind.LOCATION, detail="1.5,-2.5"),
    )

    async def script(_: Incoming, view: View) -> None:
        await view.show(OutgoingMessage("Aqui.", files=things))

    async with DiscordServer(clock) as server, running(server, clock, script) as bot:
        await bot.answers(server.says(ANA, "mostra"))
        assert server.direct(ANA).screen() == [
            "Aqui.\n📎 0.png\n📎 1.png\n📎 2.png",
            "📎 Bia.vcf",
            "📍 https://www.openstreetmap.org/?mlat=1.5&mlon=-2.5#map=17/1.5/-2.5",
        ]
        assert b"BEGIN:VCARD" in server.uploaded.values()


class Keeping(ScriptedHandler):
    """Keeps where each message would be answered, too."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.channels: list[Channel] = []

    async def receive(self, incoming: Incoming, channel: Channel) -> Awaitable[None]:
        self.channels.append(channel)
        return await super().receive(incoming, channel)


async def test_a_file_that_comes_with_words_or_a_command_can_be_read_as_long_as_its_address_is_good() -> None:
    clock = FakeClock()
    handler = Keeping(clock)
    async with DiscordServer(clock) as server, serving(server, clock, handler) as bot:
        attached = server.upload("m.json", b"[1, 2]")
        await server.says(ANA, "/import", attachments=[attached])
        await server.interactions.command(ANA, "import", file=("n.json", b"[3]"))
        await flow(server, clock, lambda: bot.handler.answered == 2)
        files = [one.attachments[0] for one in bot.handler.received]
        assert [one.text for one in bot.handler.received] == ["/import", "/import"]
        assert {(file.name, file.size) for file in files} == {("m.json", 6), ("n.json", 3)}
        for file, channel in zip(files, handler.channels, strict=True):
            assert await handed_out(channel, file.handle, 6) in {b"[1, 2]", b"[3]"}
        [handle] = [file.handle for file in files if file.name == "m.json"]
        with pytest.raises(FileTooLarge) as caught:
            await handed_out(handler.channels[0], handle, 5)
        assert (caught.value.limit_bytes, caught.value.of_platform) == (5, False)
        for bad in ("http://127.0.0.1:1/a", "https://evil.example/attachments/1/a", "file:///etc/passwd", "nonsense"):
            with pytest.raises(ChannelError):
                await handed_out(handler.channels[0], f"discord:{bad}", 100)
        with pytest.raises(ChannelError):
            await handed_out(handler.channels[0], f"telegram:{attached['url']}", 100)


async def test_an_address_that_has_expired_is_renewed_by_its_message_be_it_quoted_or_forwarded() -> None:
    clock = FakeClock()
    handler = Keeping(clock)
    async with DiscordServer(clock) as server, serving(server, clock, handler) as bot:

        async def fetched(handle: str) -> bytes:
            fetching = asyncio.ensure_future(handed_out(handler.channels[0], handle, 100))
            await flow(server, clock, fetching.done)
            return await fetching

        first = await server.says(BIA, "a conta", room=ROOM, attachments=[server.upload("a.pdf", b"%PDF")])
        await server.says(ANA, f"{ME} guarde isto", room=ROOM, reply_to=first.id)
        passed_on = snapshot("", attachments=[server.upload("b.pdf", b"%PDF-b")])
        reference = {"type": 1, "message_id": "77", "channel_id": "88"}
        await server.says(ANA, "", message_reference=reference, message_snapshots=[passed_on])
        await server.interactions.command(ANA, "import", file=("n.json", b"[3]"))
        await flow(server, clock, lambda: bot.handler.answered == 3)
        told = {one.kind: one.attachments[0].handle for each in bot.handler.received for one in each.quotes}
        [by_menu] = [one.attachments[0].handle for one in bot.handler.received if one.attachments]
        server.resign()
        assert await fetched(told[QuoteKind.REPLY]) == b"%PDF"
        assert await fetched(told[QuoteKind.FORWARD]) == b"%PDF-b"
        with pytest.raises(ChannelError, match="expired"):
            await fetched(by_menu)
        del server.room(ROOM).notes[first.id]
        with pytest.raises(ChannelError):
            await fetched(told[QuoteKind.REPLY])
