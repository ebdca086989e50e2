"""Actions: values made of a name, a description for models and a coroutine, without subclasses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from core.answering.prompting import candidates, prompt_of
from core.answering.turn import Turn
from core.dialogue import ActionInfo, ArgumentsReader, Cues, Step, Task
from core.models import complete_as
from core.types import ChangeKind, Localized

KNOWN: Final = "Memories that the message may be about, each with its mark; they may fit or not:"


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that the bot can do in a turn.

    A model answers `name` to choose it; `when` tells the model when to. `run` does it with `arguments`, an instance of
    that dataclass (None for an action without arguments), and returns what came of it.

    The arguments come from a model, in one of two ways. The stepwise cycle shows `status` and asks with `instruction`
    for JSON like `example`. The single cycle offers the action as a tool with the schema of `arguments` and with
    `instruction` in its description. A text action (`Finish`, `Question`) has no arguments, and is no tool: the text of
    the answer is one.

    The turn is over after an action that `ends_cycle`. One that `asks` may have to ask the person to agree, which ends
    the turn, too. The model of a single cycle always goes on after one that `informs` it. An action that `remembers` is
    not offered to people who turned remembering off, one that `needs_memory` only with memories in view. One that
    `compares` is shown the memories near the message when its arguments are asked for, as a single cycle shows them to
    all. `writes` is the kind of change that it makes. Limited mode (`core/limited/`) chooses an action by its `task`,
    if it can answer that, else by its `cues`, phrases in the person's message, or by `reads`, which reads the arguments
    off a message that asks for it.
    """

    name: str
    when: str
    run: Callable[[Turn, Any], Awaitable[Step]]
    arguments: type[Any] | None = None
    instruction: str = ""
    example: str = ""
    status: Localized | None = None
    ends_cycle: bool = False
    informs: bool = False
    remembers: bool = False
    needs_memory: bool = False
    asks: bool = False
    compares: bool = False
    writes: ChangeKind | None = None
    task: Task | None = None
    cues: Cues = field(default_factory=dict, hash=False)
    reads: ArgumentsReader | None = None

    async def ask(self, turn: Turn) -> Any:
        """Return the arguments that the reasoning model gives, or None for an action without arguments.

        Raises:
            ProviderError: it did not answer as asked.
        """
        if self.arguments is None:
            return None
        instruction = f"{self.instruction} Answer with the JSON {self.example}."
        if self.compares and (known := await candidates(turn)):
            instruction = f"{instruction}\n{KNOWN}\n{known}"
        prompt = await prompt_of(turn, self.task or Task.ARGUMENTS, instruction, action=self.name)
        return await complete_as(self.arguments, turn.services.models.reasoning, prompt)

    @property
    def info(self) -> ActionInfo:
        """The action as data, for prompts."""
        return ActionInfo(self.name, self.task, self.cues, self.reads)

    @property
    def is_text(self) -> bool:
        """Whether the action is a text to the person."""
        return self.task in {Task.FINISH, Task.QUESTION}
