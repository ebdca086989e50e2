"""Escape people's words in Markdown text; write times into it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Final

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
