"""Escape people's words inside Markdown text."""

from __future__ import annotations

from typing import Final

from core.text.unicode import one_line

_SIGNS: Final = frozenset("*_`~[]<>|\\#$")
QUOTED_CHARS: Final = 200


def verbatim(text: str) -> str:
    """Return one line of text so that every sign of it is shown: as it is, or as code where Markdown would eat one."""
    if not _SIGNS.intersection(text):
        return text
    if "`" not in text:
        return f"`{text}`"
    fence = "`" * (max(map(len, _runs(text))) + 1)
    return f"{fence} {text} {fence}"


def _runs(text: str) -> list[str]:
    """Return the runs of back-ticks in the text."""
    return [run for run in "".join(c if c == "`" else " " for c in text).split() if run]


def quoted(content: str, max_chars: int | None = QUOTED_CHARS) -> str:
    """Return the content in quotation marks, or as code where Markdown would eat a sign of it."""
    text = one_line(content, max_chars) if max_chars else content
    if "\n" in text:
        return f"\n```\n{text.replace('```', '´´´')}\n```"
    shown = verbatim(text)
    return f"“{text}”" if shown == text else shown
