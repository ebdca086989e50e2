"""Intake: what a file holds for an import, read into drafts, each once; nothing is written.

A file is our own export, JSON, a text, or a ZIP archive of what another program exports.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any, BinaryIO, Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from core.actions.memory_drafts import MAX_BINDING_CHARS, MAX_CONTENT_CHARS, to_bindings, to_kind
from core.errors import InputError
from core.features.transfer.export import FORMAT, VERSION
from core.features.transfer.notes import (
    CONTENTS,
    Note,
    from_chatgpt,
    from_claude,
    from_csv,
    from_text,
    is_chatgpt,
    is_claude,
    is_talk,
    moment,
)
from core.features.transfer.reminder_entries import TakenReminder, from_entry, same
from core.text.unicode import clean, fold, one_line
from core.types import MemoryDraft, MemoryKind, UserKey

MAX_BYTES: Final = 5_000_000
MAX_UNPACKED_BYTES: Final = 25_000_000
MAX_MEMORIES: Final = 20_000
MAX_ROOMS: Final = 50
MAX_DEPTH: Final = 64
_BYTES_A_CONTAINER: Final = 20
"""A file may have one list or object of JSON to so many of the bytes that it may have: an empty one takes 60 in RAM."""

_LISTS: Final = ("memories", "results")
"""Under which name a document holds a list of memories: ours and many; mem0's."""

_ARCHIVE: Final = b"PK\x03\x04"
_OF_MEMORIES: Final = re.compile(r"(?:^|/)(?:memories\.json|memories/[^/]+\.json)$")
_OF_TALK: Final = re.compile(r"(?:^|/)conversations(?:-\d+)?\.json$")
_LIKE_JSON: Final = re.compile(r'\s*(?:\{|\[\s*(?:[\[{"]|\]\s*\Z))')
_GONE: Final = ("deleted", "archived")
"""The `state` of memories that their program no longer uses."""


class NotReadable(InputError):
    """The file has none of these forms; `line` is the first wrong one, 0 for the file as a whole."""

    def __init__(self, line: int = 0) -> None:
        super().__init__(f"line {line} of the file is not JSON" if line else "the file has no form that can be read")
        self.line = line


class NotText(NotReadable):
    """The file is not text in UTF-8."""

    def __str__(self) -> str:
        return "the file is not text in UTF-8"


class TooDeep(NotReadable):
    """The JSON is nested deeper than MAX_DEPTH."""

    def __str__(self) -> str:
        return "the JSON in the file is nested too deeply"


class NothingKnown(InputError):
    """No file of the archive is known to hold memories."""


class TooNew(InputError):
    """The file was exported by a newer version of this program."""


class TooMany(InputError):
    """The file has more memories and reminders than MAX_MEMORIES."""


class TooLarge(InputError):
    """The file, or what is in the archive, has more bytes than may be read."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A memory of the file; `shared` and `rooms` are what the file says only in a person's own export."""

    draft: MemoryDraft
    pinned: bool = False
    shared: bool = False
    rooms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Intake:
    """The memories of a file, each once; `refused` counts the entries that cannot be saved.

    `reminders` are those that were still to come, each once, if the file is an export; `unset` counts the others.
    `of_talk`: the file holds conversations, of which only what was noted is taken.
    """

    taken: tuple[Taken, ...]
    refused: int = 0
    reminders: tuple[TakenReminder, ...] = ()
    unset: int = 0
    of_talk: bool = False


