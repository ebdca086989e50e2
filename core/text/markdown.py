"""Escape people's words in Markdown text."""

from __future__ import annotations

import re
from typing import Final

from core.text.unicode import one_line

_SIGNS: Final = frozenset("*_`~[]<>|\\#$")
QUOTED_CHARS: Final = 200


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
