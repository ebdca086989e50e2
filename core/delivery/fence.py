"""Fenced code blocks of Markdown, as far as cutting a text needs them. Knows no limit and no platform.

Source: CommonMark 0.31, section 4.5 (a fence is closed by the same character, at least as often, and nothing else).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$", re.MULTILINE)
_MAX_LANGUAGE_CHARS = 24
"""A longer first word is no language; it is not repeated in every part."""


@dataclass(frozen=True, slots=True)
class Fence:
    """An open block: its marker ("```", "~~~~"), its language ("" if none), and where its line begins in the text."""

    marker: str
    language: str
    at: int

    @property
    def opening(self) -> str:
        """What opens the block again in the next part."""
        return f"{self.marker}{self.language}\n"

    @property
    def closing(self) -> str:
        """What closes the block at the end of a part."""
        return f"\n{self.marker}"


def open_fence(text: str, start: int, end: int, fence: Fence | None) -> Fence | None:
    """Return the block that is open at `end`, given the one open at `start`; a line cut by `end` does not count."""
    for line in _LINE.finditer(text, start, end):  # never beyond `end`: a long text is asked about part by part
        if line.end() == end < len(text) and text[end] != "\n":
            break
        fence = _after(line, fence)
    return fence


def _after(line: re.Match[str], fence: Fence | None) -> Fence | None:
    marker, info = line[1], line[2].strip()
    if fence is not None:
        closes = marker[0] == fence.marker[0] and len(marker) >= len(fence.marker) and not info
        return None if closes else fence
    if marker[0] == "`" and "`" in info:  # that is inline code
        return None
    language = info.split(maxsplit=1)[0] if info else ""
    return Fence(marker, language if len(language) <= _MAX_LANGUAGE_CHARS else "", line.start())
