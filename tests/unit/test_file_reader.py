"""Files of every kind that people send, read in the real process by the real libraries."""

from __future__ import annotations

import asyncio
import io
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from PIL import Image

from bot import program
from core.files import child
from core.files.port import Problem, Reading
from core.files.reading import ProcessReader
from tests.fakes.made_files import GPS, docx, encrypted_pdf, gif, pdf, photo, scanned_pdf, xlsx, zipped

CONTRACT = (
    "Contrato de aluguel",
    "Valor: R$ 2.350,00 por mês",
    "Multa: três aluguéis",
    "Animais: são permitidos gatos",
)


CARD = """BEGIN:VCARD
VERSION:3.0
N:Lima;Ana;;;
item1.TEL;type=CELL:+55 11 5555-0000
FN:Ana Lima\\, Dr
EMAIL;type=INTERNET:ana@
 example.org
ADR:;;Rua A 1;São Paulo;;;
END:VCARD
""".encode()
CALENDAR = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:x
BEGIN:VEVENT
UID:1
DTSTART;TZID=America/Sao_Paulo:20261203T150000
SUMMARY:Dentista
LOCATION:Rua B 2
END:VEVENT
BEGIN:VEVENT
UID:3
DTSTART:20261204T180000Z
SUMMARY:Chamada
END:VEVENT
BEGIN:VEVENT
UID:2
DTSTART;VALUE=DATE:20261220
SUMMARY:Férias
END:VEVENT
END:VCALENDAR
""".encode()


@pytest.fixture
async def reader() -> AsyncIterator[ProcessReader]:
    reader = ProcessReader()
    yield reader
    await reader.close()


async def test_a_pdf_is_read_page_by_page(reader: ProcessReader) -> None:
    reading = await reader.read(pdf(*CONTRACT), "contrato.pdf")
    assert reading == Reading("application/pdf", CONTRACT)


@pytest.mark.parametrize(
    ("content", "name", "media_type", "pages"),
    [
        ("Olá, ação\nlinha".encode(), "message.txt", "text/plain", ("Olá, ação\nlinha",)),
        ("Olá, ação".encode("cp1252"), "velho.txt", "text/plain", ("Olá, ação",)),
        ("\ufeffOlá".encode("utf-16"), "n.txt", "text/plain", ("Olá",)),
        (b"# Notes\n- one", "notes.md", "text/markdown", ("# Notes\n- one",)),
        (b"name,age\nAna,7", "a.csv", "text/csv", ("name,age\nAna,7",)),
        (b'{"a": 1}', "a.json", "application/json", ('{"a": 1}',)),
        (b"first\fsecond", "two.txt", "text/plain", ("first", "second")),
        (CARD, "x", "text/vcard", ("Ana Lima, Dr, +55 11 5555-0000, ana@example.org, Rua A 1 São Paulo",)),
        (
            CALENDAR,
            "x",
            "text/calendar",
            ("Dentista, 2026-12-03 15:00 (Rua B 2)\nChamada, 2026-12-04 18:00 UTC\nFérias, 2026-12-20",),
        ),
        (b"<html><script>steal()</script><p>Hi <b>you</b></p></html>", "x", "text/html", ("Hi you",)),
    ],
)
async def test_text_is_read_as_what_it_is(
    reader: ProcessReader, content: bytes, name: str, media_type: str, pages: tuple[str, ...]
) -> None:
    assert await reader.read(content, name) == Reading(media_type, pages)


async def test_word_and_excel_are_read(reader: ProcessReader) -> None:
    table = "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
    assert (await reader.read(docx("Um\nDois", "Três"))).pages == ("Um\nDois", "Três")
    assert (await reader.read(docx(xml=table))).pages == ("a |",)
    sheets = await reader.read(xlsx({"Gastos": [["luz", 120.5], ["água", 80]], "2025": [["x"]]}))
    assert sheets.pages == ("Gastos\nluz | 120.5\nágua | 80", "2025\nx")


@pytest.mark.parametrize(
    ("content", "name", "problem"),
    [
        (b"", "a.pdf", Problem.EMPTY),
        (b"  \n ", "a.txt", Problem.EMPTY),
        (encrypted_pdf(), "a.pdf", Problem.ENCRYPTED),
        (scanned_pdf(), "a.pdf", Problem.SCANNED),
        (pdf("words")[:300], "a.pdf", Problem.BROKEN),
        (docx("words")[:-40], "a.docx", Problem.BROKEN),
        (docx(xml="<w:p>"), "a.docx", Problem.BROKEN),
        (zipped({"a.txt": "in an archive"}), "a.zip", Problem.UNKNOWN),
        (zipped({"word/document.xml": b"0" * (child.MAX_UNPACKED_BYTES + 1)}), "bomb.docx", Problem.TOO_LARGE),
        (zipped({"xl/workbook.xml": b"0" * (child.MAX_UNPACKED_BYTES + 1)}), "bomb.xlsx", Problem.TOO_LARGE),
        (b"<svg xmlns='x'><script>alert(1)</script><text>hi</text></svg>", "a.svg", Problem.UNKNOWN),
        (b"\x00\x01\x02\x03" * 100, "a.txt", Problem.UNKNOWN),
        (b"{\\rtf1 hello}", "a.rtf", Problem.UNKNOWN),
        (photo()[:600], "a.jpg", Problem.BROKEN),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "a.docx", Problem.ENCRYPTED),
    ],
)
async def test_what_cannot_be_read_says_why(reader: ProcessReader, content: bytes, name: str, problem: Problem) -> None:
    reading = await reader.read(content, name)
    assert (reading.problem, "".join(reading.pages)) == (problem, "")


async def test_entities_that_grow_are_not_expanded(reader: ProcessReader) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><w:p>&b;</w:p>'
    reading = await reader.read(zipped({"word/document.xml": bomb}))
    assert (reading.problem, reading.pages) == (Problem.BROKEN, ())


async def test_the_first_bytes_tell_more_than_the_name(reader: ProcessReader) -> None:
    assert (await reader.read(pdf("words"), "holiday.jpg")).media_type == "application/pdf"
    assert (await reader.read(photo(), "../../etc/passwd")).media_type == "image/jpeg"
    assert (await reader.read(b"just words", "\u202efdp.exe🐘")).pages == ("just words",)


async def test_a_long_text_ends_where_the_limit_is(reader: ProcessReader) -> None:
    reading = await reader.read(b"a" * (child.MAX_CHARS + 5))
    assert (reading.problem, len(reading.pages[0])) == (Problem.TOO_LARGE, child.MAX_CHARS)


async def test_a_photo_is_turned_upright_and_loses_what_the_camera_wrote(reader: ProcessReader) -> None:
    lying = photo(800, 400, orientation=6, maker="SECRET-PLACE")
    assert Image.open(io.BytesIO(lying)).getexif().get_ifd(GPS)
    reading = await reader.read(lying)
    assert (reading.media_type, reading.width, reading.height) == ("image/jpeg", 400, 800)
    small = await reader.picture(lying, 200)
    assert small is not None
    assert b"SECRET-PLACE" not in small
    image = Image.open(io.BytesIO(small))
    assert (image.size, dict(image.getexif())) == ((100, 200), {})
    red = image.convert("RGB").getpixel((95, 5))
    assert isinstance(red, tuple)
    assert red[0] > 150 > red[1]  # the corner that was up left in the file is up right as it is looked at


async def test_what_moves_and_what_is_clear_become_pictures(reader: ProcessReader) -> None:
    clear = io.BytesIO()
    Image.new("RGBA", (10, 10), (0, 0, 0, 0)).save(clear, "PNG")
    for content, kind in ((gif(), "JPEG"), (clear.getvalue(), "PNG")):
        made = await reader.picture(content, 1000)
        assert made is not None
        assert Image.open(io.BytesIO(made)).format == kind
    assert await reader.picture(b"no picture", 100) is None
    assert await reader.picture(b"", 100) is None


HEIC = (Path(__file__).parents[1] / "data" / "senses" / "photo.heic").read_bytes()
"""A green picture with a red corner, as an iPhone packs it (HEVC in HEIF), with the place where it was taken."""


@pytest.mark.skipif(not program.is_installed(program.HEIC), reason="the extra heic is not installed")
async def test_a_heic_picture_is_read_like_any_and_tells_no_place(reader: ProcessReader) -> None:
    assert await reader.read(HEIC, "IMG_0001.jpg") == Reading("image/heic", width=640, height=480)
    small = await reader.picture(HEIC, 320)
    assert small is not None
    image = Image.open(io.BytesIO(small))
    assert (image.format, image.size, dict(image.getexif())) == ("JPEG", (320, 240), {})
    red = image.convert("RGB").getpixel((5, 5))
    assert isinstance(red, tuple)
    assert red[0] > 150 > red[1]
    assert (await reader.read(HEIC[:500], "IMG_0001.heic")).problem is Problem.BROKEN


async def test_without_its_extra_a_heic_picture_is_said_to_be_one(reader: ProcessReader) -> None:
    if program.is_installed(program.HEIC):
        pytest.skip("the extra heic is installed")
    assert await reader.read(HEIC, "IMG_0001.jpg") == Reading("image/heic", problem=Problem.HEIC)
    assert await reader.picture(HEIC, 320) is None


async def test_a_picture_that_unpacks_to_gigabytes_is_refused(reader: ProcessReader) -> None:
    image = Image.new("1", (40_000, 40_000))
    out = io.BytesIO()
    image.save(out, "PNG")
    assert (await reader.read(out.getvalue())).problem is Problem.TOO_LARGE
    assert await reader.picture(out.getvalue(), 100) is None


async def test_one_process_serves_all_and_ends_when_idle() -> None:
    reader = ProcessReader(idle_s=0.05)
    await asyncio.gather(*(reader.read(b"words") for _ in range(4)))
    first = reader.process_id
    assert first is not None
    assert reader._process is not None
    assert await reader._process.wait() == -signal.SIGKILL  # nobody sent anything
    assert (await reader.read(b"words")).pages == ("words",)
    assert reader.process_id not in {None, first}
    await reader.close()
    await reader.close()


async def test_a_file_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = ProcessReader(within_s=0.001)
    assert (await slow.read(pdf("words"))).problem is Problem.TOO_LARGE
    assert slow.process_id is None
    await slow.close()


async def test_a_reader_that_dies_of_a_file_is_begun_anew(reader: ProcessReader) -> None:
    assert (await reader.read(b"words")).pages == ("words",)
    assert reader.process_id is not None
    os.kill(reader.process_id, signal.SIGSEGV)
    assert (await reader.read(b"this one was lost")).problem is Problem.BROKEN
    assert (await reader.read(b"words")).pages == ("words",)


async def test_who_stops_waiting_leaves_no_answer_to_the_next(reader: ProcessReader) -> None:
    await reader.read(b"warm")
    reading = asyncio.create_task(reader.read(b"first " * 200_000))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert (await reader.read(b"second")).pages == ("second",)


async def test_the_process_knows_nothing_of_the_bot(reader: ProcessReader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TELEGRAM_TOKEN", "secret")
    await reader.read(b"words")
    with open(f"/proc/{reader.process_id}/environ", "rb") as environment:  # noqa: ASYNC230, PTH123
        assert environment.read() == b""
