"""A message with files is answered without a model: from their text, with the page. Nothing is kept unasked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.program import HEIC, is_installed
from core.enclosures import Attachment, AttachmentKind, Quote, QuoteKind, Speaker
from tests.fakes.house import ANA
from tests.fakes.made_files import encrypted_pdf, pdf, scanned_pdf, xlsx
from tests.fakes.sending import CONTRACT, CONTRACT_FILE, LEASE_FILE, PHOTO, Sending, sending

PICTURE_OF_AN_IPHONE = (Path(__file__).parents[1] / "data" / "senses" / "photo.heic").read_bytes()


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Sending]:
    async with sending(tmp_path) as chat:
        yield chat


@pytest.mark.parametrize(
    ("question", "lang", "page"),
    [
        ("quanto é o aluguel?", "pt-br", "Página 2: "),
        ("posso ter cachorro?", "pt-br", "Página 4: "),
        ("qual a multa se eu sair antes do prazo", "pt-br", "Página 3: "),
        ("¿puedo tener un gato?", "es", "Página 4: “É permitido ter até dois gatos."),
        ("how much is the rent?", "en", "Page 2: "),
    ],
)
async def test_a_question_beside_a_document_is_answered_with_its_page(
    chat: Sending, question: str, lang: str, page: str
) -> None:
    answer = await chat.say(question, CONTRACT_FILE, lang=lang)
    assert answer.startswith(page)
    assert await chat.kept() == []


async def test_a_reply_to_a_document_asks_it(chat: Sending) -> None:
    quote = Quote(QuoteKind.REPLY, "", Speaker.SELF, attachments=(LEASE_FILE,))
    assert (await chat.say("can I have a dog?", quotes=(quote,))).startswith("Page 4: “Pets: one cat")


async def test_what_the_document_does_not_say_is_said_to_be_missing(chat: Sending) -> None:
    for question in ("is there a swimming pool?", "is smoking allowed?"):
        answer = await chat.say(question, LEASE_FILE)
        assert answer.startswith("I found nothing about that in “lease.pdf”."), question
    assert await chat.kept() == []


async def test_a_document_alone_is_told_and_offered_to_be_kept(chat: Sending) -> None:
    answer = await chat.say("", LEASE_FILE)
    assert answer.startswith("“lease.pdf” is a PDF with 4 pages. It begins: “LEASE AGREEMENT”.")
    assert await chat.kept() == []
    assert "Saved: “LEASE AGREEMENT” 📎 lease.pdf" in await chat.press("Remember")
    [item] = await chat.kept()
    [thing] = item.attachments
    assert await chat.files.get(ANA, thing.sha256) == chat.sent["test:lease"]
    assert thing.media_type == "application/pdf"


async def test_a_long_paste_that_came_as_a_file_is_the_message(chat: Sending) -> None:
    chat.sent["test:paste"] = b"remember that the gate code is 4471"
    paste = Attachment(AttachmentKind.FILE, "message.txt", "text/plain", handle="test:paste")
    assert "Saved: “the gate code is 4471”" in await chat.say("", paste)
    assert [item.attachments for item in await chat.kept()] == [()]
    assert "4471" in await chat.say("what is the gate code?")


async def test_a_paste_is_asked_about_beside_a_question_and_kept_by_nobody(chat: Sending) -> None:
    chat.sent["test:paste"] = b"The offsite is on 12 March in Porto.\nThe hotel is Casa do Rio."
    paste = Attachment(AttachmentKind.FILE, "message.txt", "text/plain", handle="test:paste")
    assert "12 March" in await chat.say("when is the offsite?", paste)
    assert "Ask me what you want to know" in await chat.say("", paste)
    assert await chat.kept() == []


HEIC_SAID = [
    (PICTURE_OF_AN_IPHONE, "IMG_1.HEIC", "en", "`IMG_1.HEIC` is a HEIC picture, as iPhones make them"),
    (PICTURE_OF_AN_IPHONE, "IMG_1.HEIC", "pt-br", "`IMG_1.HEIC` é uma imagem HEIC, daquelas do iPhone"),
    (PICTURE_OF_AN_IPHONE, "IMG_1.HEIC", "es", "`IMG_1.HEIC` es una imagen HEIC, de las del iPhone"),
]


@pytest.mark.parametrize(
    ("content", "name", "lang", "said"),
    [
        (encrypted_pdf(), "a.pdf", "en", "“a.pdf” has a password"),
        (encrypted_pdf(), "a.pdf", "pt-br", "“a.pdf” tem senha"),
        (scanned_pdf(), "a.pdf", "es", "“a.pdf” solo tiene páginas escaneadas"),
        (b"", "a.txt", "en", "“a.txt” is empty."),
        (b"\0\1\2", "a.bin", "en", "I cannot read “a.bin”"),
        (pdf("x")[:200], "a.pdf", "en", "“a.pdf” is damaged"),
        (b"0" * 20_000_001, "a.txt", "en", "“a.txt” is too large: I take files of up to 20 MB"),
        (None, "a.txt", "pt-br", "Não consegui baixar “a.txt”"),
        (xlsx({"Gastos": [["luz", 120.5]]}), "g.xlsx", "pt-br", "“g.xlsx” é uma planilha. Começa assim: “Gastos”."),
        *([] if is_installed(HEIC) else HEIC_SAID),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"0" * 90, "carta.doc", "es", "No puedo leer “carta.doc”"),
    ],
)
async def test_what_cannot_be_read_is_said_with_what_can_be_done(
    chat: Sending, content: bytes | None, name: str, lang: str, said: str
) -> None:
    if content is not None:
        chat.sent["test:x"] = content
    file = Attachment(AttachmentKind.FILE, name, handle="test:x")
    assert (await chat.say("", file, lang=lang)).startswith(said)


@pytest.mark.parametrize(
    ("caption", "lang"),
    [
        ("my garden this morning", "en"),
        ("olha que lindo esse pôr do sol", "pt-br"),
        ("la senha do wifi é tulipa", "es"),
        ("our new puppy is called Rex", "en"),
    ],
)
async def test_a_photo_with_words_is_a_message_and_no_memory(chat: Sending, caption: str, lang: str) -> None:
    await chat.say(caption, PHOTO, lang=lang)
    assert await chat.kept() == []
    assert any(button.command.startswith("/confirm save") for button in chat.shown.choices)


async def test_a_captioned_photo_is_kept_with_its_words_when_the_button_says_so(chat: Sending) -> None:
    await chat.say("my garden this morning", PHOTO)
    assert "Saved: “my garden this morning” 📎" in await chat.press("Remember")
    [item] = await chat.kept()
    [thing] = item.attachments
    assert (thing.width, thing.height, thing.media_type) == (640, 480, "image/jpeg")


@pytest.mark.parametrize("asked", ["remember this", "guarda isso", ""])
async def test_a_photo_that_says_nothing_is_kept_under_the_answer(chat: Sending, asked: str) -> None:
    await chat.say(asked, PHOTO)
    assert await chat.kept() == []
    assert "Saved: “Nina's vaccination card” 📎" in await chat.say("Nina's vaccination card")
    [item] = await chat.kept()
    assert await chat.files.get(ANA, item.attachments[0].sha256) == chat.sent["test:photo"]


async def test_who_asks_something_else_than_what_it_is_keeps_nothing(chat: Sending) -> None:
    await chat.say("", PHOTO)
    await chat.say("what is my gate code?")
    assert await chat.kept() == []


@pytest.mark.parametrize(
    ("asked", "content"),
    [
        ("remember this contract", "contract: LEASE AGREEMENT"),
        ("guarda esse contrato", "contrato: LEASE AGREEMENT"),
        ("guarda este contrato por favor", "contrato: LEASE AGREEMENT"),
        ("pode guardar esse boleto?", "boleto: LEASE AGREEMENT"),
        ("salva esse documento aí pra mim", "documento: LEASE AGREEMENT"),
        ("keep a copy of this pls", "LEASE AGREEMENT"),
        ("quiero que guardes esta factura", "factura: LEASE AGREEMENT"),
        ("hang on to this for me", "LEASE AGREEMENT"),
        ("don't lose this", "LEASE AGREEMENT"),
        ("remember this is the plumber's invoice", "the plumber's invoice: LEASE AGREEMENT"),
        ("lembra desse documento", "documento: LEASE AGREEMENT"),
        ("save this", "LEASE AGREEMENT"),
        ("keep this: lease of the flat in York", "lease of the flat in York: LEASE AGREEMENT"),
    ],
)
async def test_a_document_is_kept_under_what_it_is_called(chat: Sending, asked: str, content: str) -> None:
    await chat.say(asked, LEASE_FILE)
    [item] = await chat.kept()
    assert (item.content, [thing.name for thing in item.attachments]) == (content, ["lease.pdf"])


async def test_a_kept_document_is_quoted_with_the_page_months_later(chat: Sending) -> None:
    await chat.say("remember this contract", LEASE_FILE)
    assert chat.fetched == ["test:lease"], "once"
    answer = await chat.say("what does my contract say about pets?")
    assert "Page 4: “Pets: one cat is allowed with a deposit of $300. No dogs are permitted.”" in answer
    assert "Page 3: “The tenant mows the lawn." in await chat.say("who pays utilities?")


async def test_a_place_that_came_before_is_what_here_means(chat: Sending) -> None:
    place = Attachment(AttachmentKind.LOCATION, detail="-23.5,-46.6")
    await chat.say("", place)
    assert "Saved: “I parked here” 📎" in await chat.say("remember I parked here")
    assert [item.attachments for item in await chat.kept()] == [(place,)]
    assert "I parked here" in await chat.say("where did I park?")


async def test_what_came_long_before_is_not_what_this_means(chat: Sending) -> None:
    await chat.say("", Attachment(AttachmentKind.LOCATION, detail="-23.5,-46.6"))
    await chat.say("what is my gate code?")
    await chat.say("remember this: the gate code is 4471")
    assert [item.attachments for item in await chat.kept()] == [()]


async def test_what_cannot_be_fetched_any_more_is_not_kept(chat: Sending) -> None:
    lost = replace(LEASE_FILE, handle="test:nowhere")
    answer = await chat.say("remember this is the lease", lost)
    assert answer.startswith("I could not fetch “lease.pdf” to keep it.")
    assert await chat.kept() == []


async def test_without_room_nothing_is_kept_and_it_is_said_how_much_is_used(tmp_path: Path) -> None:
    async with sending(tmp_path, quota=100) as chat:
        answer = await chat.say("remember this contract", LEASE_FILE)
        assert answer.startswith("There is no room left for your files")
        assert await chat.kept() == []


@pytest.mark.parametrize(
    ("lang", "words", "said"),
    [
        ("en", "remember this contract", "Your files take 9 of 10 MB: there is little room left."),
        ("pt-br", "guarda esse contrato", "Os seus arquivos já ocupam 9 de 10 MB: resta pouco espaço."),
        ("es", "guarda este contrato", "Tus archivos ya ocupan 9 de 10 MB: queda poco espacio."),
    ],
)
async def test_when_little_room_is_left_each_save_of_a_file_says_so(
    tmp_path: Path, lang: str, words: str, said: str
) -> None:
    async with sending(tmp_path, quota=10_000_000) as chat:
        size = len(chat.sent["test:lease"])
        await chat.files.put(ANA, bytes(9_000_000 - size - 1))
        assert said not in await chat.say(words, LEASE_FILE, lang=lang)
        answer = await chat.say(words, CONTRACT_FILE, lang=lang)
        assert sum(said in line for line in answer.splitlines()) == 1
        assert said not in await chat.say("remember my gate code: 4471")


async def test_a_yes_with_a_photo_answers_no_earlier_question(chat: Sending) -> None:
    await chat.say("remember that the gate code is 4471")
    await chat.say("forget the gate code")
    await chat.say("yes", PHOTO)
    assert [item.content for item in await chat.kept()] == ["the gate code is 4471"]


async def test_the_same_document_in_two_pages_of_text_is_told_in_each_language(chat: Sending) -> None:
    chat.sent["test:lease"] = CONTRACT
    assert "é um PDF de 4 páginas" in await chat.say("", LEASE_FILE, lang="pt-br")
    assert "es un PDF de 4 páginas" in await chat.say("", LEASE_FILE, lang="es")


async def test_a_file_that_many_send_at_once_is_in_memory_a_few_times_only(chat: Sending) -> None:
    asked = [chat.say("remember this contract", LEASE_FILE, lang=f"x{number}") for number in range(9)]
    await asyncio.gather(*asked)
    assert len(chat.counted) == 18
    assert 1 < max(chat.counted) <= 3


@pytest.mark.parametrize(
    ("lang", "words", "said"),
    [
        ("en", "remember this is our holiday", "“holiday.mp4” is too large: I take files of up to 20 MB."),
        ("pt-br", "guarda esse vídeo das férias", "“holiday.mp4” é grande demais: aceito arquivos de até 20 MB."),
        (
            "es",
            "guarda este video de las vacaciones",
            "“holiday.mp4” es demasiado grande: acepto archivos de hasta 20 MB.",
        ),
    ],
)
async def test_a_video_that_no_platform_hands_out_is_said_to_be_too_large_at_once_and_when_it_is_to_be_kept(
    chat: Sending, lang: str, words: str, said: str
) -> None:
    video = Attachment(AttachmentKind.VIDEO, "holiday.mp4", "video/mp4", 25_000_000, "test:video")
    assert (await chat.say("", video, lang=lang)).startswith(said)
    assert chat.fetched == []
    chat.sent["test:video"] = b"0" * 20_000_001
    for size in (25_000_000, 0):  # some platforms tell none
        answer = await chat.say(words, replace(video, size=size), lang=lang)
        assert answer.startswith(said), size
        assert await chat.kept() == []


@pytest.mark.parametrize(
    ("lang", "file", "first", "then"),
    [
        (
            "en",
            LEASE_FILE,
            ("can I have a dog?", "Page 4: “Pets"),
            ("and what is the rent?", "Page 2: “Rent is $1,850"),
        ),
        (
            "pt-br",
            CONTRACT_FILE,
            ("posso ter cachorro?", "Página 4: “É"),
            ("e qual o aluguel?", "Página 2: “O aluguel"),
        ),
        ("es", CONTRACT_FILE, ("¿puedo tener un gato?", "Página 4: “É"), ("¿y cuánto es el alquiler?", "Página 2: “O")),
    ],
)
async def test_questions_right_after_a_document_are_answered_from_it(
    chat: Sending, lang: str, file: Attachment, first: tuple[str, str], then: tuple[str, str]
) -> None:
    await chat.say("", file, lang=lang)
    for question, answer in (first, then):
        assert (await chat.say(question, lang=lang)).startswith(answer), question


@pytest.mark.parametrize(
    "between",
    [
        "remember that the gate code is 4471",
        "remember that the key for when I travel is with Ana",
        "guarda que a senha de quando viajo é 1234",
        "recuerda que la llave de cuando viajo la tiene Ana",
        "thanks!",
    ],
)
async def test_what_is_said_after_a_document_is_kept_without_it_and_ends_the_talk_of_it(
    chat: Sending, between: str
) -> None:
    await chat.say("", LEASE_FILE)
    await chat.say(between)
    assert chat.fetched == []
    assert not any("LEASE" in item.content or item.attachments for item in await chat.kept())
    assert not (await chat.say("can I have a dog?")).startswith("Page 4")


async def test_a_calendar_is_kept_with_the_offer_to_be_reminded_of_it(chat: Sending) -> None:
    chat.sent["test:ics"] = (
        b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART:20990103T150000\r\n"
        b"SUMMARY:Dentist\r\nLOCATION:12 High Street\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )
    file = Attachment(AttachmentKind.FILE, "dentist.ics", handle="test:ics")
    assert "“Dentist, 2099-01-03 15:00 (12 High Street)”" in await chat.say("", file)
    await chat.press("Remember")
    assert [button.label for button in chat.shown.choices] == ["↩️ Undo", "⏰ Remind me?"]


async def test_after_what_was_deleted_nothing_else_is_handed_back(chat: Sending) -> None:
    await chat.say("remember this is the lease of the flat", LEASE_FILE)
    await chat.say("show me the lease")
    await chat.say("show me Rex")
    assert chat.handed == []


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "..\\..\\boot.ini",
        "\u202efdp.exe",
        "عقد الإيجار.pdf",
        "🐘🏖️ férias.pdf",
        "a\nb.pdf",
        "x" * 300,
    ],
)
async def test_a_file_is_told_and_handed_back_under_a_name_that_leads_nowhere(chat: Sending, name: str) -> None:
    file = replace(LEASE_FILE, name=name)
    assert "is a PDF with 4 pages" in await chat.say("", file)
    await chat.say("remember this is the lease of the flat", file)
    [item] = await chat.kept()
    told = item.attachments[0].name
    assert "\u202e" not in told
    assert "\n" not in told
    assert len(told) <= 64
    await chat.say("show me the lease of the flat")
    [(handed, content)] = chat.handed
    assert content == chat.sent["test:lease"]
    assert not {"/", "\\", "\n", "\u202e"}.intersection(handed)
    assert not handed.startswith(".")


async def test_a_drawing_with_a_script_is_neither_run_nor_shown_to_anybody(chat: Sending) -> None:
    chat.sent["test:svg"] = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script><text>hi</text></svg>'
    drawing = Attachment(AttachmentKind.FILE, "logo.png", "image/png", handle="test:svg")
    assert (await chat.say("", drawing)).startswith("I cannot read “logo.png”")
    await chat.say("remember this is our logo", drawing)
    [item] = await chat.kept()
    assert item.attachments[0].media_type == "image/svg+xml"
    await chat.say("show me our logo")
    assert [file.kind for file in chat.handed_files] == [AttachmentKind.FILE]
