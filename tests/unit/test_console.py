"""The terminal, module by module: rows and widths, what is drawn again, buttons, files, completion."""

from __future__ import annotations

import io
import os
import re
import unicodedata
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from wcwidth import wcstwidth

from adapters.console import PipeChannel
from adapters.console.channel import ConsoleChannel, Layout, ScreenRow, Style
from adapters.console.output import Buttons, Output, cut, memory_line, printable
from adapters.console.person import TerminalUser, sent
from adapters.console.terminal import CommandCompleter
from core.enclosures import AttachmentKind
from core.errors import ChannelError, ChannelGone, FileTooLarge
from core.outgoing import Button, File, OutgoingMessage
from core.types import MemoryNote, Modal, UserKey
from tests.fakes.channel import handed_out
from tests.fakes.clock import FakeClock
from tests.fakes.commands import menu

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


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("/forg", ["forget"]),
        ("/FORG", ["forget"]),
        ("/forget ", ["said", "all"]),
        ("/forget a", ["all"]),
        ("/forget all ", []),
        ("/help re", ["reminders"]),
        ("/memory o", ["off", "on", "offer"]),
        ("/admin l", ["logs"]),
        ("/admin access ", ["private", "members", "open"]),
        ("/admin role ", []),
        ("/q", ["quit"]),
        ("/zebra", []),
        ("", []),
        ("forg", []),
        ("remember /forg", []),
    ],
)
def test_what_may_come_next_is_offered_and_nothing_in_a_sentence(typed: str, offered: list[str]) -> None:
    completions = list(CommandCompleter(menu(), "/quit").get_completions(Document(typed), CompleteEvent()))
    assert [each.text.removeprefix("/") for each in completions] == offered
    last = typed.rpartition(" ")[2]
    assert {each.start_position for each in completions} <= {-len(last)}


WORDS = ("palavra ", "世界", "👨‍👩‍👧‍👦", "e\u0301", "x" * 30, "  ", "**", "`")
PIECES = (*WORDS, "\n", "\t", "```\n", "\x1b[31m", "\u202e", "\ud800")
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=40).map("".join)
SGR = re.compile("\x1b\\[(?:0|1|2|36)m")


def layout(text: str, columns: int, *, style: Style = Style.PLAIN, colour: bool = True) -> list[ScreenRow]:
    return Layout(columns, style=style, colour=colour).rows(text)


def width_of(text: str) -> int:
    return wcstwidth(SGR.sub("", text))


@given(st.text())
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    shown = printable(text)
    assert not [char for char in shown if unicodedata.category(char) in {"Cc", "Cs"} and char != "\n"]
    assert printable(shown) == shown
    shown.encode()


@given(texts, st.integers(2, 90), st.booleans(), st.sampled_from(Style))
def test_no_row_is_wider_than_the_terminal(text: str, columns: int, colour: bool, style: Style) -> None:
    for row in layout(text, columns, style=style, colour=colour):
        assert width_of(row.text) <= row.columns <= columns  # less where a row ends within a cluster
        assert "\n" not in row.text


@given(texts, st.integers(2, 90))
def test_without_colour_every_visible_character_is_there_in_order(text: str, columns: int) -> None:
    rows = layout(text, columns, colour=False)
    assert "".join("".join(row.text for row in rows).split()) == "".join(printable(text).split())
    assert not any("\x1b" in row.text for row in rows)


@given(texts, st.integers(2, 90))
def test_styling_takes_nothing_but_marks_away(text: str, columns: int) -> None:
    shown = "".join(SGR.sub("", row.text) for row in layout(text, columns))
    assert "".join(re.sub("[*`]", "", shown).split()) == "".join(re.sub("[*`]", "", printable(text)).split())


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("um dois três", ["um dois", "três"]),
        ("abcdefghijkl", ["abcdefgh", "ijkl"]),
        ("ab abcdefghijkl", ["ab", "abcdefgh", "ijkl"]),
        ("世界世界世界", ["世界世界", "世界"]),
        ("    indentada", ["    inde", "ntada"]),
        ("a\n\nb", ["a", "", "b"]),
        ("um doisd três", ["um doisd", "três"]),
        ("um doisd ", ["um doisd"]),
        ("", [""]),
    ],
)
def test_rows_break_between_words_where_they_can(text: str, rows: list[str]) -> None:
    assert [row.text for row in layout(text, 8)] == rows


@given(texts, st.integers(2, 40))
def test_a_text_that_grew_has_the_rows_of_the_whole(text: str, columns: int) -> None:
    page = Layout(columns)
    for end in range(len(text)):
        assert page.rows(text[:end])
    assert page.rows(text) == layout(text, columns)


def test_bold_and_code_are_drawn_and_what_only_looks_like_it_is_left_alone() -> None:
    bold, code, end = "\x1b[1m", "\x1b[36m", "\x1b[0m"
    rows = layout("**um** `dois` 2 ** 3 **\n```py\n**x**\n```", 80)
    assert [row.text for row in rows] == [
        f"{bold}um{end} {code}dois{end} 2 ** 3 **",
        f"\x1b[2m```py{end}",
        f"{code}**x**{end}",
        f"\x1b[2m```{end}",
    ]


