"""Find where the clauses of a message stand, to try readings on: its sentences, and what commas and an "and" join.

Nothing is known of what a clause tells: any run of them may be a wish. A memory, of which one clause changes and the
others have to read on, is cut by what its clauses tell (`core.limited.clauses`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

_END: Final = re.compile(r"(?<=[.!?…;])\s+|\s*\n\s*")
_JOINT: Final = re.compile(r"\s*[,;]\s*(?:(?:e|and|y)\s+)?|\s+(?:e|and|y)\s+", re.IGNORECASE)
_LEAD: Final = re.compile(r"^(?:e|and|y|but|mas|pero)\s+", re.IGNORECASE)
_TAIL: Final = re.compile(r"\s(?:e|and|y)$", re.IGNORECASE)
_MAX_PIECES: Final = 10


def clauses(text: str) -> Iterator[tuple[int, int]]:
    """Yield where runs of clauses stand, the longer ones first: the whole text, its sentences, and parts of each."""
    yield 0, len(text)
    found = sentences(text)
    if len(found) > 1:
        yield from found
    for begin, end in found:
        pieces = _spans(_JOINT, text, begin, end)[:_MAX_PIECES]
        for length in range(len(pieces) - 1, 0, -1):
            yield from ((pieces[at][0], pieces[at + length - 1][1]) for at in range(len(pieces) - length + 1))


def sentences(text: str) -> Sequence[tuple[int, int]]:
    """Return where the sentences of a text stand."""
    return _spans(_END, text, 0, len(text))


def parts(text: str) -> Sequence[tuple[int, int]]:
    """Return where the smallest clauses of a text stand."""
    return [piece for begin, end in sentences(text) for piece in _spans(_JOINT, text, begin, end)]


def without(text: str, begin: int, end: int) -> str:
    """Return the text without a clause, nor the words that joined it to the rest."""
    before, after = text[:begin].rstrip(" \t\n,;"), text[end:].lstrip(" \t\n,;.!?")
    before, after = _TAIL.sub("", before), _LEAD.sub("", after, count=1)
    if not (before and after):
        return before or after
    return f"{before}{' ' if before[-1] in '.!?…' else '. '}{after}"


def _spans(cut: re.Pattern[str], text: str, begin: int, end: int) -> list[tuple[int, int]]:
    """Return where the pieces between two places stand that the pattern cuts."""
    ends = [(begin, begin), *(found.span() for found in cut.finditer(text, begin, end)), (end, end)]
    return [(left[1], right[0]) for left, right in pairwise(ends) if text[left[1] : right[0]].strip()]
