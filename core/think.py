"""Think a message through: by the single-call cycle, or step by step."""

from __future__ import annotations

from core import cycle, single
from core.actions.registry import Registry
from core.models import Cycle
from core.turn import Turn


async def think(turn: Turn, registry: Registry, chosen: Cycle, *, max_steps: int) -> None:
    """Run the chosen cycle for one message, as its models allow.

    Raises:
        ProviderError: a model failed, and no other action can help.
    """
    run = single.think if chosen.is_single(turn.models) else cycle.think
    await run(turn, registry, max_steps=max_steps)
