"""Work on long texts, where it holds up nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

_Result = TypeVar("_Result")

FEW_CHARS: Final = 2000
"""Work on so little is done before a thread would have begun."""


async def aside(chars: int, work: Callable[[], _Result]) -> _Result:
    """Do work on that many characters: here if they are few, else outside the event loop."""
    return work() if chars <= FEW_CHARS else await asyncio.to_thread(work)
