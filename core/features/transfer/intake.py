"""Intake: what a file holds for an import, read into drafts, each once; nothing is written.

A file is our own export, JSON, one document or one a line, a text, or what another program exports (docs/import.md).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, BinaryIO, Final

from core.errors import InputError
from core.features.feature import Section
from core.features.transfer.entries import Taken, distinct, savable, to_memory
from core.features.transfer.export import FORMAT, VERSION
from core.features.transfer.foreign import ARCHIVE, TooMuchInside, from_csv, from_document, from_text, is_talk, unpacked
from core.text.catalogue import text
from core.types import Locale, Localized, UserKey

MAX_BYTES: Final = 5_000_000
MAX_ARCHIVE_BYTES: Final = 20_000_000
"""Of an archive, which may hold files. Telegram hands bots no more."""

MAX_UNPACKED_BYTES: Final = 25_000_000
MAX_MEMORIES: Final = 20_000
MAX_DEPTH: Final = 64
MEGABYTE: Final = 1_000_000
_BYTES_A_CONTAINER: Final = 4
"""A file may have one list or object of JSON to so many of the bytes that it may have: an empty one takes 60 in RAM."""

_LISTS: Final = ("memories", "results")
"""Under which name a document holds a list of memories: ours and many; mem0's."""

_LIKE_JSON: Final = re.compile(r'\s*(?:\{|\[\s*(?:[\[{"]|\]\s*\Z))')
_MARKDOWN: Final = (".md", ".markdown")


BAD_FILE: Final = text("transfer.import.bad_file")
NOT_TEXT: Final = text("transfer.import.not_text")
TOO_DEEP: Final = text("transfer.import.too_deep")
TOO_NEW: Final = text("transfer.import.too_new")
TOO_MANY: Final = text("transfer.import.too_many")
TOO_LARGE: Final = text("transfer.import.too_large")
TOO_MUCH_INSIDE: Final = text("transfer.import.too_much_inside")
NOTHING_KNOWN: Final = text("transfer.import.nothing_known")
BAD_LINE: Final = text("transfer.import.bad_line")


