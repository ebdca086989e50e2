"""Actions: values made of a name, a description for models and a coroutine; and those of a bot, some of them off."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from core.answering.outcomes import INCOGNITO, SWITCHED_OFF
from core.answering.prompting import candidates, prompt_of
from core.answering.turn import Turn
from core.dialogue import ActionInfo, Step, Task
from core.errors import ConfigError
from core.models import complete_as
from core.types import Localized, MemoryItem

KNOWN: Final = "Memories that the message may be about, each with its mark; they may fit or not:"


@dataclass(frozen=True, slots=True)
class Action(ActionInfo):
    """One thing that the bot can do in a turn.

    The arguments come from a model, in one of two ways. The stepwise cycle shows `status` and asks with `instruction`
    for JSON like `example`. The single cycle offers the action as a tool with the schema of `arguments` and with
    `instruction` in its description. A text action (`Finish`, `Question`) has no arguments, and is no tool: the text of
    the answer is one.
    """

    when: str
    """Tells the model when to."""

    run: Callable[[Turn, Any], Awaitable[Step]]
    """Does it with an instance of `arguments`, and returns what came of it."""

    arguments: type[Any] | None = None
    """The dataclass of its arguments; None for an action without any."""

    instruction: str = ""
    example: str = ""
    ends_cycle: bool = False
    """Whether the turn is over after it."""

    informs: bool = False
    """Whether the model of a single cycle always goes on after it."""

    remembers: bool = False
    """Whether it is not offered to people who turned remembering off."""

    in_incognito: bool = False
    """Whether it neither uses nor changes what is kept of the person, so that it is offered in incognito, too.

    What is a text always is.
    """

    needs: Callable[[MemoryItem], bool] | None = None
    """Whether a memory is one that it works on: it is offered only with such a one in view. None: always."""

    asks: bool = False
    """Whether it may have to ask the person to agree, which ends the turn, too."""

    called_for: Callable[[str], bool] | None = None
    """Whether a text (a message, what is known) may call for it: a single cycle offers it from then on. It errs on the
    side of yes. None: it is always offered. It is asked about texts in the bot's own languages only.
    """

    compares: bool = False
    """Whether memories near the message are shown when its arguments are asked for, as a single cycle always does."""

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
    def is_text(self) -> bool:
        """Whether the action is a text to the person."""
        return self.task in {Task.FINISH, Task.QUESTION}


class Registry:
    """Actions that can be turned off and on while the bot runs (T6), except the last: the fallback of every turn.

    Raises ConfigError for names of no action, and for turning the fallback off.
    """

    def __init__(self, actions: Iterable[Action], off: Iterable[str] = ()) -> None:
        self._actions = {action.name: action for action in actions}
        self._off: set[str] = set()
        for name in off:
            self.disable(name)
        self._off_at_first = frozenset(self._off)

    @property
    def fallback(self) -> Action:
        """The action that ends a turn when no other can."""
        return next(reversed(self._actions.values()))

    @property
    def enabled(self) -> tuple[Action, ...]:
        """The actions that are on, in order."""
        return tuple([action for name, action in self._actions.items() if name not in self._off])

    @property
    def disabled(self) -> tuple[Action, ...]:
        """The actions that are off."""
        return tuple([action for name, action in self._actions.items() if name in self._off])

    def infos(self, *, incognito: bool = False) -> tuple[ActionInfo, ...]:
        """Return all actions as data, with why those that are off are; in incognito most of them are."""
        return tuple([replace(action, off=self._why_off(action, incognito)) for action in self._actions.values()])

    def disable(self, name: str) -> None:
        """Turn the action off."""
        action = self._find(name)
        if action is self.fallback:
            raise ConfigError("ACTIONS_OFF", f"{action.name} ends every turn and cannot be turned off; leave it out")
        self._off.add(action.name)

    def enable(self, name: str) -> None:
        """Turn the action on."""
        self._off.discard(self._find(name).name)

    def restore(self, name: str) -> None:
        """Turn the action on or off as the settings say."""
        if self._find(name).name in self._off_at_first:
            self.disable(name)
        else:
            self.enable(name)

    def _why_off(self, action: Action, incognito: bool) -> Localized | None:
        if action.name in self._off:
            return SWITCHED_OFF
        return INCOGNITO if incognito and not (action.is_text or action.in_incognito) else None

    def _find(self, name: str) -> Action:
        for action in self._actions.values():
            if action.name.casefold() == name.strip().casefold():
                return action
        raise ConfigError("ACTIONS_OFF", f"there is no action {name!r}; write names of: {', '.join(self._actions)}")
