"""Run work on long texts outside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

_Result = TypeVar("_Result")

FEW_CHARS: Final = 2000
"""Work on so little is done before a thread would have begun."""


async def aside(chars: int, work: Callable[[], _Result]) -> _Result:
    """Do work on that many characters: here if they are few, else outside the event loop.

    Cancelled, it ends when the work has: nothing that the work changes is touched by two at once.
    """
    if chars <= FEW_CHARS:
        return work()
    working = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait({working})
        raise
