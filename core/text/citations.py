"""Take the marks of cited memories out of a text that comes in pieces."""

from __future__ import annotations

import re

_MARK = re.compile(r"[ \t]*\[\s*m\d{1,3}(?:\s*,\s*m\d{1,3})*\s*\]", re.IGNORECASE)
_START = re.compile(r"[ \t]*(?:\[[\sm\d,]*)?$", re.IGNORECASE)


class Citations:
    """A filter for marks like [m1]. `cited` are the marks so far, in order."""

    def __init__(self) -> None:
        self.cited: list[str] = []
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return the text that can be shown."""
        text = self._without(self._held + piece)
        start = _START.search(text)
        at = start.start() if start else len(text)
        self._held = text[at:]
        return text[:at]

    def finish(self) -> str:
        """Return what was held back."""
        rest, self._held = self._without(self._held), ""
        return rest

    def _without(self, text: str) -> str:
        def take(found: re.Match[str]) -> str:
            self.cited += re.findall(r"m\d+", found[0].lower())
            return ""

        return _MARK.sub(take, text)
