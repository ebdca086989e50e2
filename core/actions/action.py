"""Actions: values made of a name, a description for models and a coroutine, without subclasses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from core.dialogue import ActionInfo, Cues, Task
from core.turn import Turn
from core.types import ChangeKind


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that the bot can do in a turn.

    The model answers `name` to choose it; `when` tells the model when to; `run` does it and records exactly one step on
    the turn, which is over after an action that `ends_cycle`. An action that `remembers` is not offered to people who
    turned remembering off, one that `needs_memory` only with memories in view. `writes` is the kind of change that it
    makes. Limited mode (`core/limited/`) chooses an action by its `task`, if it can answer that, else by its `cues`:
    phrases in the person's message.
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
