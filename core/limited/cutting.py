"""Cut a message into sentences, and a sentence into wishes: "my locker is 9902 now and what time is it?" has two.

A sentence is cut only where a new wish surely begins behind a comma or an "and", and where what stands before it is a
wish, or a statement, of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from core.limited import frames
from core.limited.values import values
from core.text.senses import is_kind, senses
from core.text.subject import asked_words
from core.text.unicode import flat

_BREAK: Final = re.compile(
    r"(?<=[.!?…])[\"”')]*\s+|(?<!\s)\s*\n\s*|"
    r",?\s(?:e|and|y)\s(?=(?:(?:guard|anot|salv|lembr)[ae] que|(?:remember|save|note) that|(?:recuerda|apunta) que|"
    r"me lembr[ae] (?:\S+ ){0,4}d[eoa]s?|remind me (?:\S+ ){0,4}to|recu[eé]rdame)\b)",
    re.IGNORECASE,
)
"""Where a sentence ends, and where another wish begins: "remind me to call Ana and remember that …"."""

_ABBREVIATION: Final = re.compile(
    r"(?:^|[\s(])(?:dra?|sra?|srta|profa?|mrs?|ms|st|av|al|tel|cel|nro|num|apto?|ap|etc|ex|e\.g|i\.e|obs|pq|vs|p|c|w|"
    r"[ap]\.m|no|ref|dept?o?|exma?|exmo|sto|sta)\.$|^\d{1,2}\.$"
)
_ABBREVIATION_CHARS: Final = 16
_SEAM: Final = re.compile(
    r"\s*[,;]\s*(?P<and>(?:e|and|y|but|mas|pero|plus)\s+)?|\s+(?P<joint>(?:e|and|y|&|but|mas|pero|plus|also)\s+)",
    re.IGNORECASE,
)
_MAX_SEAMS: Final = 24
_FEW_WORDS: Final = 3
"""With so many words at least, what stands before a wish may be a statement: "hey mate, …" is none."""


class _Wish(Enum):
    ASK = auto()
    SURE_ASK = auto()
    """A question that can be no part of a clause, as in "I know where she lives and what she does"."""
    KEEP = auto()
    REMIND = auto()
    """It asks to be reminded of something, which may be to throw something away."""
    CHANGE = auto()
    REMOVE = auto()


@dataclass(frozen=True, slots=True)
class Cut:
    """A slice of a message that is one wish.

    `joins`: it may belong to the one before, which asks to keep something, or to be reminded of it.
    """

    start: int
    end: int
    joins: bool = False


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each sentence or line of a text stands."""
    start = 0
    for match in _BREAK.finditer(text):
        begun = flat(text[max(start, match.start() - _ABBREVIATION_CHARS) : match.start()])
        if "\n" not in match[0] and _ABBREVIATION.search(begun):
            continue
        if text[start : match.start()].strip():
            yield start, match.start()
        start = match.end()
    if text[start:].strip():
        yield start, len(text.rstrip())


def wishes(message: str, begin: int, end: int) -> Iterator[Cut]:
    """Yield where each wish of the sentence that stands there does, in order."""
    text, start, joins = message[begin : min(end, begin + frames.HEAD_CHARS)], 0, False
    for _, seam in zip(range(_MAX_SEAMS), _SEAM.finditer(text), strict=False):
        left, right = text[start : seam.start()], text[seam.end() :]
        has_and = bool(seam["and"] or seam["joint"])
        if _are_two(left, right, has_and=has_and):
            yield Cut(begin + start, begin + seam.start(), joins)
            start, joins = seam.end(), _wish(left) in {_Wish.KEEP, _Wish.REMIND}
    yield Cut(begin + start, end, joins)


def _are_two(left: str, right: str, *, has_and: bool) -> bool:
    """Return whether what stands before an "and" or a comma is a wish or a statement, and behind it another wish."""
    before, after = _wish(left), _wish(right)
    is_one = frames.has("if", left) or (not has_and and frames.has("while", left))
    is_one |= before is _Wish.REMIND and after is not _Wish.REMOVE  # which may be to do more
    if is_one or not any(map(str.isalnum, left)):
        return False
    is_told = before is None and bool(frames.told_of(left))
    is_stated = before is None and len(left.split()) >= _FEW_WORDS and not frames.talk(left)
    match after:
        case _Wish.SURE_ASK:
            return before not in {None, _Wish.KEEP} or is_stated or (before is _Wish.KEEP and _is_clause(left))
        case _Wish.ASK:
            return before in {_Wish.ASK, _Wish.SURE_ASK} or (is_told and gives_value(left))
        case _Wish.REMOVE:
            return before not in {None, _Wish.KEEP} or _has_value(left) or (before is _Wish.KEEP and _is_clause(left))
        case _Wish.KEEP | _Wish.CHANGE:
            return before is not _Wish.KEEP and (before is not None or is_stated)
        case _:
            return has_and and before in {_Wish.ASK, _Wish.SURE_ASK} and gives_value(right)


def _wish(text: str) -> _Wish | None:
    """Return what a slice begins by wishing; None for a statement."""
    if frames.kept_from(text) is not None:
        return _Wish.KEEP
    if frames.begins_change(text):
        return _Wish.CHANGE
    for frame, wish in (("reminds", _Wish.REMIND), ("remove", _Wish.REMOVE)):
        if frames.begins(frame, text):
            return wish
    if frames.has("list", text) or (frames.asks_clock(text) and len(text[frames.opened(text) :].split()) >= _FEW_WORDS):
        return _Wish.SURE_ASK  # "and what time" goes with what is before it
    is_sure = frames.begins("within", text)
    if not (is_sure or frames.has("asks", text)) or not any(word.names for word in asked_words(text)):
        return None  # "and when is it?" goes with what is before it
    return _Wish.SURE_ASK if is_sure or text.endswith("?") or frames.begins("tells", text) else _Wish.ASK


def _is_clause(text: str) -> bool:
    """Return whether a wish to keep is followed by what is to be kept, and no list or recipe: "save this: …"."""
    start = frames.kept_from(text)
    return start is not None and ":" not in text and len(text[start:].split()) > 1


def _has_value(text: str) -> bool:
    """Return whether a statement has a value of a kind: "new boiler code E133"."""
    return gives_value(text) or (bool(values(text)) and any(map(is_kind, senses(text))))


def gives_value(text: str) -> bool:
    """Return whether a text says what a code, a name, an address is: "the wifi password is tulip"."""
    told = frames.told_of(text)
    return bool(told) and any(is_kind(each) for each in senses(told))
