"""Think a message through: by the single-call cycle, or step by step."""

from __future__ import annotations

import logging

from core import cycle, single
from core.actions.registry import Registry
from core.errors import StepwiseOnly
from core.models import Cycle
from core.turn import Turn

_log = logging.getLogger(__name__)


async def think(turn: Turn, registry: Registry, chosen: Cycle, *, max_steps: int) -> None:
    """Run the chosen cycle for one message, as its models and their windows allow.

    What a single call began goes on step by step if a model takes over that has no answer to one.

    Raises:
        ProviderError: a model failed, and no other action can help.
    """
    if chosen.is_single(turn.models) and await single.fits(turn, registry):
        try:
            await single.think(turn, registry, max_steps=max_steps)
        except StepwiseOnly as error:
            _log.info("%s", error)
        else:
            return
    if turn.prefetch is not None:
        await turn.prefetch.close()
    await cycle.think(turn, registry, max_steps=max_steps)
