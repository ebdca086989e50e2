"""Lists: the memories of a text or of Markdown. A memory is a list item, a paragraph or a line, word for word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from core.actions.memory_drafts import MAX_BINDING_CHARS, to_bindings
from core.features.transfer.entries import Taken, moment
from core.text.unicode import clean, one_line
from core.types import MemoryDraft, MemoryKind

_BOLD_LEVEL: Final = 7
_LEAD_LEVEL: Final = 8
"""Levels of headings: a line in bold; a line that ends with a colon above a list. `#` to `######` are above both."""

_HEADING: Final = re.compile(r"(#{1,6})\s+(\S.*)")
_BOLD: Final = re.compile(r"(\*\*|__)([^*_]+)\1:?")
_ITEM: Final = re.compile(r"(?:[-*+•–]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?|\[[ xX]\]\s+|[☐☑☒✓✔]\s*")
_WRAPPED_CHARS: Final = 40
"""A line of that length that ends within a sentence goes on in the next, if that begins with a small letter."""

_STAMP: Final = re.compile(r"\[([^\]]{1,40})\](?:[.:]\s+|\s*[-–—]\s+)")
"""What assistants write before a memory when they are asked for all: "[2025-05-02]. ", "[unknown] - "."""

_DAY_CHARS: Final = len("2025-05-02")
_RULE: Final = frozenset("-*_= \t")


@dataclass(slots=True)
class _Outline:
    """What stands in the lines so far: the headings by level, and the lines of the memory that is not yet complete."""

    headings: dict[int, str]
    lines: list[str]
    item: int | None = None
    """The indent of the list item that the memory is; None: it is a paragraph."""

    def close(self) -> Iterator[Taken]:
        """Yield the memory, if there is one."""
        content, self.lines, self.item = clean("\n".join(self.lines)), [], None
        if content:
            yield noted(content, [self.headings[level] for level in sorted(self.headings, reverse=True)])

    def head(self, level: int, title: str) -> None:
        """Take a heading, in place of those of its level and below."""
        self.headings = {each: above for each, above in self.headings.items() if each < level} | {level: title}


def from_text(content: str, about: Sequence[str] = (), *, is_markdown: bool = False) -> Iterator[Taken]:
    """Yield a memory for each list item with what is nested in it, and for each paragraph, in order.

    In a text without a list, a heading or a line in bold, unless `is_markdown`, each line is one; a long one goes
    on in the next where its sentence does. So is a line of a paragraph that begins with words in brackets and a dash.
    Headings, bold lines, and a line that ends with a colon above a list are phrases of what follows, as is `about`.
    """
    lines = content.splitlines()
    is_markdown = is_markdown or any(_is_structure(line.strip()) for line in lines)
    so_far, gap = _Outline(dict(enumerate(reversed(about), -len(about))), []), False
    for line in lines:
        said = line.strip()
        if not said:
            gap = True
        elif _RULE.issuperset(said) or said.startswith(("```", "~~~")):
            yield from so_far.close()
        elif heading := _HEADING.fullmatch(said):
            yield from so_far.close()
            so_far.head(len(heading[1]), heading[2].rstrip("# "))
        elif bold := _BOLD.fullmatch(said):
            yield from so_far.close()
            so_far.head(_BOLD_LEVEL, bold[2].strip(" :"))
        else:
            yield from _take(so_far, line.rstrip(), after_gap=gap, joins=is_markdown)
            gap = False
    yield from so_far.close()


def _is_structure(said: str) -> bool:
    return bool(_ITEM.match(said) or _HEADING.fullmatch(said) or _BOLD.fullmatch(said))


def _is_wrapped(lines: Sequence[str], said: str) -> bool:
    """Return whether a line goes on with the sentence of the line before, as editors wrap text."""
    before = lines[-1] if lines else ""
    return len(before) >= _WRAPPED_CHARS and before[-1] not in ".!?:;…" and said[0].islower()


def _take(so_far: _Outline, line: str, *, after_gap: bool, joins: bool) -> Iterator[Taken]:
    """Take a line that says something: it goes on with the memory, or begins one."""
    said, was_item = line.lstrip(), so_far.item is not None
    indent, mark = len(line) - len(said), _ITEM.match(said)
    if so_far.item is not None:
        goes_on = indent > so_far.item if mark or after_gap else True
    else:
        joins = joins or _is_wrapped(so_far.lines, said)
        goes_on = joins and not mark and not after_gap and not _STAMP.match(said)
    if goes_on and so_far.lines:
        so_far.lines.append(line[min(indent, so_far.item) :] if so_far.item is not None else said)
        return
    if mark and not was_item and len(so_far.lines) == 1 and so_far.lines[0].endswith(":"):
        so_far.head(_LEAD_LEVEL, so_far.lines.pop().rstrip(": "))
    yield from so_far.close()
    if was_item and not mark:
        so_far.headings.pop(_LEAD_LEVEL, None)
    so_far.item = indent if mark else None
    so_far.lines = [said[mark.end() :] if mark else said]


def noted(content: str, about: Iterable[str] = (), at: datetime | None = None) -> Taken:
    """Return a text as a memory, found by its beginning and by `about`, said on the date before it, or else `at`."""
    stamp = _STAMP.match(content)
    on = moment(f"{stamp[1][:_DAY_CHARS]}T12:00") if stamp else None  # noon: that day in nearly every zone
    lead = one_line(content[stamp.end() :] if stamp else content, MAX_BINDING_CHARS)
    return Taken(MemoryDraft(MemoryKind.TEXT, content, to_bindings((*about, lead)), said_at=on or at))
