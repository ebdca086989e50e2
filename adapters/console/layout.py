"""Text as rows of a terminal: styled, and wrapped to a width. Knows no cursor and no message."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from prompt_toolkit.utils import get_cwidth

from adapters.console.text import printable

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
    """One row of the screen: what is written to the terminal, and how many columns of it that takes."""

    text: str
    columns: int


@dataclass(frozen=True, slots=True)
class _Cell:
    """A code point with its style and columns (0 for a combining mark)."""

    char: str
    style: Style
    columns: int


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


def layout(text: str, columns: int, *, style: Style = Style.PLAIN, colour: bool = True) -> list[Row]:
    """Return the rows of a Markdown text, none wider than `columns` (>= 2): bold and code are drawn, the rest is shown.

    Without `colour` there is no styling and every mark stays.
    """
    rows: list[Row] = []
    in_code = False
    for line in printable(text).split("\n"):
        fence = _FENCE.match(line) is not None
        if not colour:
            spans = [(Style.PLAIN, line)]
        elif style is not Style.PLAIN or fence or in_code:
            spans = [(Style.DIM if fence else Style.CODE if in_code else style, line)]
        else:
            spans = _spans(line)
        in_code ^= fence
        cells = [_Cell(char, look, get_cwidth(char)) for look, piece in spans for char in piece]
        rows += [_row(wrapped) for wrapped in _wrap(cells, columns)]
    return rows


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
        while row and used + cell.columns > columns:
            kept, row = (row[:word_at], row[word_at:]) if word_at else (row, [])
            rows.append(kept)
            used, word_at = sum(each.columns for each in row), 0
            if cell.char == " " and not row:
                break
        else:
            row.append(cell)
            used += cell.columns
            if cell.char == " " and any(each.char != " " for each in row):
                word_at = len(row)
    return [*rows, row]


def _row(cells: list[_Cell]) -> Row:
    while cells and cells[-1].char == " ":
        cells = cells[:-1]
    text, look = "", Style.PLAIN
    for cell in cells:
        if cell.style is not look:
            text += ("\x1b[0m" if look else "") + (f"\x1b[{cell.style.value}m" if cell.style else "")
            look = cell.style
        text += cell.char
    return Row(text + ("\x1b[0m" if look else ""), sum(cell.columns for cell in cells))
