"""Text as rows of a terminal: styled, and wrapped to a width."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from prompt_toolkit.utils import get_cwidth

from adapters.console.output import printable

_MARKS = re.compile(r"\*\*(?=\S)(?P<bold>[^*]+?)(?<=\S)\*\*|`(?P<code>[^`]+)`")
_FENCE = re.compile(r" {0,3}(```|~~~)")


class Style(StrEnum):
    """How a text looks: the parameter of the terminal's SGR sequence ("" for none)."""

    PLAIN = ""
    BOLD = "1"
    DIM = "2"
    CODE = "36"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the screen: what is written to the terminal, and how many columns it takes."""

    text: str
    columns: int


_Cell: TypeAlias = tuple[str, Style, int]
"""A code point with its style and its columns (0 for a combining mark)."""


def cut(text: str, columns: int) -> str:
    """Return the text on at most that many columns, an ellipsis at its end where it was cut."""
    if get_cwidth(text) <= columns:
        return text
    kept, used = [], 1  # the ellipsis
    for char in text:
        used += get_cwidth(char)
        if used > columns:
            break
        kept.append(char)
    return "".join(kept).rstrip() + "…"


class Page:
    """Lays out one Markdown text while it grows; lines that did not change are not laid out again.

    No row is wider than `columns` (>= 2). Bold and code are styled, everything else is shown as it is; without `colour`
    nothing is styled and every mark stays.
    """

    def __init__(self, columns: int, *, style: Style = Style.PLAIN, colour: bool = True) -> None:
        self.columns = columns
        self._style = style
        self._colour = colour
        self._known: dict[tuple[str, bool], list[Row]] = {}

    def rows(self, text: str) -> list[Row]:
        """Return the rows of the text, at least one."""
        rows: list[Row] = []
        in_code = False
        for line in printable(text).split("\n"):
            if (line, in_code) not in self._known:
                self._known[line, in_code] = self._line(line, in_code=in_code)
            rows += self._known[line, in_code]
            in_code ^= _FENCE.match(line) is not None
        return rows

    def _line(self, line: str, *, in_code: bool) -> list[Row]:
        fence = _FENCE.match(line) is not None
        if not self._colour:
            spans = [(Style.PLAIN, line)]
        elif self._style is not Style.PLAIN or fence or in_code:
            spans = [(Style.DIM if fence else Style.CODE if in_code else self._style, line)]
        else:
            spans = _spans(line)
        cells = [(char, look, get_cwidth(char)) for look, piece in spans for char in piece]
        return [_row(wrapped) for wrapped in _wrap(cells, self.columns)]


def _spans(line: str) -> list[tuple[Style, str]]:
    spans, at = [], 0
    for mark in _MARKS.finditer(line):
        look = Style.BOLD if mark["bold"] else Style.CODE
        spans += [(Style.PLAIN, line[at : mark.start()]), (look, mark["bold"] or mark["code"])]
        at = mark.end()
    return [*spans, (Style.PLAIN, line[at:])]


def _wrap(cells: list[_Cell], columns: int) -> list[list[_Cell]]:
    """Break between words; a word wider than a row is broken anywhere. A space at a break is not shown."""
    rows: list[list[_Cell]] = []
    row: list[_Cell] = []
    used = word_at = 0  # `word_at`: where in the row the last word begins, 0 if it is the first
    for cell in cells:
        char, _, wide = cell
        while row and used + wide > columns:
            kept, row = (row[:word_at], row[word_at:]) if word_at and char != " " else (row, [])
            rows.append(kept)
            used, word_at = sum(each[2] for each in row), 0
            if char == " ":
                break
        else:
            row.append(cell)
            used += wide
            if char == " " and any(each[0] != " " for each in row):
                word_at = len(row)
    return [*rows, row] if row or not rows else rows


def _row(cells: list[_Cell]) -> Row:
    end = len(cells)
    while end and cells[end - 1][0] == " ":
        end -= 1
    text, look = "", Style.PLAIN
    for char, style, _ in cells[:end]:
        if style is not look:
            text += ("\x1b[0m" if look else "") + (f"\x1b[{style.value}m" if style else "")
            look = style
        text += char
    return Row(text + ("\x1b[0m" if look else ""), sum(wide for _, _, wide in cells[:end]))