def test_a_line_cut_to_a_width_says_so() -> None:
    assert cut("curta", 5) == "curta"
    assert cut("comprida demais", 9) == "comprida…"
    assert cut("世界世界", 6) == "世界…"


def test_a_memory_is_one_line_with_its_date_and_nothing_that_steers() -> None:
    item = MemoryNote("endereço\nda mãe", "rua A,\nnúmero 1\x1b[2J", "14 mar. 2026")
    assert memory_line(item) == "🧠 endereço da mãe: rua A, número 1[2J · 14 mar. 2026"
    assert memory_line(item, 38) == "🧠 endereço da mãe: ru… · 14 mar. 2026"


class Size(Output):
    """A terminal of any size, and what was written to it."""

    def __init__(self, columns: int, lines: int) -> None:
        self.stream = io.StringIO()
        Output.__init__(self, self.stream)
        self.columns, self.lines = columns, lines

    @property
    def size(self) -> os.terminal_size:
        return os.terminal_size((self.columns, self.lines))

    @property
    def written(self) -> str:
        """What was written since the last look."""
        text = self.stream.getvalue()
        self.stream.seek(0)
        self.stream.truncate()
        return text


async def test_while_a_person_types_only_whole_messages_are_printed_above_the_prompt() -> None:
    output = Size(40, 10)
    channel = ConsoleChannel(output, colour=False)
    above = []

    async def print_above(write: Callable[[], None]) -> None:
        write()
        above.append(output.written)

    with channel.printing_above(print_above):
        handle = await channel.post(OutgoingMessage("pensando", Modal.TEXT_FOR_REPLACE))
        await channel.edit(handle, OutgoingMessage("uma res", final=False))
        await channel.edit(handle, OutgoingMessage("uma resposta"))
        await channel.post(OutgoingMessage("outra"))
    assert above == ["uma resposta\n", "outra\n"]
    assert output.written == ""


async def test_a_table_is_as_wide_as_the_terminal_allows() -> None:
    wide, narrow = Size(40, 10), Size(17, 10)
    table = OutgoingMessage("| Produto | Preço |\n|---|--:|\n| **Caneta azul** | 1,50 |")
    for output in (wide, narrow):
        channel = ConsoleChannel(output, colour=False)
        await channel.post(OutgoingMessage(f"{table.text[:19]}", final=False))
        await channel.edit("1", table)
    in_columns, in_blocks = wide.written, narrow.written
    assert in_columns.endswith("Produto      Preço\n-----------  -----\nCaneta azul   1,50")
    assert in_blocks.endswith("Produto:\n**Caneta azul**\nPreço: 1,50")
    assert "|" not in in_columns + in_blocks


async def test_only_rows_that_changed_are_written_again() -> None:
    output = Size(40, 10)
    channel = ConsoleChannel(output, colour=False)
    handle = await channel.post(OutgoingMessage("um\ndois\ntr", final=False))
    assert output.written == "\r\x1b[Jum\ndois\ntr"
    await channel.edit(handle, OutgoingMessage("um\ndois\ntrês", final=False))
    assert output.written == "\r\x1b[Jtrês"
    await channel.edit(handle, OutgoingMessage("um\ndois\ntrês\nquatro", final=False))
    assert output.written == "\nquatro"
    await channel.edit(handle, OutgoingMessage("um\ndois\ntrês\nquatro"))
    assert output.written == ""
    await channel.edit(handle, OutgoingMessage("um\nDOIS"))
    assert output.written == "\r\x1b[2A\x1b[JDOIS"
    await channel.edit(handle, OutgoingMessage("um"))
    assert output.written == "\r\x1b[1A\x1b[Jum"


async def test_rows_that_scrolled_away_are_left_alone() -> None:
    output = Size(40, 3)
    channel = ConsoleChannel(output, colour=False)
    handle = await channel.post(OutgoingMessage("a\nb\nc\nd\ne", final=False))
    assert output.written
    await channel.edit(handle, OutgoingMessage("A\nb\nc\nd\nE"))
    assert output.written == "\r\x1b[2A\x1b[Jc\nd\nE"


async def test_rows_that_a_narrower_window_wrapped_again_are_taken_back_whole() -> None:
    output = Size(41, 10)
    channel = ConsoleChannel(output, colour=False)
    handle = await channel.post(OutgoingMessage("x" * 40, final=False))
    assert output.written
    output.columns = 11
    await channel.edit(handle, OutgoingMessage("y"))
    assert output.written == "\r\x1b[3A\x1b[Jy"


def test_a_stream_that_is_no_terminal_has_a_usual_size(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w", encoding="utf-8") as file:
        assert Output(file).size == (80, 24)
    assert Output(io.StringIO()).size == (80, 24)


def test_a_closed_stream_is_a_channel_that_is_gone() -> None:
    stream = io.StringIO()
    output = Output(stream)
    stream.close()
    with pytest.raises(ChannelGone):
        output.write("oi")
    assert output.gone


def test_what_a_stream_cannot_encode_is_replaced(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w", encoding="latin-1") as file:
        Output(file).write("é 🧠 \ud800")
    assert (tmp_path / "file").read_text("latin-1") == "é ? ?"
