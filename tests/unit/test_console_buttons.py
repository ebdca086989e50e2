"""Buttons in the terminal are short to type; files lie where the terminal says."""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path

import pytest

from adapters.console import PipeChannel
from adapters.console.channel import ConsoleChannel
from adapters.console.output import Buttons, Output
from adapters.console.person import TerminalUser, sent
from core.enclosures import AttachmentKind
from core.errors import ChannelError, FileTooLarge
from core.outgoing import Button, File, OutgoingMessage
from core.types import UserKey
from tests.fakes.channel import handed_out
from tests.fakes.clock import FakeClock

UNDO, SHARE = Button("↩️ Undo", "/undo 8f3a"), Button("Share", "/memory share m1")
EDIT = Button("Edit", "/memories edit m1", asks="New text", text="old")
LIST = tuple(Button(f"{n}. thing", f"/memories show m{n}") for n in (11, 12, 13))


def test_a_button_is_a_letter_and_one_of_a_list_the_number_it_has_there() -> None:
    buttons = Buttons()
    assert buttons.line(OutgoingMessage("saved", choices=(UNDO, SHARE))) == "→ /a ↩️ Undo · /b Share"
    assert buttons.line(OutgoingMessage("list", menu=LIST, choices=(EDIT,))) == "→ /11 … /13 · /c Edit …"
    assert buttons.line(OutgoingMessage("one", menu=LIST[:1])) == "→ /11"
    assert buttons.line(OutgoingMessage("nothing to press")) == ""


def test_what_is_typed_is_what_the_button_sends() -> None:
    buttons = Buttons()
    buttons.line(OutgoingMessage("saved", choices=(UNDO, EDIT), menu=LIST))
    assert buttons.pressed("/a") == buttons.pressed(" /A more words ") == "/undo 8f3a"
    assert buttons.pressed("/b") == "/memories edit m1"
    assert buttons.pressed("/b the new text") == "/memories edit m1 the new text"
    assert buttons.pressed("/12") == "/memories show m12"
    for other in ("/c", "/1", "/undo", "a", "12", "hello /a", "/", ""):
        assert buttons.pressed(other) == other


def test_a_button_that_is_drawn_again_keeps_its_letter_and_an_older_one_stays_what_it_was() -> None:
    buttons = Buttons()
    first = buttons.line(OutgoingMessage("saved", choices=(UNDO,)))
    later = [buttons.line(OutgoingMessage("s", choices=(Button("Undo", f"/undo {n}"),))) for n in range(25)]
    assert buttons.line(OutgoingMessage("saved, too", choices=(UNDO,))) == first
    assert all(one != other for one, other in pairwise([first, *later]))
    assert buttons.pressed("/a") == "/undo 8f3a"
    buttons.line(OutgoingMessage("s", choices=(SHARE,)))
    assert buttons.pressed("/a") == "/memory share m1", "after all letters, the oldest is used again"


def test_a_label_steers_no_terminal() -> None:
    line = Buttons().line(OutgoingMessage("x", choices=(Button("\x1b[2Jgone\n\x07" + "y" * 99, "/x"),)))
    assert "\x1b" not in line
    assert "\n" not in line
    assert len(line) < 60


async def test_buttons_stand_dimly_below_a_message_in_the_terminal_and_plainly_in_a_pipe() -> None:
    stream = io.StringIO()
    terminal = ConsoleChannel(Output(stream), colour=True)
    handle = await terminal.post(OutgoingMessage("sav", final=False))
    await terminal.edit(handle, OutgoingMessage("saved", choices=(UNDO,)))
    assert stream.getvalue().endswith("saved\n\x1b[2m→ /a ↩️ Undo\x1b[0m")
    assert terminal.buttons.pressed("/a") == "/undo 8f3a"
    stream = io.StringIO()
    pipe = PipeChannel(Output(stream))
    handle = await pipe.post(OutgoingMessage("saved", choices=(UNDO,)))
    await pipe.edit(handle, OutgoingMessage("saved", choices=(UNDO,)))
    assert stream.getvalue() == "saved\n→ /a ↩️ Undo\n"


