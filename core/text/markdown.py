"""Markdown: people's words in it, times, blocks that a cut must not leave open, and tables as plain text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from core.text.unicode import one_line

_SIGNS: Final = frozenset("*_`~[]<>|\\#$")
QUOTED_CHARS: Final = 200

TIME_LINK: Final = re.compile(r"\[([^\[\]\n]{1,120})\]\(time:(\d{1,12})\)")
"""A time in a text: its words, and the instant in seconds since 1970."""

_TICKS: Final = re.compile("`+")
_BLOCK_TICKS: Final = 3


def verbatim(text: str) -> str:
    """Return one line of text so that Markdown shows every character: as it is, or else as code."""
    signs = _SIGNS.intersection(text)
    if not text.lstrip().startswith("#"):  # a heading, only at the start
        signs -= {"#"}
    if text.count("$") == 1:  # formulas stand between two
        signs -= {"$"}
    if not signs:
        return text
    if "`" not in text:
        return f"`{text}`"
    fence = "`" * (max(map(len, re.findall("`+", text))) + 1)
    return f"{fence} {text} {fence}"


def quoted(content: str, max_chars: int | None = QUOTED_CHARS) -> str:
    """Return the content in quotation marks, or as code if Markdown would not show every character."""
    text = one_line(content, max_chars) if max_chars else content
    if "\n" in text:
        return f"\n```\n{text.replace('```', '´´´')}\n```"
    shown = verbatim(text)
    return f"“{text}”" if shown == text else shown


def time_link(words: str, at: datetime) -> str:
    """Return words for an instant as a link that platforms show as the reader's own hour, or as the words."""
    return f"[{words}](time:{int(at.timestamp())})"


