"""A picture with words on it is a document with one page: asked about, kept and found, without a model that sees."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont
from ttf_opensans import opensans

from bot import program, wiring
from core.enclosures import Attachment, AttachmentKind
from core.files.child import in_rows
from core.files.port import Content, Problem, ReadFile, Reading
from core.files.reading import ProcessReader, ProcessWordFinder, WordFinder, WordsReader
from tests.fakes.made_files import pdf, photo, scanned_pdf
from tests.fakes.sending import PHOTO, sending

BILL = "LIGHT ENERGIA\nFatura de novembro\nTotal a pagar R$ 184,90\nVencimento 10/12/2026"
SCAN = Attachment(AttachmentKind.FILE, "scan.pdf", handle="test:scan")


@dataclass(slots=True)
class Finder(WordFinder):
    """Finds what a test says; keeps what it was given."""

    pages: tuple[str, ...] = (BILL,)
    problem: Problem | None = None
    given: list[Content] = field(default_factory=list)
    is_closed: bool = False

    async def words(self, content: Content, name: str = "") -> Reading:
        del name
        self.given.append(content)
        return Reading("", self.pages, self.problem)

    async def close(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize(
    ("question", "lang"),
    [
        ("quanto é o total a pagar?", "pt-br"),
        ("¿cuál es el total a pagar?", "es"),
        ("what is the total a pagar on this?", "en"),
    ],
)
async def test_a_question_beside_a_picture_is_answered_from_its_words(tmp_path: Path, question: str, lang: str) -> None:
    async with sending(tmp_path, words=Finder()) as chat:
        assert "Total a pagar R$ 184,90" in await chat.say(question, PHOTO, lang=lang)
        assert await chat.kept() == []


@pytest.mark.parametrize(
    ("lang", "said"),
    [
        ("en", "The file is a picture with words on it. It begins: “LIGHT ENERGIA”."),
        ("pt-br", "O arquivo é uma imagem com texto."),
        ("es", "El archivo es una imagen con texto."),
    ],
)
async def test_a_picture_without_a_question_is_said_to_have_words(tmp_path: Path, lang: str, said: str) -> None:
    async with sending(tmp_path, words=Finder()) as chat:
        assert (await chat.say("", PHOTO, lang=lang)).startswith(said)


async def test_what_is_kept_is_found_by_the_words_on_it(tmp_path: Path) -> None:
    async with sending(tmp_path, words=Finder()) as chat:
        await chat.say("remember the amounts on this bill", PHOTO)
        [item] = await chat.kept()
        assert item.attachments[0].width
        assert "Total a pagar R$ 184,90" in await chat.say("quando é o vencimento da fatura de novembro?", lang="pt-br")


async def test_a_picture_without_words_is_asked_about_as_before(tmp_path: Path) -> None:
    async with sending(tmp_path / "with", words=Finder(pages=("",))) as chat:
        with_it = await chat.say("", PHOTO)
    async with sending(tmp_path / "without") as chat:
        assert await chat.say("", PHOTO) == with_it


async def test_a_scanned_document_has_its_pages_read_and_one_with_text_is_left_alone() -> None:
    finder = Finder(pages=("one", "two"))
    reader = WordsReader(ProcessReader(), finder)
    assert await reader.read(scanned_pdf()) == Reading("application/pdf", ("one", "two"))
    assert len(finder.given) == 1
    assert (await reader.read(pdf("Words."))).pages == ("Words.",)
    assert len(finder.given) == 1
    finder.pages, finder.problem = ("one",), Problem.TOO_LARGE
    assert (await reader.read(scanned_pdf())).problem is Problem.TOO_LARGE
    finder.pages = ("",)
    assert (await reader.read(scanned_pdf())).problem is Problem.SCANNED
    await reader.close()
    assert finder.is_closed


async def test_a_picture_with_words_is_still_one_that_models_are_shown() -> None:
    reader = WordsReader(ProcessReader(), Finder())
    file = ReadFile(PHOTO, await reader.read(photo()))
    assert file.is_picture
    assert file.pages == (BILL,)
    await reader.close()


def test_what_stands_far_right_belongs_to_the_row_at_its_left() -> None:
    def box(x: float, y: float) -> list[list[float]]:
        return [[x, y], [x + 90, y + 2], [x + 90, y + 30], [x, y + 28]]

    boxes = [(box(700, 103), "R$ 184,90"), (box(60, 10), "Fatura"), (box(60, 100), "Total"), (box(60, 140), "Obrigado")]
    assert in_rows(boxes) == "Fatura\nTotal R$ 184,90\nObrigado"


@pytest.mark.parametrize(("is_here", "kind"), [(True, WordsReader), (False, ProcessReader)])
def test_words_are_read_where_the_extra_is(monkeypatch: pytest.MonkeyPatch, *, is_here: bool, kind: type) -> None:
    monkeypatch.setattr(wiring, "is_installed", lambda extra: is_here and extra == program.OCR)
    assert type(wiring.new_reader()) is kind


async def test_without_the_packages_nothing_is_read_and_nothing_fails() -> None:
    if program.is_installed(program.OCR):
        pytest.skip("the extra ocr is installed")
    finder = ProcessWordFinder()
    assert await finder.words(photo()) == Reading("", problem=Problem.BROKEN)
    await finder.close()


@pytest.mark.skipif(not program.is_installed(program.OCR), reason="the extra ocr is not installed")
async def test_the_words_on_a_card_are_read_in_three_languages() -> None:
    lines = ["CLÍNICA SÃO JOSÉ", "Cartão de vacinação", "Niño: Begoña Núñez", "Febre amarela: 12/03/2021", "R$ 184,90"]
    finder = ProcessWordFinder(idle_s=0.05)
    for image_type, problem in (("JPEG", None), ("PDF", None)):
        found = await finder.words(card(lines, image_type))
        assert found.pages == ("\n".join(lines),)
        assert found.problem is problem
    assert (await finder.words(photo())).pages == ("",)
    await finder.close()


def card(lines: list[str], image_type: str) -> bytes:
    """Return a picture of lines in black on white."""
    image = Image.new("RGB", (1000, 110 + 95 * len(lines)), "white")
    draw, font = ImageDraw.Draw(image), ImageFont.truetype(opensans().path, 40)
    for at, line in enumerate(lines):
        draw.text((60, 40 + 95 * at), line, font=font, fill="black")
    out = io.BytesIO()
    image.save(out, image_type)
    return out.getvalue()
