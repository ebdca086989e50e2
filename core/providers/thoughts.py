"""Remove the `<think>` block from an answer.

Open models begin with one when their server does not take it out.
"""

from __future__ import annotations

from typing import Final

_MARKS: Final = {"<think>": "</think>", "<thinking>": "</thinking>"}


class ThoughtFilter:
    """Takes the thought block off the start of a streamed text; what follows the first real word is never touched."""

    def __init__(self) -> None:
        self._held = ""
        self._closing = ""
        self._saying = False

    def feed(self, piece: str) -> str:
        """Return what of the text so far may be said now. Undecided beginnings are held back."""
        if self._saying:
            return piece
        self._held += piece
        while not self._saying:
            if self._closing:
                _, closing, rest = self._held.partition(self._closing)
                if not closing:
                    self._held = self._held[-len(self._closing) :]  # the mark may come in pieces
                    return ""
                self._held, self._closing = rest, ""
            start = self._held.lstrip()
            opening = next((mark for mark in _MARKS if start.startswith(mark)), None)
            if opening is not None:
                self._held, self._closing = start.removeprefix(opening), _MARKS[opening]
            elif any(mark.startswith(start) for mark in _MARKS):
                return ""
            else:
                self._saying = True
        return self._rest()

    def finish(self) -> str:
        """Return what was held back in case it was a mark, and was none."""
        return "" if self._closing or self._saying else self._rest()

    def _rest(self) -> str:
        rest, self._held = self._held.lstrip(), ""
        return rest
