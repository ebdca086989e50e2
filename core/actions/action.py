"""The form of an action: a value, made of a name, words for models and a coroutine. There are no subclasses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from core.dialogue import ActionInfo, Cues, Task
from core.turn import Turn
from core.types import ChangeKind


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that the bot can do in a turn.

    `name` is what the model answers to choose it; `when` tells the model when to; `run` does it and records
    exactly one step on the turn; after an action that `ends_cycle` the turn is over. An action that `remembers` is not
    offered to a person who turned remembering off, one that `needs_memory` not where no memory is in view. `writes` is
    the kind of change that it makes. The model without a language model (`core/limited/`) chooses an action by its
    `task`, if it can answer that, or else by its `cues`: phrases that stand in what the person says.
    """

    name: str
    when: str
    run: Callable[[Turn], Awaitable[None]]
    ends_cycle: bool = False
    remembers: bool = False
    needs_memory: bool = False
    writes: ChangeKind | None = None
    task: Task | None = None
    cues: Cues = field(default_factory=dict, hash=False)

    @property
    def info(self) -> ActionInfo:
        """The action as data, for prompts."""
        return ActionInfo(self.name, self.task, self.cues)
