"""Files as people send them, made with the libraries and formats that are real."""

from __future__ import annotations

import ctypes
import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

import pypdfium2 as pdfium
from PIL import Image
from pypdfium2 import raw

GPS = 0x8825
"""The part of EXIF that tells where."""

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_C = "http://schemas.openxmlformats.org/package/2006/content-types"
_P = "http://schemas.openxmlformats.org/package/2006/relationships"


def pdf(*pages: str) -> bytes:
    """Return a PDF with a page for each text, its lines in 12 points."""
    document = pdfium.PdfDocument.new()
    font = raw.FPDFText_LoadStandardFont(document, b"Helvetica")
    for text in pages:
        page = document.new_page(595, 842)
        for at, line in enumerate(text.splitlines()):
            words = raw.FPDFPageObj_CreateTextObj(document, font, 12)
            encoded = (line + "\0").encode("utf-16-le")
            raw.FPDFText_SetText(words, ctypes.cast(ctypes.c_char_p(encoded), ctypes.POINTER(ctypes.c_ushort)))
            raw.FPDFPageObj_Transform(words, 1, 0, 0, 1, 50, 780 - 16 * at)
            raw.FPDFPage_InsertObject(page, words)
        raw.FPDFPage_GenerateContent(page)
        page.close()
    out = io.BytesIO()
    document.save(out)
    raw.FPDFFont_Close(font)
    document.close()
    return out.getvalue()


def scanned_pdf(pages: int = 2) -> bytes:
    """Return a PDF whose pages are pictures."""
    out = io.BytesIO()
    first, *others = [Image.new("RGB", (300, 400), (200, 200, 40 * each)) for each in range(pages)]
    first.save(out, "PDF", save_all=True, append_images=others)
    return out.getvalue()


def encrypted_pdf() -> bytes:
    """Return a PDF that wants a password."""
    junk = "AB" * 32
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>",
        f"<< /Filter /Standard /V 1 /R 2 /Length 40 /P -4 /O <{junk}> /U <{junk}> >>",
    ]
    body, places = "%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{each}\nendobj\n"
    start = len(body)
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    trailer = f"<< /Size 5 /Root 1 0 R /Encrypt 4 0 R /ID [<{junk[:32]}> <{junk[:32]}>] >>"
    return f"{body}xref\n0 5\n0000000000 65535 f \n{table}trailer\n{trailer}\nstartxref\n{start}\n%%EOF".encode()


def zipped(members: Mapping[str, str | bytes]) -> bytes:
    """Return an archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def docx(*pages: str, xml: str = "") -> bytes:
    """Return a document of Word with those pages, a paragraph a line; `xml` stands for its body."""
    broken = "<w:p><w:r><w:lastRenderedPageBreak/></w:r></w:p>"
    paragraphs = (
        "".join(f"<w:p><w:r><w:t>{escape(line)}</w:t></w:r></w:p>" for line in page.splitlines()) for page in pages
    )
    body = xml or broken.join(paragraphs)
    document = f'<?xml version="1.0"?><w:document xmlns:w="{_W}"><w:body>{body}</w:body></w:document>'
    return zipped({"[Content_Types].xml": "<Types/>", "word/document.xml": document})


def _related(relations: Mapping[str, str]) -> str:
    """Return the relations of a part of a workbook, of those types by their targets."""
    told = (
        f'<Relationship Id="r{at}" Type="{_R}/{kind}" Target="{target}"/>'
        for at, (target, kind) in enumerate(relations.items(), 1)
    )
    return f'<Relationships xmlns="{_P}">{"".join(told)}</Relationships>'


def xlsx(sheets: Mapping[str, Sequence[Sequence[str | float]]]) -> bytes:
    """Return a workbook of Excel."""
    names = "".join(f'<sheet name="{escape(name)}" sheetId="{at}" r:id="r{at}"/>' for at, name in enumerate(sheets, 1))
    members = {
        "[Content_Types].xml": f'<Types xmlns="{_C}"/>',
        "_rels/.rels": _related({"xl/workbook.xml": "officeDocument"}),
        "xl/workbook.xml": f'<workbook xmlns="{_S}" xmlns:r="{_R}"><sheets>{names}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": _related(
            {f"worksheets/s{at}.xml": "worksheet" for at, _ in enumerate(sheets, 1)}
        ),
    }
    for at, rows in enumerate(sheets.values(), 1):
        filled = "".join(
            f'<row r="{row}">{"".join(_cell(row, column, value) for column, value in enumerate(values))}</row>'
            for row, values in enumerate(rows, 1)
        )
        members[f"xl/worksheets/s{at}.xml"] = f'<worksheet xmlns="{_S}"><sheetData>{filled}</sheetData></worksheet>'
    return zipped(members)


def _cell(row: int, column: int, value: str | float) -> str:
    place = f"{chr(ord('A') + column)}{row}"
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f'<c r="{place}"><v>{value}</v></c>'


def photo(width: int = 640, height: int = 480, *, orientation: int = 1, maker: str = "") -> bytes:
    """Return a JPEG whose upper left corner is red, turned as a camera notes it, with what it writes of itself.

    The camera writes where it was, too.
    """
    image = Image.new("RGB", (width, height), (30, 90, 30))
    image.paste((220, 10, 10), (0, 0, width // 4, height // 4))
    exif = Image.Exif()
    exif[0x0112] = orientation
    exif[0x010F] = maker or "Maker"
    exif.get_ifd(GPS).update({1: "S", 2: (23.0, 33.0, 1.0), 3: "W", 4: (46.0, 38.0, 0.0)})
    out = io.BytesIO()
    image.save(out, "JPEG", exif=exif)
    return out.getvalue()


def gif(frames: int = 3) -> bytes:
    """Return a picture that moves."""
    out = io.BytesIO()
    first, *others = [Image.new("P", (40, 30), each) for each in range(frames)]
    first.save(out, "GIF", save_all=True, append_images=others)
    return out.getvalue()
