"""Split a text into messages, also while it grows.

The sources of the parts, joined, are the text, character for character. A part is shown without blank lines before it
and white space after it. A cut inside a fenced code block closes the block at the end of the part and opens it again,
with its language, in the next; a table goes on there under its head. No shown part measures more than the limit, unless
a single code point does. A heading at the end of a part moves to the next one, if anything is left before it.

The best cut is after a paragraph, a line, a sentence (in the second half of what fits, else after its first eighth), a
word, or else between two characters; not within a code block or a table that could begin in the next part, nor within a
time (`core.text.markdown.TIME_LINK`). The time is linear in the text if that of the measure is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from core.text.markdown import TIME_LINK, Block, open_block

Measure: TypeAlias = Callable[[str], int]
"""The size of a text as it will be shown, which may differ from its length and need not grow evenly."""

_MOST_SOURCE = 2
"""The longest source of a part, in limits: a text that is shown much shorter is not measured whole for each part."""

_MAX_LINK_CHARS = 160
"""More than a time in a text takes."""

_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)+")
_GAP = re.compile(r"(?:[^\S\n]*\n)+|[^\S\n]+")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+\S.*|\*\*[^*\n]+\*\*:?")
_SENTENCE = re.compile("[.!?…][\"'”’»)\\]*_]*(?=\\s)|[。！？]")


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the text as it came (`source`) and as it is shown (`text`, which may be empty)."""

    source: str
    text: str


