"""Blocks of Markdown that a cut must not leave open: fenced code, and tables, whose head is written again.

Code: CommonMark 0.31, section 4.5 (a block is closed by the same character, at least as often). Tables: GitHub Flavored
Markdown 0.29, section 4.10; a head with another number of cells than the line below it is one, too, if it begins with a
bar.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

_FENCE_LINE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$", re.MULTILINE)
_MAX_LANGUAGE_CHARS: Final = 24
"""A longer first word is no language, and not repeated in every part."""

_RULE: Final = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?")
_BEGUN_RULE: Final = re.compile(r"[ \t|:-]*")
_BAR: Final = re.compile(r"(?<!\\)\|")
_MAX_LINE_CHARS: Final = 4096
PREFIX: Final = " \t>"
"""Before a table in a list or a quote."""


@dataclass(frozen=True, slots=True)
class Fence:
    """An open block: its marker ("```", "~~~~"), its language or "", and where its line begins in the text."""

    marker: str
    language: str
    at: int

    @property
    def opening(self) -> str:
        """The line that opens the block again in the next part."""
        return f"{self.marker}{self.language}\n"

    @property
    def closing(self) -> str:
        """The line that closes the block at the end of a part."""
        return f"\n{self.marker}"


@dataclass(frozen=True, slots=True)
class Table:
    """A table that goes on: the lines of its head, and where they begin in the text."""

    opening: str
    at: int
    closing: str = ""


Block: TypeAlias = Fence | Table


def open_block(text: str, start: int, end: int, block: Block | None) -> Block | None:
    """Return the block that is open at `end`, given the one open at `start`; a line cut by `end` does not count."""
    fence = open_fence(text, start, end, block if isinstance(block, Fence) else None)
    return fence or open_table(text, start, end, block if isinstance(block, Table) else None)


def open_fence(text: str, start: int, end: int, fence: Fence | None) -> Fence | None:
    """Return the code block that is open at `end`, given the one open at `start`."""
    for line in _FENCE_LINE.finditer(text, start, end):  # not beyond `end`, so that a long text takes linear time
        if line.end() == end < len(text) and text[end] != "\n":
            break
        fence = _after(line, fence)
    return fence


def fence_after(line: str, fence: Fence | None) -> Fence | None:
    """Return the code block that is open after a line, given the one open before it."""
    found = _FENCE_LINE.fullmatch(line)
    return fence if found is None else _after(found, fence)


def _after(line: re.Match[str], fence: Fence | None) -> Fence | None:
    """Return the code block that is open after a line with a marker."""
    marker, info = line[1], line[2].strip()
    if fence is not None:
        closes = marker[0] == fence.marker[0] and len(marker) >= len(fence.marker) and not info
        return None if closes else fence
    if marker[0] == "`" and "`" in info:  # that is inline code
        return None
    language = info.split(maxsplit=1)[0] if info else ""
    return Fence(marker, language if len(language) <= _MAX_LANGUAGE_CHARS else "", line.start())


def open_table(text: str, start: int, end: int, table: Table | None) -> Table | None:
    """Return the table that goes on behind `end`, where no code block is open, given the one open at `start`."""
    if text[end - 1 : end] != "\n" and text[end : end + 1] == "\n":
        end += 1
    begins = text.rfind("\n", start, end) + 1 or start  # of the line behind the cut, be it in the middle of it
    ends = text.find("\n", end, end + _MAX_LINE_CHARS)
    below = text[begins : ends if ends >= 0 else end + _MAX_LINE_CHARS]
    if not is_row(below):
        return None
    last, begun = begins, None
    while begins > start:
        at = text.rfind("\n", start, begins - 1) + 1 or start
        line = text[at : begins - 1]
        if not is_row(line):
            return begun
        if is_head(line, below):
            return Table("" if begins == last else f"{line}\n{below}\n", at)
        if begins == last and ends < 0 and _BEGUN_RULE.fullmatch(below):  # more of that line may come
            begun = Table("", at)
        below, begins = line, at
    return table or begun


def is_row(line: str) -> bool:
    """Whether a line can be a row of a table."""
    return _BAR.search(line) is not None


def is_head(line: str, below: str) -> bool:
    """Whether a line is the head of a table, given the one below it."""
    head, rule = line.lstrip(PREFIX), below.lstrip(PREFIX).rstrip()
    if "|" not in rule or not is_row(head) or not _RULE.fullmatch(rule):
        return False
    return head.startswith("|") or len(cells(head)) == len(cells(rule))


def cells(line: str) -> list[str]:
    """Return the cells of a row, as Markdown."""
    row = line.lstrip(PREFIX).rstrip()
    inside = _BAR.split(row.removeprefix("|"))
    if len(inside) > 1 and not inside[-1].strip():
        inside.pop()
    return [each.replace("\\|", "|").strip() for each in inside]