def plain_times(text: str) -> str:
    """Return the text with the words of every time in place of its link; code stays as it is."""
    return outside_code(text, lambda prose: TIME_LINK.sub(r"\1", prose)) if "](time:" in text else text


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Return the text with every stretch between code spans and code blocks replaced by what `change` returns.

    A block that is not closed yet reaches to the end.
    """
    code: list[tuple[int, int]] = []
    ends: dict[int, int] = {}  # of the next ticks of that number, reading backwards
    for ticks in reversed(list(_TICKS.finditer(text))):
        number = len(ticks[0])
        end = ends.get(number, len(text) if number >= _BLOCK_TICKS else 0)
        code.append((ticks.start(), end))
        ends[number] = ticks.end()
    changed, at = [], 0
    for start, end in reversed(code):
        if at <= start < end:
            changed += [change(text[at:start]), text[start:end]]
            at = end
    return "".join([*changed, change(text[at:])])


# Blocks. Code: CommonMark 0.31, section 4.5 (a block is closed by the same character, at least as often). Tables:
# GitHub Flavored Markdown 0.29, section 4.10; a head with another number of cells than the line below it is one, too,
# if it begins with a bar.

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


# Tables as text that a narrow screen can show.

PHONE_COLUMNS: Final = 40
"""What a code block shows on a phone before it wraps or has to be scrolled."""

_GAP: Final = "  "
_MAX_MARKED: Final = 4
"""A cell that is so many times longer than a line is wider, whatever its marks are."""

_NOTHING: Final = "–"
_BREAK: Final = re.compile(r"<br\s*/?>", re.IGNORECASE)
_LINKED: Final = re.compile(r"\]\(|://")
_MARKS: Final = re.compile(
    r"(?<!`)(?P<ticks>`+)(?!`) ?(?P<code>.+?) ?(?<!`)(?P=ticks)(?!`)"
    r"|(?P<mark>\*\*|__|~~)(?=\S)(?P<words>.+?)(?<=\S)(?P=mark)"
    r"|(?<!\w)(?P<sign>[*_])(?=\S)(?P<stressed>.+?)(?<=\S)(?P=sign)(?!\w)"
    r"|\\(?P<escaped>[!-/:-@\[-`{-~])"
)


def without_tables(text: str, columns: int = PHONE_COLUMNS, *, fenced: bool = True, grows: bool = False) -> str:
    """Return the Markdown with each table laid out: aligned, or, where that is wider than `columns`, a block a row.

    Aligned columns stand in a code block if `fenced`. What may be the first line of a table is left out at the end of a
    text that `grows`. A table with links is never code, in which nothing could be touched.
    """
    if "|" not in text:
        return text
    lines, laid_out = text.split("\n"), list[str]()
    fence: Fence | None = None
    at = 0
    while at < len(lines):
        if fence is None and at + 1 < len(lines) and is_head(lines[at], lines[at + 1]):
            end = next((end for end in range(at + 2, len(lines)) if not is_row(lines[end])), len(lines))
            drawn = _drawn(lines[at:end], columns, fenced=fenced)
            laid_out += _apart(drawn, laid_out[-1:], lines[end : end + 1])
            at = end
            continue
        fence = fence_after(lines[at], fence)
        laid_out.append(lines[at])
        at += 1
    return "\n".join(_without_begun(laid_out) if grows and fence is None else laid_out)


def _without_begun(lines: list[str]) -> list[str]:
    """Return the lines without those at the end of which the next one tells whether they begin a table."""
    end = last = len(lines) if lines[-1] else len(lines) - 1
    while end and lines[end - 1].lstrip(PREFIX).startswith("|"):
        end -= 1
    return lines[:end] if end < last else lines


def _drawn(lines: Sequence[str], columns: int, *, fenced: bool) -> list[str]:
    head, rule, *rows = ([_BREAK.sub(" ", cell) for cell in cells(line)] for line in lines)
    rows = [_fitted(row, len(head)) for row in rows if any(row)]
    every = [cell for row in (head, *rows) for cell in row]
    if any(_LINKED.search(cell) or len(cell) > _MAX_MARKED * columns for cell in every):
        return _blocks(head, rows)
    plain = [[_plain(cell) for cell in row] for row in (head, *rows)]
    widths = [max(map(_width, column)) for column in zip(*plain, strict=True)]
    if sum(widths) + len(_GAP) * (len(widths) - 1) > columns:
        return _blocks(head, rows)
    sides = [_side(mark) for mark in _fitted(rule, len(head))]
    drawn = [_GAP.join(map(_padded, row, widths, sides)).rstrip() for row in plain]
    drawn.insert(1, _GAP.join("-" * width for width in widths))
    if not any(head):
        del drawn[:2]
    return ["```", *map(_without_fences, drawn), "```"] if fenced else drawn


def _fitted(row: list[str], count: int) -> list[str]:
    """Return a row of that many cells; of one with more, a bar was part of the last one."""
    return [*row[: count - 1], "|".join(row[count - 1 :]), *[""] * (count - len(row))][:count]


def _blocks(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return "name: value" for each cell, an empty line between two rows."""
    lines: list[str] = []
    for row in rows or [head]:
        lines += [""] if lines else []
        named = zip(head if rows else [""] * len(head), row, strict=True)
        lines += [f"{name}: {cell or _NOTHING}" if name else cell for name, cell in named if name or cell]
    return [_without_fences(line) for line in lines]


def _without_fences(line: str) -> str:
    """Return a line that neither opens nor closes a code block."""
    return line.replace("```", "´´´")


def _apart(drawn: list[str], before: Sequence[str], behind: Sequence[str]) -> list[str]:
    """Return what was drawn, with an empty line between it and other text."""
    return [*([""] if any(map(str.strip, before)) else []), *drawn, *([""] if any(map(str.strip, behind)) else [])]


def _plain(cell: str) -> str:
    """Return the words of a cell without their marks, which mean nothing in code."""
    return _MARKS.sub(_unmarked, cell)


def _unmarked(found: re.Match[str]) -> str:
    if found["code"]:
        return found["code"]
    return found["escaped"] or _plain(found["words"] or found["stressed"])


def _width(text: str) -> int:
    from wcwidth import wcswidth  # loaded by the first table, not by the start

    return max(wcswidth(text), 0)


def _side(mark: str) -> Callable[[int], int]:
    """Return how much of the free room stands before a cell."""
    if not mark.endswith(":"):
        return lambda _: 0
    return (lambda room: room // 2) if mark.startswith(":") else (lambda room: room)


def _padded(cell: str, width: int, side: Callable[[int], int]) -> str:
    room = width - _width(cell)
    return " " * side(room) + cell + " " * (room - side(room))
