"""Hold back what a model's text claims about memory until it is known what was done."""

from __future__ import annotations

from typing import Final

from core.dialogue import NOTHING_TO_ADD
from core.text import claims
from core.types import ChangeKind


class CheckedText:
    """A text of a model while it comes. `text` is all of it, `held` the part that was not shown yet, `said` what was.

    From the sentence on that claims a change of memory which is not among those `written`, everything is held; with
    `hold`, everything is held at once. A text that says no more than that there is nothing to add is never shown. How
    the text is cut into pieces changes nothing.
    """

    def __init__(self, message: str, written: frozenset[ChangeKind], *, hold: bool) -> None:
        self.text = ""
        self.said = ""
        self._occasion = claims.Occasion(message)
        self._written = written
        self._hold = hold
        self._shown = 0

    @property
    def held(self) -> str:
        """What was not shown yet; "" if it only says that there is nothing to add."""
        return "" if says_nothing(self.text) else self.text[self._shown :]

    def feed(self, piece: str) -> str:
        """Add a piece, and return what can be shown now."""
        before, start = len(self.text), self._shown
        self.text += piece
        if self._hold:
            return ""
        for end in range(before + 1, min(len(self.text), claims.MAX_UNASKED_CHARS) + 1):
            self._release(self.text[:end])
        if len(self.text) > claims.MAX_UNASKED_CHARS:
            self._release(self.text)
        return self.text[start : self._shown]

    def _release(self, text: str) -> None:
        """Let be shown what can be, now that this much of the text is there."""
        end = claims.settled(text)
        if end > self._shown and not says_nothing(text):
            self._shown = max(self._shown, min(end, claims.unclaimed(text, self._occasion, self._written)))

    def claims_falsely(self, written: frozenset[ChangeKind]) -> frozenset[ChangeKind]:
        """Return the kinds of change that the text claims though they were not made."""
        return claims.volunteered(self.text, self._occasion) - written

    def broken_off(self) -> str:
        """Return what is left to show of a text that ended too early: nothing of what may be false."""
        return "" if self._hold or self.claims_falsely(self._written) else self.held


def says_nothing(text: str) -> bool:
    """Return whether a model's text is empty, or only says that there is nothing to add."""
    return not text.strip().strip(_BLANK)


_BLANK: Final = NOTHING_TO_ADD + "–—."
