"""Put decisions into force: at the start, when they are made, and when another process made them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from core.features.admin.decisions import DecisionKind, Decisions

Effect: TypeAlias = Callable[[str, str], None]
"""Called with the name and the new value of a decision."""


class DecisionEffects:
    """Effects by kind of decision. Kinds without one are read anew by whoever asks.

    `foreign_version` returns another number whenever another process changed the database; None if there is none.
    """

    def __init__(self, decisions: Decisions, foreign_version: Callable[[], Awaitable[int]] | None = None) -> None:
        self._decisions = decisions
        self._foreign_version = foreign_version
        self._effects: dict[DecisionKind, Effect] = {}
        self._in_force: dict[tuple[DecisionKind, str], str] = {}
        self._foreign = 0

    def on(self, kind: DecisionKind, effect: Effect) -> None:
        """Call `effect` for every decision of that kind from now on; register before `put_in_force`."""
        self._effects[kind] = effect

    def take_effect(self, kind: DecisionKind, name: str, value: str) -> None:
        """Put one decision into force at once."""
        if kind in self._effects:
            self._in_force[kind, name] = value
            self._effects[kind](name, value)

    async def catch_up(self) -> None:
        """Put into force what another process, such as the command line, decided meanwhile."""
        if self._foreign_version is None:
            return
        foreign = await self._foreign_version()
        if foreign != self._foreign:
            await self.put_in_force()
            self._foreign = foreign

    async def put_in_force(self) -> None:
        """Put every stored decision into force that is not yet."""
        for kind in self._effects:
            values = await self._decisions.values(kind)
            gone = [name for (of, name), value in self._in_force.items() if of is kind and value]
            for name in dict.fromkeys((*values, *gone)):
                if self._in_force.get((kind, name), "") != values.get(name, ""):
                    self.take_effect(kind, name, values.get(name, ""))