def read(
    file: BinaryIO, accounts: Collection[UserKey], *, name: str = "", max_bytes: int = MAX_UNPACKED_BYTES
) -> Intake:
    """Return what is in a file, of at most `max_bytes` when it is unpacked, for the person with those accounts.

    The name says whether a text is Markdown (.md) or CSV (.csv), and that what is no JSON was meant to be (.json).
    The rooms of a memory and of a reminder, and whether a memory is shared, are taken from the person's own export
    only: in somebody else's export these are another person's rooms and another person's choice.

    Raises:
        NotReadable, NothingKnown, TooNew, TooMany, TooLarge: nothing of it can be imported.
    """
    is_archive = file.read(len(_ARCHIVE)) == _ARCHIVE
    file.seek(0)
    try:
        if is_archive:
            texts = (_text(raw, max_bytes) for raw in _unpacked(file, max_bytes))
            return _joined([_of_json(_json(text), accounts) for text in texts])
        raw = file.read(max_bytes + 1)
        if len(raw) > max_bytes:
            raise TooLarge("the file is too large")
        return _of_file(_text(raw, max_bytes), accounts, name.casefold())
    except RecursionError as error:
        raise TooDeep from error


def _of_file(text: str, accounts: Collection[UserKey], name: str) -> Intake:
    if name.endswith(".csv"):
        try:
            return _of_notes(from_csv(text))
        except ValueError as error:
            raise NotReadable from error
    document = None
    try:
        document = _json(text)
    except NotReadable as error:
        if isinstance(error, TooDeep) or name.endswith((".json", ".jsonl")) or _LIKE_JSON.match(text):
            raise
    if isinstance(document, dict | list):
        return _of_json(document, accounts)
    if text.lstrip().startswith("<"):  # HTML, XML
        raise NotReadable
    return _of_notes(from_text(text, is_markdown=name.endswith((".md", ".markdown"))))


def _text(raw: bytes, max_bytes: int) -> str:
    """Return the text in UTF-8, its lines ended by newlines.

    Raises:
        NotText, TooMany: it is none, or has more lists and objects of JSON than are read.
    """
    if raw.count(b"[") + raw.count(b"{") > max_bytes // _BYTES_A_CONTAINER:
        raise TooMany("it holds too many lists and objects")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotText from error
    if "\0" in text:  # UTF-16 without a mark, or no text at all
        raise NotText
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _json(text: str) -> Any:
    """Return the one JSON document, or the list of documents of a file with one a line."""
    try:
        document = json.loads(text)
    except ValueError as error:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        if len(lines) < 2 or not lines[0][1].rstrip().endswith(("}", '"')):  # noqa: PLR2004 - it was meant as one
            raise NotReadable(getattr(error, "lineno", 0)) from error
        document = [_line(number, line) for number, line in lines]
    if _is_too_deep(document):
        raise TooDeep
    return document


