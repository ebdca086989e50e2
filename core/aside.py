"""Run work on long texts outside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

_Result = TypeVar("_Result")

FEW_CHARS: Final = 2000
"""Shorter work is done before a thread would have started."""


async def aside(chars: int, work: Callable[[], _Result]) -> _Result:
    """Run work on a text of `chars` characters: directly if they are few, else in a thread.

    When cancelled it waits for the work to end first, so that no two tasks change the same things at once.
    """
    if chars <= FEW_CHARS:
        return work()
    working = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait({working})
        raise
