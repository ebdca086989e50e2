"""Notes: the memories in files of other programs, as their texts have them: lists, Markdown, CSV, ChatGPT, Claude.

Nothing is composed: a note is a list item, a paragraph, a cell or an entry, word for word.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from pathlib import PurePosixPath
from typing import Any, Final

CONTENTS: Final = ("content", "memory", "text")
"""The names under which an entry or a column holds what is to be remembered."""

_CLAUDE: Final = ("conversations_memory", "project_memories", "memory_files")
_BELOW_BOLD: Final = 8
_BOLD: Final = 7
"""Levels of headings: a line that ends with a colon above a list; a line in bold. `#` to `######` are above both."""

_HEADING: Final = re.compile(r"(#{1,6})\s+(\S.*)")
_BOLD_LINE: Final = re.compile(r"(\*\*|__)([^*_]+)\1:?")
_ITEM: Final = re.compile(r"(?:[-*+•–]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?|\[[ xX]\]\s+|[☐☑☒✓✔]\s*")
_WRAPPED_CHARS: Final = 40
"""A line of that length that ends within a sentence goes on in the next, if that begins with a small letter."""

_STAMP: Final = re.compile(r"\[([^\]]{1,40})\](?:[.:]\s+|\s*[-–—]\s+)")
"""What assistants write before a memory when they are asked for all: "[2025-05-02]. ", "[unknown] - "."""

_DAY_CHARS: Final = len("2025-05-02")
_RULE: Final = frozenset("-*_= \t")


@dataclass(frozen=True, slots=True)
class Note:
    """A memory of a file: its text, the headings above it (the nearest first), and when it was said, if known."""

    text: str
    about: tuple[str, ...] = ()
    at: datetime | None = None

    @property
    def lead(self) -> str:
        """The text without the date in brackets before it."""
        stamp = _STAMP.match(self.text)
        return self.text[stamp.end() :] if stamp else self.text


def moment(value: Any) -> datetime | None:
    """Return the instant that an ISO 8601 text (UTC if it names no zone) or seconds since 1970 stand for; else None."""
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value)
            found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found = datetime.fromtimestamp(value, UTC)
        else:
            return None
    except (ValueError, OverflowError, OSError):
        return None
    return found if found.timestamp() > 0 else None


@dataclass(slots=True)
class _Lines:
    """What stands in the lines so far: the headings, and the note that is not yet complete."""

    headings: list[tuple[int, str]]
    note: list[str] = field(default_factory=list)
    item: int | None = None
    """The indent of the list item that the note is; None: it is a paragraph."""

    gap: bool = False
    """The line before was empty."""

    def close(self) -> Iterator[Note]:
        """Yield the note, if there is one, and begin the next."""
        text = "\n".join(self.note).strip()
        if text:
            stamp = _STAMP.match(text)
            at = moment(f"{stamp[1][:_DAY_CHARS]}T12:00") if stamp else None  # noon: that day in nearly every zone
            yield Note(text, tuple(title for _, title in reversed(self.headings)), at)
        self.note, self.item = [], None

    def head(self, level: int, title: str) -> None:
        """Take a heading, in place of those of its level and below."""
        self.headings = [*(each for each in self.headings if each[0] < level), (level, title)]


def from_text(text: str, about: tuple[str, ...] = (), *, is_markdown: bool = False) -> Iterator[Note]:
    """Yield a note for each list item with what is nested in it, and for each paragraph, in order.

    In a text without a list, a heading or a line in bold, unless `is_markdown`, each line is a note; a long one goes on
    in the next where its sentence does. So is a line of a
    paragraph that begins with words in brackets and a dash. Headings, bold lines, and a line that ends with a colon
    above a list are the `about` of what follows.
    """
    all_lines = text.splitlines()
    is_markdown = is_markdown or any(_is_structure(line.strip()) for line in all_lines)
    lines = _Lines([(0, title) for title in reversed(about)])
    for line in all_lines:
        said = line.strip()
        if not said:
            lines.gap = True
        elif _RULE.issuperset(said) or said.startswith(("```", "~~~")):
            yield from lines.close()
        elif found := _HEADING.fullmatch(said):
            yield from lines.close()
            lines.head(len(found[1]), found[2].rstrip("# "))
        elif found := _BOLD_LINE.fullmatch(said):
            yield from lines.close()
            lines.head(_BOLD, found[2].strip(" :"))
        else:
            yield from _take(lines, line, is_markdown=is_markdown)
            lines.gap = False
    yield from lines.close()


def _is_structure(said: str) -> bool:
    return bool(_ITEM.match(said) or _HEADING.fullmatch(said) or _BOLD_LINE.fullmatch(said))


def _is_wrapped(note: list[str], said: str) -> bool:
    """Return whether a line goes on with the sentence of the line before, as editors wrap text."""
    before = note[-1] if note else ""
    return len(before) >= _WRAPPED_CHARS and before[-1] not in ".!?:;…" and said[0].islower()


def _take(lines: _Lines, line: str, *, is_markdown: bool) -> Iterator[Note]:
    """Take a line that says something: it goes on with the note, or begins one."""
    said = line.strip()
    indent = len(line) - len(line.lstrip())
    mark = _ITEM.match(said)
    if lines.item is not None:
        goes_on = indent > lines.item if mark or lines.gap else True
    else:
        goes_on = (
            (is_markdown or _is_wrapped(lines.note, said)) and not mark and not lines.gap and not _STAMP.match(said)
        )
    if goes_on and lines.note:
        lines.note.append(line[min(indent, indent if lines.item is None else lines.item) :].rstrip())
        return
    was_item = lines.item is not None
    if mark and not was_item and len(lines.note) == 1 and lines.note[0].endswith(":"):
        lines.head(_BELOW_BOLD, lines.note.pop().rstrip(": "))
    yield from lines.close()
    if mark:
        lines.item = indent
    elif was_item:
        lines.headings = [each for each in lines.headings if each[0] < _BELOW_BOLD]
    lines.note = [said[mark.end() :] if mark else said]


def from_csv(text: str) -> Iterator[Note]:
    """Yield a note for each row: the column `content`, `memory` or `text`, or the only one; `created_at` is its time.

    Raises:
        ValueError: there are several columns, none of that name, or it is no CSV.
    """
    head, _, _ = text.partition("\n")
    rows = csv.reader(text.splitlines(keepends=True), delimiter=";" if ";" in head and "," not in head else ",")
    try:
        first = next(rows, [])
        names = [name.strip().casefold() for name in first]
        column = next((names.index(name) for name in CONTENTS if name in names), -1)
        timed = names.index("created_at") if "created_at" in names else len(names)
        if column < 0 and len(names) != 1:
            raise ValueError("no column holds what is to be remembered")
        for row in rows if column >= 0 else chain([first], rows):
            if len(row) > column:
                yield Note(row[column], (), moment(row[timed]) if timed < len(row) else None)
    except csv.Error as error:
        raise ValueError("it is no CSV") from error


def is_chatgpt(document: Any) -> bool:
    """Return whether these are conversations of ChatGPT: objects with a `mapping`."""
    return any("mapping" in each for each in _records(document))


def is_claude(document: Any) -> bool:
    """Return whether these are what Claude remembers."""
    return any(name in each for each in _records(document) for name in _CLAUDE)


def is_talk(document: Any) -> bool:
    """Return whether these are conversations, of ChatGPT or Claude."""
    return is_chatgpt(document) or any("chat_messages" in each for each in _records(document))


def from_chatgpt(document: Any) -> Iterator[Note]:
    """Yield what ChatGPT noted to remember: its messages to the tool `bio`. The rest of a conversation is left out."""
    for conversation in _records(document):
        for node in _object(conversation.get("mapping")).values():
            message = _object(_object(node).get("message"))
            if message.get("recipient") == "bio":
                parts = _object(message.get("content")).get("parts")
                said = [part for part in parts if isinstance(part, str)] if isinstance(parts, list) else []
                if text := "\n".join(said).strip():
                    yield Note(text, (), moment(message.get("create_time")))


def from_claude(document: Any) -> Iterator[Note]:
    """Yield the list items and paragraphs of what Claude remembers: in general, of projects, and in files by topic."""
    for record in _records(document):
        for text in (record.get("conversations_memory"), *_object(record.get("project_memories")).values()):
            yield from _of_markdown(text)
        files = record.get("memory_files")
        for each in map(_object, files if isinstance(files, list) else ()):
            topic = PurePosixPath(str(each.get("path") or "")).stem.replace("-", " ").replace("_", " ")
            at = moment(each.get("updated_at"))
            for note in _of_markdown(each.get("content"), (topic,) if topic else ()):
                yield Note(note.text, note.about, note.at or at)


def _of_markdown(text: Any, about: tuple[str, ...] = ()) -> Iterable[Note]:
    return from_text(text, about, is_markdown=True) if isinstance(text, str) else ()


def _records(document: Any) -> Iterable[Mapping[str, Any]]:
    """Return the objects of a document that is one or a list of them."""
    return (each for each in (document if isinstance(document, list) else [document]) if isinstance(each, dict))


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
