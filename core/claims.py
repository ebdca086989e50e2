"""Claims: what one worker alone does at a time, of several over one database; a claim fences what is written under it.

A worker that was cut off or stood still does not know that others go on with its work. So the database refuses what is
written under a claim that is gone (`core.storage.postgres`), and no chat is written into once the lease is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from core.errors import ClaimLost

_CLAIM: ContextVar[Claim | None] = ContextVar("claim", default=None)


@dataclass(eq=False, slots=True)
class Claim:
    """One worker's right to some work, under a name.

    No two claims have the same `epoch`. `is_alive` tells whether the worker's lease holds. `lost` is set once others
    may do the work; `is_given_up` is true once this worker has ended it: what is still written by then needs no claim.
    """

    name: str
    epoch: int
    is_alive: Callable[[], bool]
    lost: asyncio.Event = field(default_factory=asyncio.Event)
    is_given_up: bool = False

    def check(self) -> None:
        """Do nothing while the work is this worker's.

        Raises:
            ClaimLost: others may do it by now.
        """
        if self.lost.is_set() or not (self.is_given_up or self.is_alive()):
            raise ClaimLost("another worker may go on with this")

    @contextmanager
    def under(self) -> Iterator[None]:
        """Do what the block does, and all tasks that it starts, under this claim."""
        token = _CLAIM.set(self)
        try:
            yield
        finally:
            _CLAIM.reset(token)


def present_claim() -> Claim | None:
    """Return the claim under which the task works; None if it needs none."""
    return _CLAIM.get()


def check_claim() -> None:
    """Do nothing while what the task does is this worker's to do.

    Raises:
        ClaimLost: others may do it by now.
    """
    if (claim := _CLAIM.get()) is not None:
        claim.check()


@contextmanager
def unclaimed() -> Iterator[None]:
    """Do what the block does, and all tasks that it starts, under no claim: it is nobody's work alone."""
    token = _CLAIM.set(None)
    try:
        yield
    finally:
        _CLAIM.reset(token)
