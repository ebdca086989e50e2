"""The actions of a bot, some of which may be off."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from core.actions.action import Action
from core.answering.outcomes import INCOGNITO, SWITCHED_OFF
from core.dialogue import ActionInfo
from core.errors import ConfigError
from core.types import Localized


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
        return tuple([replace(action.info, off=self._why_off(action, incognito)) for action in self._actions.values()])

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
