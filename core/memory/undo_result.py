"""The outcome of undoing a change of memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.types import Change


class UndoResult(StrEnum):
    """Whether it was undone, or why not."""

    DONE = "done"
    NOTHING = "nothing"
    """There is no such act, or it was undone before."""

    TOO_LATE = "too_late"
    CHANGED = "changed"
    """One of the memories was changed again since: nothing was undone."""


@dataclass(frozen=True, slots=True)
class Undone:
    """The outcome, and the changes that were undone, the newest first; none unless it is DONE."""

    result: UndoResult
    changes: Sequence[Change] = ()
