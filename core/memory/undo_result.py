"""What became of taking a change of memory back. Knows the outcomes. Does not know how it is done, or told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.types import Change


class UndoResult(StrEnum):
    """How it went."""

    DONE = "done"
    NOTHING = "nothing"
    """There is no such act, or it was taken back before."""

    TOO_LATE = "too_late"
    CHANGED = "changed"
    """One of the memories was changed again since: nothing was taken back."""


@dataclass(frozen=True, slots=True)
class Undone:
    """The outcome, and the changes that were taken back, the newest first; none unless it is DONE."""

    result: UndoResult
    changes: Sequence[Change] = ()
