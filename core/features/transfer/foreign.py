"""Files of other programs: texts and Markdown, tables, and what ChatGPT and Claude export, packed or not.

A memory of a text is a list item, a paragraph or a line, word for word.
None of these vendors documents its form; docs/import.md says what is known of them.
"""

from __future__ import annotations

import csv
import hashlib
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from pathlib import PurePosixPath
from typing import Any, BinaryIO, Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from core.actions.memory_drafts import MAX_BINDING_CHARS, to_bindings
from core.features.transfer.entries import CONTENTS, Taken, moment
from core.text.unicode import clean, one_line
from core.types import MemoryDraft, MemoryKind

_BOLD_LEVEL: Final = 7
_LEAD_LEVEL: Final = 8
"""Levels of headings: a line in bold; a line that ends with a colon above a list. `#` to `######` are above both."""

_HEADING: Final = re.compile(r"(#{1,6})\s+(\S.*)")
_BOLD: Final = re.compile(r"(\*\*|__)([^*_]+)\1:?")
_ITEM: Final = re.compile(r"(?:[-*+•–]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?|\[[ xX]\]\s+|[☐☑☒✓✔]\s*")
_WRAPPED_CHARS: Final = 40
"""A line of that length that ends within a sentence goes on in the next, if that begins with a small letter."""

_STAMP: Final = re.compile(r"\[([^\]]{1,40})\](?:[.:]\s+|\s*[-–—]\s+)")
"""What assistants write before a memory when they are asked for all: "[2025-05-02]. ", "[unknown] - "."""

_DAY_CHARS: Final = len("2025-05-02")
_RULE: Final = frozenset("-*_= \t")


@dataclass(slots=True)
class _Outline:
    """What stands in the lines so far: the headings by level, and the lines of the memory that is not yet complete."""

    headings: dict[int, str]
    lines: list[str]
    item: int | None = None
    """The indent of the list item that the memory is; None: it is a paragraph."""

    def close(self) -> Iterator[Taken]:
        """Yield the memory, if there is one."""
        content, self.lines, self.item = clean("\n".join(self.lines)), [], None
        if content:
            yield noted(content, [self.headings[level] for level in sorted(self.headings, reverse=True)])

    def head(self, level: int, title: str) -> None:
        """Take a heading, in place of those of its level and below."""
        self.headings = {each: above for each, above in self.headings.items() if each < level} | {level: title}


def from_text(content: str, about: Sequence[str] = (), *, is_markdown: bool = False) -> Iterator[Taken]:
    """Yield a memory for each list item with what is nested in it, and for each paragraph, in order.

    In a text without a list, a heading or a line in bold, unless `is_markdown`, each line is one; a long one goes
    on in the next where its sentence does. So is a line of a paragraph that begins with words in brackets and a dash.
    Headings, bold lines, and a line that ends with a colon above a list are phrases of what follows, as is `about`.
    """
    lines = content.splitlines()
    is_markdown = is_markdown or any(_is_structure(line.strip()) for line in lines)
    so_far, gap = _Outline(dict(enumerate(reversed(about), -len(about))), []), False
    for line in lines:
        said = line.strip()
        if not said:
            gap = True
        elif _RULE.issuperset(said) or said.startswith(("```", "~~~")):
            yield from so_far.close()
        elif heading := _HEADING.fullmatch(said):
            yield from so_far.close()
            so_far.head(len(heading[1]), heading[2].rstrip("# "))
        elif bold := _BOLD.fullmatch(said):
            yield from so_far.close()
            so_far.head(_BOLD_LEVEL, bold[2].strip(" :"))
        else:
            yield from _take(so_far, line.rstrip(), after_gap=gap, joins=is_markdown)
            gap = False
    yield from so_far.close()


def _is_structure(said: str) -> bool:
    return bool(_ITEM.match(said) or _HEADING.fullmatch(said) or _BOLD.fullmatch(said))


def _is_wrapped(lines: Sequence[str], said: str) -> bool:
    """Return whether a line goes on with the sentence of the line before, as editors wrap text."""
    before = lines[-1] if lines else ""
    return len(before) >= _WRAPPED_CHARS and before[-1] not in ".!?:;…" and said[0].islower()


def _take(so_far: _Outline, line: str, *, after_gap: bool, joins: bool) -> Iterator[Taken]:
    """Take a line that says something: it goes on with the memory, or begins one."""
    said, was_item = line.lstrip(), so_far.item is not None
    indent, mark = len(line) - len(said), _ITEM.match(said)
    if so_far.item is not None:
        goes_on = indent > so_far.item if mark or after_gap else True
    else:
        joins = joins or _is_wrapped(so_far.lines, said)
        goes_on = joins and not mark and not after_gap and not _STAMP.match(said)
    if goes_on and so_far.lines:
        so_far.lines.append(line[min(indent, so_far.item) :] if so_far.item is not None else said)
        return
    if mark and not was_item and len(so_far.lines) == 1 and so_far.lines[0].endswith(":"):
        so_far.head(_LEAD_LEVEL, so_far.lines.pop().rstrip(": "))
    yield from so_far.close()
    if was_item and not mark:
        so_far.headings.pop(_LEAD_LEVEL, None)
    so_far.item = indent if mark else None
    so_far.lines = [said[mark.end() :] if mark else said]


def noted(content: str, about: Iterable[str] = (), at: datetime | None = None) -> Taken:
    """Return a text as a memory, found by its beginning and by `about`, said on the date before it, or else `at`."""
    stamp = _STAMP.match(content)
    on = moment(f"{stamp[1][:_DAY_CHARS]}T12:00") if stamp else None  # noon: that day in nearly every zone
    lead = one_line(content[stamp.end() :] if stamp else content, MAX_BINDING_CHARS)
    return Taken(MemoryDraft(MemoryKind.TEXT, content, to_bindings((*about, lead)), said_at=on or at))


