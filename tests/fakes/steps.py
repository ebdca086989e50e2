"""Measure what the steps of an event loop cost, in CPU of its own thread, so that a busy machine does not show."""

from __future__ import annotations

import asyncio
import gc
import time
from asyncio import events
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class LoopTime:
    """CPU of the steps: the longest one, and all of them, in seconds."""

    longest_s: float = 0.0
    all_s: float = 0.0


@contextmanager
def watched() -> Iterator[LoopTime]:
    """Measure every step that the running loop takes from its next one on, without collections of garbage."""
    found, run = LoopTime(), events.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        began_s = time.thread_time()
        run(handle)
        cost_s = time.thread_time() - began_s
        found.longest_s, found.all_s = max(found.longest_s, cost_s), found.all_s + cost_s

    gc.collect()
    gc.disable()
    events.Handle._run = timed  # type: ignore[method-assign, assignment]
    try:
        yield found
    finally:
        events.Handle._run = run  # type: ignore[method-assign]
        gc.enable()