def _line(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise NotReadable(number) from error


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


def _unpacked(file: BinaryIO, max_bytes: int) -> Iterator[bytes]:
    """Yield the files of the archive that hold memories; without any, those that hold conversations.

    Raises:
        NotReadable, NothingKnown, TooLarge: there is none, or they have more bytes than that in all.
    """
    left = max_bytes
    try:
        with ZipFile(file) as archive:
            members = [each for each in archive.infolist() if not each.is_dir()]
            of_memories = [each for each in members if _OF_MEMORIES.search(each.filename)]
            found = of_memories or [each for each in members if _OF_TALK.search(each.filename)]
            if not found:
                raise NothingKnown("no file of the archive is known to hold memories")
            for member in found:
                if member.compress_type not in {ZIP_STORED, ZIP_DEFLATED}:
                    raise NotReadable
                with archive.open(member) as unpacked:
                    raw = unpacked.read(left + 1)
                left -= len(raw)
                if left < 0:
                    raise TooLarge("what is in the archive is too large")
                yield raw
    except (BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError) as error:  # RuntimeError: a password
        raise NotReadable from error


def _of_json(document: Any, accounts: Collection[UserKey]) -> Intake:
    if is_talk(document):
        return replace(_of_notes(from_chatgpt(document) if is_chatgpt(document) else ()), of_talk=True)
    if is_claude(document):
        return _of_notes(from_claude(document))
    entries, own = document, False
    timed: list[Any] = []
    if isinstance(document, dict):
        if document.get("format") == FORMAT:
            if not isinstance(document.get("version"), int) or document["version"] > VERSION:
                raise TooNew("it was exported by a newer version of Elefante")
            own = document.get("user") in [str(account) for account in accounts]  # it may be of any type
            if isinstance(document.get("reminders"), list):  # there were none before
                timed = document["reminders"]
        entries = next((document[key] for key in _LISTS if isinstance(document.get(key), list)), None)
    if not isinstance(entries, list):
        raise NotReadable
    taken = _each(entries, lambda entry: _entry(entry, own=own), len(timed))
    reminders = [from_entry(entry, accounts if own else ()) for entry in timed]
    coming = [each for each in reminders if each is not None]
    distinct = {same(each): each for each in coming}.values()
    return replace(taken, reminders=tuple(distinct), unset=len(timed) - len(coming))


def _of_notes(notes: Iterable[Note]) -> Intake:
    return _each(notes, _noted)


def _each(entries: Iterable[Any], taken_of: Callable[[Any], Taken | None], besides: int = 0) -> Intake:
    """Return the memories of the entries, each once.

    Raises:
        TooMany: with those `besides`, there are more than MAX_MEMORIES.
    """
    read_entries = [taken_of(entry) for entry in islice(entries, MAX_MEMORIES + 1)]
    if len(read_entries) + besides > MAX_MEMORIES:
        raise TooMany("it holds too many memories")
    taken = [each for each in read_entries if each is not None]
    return Intake(_distinct(taken), len(read_entries) - len(taken))


def _joined(parts: Collection[Intake]) -> Intake:
    """Return what the files of an archive hold in all."""
    taken = _distinct(each for part in parts for each in part.taken)
    if len(taken) > MAX_MEMORIES:
        raise TooMany("it holds too many memories")
    return Intake(taken, sum(part.refused for part in parts), of_talk=any(part.of_talk for part in parts))


def _noted(note: Note) -> Taken | None:
    content = clean(note.text)
    bindings = to_bindings((*note.about, one_line(note.lead, MAX_BINDING_CHARS)))
    if not content or not bindings or len(content) > MAX_CONTENT_CHARS:
        return None
    return Taken(MemoryDraft(MemoryKind.TEXT, content, bindings, said_at=note.at))


def _entry(entry: Any, *, own: bool) -> Taken | None:
    """Return one memory, or None if the entry cannot be saved."""
    if isinstance(entry, str):
        entry = {"content": entry}
    if not isinstance(entry, Mapping) or entry.get("state") in _GONE:
        return None
    said = next((entry[name] for name in CONTENTS if entry.get(name)), "")
    structured = isinstance(said, dict | list)
    content = clean(json.dumps(said, ensure_ascii=False) if structured else str(said))
    kind = to_kind("json" if structured else str(entry.get("type")), content)
    bindings = to_bindings(_texts(entry.get("bindings"))) or to_bindings([one_line(content, MAX_BINDING_CHARS)])
    if not content or not bindings or len(content) > MAX_CONTENT_CHARS:
        return None
    until, meant = (moment(entry.get("until")), _meant(entry.get("meant"))) if own else (None, "")
    draft = MemoryDraft(kind, content, bindings, until, meant, moment(entry.get("created_at")))
    rooms = _texts(entry.get("rooms"))[:MAX_ROOMS] if own else ()
    return Taken(draft, entry.get("pinned") is True, own and entry.get("shared") is True, rooms)


def _meant(given: Any) -> str:
    """Return the day or the minute that an export names; "" for anything else."""
    try:
        at = datetime.fromisoformat(given) if isinstance(given, str) else None
    except ValueError:
        at = None
    return given if at is not None and given in {f"{at:%Y-%m-%d}", f"{at:%Y-%m-%dT%H:%M}"} else ""


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
    said_at = min((each.draft.said_at for each in (one, other) if each.draft.said_at), default=None)
    rooms = tuple(room for room in one.rooms if room in other.rooms)
    draft = replace(one.draft, bindings=bindings, said_at=said_at)
    return Taken(draft, one.pinned or other.pinned, one.shared and other.shared, rooms)
