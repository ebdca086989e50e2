"""Escape people's words in Markdown text; write times into it."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from core.text.unicode import one_line

_SIGNS: Final = frozenset("*_`~[]<>|\\#$")
QUOTED_CHARS: Final = 200

TIME_LINK: Final = re.compile(r"\[([^\[\]\n]{1,120})\]\(time:(\d{1,12})\)")
"""A time in a text: its words, and the instant in seconds since 1970."""


def verbatim(text: str) -> str:
    """Return one line of text so that Markdown shows every character: as it is, or else as code."""
    if not _SIGNS.intersection(text):
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
    """Return the text with the words of every time in place of its link."""
    return TIME_LINK.sub(r"\1", text)
