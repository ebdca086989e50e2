"""What an action is: a value. There are no subclasses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from core.turn import Turn
from core.types import ChangeKind


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that the bot can do in a turn.

    `name` is what the model answers to choose it; `when` tells the model when to; `run` does it and records
    exactly one step on the turn; after an action that `ends_cycle` the turn is over. One that `remembers` is not there
    for a person who wants nothing new to be remembered, one that `needs_memory` not where no memory is in view.
    `writes` is the kind of change that it makes.
    """

    name: str
    when: str
    run: Callable[[Turn], Awaitable[None]]
    ends_cycle: bool = False
    remembers: bool = False
    needs_memory: bool = False
    writes: ChangeKind | None = None