async def test_a_file_that_is_handed_over_is_laid_down_and_takes_nobodys_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    source, exports = tmp_path / "source", tmp_path / "data" / "exports"
    source.write_bytes(b"{}")
    file = File(source, "../all of it.json", "application/json")
    for channel in (ConsoleChannel, PipeChannel):
        stream = io.StringIO()
        colour = {"colour": False} if channel is ConsoleChannel else {}
        await channel(Output(stream), exports=exports, **colour).post(OutgoingMessage("Yours.", files=(file,)))
        assert stream.getvalue().startswith(("\r\x1b[JYours.\n📄", "Yours.\n📄 ~/data/exports/all of it-2.json"))
    laid = sorted(exports.iterdir())
    assert [path.name for path in laid] == ["all of it-2.json", "all of it.json"]
    assert [(path.read_bytes(), path.stat().st_mode & 0o777) for path in laid] == [(b"{}", 0o600)] * 2
    assert exports.stat().st_mode & 0o777 == 0o700
    with pytest.raises(ChannelError, match="cannot be written"):
        await PipeChannel(Output(io.StringIO()), exports=source).post(OutgoingMessage("x", files=(file,)))


async def test_a_file_is_sent_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").write_bytes(b"[1]")
    person = TerminalUser(UserKey("console", "ana"), "en", FakeClock())
    incoming = person.says("/import mine")
    [file] = incoming.attachments
    assert (incoming.text, file.handle) == ("/import mine", f"console:{tmp_path / 'mine'}")
    [other] = person.says("/import './other file.json'").attachments
    assert other.handle == f"console:{tmp_path / 'other file.json'}"
    for text in ("/import ABCD", "/import", "import mine", "/export mine", "hello", "/attach", "attach mine"):
        assert (person.says(text).text, person.says(text).attachments) == (text, ())
    for channel in (ConsoleChannel(Output(io.StringIO()), colour=False), PipeChannel(Output(io.StringIO()))):
        assert await handed_out(channel, file.handle, 3) == b"[1]"
        with pytest.raises(FileTooLarge) as caught:
            await handed_out(channel, file.handle, 2)
        assert (caught.value.limit_bytes, caught.value.of_platform) == (2, False)
        for handle in (f"console:{tmp_path / 'nowhere'}", f"console:{tmp_path}", "console:/dev/zero", file.handle[8:]):
            with pytest.raises(ChannelError, match="not there"):
                await handed_out(channel, handle, 2)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert sent("/IMPORT ~/x.json")[1][0].handle == f"console:{tmp_path / 'x.json'}"


async def test_what_is_attached_at_a_terminal_has_its_words_and_is_what_its_name_says(tmp_path: Path) -> None:
    person = TerminalUser(UserKey("console", "ana"), "pt", FakeClock())
    (path := tmp_path / "foto da praia.png").write_bytes(b"png")
    escaped = str(path).replace(" ", r"\ ")
    for typed in (str(path), f"'{path}'", escaped):
        said = person.says(f"/ATTACH {typed}  que praia é essa?")
        [photo] = said.attachments
        assert (said.text, photo.kind, photo.name) == ("que praia é essa?", AttachmentKind.PHOTO, path.name)
        assert (photo.media_type, photo.size, photo.handle) == ("image/png", 3, f"console:{path}")
    kinds = {
        "a.ogg": AttachmentKind.AUDIO,
        "a.mp4": AttachmentKind.VIDEO,
        "a.svg": AttachmentKind.FILE,
        "a": AttachmentKind.FILE,
    }
    for name, kind in kinds.items():
        said = person.says(f"/attach {tmp_path / name}")
        assert (said.text, [one.kind for one in said.attachments], said.attachments[0].size) == ("", [kind], 0)


async def test_a_place_is_words_with_a_map_and_a_contact_a_card_that_address_books_read(tmp_path: Path) -> None:
    pin = File(kind=AttachmentKind.LOCATION, name="Zé, Rua 1", detail="1.5,-2.5")
    bia = File(kind=AttachmentKind.CONTACT, name="Bia", detail="BEGIN:VCARD")
    photo = File(kind=AttachmentKind.PHOTO, media_type="image/png", content=b"png")
    stream = io.StringIO()
    channel = PipeChannel(Output(stream), exports=tmp_path)
    for file in (pin, bia, photo):
        await channel.post(OutgoingMessage("Aqui:", files=(file,)))
    map_url = "https://www.openstreetmap.org/?mlat=1.5&mlon=-2.5#map=17/1.5/-2.5"
    assert stream.getvalue().splitlines() == [
        "Aqui:", f"📍 Zé, Rua 1 {map_url}", "Aqui:", f"📄 {tmp_path}/Bia.vcf", "Aqui:", f"📄 {tmp_path}/photo.png",
    ]  # fmt: skip
    assert (tmp_path / "Bia.vcf").read_bytes() == b"BEGIN:VCARD"
    assert (tmp_path / "photo.png").read_bytes() == b"png"