class Splitter:
    """Split a growing text. Parts that `feed` returned never change; `open` is the rest.

    `max_chars` (>= 1) is in units of `measure`.
    """

    def __init__(self, max_chars: int, measure: Measure) -> None:
        self._max_chars = max_chars
        self._measure = measure
        self._text = ""
        self._start = 0  # one character before it is left of a closed part: it tells whether a line begins here
        self._block: Block | None = None
        self._closed = max_chars  # length of the last closed part, a guess for the next

    @property
    def open(self) -> Part:
        """The last part, which may still grow."""
        return Part(self._text[self._start :], self._shown(len(self._text), None))

    @property
    def closing(self) -> str:
        """What closes the code block that is open at the end of the text, or ""."""
        block = open_block(self._text, self._start, len(self._text), self._block)
        closing = block.closing if block else ""
        return closing.removeprefix("\n") if self._text.endswith("\n") else closing

    def feed(self, more: str) -> list[Part]:
        """Add text; return the parts that are complete now."""
        self._text += more
        closed = []
        while (end := self._end()) < len(self._text):
            block = open_block(self._text, self._start, end, self._block)
            closed.append(Part(self._text[self._start : end], self._shown(end, block)))
            self._closed = end - self._start
            self._start, self._block = end, block
        if closed:
            self._text, self._start = self._text[self._start - 1 :], 1
        return closed

    def _shown(self, end: int, block: Block | None) -> str:
        """Return the shown form of the part that ends at `end` with `block` open there."""
        blank = _BLANK_LINES.match(self._text, self._start, end)
        body = self._text[blank.end() if blank else self._start : end].rstrip()
        if not body:
            return ""
        opening = self._block.opening if self._block and self._affords(self._block) else ""
        return opening + body + (block.closing if block and self._affords(block) else "")

    def _affords(self, block: Block) -> bool:
        return len(block.opening) + len(block.closing) <= self._max_chars // 2

    def _size(self, end: int) -> int:
        """Return the size of the part if it ended at `end`."""
        block = open_block(self._text, self._start, end, self._block) if end < len(self._text) else None
        return self._measure(self._shown(end, block))

    def _end(self) -> int:
        """Return the end of the part that begins at `_start`: the end of the text if all of it fits."""
        reach = self._reach()
        if reach == len(self._text):
            return reach
        while True:
            cut = self._before_headings(self._outside_time(self._cut(reach), reach))
            if cut <= self._start + 1 or self._size(cut) <= self._max_chars:
                break
            reach = cut - max(1, (cut - self._start) // 8)
        gap = _GAP.match(self._text, cut)
        return gap.end() if gap else cut

    def _reach(self) -> int:
        """Return about the largest end that fits, assuming that the size grows with the text, which it mostly does."""
        fits, fits_size = self._start, 0
        over, over_size, step = 0, 0, min(self._max_chars, 2 * self._closed)
        most = min(self._start + self._max_chars * _MOST_SOURCE, len(self._text))
        while not over:
            guess = min(self._start + step, most)
            size = self._size(guess)
            if size > self._max_chars:
                over, over_size = guess, size
            elif guess == most:
                return guess
            else:
                fits, fits_size, step = guess, size, step * 2
        by_halves = False
        while over - fits > 1:  # alternately by proportion, which is nearly right at once, and by halves, which is safe
            share = 0.5 if by_halves else (self._max_chars - fits_size) / (over_size - fits_size)
            guess = min(over - 1, max(fits + 1, fits + int((over - fits) * share)))
            size = self._size(guess)
            if size > self._max_chars:
                over, over_size = guess, size
            else:
                fits, fits_size = guess, size
            by_halves = not by_halves
        return max(fits, self._start + 1)

    def _cut(self, reach: int) -> int:
        """Return the best place for a cut in `_start + 1 .. reach`."""
        for share in (2, 8):
            low = self._start + 1 + (reach - self._start) // share
            for find in (self._paragraph, self._line, self._sentence):
                cut = find(low, reach)
                if cut >= low:
                    block = open_block(self._text, self._start, cut, self._block)
                    return block.at if block and block is not self._block and block.at >= low else cut
        word = self._word(reach)
        return word if word > self._start else whole_before(self._text, reach, self._start)

    def _outside_time(self, cut: int, reach: int) -> int:
        """Return the cut, or the beginning of the time that it would break, or its end if the part begins with it."""
        begins = self._text.rfind("[", max(self._start, cut - _MAX_LINK_CHARS), cut)
        found = TIME_LINK.match(self._text, begins) if begins >= 0 else None
        if found is None or found.end() <= cut:
            return cut
        return begins if begins > self._start else min(found.end(), reach)

    def _before_headings(self, cut: int) -> int:
        """Return the cut, or the end of what stands before the headings with which the part would end.

        Headings that take more than a quarter of the part stay.
        """
        least, before = self._start + (cut - self._start) * 3 // 4, cut
        while True:
            end = self._start + len(self._text[self._start : before].rstrip())
            begins = max(self._text.rfind("\n", self._start, end) + 1, self._start)
            if not _HEADING.fullmatch(self._text, begins, end):
                return before
            before = self._start + len(self._text[self._start : begins].rstrip())
            if before < least or open_block(self._text, self._start, begins, self._block) is not None:
                return cut

    def _paragraph(self, low: int, high: int) -> int:
        return self._text.rfind("\n\n", low, high + 2)

    def _line(self, low: int, high: int) -> int:
        return self._text.rfind("\n", low, high + 1)

    def _sentence(self, low: int, high: int) -> int:
        ends = (match.end() for match in _SENTENCE.finditer(self._text, low - 1, high + 1))
        return max((end for end in ends if end <= high), default=-1)

    def _word(self, high: int) -> int:
        """Return the last index after `_start` and a visible character at which white space stands, or -1."""
        for index in range(high, self._start, -1):
            if self._text[index].isspace() and not self._text[index - 1].isspace():
                return index
        return -1


def split(text: str, max_chars: int, measure: Measure = len) -> list[Part]:
    """Return the parts of a whole text; none for the empty text."""
    splitter = Splitter(max_chars, measure)
    parts = splitter.feed(text)
    return [*parts, splitter.open] if splitter.open.source else parts


# --- visible characters: UAX #29, approximated with the standard library ---

_JOINER = "\u200d"
_MAX_CLUSTER = 64
"""Code points. Longer piles of marks are no real character; cutting them bounds the search."""


def whole_before(text: str, end: int, start: int) -> int:
    """Return the last index in `start + 1 .. end` that splits no character, or `end` if none is near.

    `end` is before the end of the text.
    """
    for index in range(end, max(start, end - _MAX_CLUSTER), -1):
        if not _joined(text, index, start):
            return index
    return end


def _joined(text: str, index: int, start: int) -> bool:
    """Return whether the code points on both sides of `index` belong to one visible character."""
    before, after = text[index - 1], text[index]
    if _extends(after) or (before == _JOINER and index - 1 > start):
        return True
    if _is_flag_half(before) and _is_flag_half(after):
        return _flag_halves(text, index, start) % 2 == 1
    return (before == "\r" and after == "\n") or ("\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff")


def _extends(char: str) -> bool:
    return (
        char == _JOINER
        or "\U0001f3fb" <= char <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= char <= "\U000e007f"  # tags of subdivision flags
        or "\u1160" <= char <= "\u11ff"  # Hangul vowels and finals
        or unicodedata.category(char) in {"Mn", "Mc", "Me"}
    )


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flag_halves(text: str, index: int, start: int) -> int:
    """Return the number of regional indicators in a row right before `index`."""
    count = 0
    while index - count > start and count <= _MAX_CLUSTER and _is_flag_half(text[index - count - 1]):
        count += 1
    return count
