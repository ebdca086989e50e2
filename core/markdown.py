"""People's words inside Markdown text. Knows the signs that Markdown takes for its own. Does not know who said them."""

from __future__ import annotations

from typing import Final

_SIGNS: Final = frozenset("*_`~[]<>|\\#$")


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
