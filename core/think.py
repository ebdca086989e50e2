"""Think a message through: by the single-call cycle, or step by step."""

from __future__ import annotations

from core import cycle, single
from core.actions.registry import Registry
from core.models import Cycle
from core.turn import Turn


async def think(turn: Turn, registry: Registry, chosen: Cycle, *, max_steps: int) -> None:
    """Run the chosen cycle for one message, as its models and their windows allow.

    Raises:
        ProviderError: a model failed, and no other action can help.
    """
    if chosen.is_single(turn.models) and await single.fits(turn, registry):
        await single.think(turn, registry, max_steps=max_steps)
        return
    if turn.prefetch is not None:
        await turn.prefetch.close()
    await cycle.think(turn, registry, max_steps=max_steps)
