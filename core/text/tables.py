"""Tables of Markdown as text that a narrow screen can show: columns that stand below each other, or a block a row."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from wcwidth import wcswidth

from core.text.blocks import PREFIX, Fence, cells, fence_after, is_head, is_row

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
    return max(wcswidth(text), 0)


def _side(mark: str) -> Callable[[int], int]:
    """Return how much of the free room stands before a cell."""
    if not mark.endswith(":"):
        return lambda _: 0
    return (lambda room: room // 2) if mark.startswith(":") else (lambda room: room)


def _padded(cell: str, width: int, side: Callable[[int], int]) -> str:
    room = width - _width(cell)
    return " " * side(room) + cell + " " * (room - side(room))
