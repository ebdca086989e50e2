"""Read a file that is to be imported, and return its memories as drafts.

Three forms are read: our own export (`docs/export.md`), a JSON list of memories, and one memory a line. A memory is a
text, or an object with its text in `content` (others call it `memory` or `text`) and, if it has any, its `bindings`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from core.actions.memory_drafts import MAX_BINDING_CHARS, MAX_CONTENT_CHARS, to_bindings, to_kind
from core.errors import InputError
from core.features.transfer.takeout import FORMAT, VERSION
from core.text.unicode import clean, fold, one_line
from core.types import MemoryDraft, MemoryKind, UserKey

MAX_BYTES: Final = 5_000_000
MAX_MEMORIES: Final = 20_000
MAX_ROOMS: Final = 50
MAX_DEPTH: Final = 64
_CONTENTS: Final = ("content", "memory", "text")


class NotReadable(InputError):
    """The file has none of these forms; `line` is the first wrong one, 0 for the file as a whole."""

    def __init__(self, line: int = 0) -> None:
        super().__init__(f"line {line} cannot be read" if line else "the file cannot be read")
        self.line = line


class NotText(NotReadable):
    """The file is not UTF-8."""


class TooDeep(NotReadable):
    """The JSON is nested deeper than MAX_DEPTH."""


class TooNew(InputError):
    """The file was exported by a newer version of this program."""


class TooMany(InputError):
    """The file has more memories than MAX_MEMORIES."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A memory of the file; `shared` and `rooms` are what the file says only in a person's own export."""

    draft: MemoryDraft
    pinned: bool = False
    shared: bool = False
    rooms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Intake:
    """The memories of a file, each once; `refused` counts the entries that cannot be saved."""

    taken: tuple[Taken, ...]
    refused: int = 0


def read(raw: bytes, accounts: Collection[UserKey]) -> Intake:
    """Return what is in a file, for the person with those accounts.

    The rooms of a memory, and whether it is shared, are taken from the person's own export only: in somebody else's
    export these are another person's rooms and another person's choice.

    Raises:
        NotReadable, TooNew, TooMany: nothing of it can be imported.
    """
    try:
        document = _parsed(raw)
    except RecursionError as error:
        raise TooDeep from error
    if _is_too_deep(document):
        raise TooDeep
    entries, own = document, False
    if isinstance(document, dict):
        if document.get("format") == FORMAT:
            if not isinstance(document.get("version"), int) or document["version"] > VERSION:
                raise TooNew("it has a newer form")
            own = document.get("user") in [str(account) for account in accounts]  # it may be of any type
        entries = document.get("memories")
    if not isinstance(entries, list):
        raise NotReadable
    if len(entries) > MAX_MEMORIES:
        raise TooMany("it holds too many")
    read_entries = [_entry(entry, own=own) for entry in entries]
    taken = [each for each in read_entries if each is not None]
    return Intake(_distinct(taken), len(entries) - len(taken))


def _parsed(raw: bytes) -> Any:
    """Return the one JSON document, or the list of documents of a file with one a line."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotText from error
    try:
        return json.loads(text)
    except ValueError as error:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        if len(lines) < 2 or not lines[0][1].rstrip().endswith(("}", '"')):  # noqa: PLR2004 - it was meant as one
            raise NotReadable(getattr(error, "lineno", 0)) from error
        return [_line(number, line) for number, line in lines]


def _is_too_deep(document: Any) -> bool:
    """Whether the document has more levels than MAX_DEPTH; recursion over it could fail later."""
    level = [document]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return bool(level)


def _line(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise NotReadable(number) from error


def _entry(entry: Any, *, own: bool) -> Taken | None:
    """Return one memory, or None if the entry cannot be saved."""
    if isinstance(entry, str):
        entry = {"content": entry}
    if not isinstance(entry, Mapping):
        return None
    said = next((entry[name] for name in _CONTENTS if entry.get(name)), "")
    structured = isinstance(said, dict | list)
    content = clean(json.dumps(said, ensure_ascii=False) if structured else str(said))
    kind = to_kind("json" if structured else str(entry.get("type")), content)
    bindings = _bindings(entry.get("bindings"), content)
    if not content or not bindings or len(content) > MAX_CONTENT_CHARS:
        return None
    draft = MemoryDraft(kind, content, bindings)
    rooms = _texts(entry.get("rooms"))[:MAX_ROOMS] if own else ()
    return Taken(draft, entry.get("pinned") is True, own and entry.get("shared") is True, rooms)


def _bindings(given: Any, content: str) -> tuple[str, ...]:
    """Return the given phrases; without any, the beginning of the content."""
    return to_bindings(_texts(given)) or to_bindings([one_line(content, MAX_BINDING_CHARS)])


def _texts(given: Any) -> tuple[str, ...]:
    return tuple(each for each in given if isinstance(each, str)) if isinstance(given, list) else ()


def _distinct(taken: Iterable[Taken]) -> tuple[Taken, ...]:
    """Return each memory once; of two that are equal, the phrases of both, and only the rooms that both have."""
    found: dict[tuple[MemoryKind, str], Taken] = {}
    for each in taken:
        key = (each.draft.kind, fold(each.draft.content))  # as a memory compares them
        found[key] = _both(found[key], each) if key in found else each
    return tuple(found.values())


def _both(one: Taken, other: Taken) -> Taken:
    bindings = to_bindings((*one.draft.bindings, *other.draft.bindings))
    draft = MemoryDraft(one.draft.kind, one.draft.content, bindings)
    rooms = tuple(room for room in one.rooms if room in other.rooms)
    return Taken(draft, one.pinned or other.pinned, one.shared and other.shared, rooms)