class Refused(InputError):
    """Nothing of the file can be imported; `told` says why in the language of a person."""

    def __init__(self, why: Localized, *, max_bytes: int = MAX_BYTES, line: int = 0) -> None:
        filled = {"count": MAX_MEMORIES, "megabytes": max_bytes // MEGABYTE, "line": line}
        self.told = {locale: why[locale].format(**filled) for locale in Locale}
        super().__init__(self.told[Locale.EN])


@dataclass(frozen=True, slots=True)
class Intake:
    """The memories of a file, each once; `refused` counts the entries that cannot be saved.

    `besides` are entries of features, by the names of their sections, if the file is an export; `unread` counts
    those that cannot be saved. `of_talk`: the file holds conversations, of which only what was noted is taken.
    `files` counts those that were kept of an archive, `unkept` the things without theirs.
    """

    taken: tuple[Taken, ...]
    refused: int = 0
    besides: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    unread: dict[str, int] = field(default_factory=dict)
    of_talk: bool = False
    files: int = 0
    unkept: int = 0


def read(
    file: BinaryIO,
    accounts: Collection[UserKey],
    sections: Sequence[Section] = (),
    *,
    name: str = "",
    max_bytes: int = MAX_BYTES,
) -> Intake:
    """Return what is in a file of at most `max_bytes`, for the person with those accounts.

    The name says whether a text is Markdown (.md) or CSV (.csv), and that what is no JSON was meant to be (.json).

    Raises:
        Refused: nothing of it can be imported.
    """
    name, most_inside = name.casefold(), max(max_bytes, MAX_UNPACKED_BYTES)
    try:
        if is_archive(file):
            found = [
                _of_json(_json(_decoded(each, most_inside)), accounts, sections) for each in unpacked(file, most_inside)
            ]
            return _joined(found)
        if len(raw := file.read(max_bytes + 1)) > max_bytes:
            raise Refused(TOO_LARGE, max_bytes=max_bytes)
        content = _decoded(raw, max_bytes)
        if name.endswith(".csv"):
            return _each(from_csv(content), savable)
    except TooMuchInside as error:
        raise Refused(TOO_MUCH_INSIDE, max_bytes=most_inside) from error
    except RecursionError as error:
        raise Refused(TOO_DEEP) from error
    except ValueError as error:
        raise Refused(BAD_FILE) from error
    return _of_text(content, accounts, sections, name)


def is_archive(file: BinaryIO) -> bool:
    """Return whether a file begins as a ZIP archive does; it is read from its beginning after that."""
    start = file.read(len(ARCHIVE))
    file.seek(0)
    return start == ARCHIVE


def _of_text(content: str, accounts: Collection[UserKey], sections: Sequence[Section], name: str) -> Intake:
    """Return what is in a text that may be JSON."""
    is_named_json = name.endswith((".json", ".jsonl"))
    try:
        document = _json(content)
        if isinstance(document, dict | list) or is_named_json:
            return _of_json(document, accounts, sections)
    except RecursionError as error:
        raise Refused(TOO_DEEP) from error
    except ValueError as error:
        if is_named_json or _LIKE_JSON.match(content):
            raise Refused(BAD_FILE) from error
    if content.lstrip().startswith("<"):  # HTML, XML
        raise Refused(BAD_FILE)
    return _each(from_text(content, is_markdown=name.endswith(_MARKDOWN)), savable)


def _json(content: str) -> Any:
    """Return the one JSON document, or the list of documents of a file with one a line.

    Raises:
        ValueError: it is no JSON.
        Refused: a line of it is none, or it is nested too deeply.
    """
    try:
        document = json.loads(content)
    except ValueError:
        lines = [(number, line) for number, line in enumerate(content.split("\n"), 1) if line.strip()]
        if len(lines) < 2 or not lines[0][1].rstrip().endswith(("}", '"')):  # noqa: PLR2004  (it was meant as one)
            raise
        document = [_line(number, line) for number, line in lines]
    if _is_too_deep(document):
        raise Refused(TOO_DEEP)
    return document


def _line(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise Refused(BAD_LINE, line=number) from error


def _decoded(raw: bytes, max_bytes: int) -> str:
    """Return the text in UTF-8, its lines ended by newlines; it may begin only so many lists and objects of JSON."""
    if raw.count(b"[") + raw.count(b"{") > max_bytes // _BYTES_A_CONTAINER:
        raise Refused(TOO_MANY)
    try:
        decoded = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(NOT_TEXT) from error
    if "\0" in decoded:  # UTF-16 without a mark, or no text at all
        raise Refused(NOT_TEXT)
    return decoded.replace("\r\n", "\n").replace("\r", "\n")


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


def _of_json(document: Any, accounts: Collection[UserKey], sections: Sequence[Section]) -> Intake:
    if (noted := from_document(document)) is not None:
        return replace(_each(noted, savable), of_talk=is_talk(document))
    entries, own = document, False
    lists: dict[str, list[Any]] = {}
    if isinstance(document, dict):
        if document.get("format") == FORMAT:
            if not isinstance(document.get("version"), int) or document["version"] > VERSION:
                raise Refused(TOO_NEW)
            own = document.get("user") in [str(account) for account in accounts]  # it may be of any type
            lists = {each.name: found for each in sections if isinstance(found := document.get(each.name), list)}
        entries = next((document[key] for key in _LISTS if isinstance(document.get(key), list)), None)
    if not isinstance(entries, list):
        raise Refused(BAD_FILE)
    intake = _each(entries, lambda entry: to_memory(entry, own=own), sum(map(len, lists.values())))
    found = {each.name: each.read(lists[each.name]) for each in sections if each.name in lists}
    besides = {
        name: [entry if own else {**entry, "user": ""} for entry in entries] for name, (entries, _) in found.items()
    }
    unread = {name: others for name, (_, others) in found.items()}
    return replace(intake, besides=besides, unread=unread)


def _joined(parts: Sequence[Intake]) -> Intake:
    """Return what the files of an archive hold in all: one of ours has one."""
    if not parts:
        raise Refused(NOTHING_KNOWN)
    if len(parts) == 1:
        return parts[0]
    taken = distinct(each for part in parts for each in part.taken)
    if len(taken) > MAX_MEMORIES:
        raise Refused(TOO_MANY)
    return Intake(taken, sum(part.refused for part in parts), of_talk=any(part.of_talk for part in parts))


def _each(entries: Iterable[Any], taken_of: Callable[[Any], Taken | None], besides: int = 0) -> Intake:
    """Return the memories of the entries, each once, unless with those `besides` there are more than MAX_MEMORIES."""
    found = [taken_of(entry) for entry in islice(entries, MAX_MEMORIES + 1)]
    if len(found) + besides > MAX_MEMORIES:
        raise Refused(TOO_MANY)
    taken = [each for each in found if each is not None]
    return Intake(distinct(taken), len(found) - len(taken))