ARCHIVE: Final = b"PK\x03\x04"
"""How a ZIP archive begins."""

_CLAUDE: Final = ("conversations_memory", "project_memories", "memory_files")
_OF_MEMORIES: Final = re.compile(r"(?:^|/)(?:memories\.json|memories/[^/]+\.json)$")
_OF_TALK: Final = re.compile(r"(?:^|/)conversations(?:-\d+)?\.json$")


FOLDER: Final = "files"
"""The folder inside an archive of ours in which files lie."""


class TooMuchInside(ValueError):
    """What is in the archive has more bytes than may be unpacked."""


def unpacked(file: BinaryIO, max_bytes: int) -> Iterator[bytes]:
    """Yield the files of a ZIP archive that hold memories; without any, those that hold conversations.

    Raises:
        TooMuchInside: they have more bytes than that in all.
        ValueError: it cannot be unpacked.
    """
    try:
        with ZipFile(file) as archive:
            members = [each for each in archive.infolist() if not each.is_dir()]
            of_memories = [each for each in members if _OF_MEMORIES.search(each.filename)]
            for member in of_memories or [each for each in members if _OF_TALK.search(each.filename)]:
                if member.compress_type not in {ZIP_STORED, ZIP_DEFLATED}:
                    raise ValueError("compressed in a way that is not read")
                with archive.open(member) as packed:
                    raw = packed.read(max_bytes + 1)
                max_bytes -= len(raw)
                if max_bytes < 0:
                    raise TooMuchInside
                yield raw
    except (BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:  # RuntimeError: a password
        raise ValueError("no archive that can be unpacked") from error


def files_inside(file: BinaryIO, wanted: Collection[str], max_bytes: int) -> Iterator[tuple[str, bytes]]:
    """Yield those files of an archive of ours whose digests are wanted, each once, as long as they are no more in all.

    A name is only where to look: nothing is written by it, and what has not that digest is passed over.
    """
    missing = set(wanted)
    try:
        with ZipFile(file) as archive:
            for member in archive.infolist():
                folder, _, rest = member.filename.partition("/")
                sha256 = rest.partition("/")[0]
                if folder != FOLDER or sha256 not in missing or member.compress_type not in {ZIP_STORED, ZIP_DEFLATED}:
                    continue
                with archive.open(member) as packed:
                    content = packed.read(max_bytes + 1)
                if (max_bytes := max_bytes - len(content)) < 0:
                    return
                if hashlib.sha256(content).hexdigest() == sha256:
                    missing.remove(sha256)
                    yield sha256, content
    except (BadZipFile, zlib.error, EOFError, OSError, RuntimeError):
        return


def from_csv(content: str) -> Iterator[Taken]:
    """Yield a memory for each row: the column `content`, `memory` or `text`, or the only one; `created_at` is its time.

    Raises:
        ValueError: there are several columns, none of that name, or it is no CSV.
    """
    head, _, _ = content.partition("\n")
    rows = csv.reader(content.splitlines(keepends=True), delimiter=";" if ";" in head and "," not in head else ",")
    try:
        first = next(rows, [])
        names = [name.strip().casefold() for name in first]
        column = next((names.index(name) for name in CONTENTS if name in names), -1)
        timed = names.index("created_at") if "created_at" in names else len(names)
        if column < 0 and len(names) != 1:
            raise ValueError("no column holds what is to be remembered")
        for row in rows if column >= 0 else chain([first], rows):
            if len(row) > column:
                yield noted(clean(row[column]), at=moment(row[timed]) if timed < len(row) else None)
    except csv.Error as error:
        raise ValueError("no CSV") from error


def is_talk(document: Any) -> bool:
    """Return whether these are conversations, of ChatGPT or Claude."""
    return any("mapping" in each or "chat_messages" in each for each in _records(document))


def from_document(document: Any) -> Iterator[Taken] | None:
    """Return the memories of an export of ChatGPT or Claude; None for any other document."""
    if is_talk(document):
        return _from_chatgpt(document)
    return _from_claude(document) if any(name in each for each in _records(document) for name in _CLAUDE) else None


def _from_chatgpt(document: Any) -> Iterator[Taken]:
    """Yield what ChatGPT noted to remember: its messages to the tool `bio`. The rest of a conversation is left out."""
    for conversation in _records(document):
        for node in _object(conversation.get("mapping")).values():
            message = _object(_object(node).get("message"))
            parts = _object(message.get("content")).get("parts")
            if message.get("recipient") == "bio" and isinstance(parts, list):
                said = clean("\n".join(part for part in parts if isinstance(part, str)))
                yield noted(said, at=moment(message.get("create_time")))


def _from_claude(document: Any) -> Iterator[Taken]:
    """Yield the list items and paragraphs of what Claude remembers: in general, of projects, and in files by topic."""
    for record in _records(document):
        for content in (record.get("conversations_memory"), *_object(record.get("project_memories")).values()):
            yield from _of_markdown(content)
        files = record.get("memory_files")
        for each in map(_object, files if isinstance(files, list) else ()):
            topic = PurePosixPath(str(each.get("path") or "")).stem.replace("-", " ").replace("_", " ")
            for taken in _of_markdown(each.get("content"), (topic,) if topic else ()):
                yield taken.since(moment(each.get("updated_at")))


def _of_markdown(content: Any, about: tuple[str, ...] = ()) -> Iterable[Taken]:
    return from_text(content, about, is_markdown=True) if isinstance(content, str) else ()


def _records(document: Any) -> Iterable[Mapping[str, Any]]:
    """Return the objects of a document that is one or a list of them."""
    return (each for each in (document if isinstance(document, list) else [document]) if isinstance(each, dict))


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
