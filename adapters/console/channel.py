"""The terminal to write into: the last message grows and changes in place, what stands above it stays."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from pathlib import Path
from typing import BinaryIO, TypeAlias

from adapters.console.output import Buttons, Output, clusters, memory_line, printable
from adapters.console.person import copy_file, handed_over
from core.outgoing import ChannelLimits, OutgoingMessage
from core.ports import Channel
from core.text.markdown import without_tables
from core.types import Modal

_MARKS = re.compile(r"\*\*(?=\S)(?P<bold>[^*]+?)(?<=\S)\*\*|`(?P<code>[^`]+)`")
_FENCE = re.compile(r" {0,3}(```|~~~)")


class Style(StrEnum):
    """How a text looks: the parameter of the terminal's SGR sequence ("" for none)."""

    PLAIN = ""
    BOLD = "1"
    DIM = "2"
    CODE = "36"


@dataclass(frozen=True, slots=True)
class ScreenRow:
    """One row of the screen: what is written to the terminal, and how many columns it takes."""

    text: str
    columns: int


_Cell: TypeAlias = tuple[str, Style, int]
"""What is drawn as one (`clusters`), with its style and its columns."""


class Layout:
    """Lays out one Markdown text while it grows; lines that did not change are not laid out again.

    No row is wider than `columns` (>= 2). Bold and code are styled, everything else is shown as it is; without `colour`
    nothing is styled and every mark stays.
    """

    def __init__(self, columns: int, *, style: Style = Style.PLAIN, colour: bool = True) -> None:
        self.columns = columns
        self._style = style
        self._colour = colour
        self._known: dict[tuple[str, bool], list[ScreenRow]] = {}

    def rows(self, text: str) -> list[ScreenRow]:
        """Return the rows of the text, at least one."""
        rows: list[ScreenRow] = []
        in_code = False
        for line in printable(text).split("\n"):
            if (line, in_code) not in self._known:
                self._known[line, in_code] = self._line(line, in_code=in_code)
            rows += self._known[line, in_code]
            in_code ^= _FENCE.match(line) is not None
        return rows

    def _line(self, line: str, *, in_code: bool) -> list[ScreenRow]:
        fence = _FENCE.match(line) is not None
        if not self._colour:
            spans = [(Style.PLAIN, line)]
        elif self._style is not Style.PLAIN or fence or in_code:
            spans = [(Style.DIM if fence else Style.CODE if in_code else self._style, line)]
        else:
            spans = _spans(line)
        cells = [(cluster, look, wide) for look, piece in spans for cluster, wide in clusters(piece)]
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


def _row(cells: list[_Cell]) -> ScreenRow:
    end = len(cells)
    while end and cells[end - 1][0] == " ":
        end -= 1
    text, look = "", Style.PLAIN
    for char, style, _ in cells[:end]:
        if style is not look:
            text += ("\x1b[0m" if look else "") + (f"\x1b[{style.value}m" if style else "")
            look = style
        text += char
    return ScreenRow(text + ("\x1b[0m" if look else ""), sum(wide for _, _, wide in cells[:end]))


_LIMITS = ChannelLimits(max_chars=16_000, edit_interval_s=0.04, shows_pictures=False)

Above = Callable[[Callable[[], None]], Awaitable[None]]
"""Runs a function that prints, with the prompt taken off the screen and put back below what was printed."""


