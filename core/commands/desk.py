"""What commands steer. Knows the parts that a command may touch besides its turn. Does not know any command."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

from core.access import Access
from core.actions.registry import Registry
from core.errors import ConfigError
from core.llm import Models
from core.memory.memories import Memories
from core.people import OFF, ON, Decisions, Matter, PreferenceStore
from core.ports import Clock


@dataclass(slots=True)
class Desk:
    """The parts of a running bot that people steer by commands. `platforms` are those that have been heard of."""

    access: Access
    decisions: Decisions
    preferences: PreferenceStore
    memories: Memories
    models: Models
    registry: Registry
    clock: Clock
    started_s: float
    platforms: set[str] = field(default_factory=set)

    async def open(self) -> None:
        """Turn actions on and off as was decided before this start."""
        for name, value in (await self.decisions.values(Matter.ACTION)).items():
            self.turn_action(name, value)

    def turn_action(self, name: str, value: str) -> None:
        """Let it be offered (ON), not be offered (OFF), or be as the settings say (""). An unknown name is fine."""
        registry = self.registry
        with suppress(ConfigError):  # decided by a version of this program that had the action
            {ON: registry.enable, OFF: registry.disable}.get(value, registry.restore)(name)