class ConsoleChannel(Channel):
    """One terminal.

    The cursor stays behind the last message, which is redrawn from its first changed row on, until `settle` ends it.
    While the person is typing (`printing_above`), whole messages are printed above the prompt, but none that would be
    replaced or still grow. Files for the person are written into the folder `exports`.
    """

    limits = _LIMITS

    def __init__(self, output: Output, *, colour: bool, exports: Path = Path()) -> None:
        self.buttons = Buttons()
        self.keeps_words = True
        self._exports = exports
        self._output = output
        self._colour = colour
        self._posts = 0
        self._last = ""  # the handle of the last message
        self._drawn: list[
            ScreenRow
        ] = []  # the last message, as it is on the screen; empty if the cursor is on a line of its own
        self._grows = False  # the last message may still change
        self._page: Layout | None = None  # of the last message, while its text grows
        self._above: Above | None = None

    def keep_nothing(self) -> None:
        """Let the line that is answered be in no history."""
        self.keeps_words = False

    def measure(self, text: str) -> int:
        """Return the length in code points: a terminal has no limit of its own."""
        return len(text)

    async def post(self, shown: OutgoingMessage) -> str:
        """Write a message below the last one; of a file, its path."""
        self._posts += 1
        if shown.files:
            shown = await handed_over(shown, self._exports)
        handle = str(self._posts)
        if self._above is not None:
            await self._print_above(shown)
        else:
            self.settle()
            self._last, self._page, self._grows = handle, None, not shown.stays
            self._draw(self._rows(shown))
        return handle

    async def interject(self, shown: OutgoingMessage) -> str:
        """Write a whole message that answers nothing: above one that still grows, which goes on below it."""
        if self._above is not None or not self._drawn or not self._grows or shown.files:
            return await self.post(shown)
        self._posts += 1
        growing, page = self._drawn, self._page
        gone = max(0, len(growing) - self._output.size.lines)  # rows that scrolled away are out of reach
        self._draw([*growing[:gone], *self._rows(shown), *growing[gone:]])
        self._drawn, self._page = growing, page
        return str(self._posts)

    async def edit(self, handle: str, shown: OutgoingMessage) -> None:
        """Replace the last message in place; any other is written anew."""
        if self._above is not None:
            await self._print_above(shown)
            return
        if handle != self._last:
            self.settle()
            self._last, self._page = handle, None
        self._grows = not shown.stays
        self._draw(self._rows(shown))

    async def fetch(self, handle: str, max_bytes: int, into: BinaryIO) -> None:
        """Copy a file that was sent."""
        await asyncio.to_thread(copy_file, handle, max_bytes, into)

    @contextmanager
    def printing_above(self, above: Above) -> Iterator[None]:
        """Print messages above the prompt meanwhile."""
        self._above = above
        try:
            yield
        finally:
            self._above = None

    def say(self, text: str) -> None:
        """Write a line of the program's own, dimmed."""
        self.settle()
        self._draw(Layout(self._columns, style=Style.DIM, colour=self._colour).rows(text))
        self.settle()

    def settle(self) -> None:
        """End the last message; what comes next begins on a line of its own."""
        if self._drawn:
            self._output.write("\n")
            self._drawn = []

    def end(self) -> None:
        """Write an empty line after the last message."""
        self.settle()
        self._output.write("\n")

    async def _print_above(self, shown: OutgoingMessage) -> None:
        if self._above is None or not shown.final or shown.modal is Modal.TEXT_FOR_REPLACE:
            return
        text = "".join(f"{row.text}\n" for row in self._rows(shown))
        await self._above(lambda: self._output.write(text))

    @property
    def _columns(self) -> int:
        """The width of a row; the last column stays free, as terminals disagree on what a full row does."""
        return self._output.size.columns - 1

    def _rows(self, shown: OutgoingMessage) -> list[ScreenRow]:
        columns = self._columns
        dim = Layout(columns, style=Style.DIM, colour=self._colour)
        memories = "\n".join(memory_line(item, columns) for item in shown.memories)
        if shown.modal is not Modal.TEXT:
            return dim.rows(memories or shown.words)
        if self._page is None or self._page.columns != columns:
            self._page = Layout(columns, colour=self._colour)
        below = filter(None, [memories, shown.folded, self.buttons.line(shown)])
        words = without_tables(shown.words, columns, fenced=False, grows=not shown.final)
        return self._page.rows(words) + [row for text in below for row in dim.rows(text)]

    def _draw(self, rows: list[ScreenRow]) -> None:
        """Redraw the last message as those rows, touching no row that stays the same."""
        size = self._output.size
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(self._drawn, rows, strict=False)))
        if same == len(self._drawn) == len(rows):
            return
        if same and same == len(self._drawn):  # only longer
            self._output.write("".join(f"\n{row.text}" for row in rows[same:]))
        else:
            same = min(same, len(rows) - 1)  # the cursor ends behind the last row, so that one is always written
            # A window made narrower has wrapped the rows again, each to as many as it now takes.
            back = sum(-(-max(row.columns, 1) // size.columns) for row in self._drawn[same:])
            reachable = min(back, size.lines)
            keep = same + max(0, len(self._drawn) - same - reachable)  # rows that scrolled away are out of reach
            up = f"\x1b[{reachable - 1}A" if reachable > 1 else ""
            self._output.write(f"\r{up}\x1b[J" + "\n".join(row.text for row in rows[keep:]))
        self._drawn = rows


class Notices(Channel):
    """The terminal for what answers nothing, also while an answer is being written."""

    def __init__(self, screen: ConsoleChannel) -> None:
        self._screen = screen

    @property
    def limits(self) -> ChannelLimits:
        """Those of the terminal."""
        return self._screen.limits

    def measure(self, text: str) -> int:
        """Return the length in code points."""
        return self._screen.measure(text)

    async def post(self, shown: OutgoingMessage) -> str:
        """Write a message."""
        return await self._screen.interject(shown)

    async def edit(self, handle: str, shown: OutgoingMessage) -> None:
        """Write the message anew."""
        await self._screen.edit(handle, shown)
