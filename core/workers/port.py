"""This process among the workers of a bot: the only one, unless the wiring names `core.workers.cluster`.

A worker that was cut off or stood still does not know that others go on with its work. So what it does alone it does
under a claim: the database refuses what is written under one that is gone (`core.storage.postgres`), and no chat is
written into once the worker's lease is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeAlias

from core.errors import ClaimLost
from core.types import ChatKey, UserKey

_CLAIM: ContextVar[Claim | None] = ContextVar("claim", default=None)


@dataclass(eq=False, slots=True)
class Claim:
    """One worker's right to some work, under a name."""

    name: str

    epoch: int
    """No two claims have the same; 0 for what nobody else can do."""

    is_alive: Callable[[], bool]
    """Tells whether the worker's lease holds."""

    lost: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once another worker may do the work: what this one does is to end at once."""

    is_given_up: bool = False
    """Whether this worker has ended the claim: what is still written by then needs none."""

    def check(self) -> None:
        """Do nothing while the work is this worker's.

        Raises:
            ClaimLost: others may do it by now.
        """
        if self.lost.is_set() or not (self.is_given_up or self.is_alive()):
            raise ClaimLost("another worker may go on with this")

    @contextmanager
    def under(self) -> Iterator[None]:
        """Do what the block does, and all tasks that it starts, under this claim: once it is lost, they write nothing.

        They raise ClaimLost instead.
        """
        token = _CLAIM.set(self)
        try:
            yield
        finally:
            _CLAIM.reset(token)


def own_claim(name: str) -> Claim:
    """Return a claim to what nobody else can do; it is never lost, and fences nothing."""
    return Claim(name, 0, lambda: True)


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


OwedChats: TypeAlias = Mapping[str, tuple[Claim, AbstractSet[tuple[ChatKey, str]]]]
"""Chats that are claimed, by name, each with the messages owed there."""


@dataclass(frozen=True, slots=True)
class Colleague:
    """A worker, as people see it: since when, its version, HOST:PID, how many chats it answers, its other claims."""

    since: datetime
    version: str
    process: str
    chats: int
    duties: tuple[str, ...] = ()


class HeldChats(Protocol):
    """The chats that a worker answers, as the worker sees them. Chats go by their names (`core.types.room_name`)."""

    @property
    def busy(self) -> int:
        """The number of chats in which somebody is being answered."""

    async def look(self, names: Collection[str] = ()) -> None:
        """Take in what is owed in those chats; without names, in all that the worker holds or can claim.

        Raises:
            StorageError: not all could be taken in.
        """

    async def drop(self) -> None:
        """End all answers at once and without a word: other workers go on with them."""


class Worker:
    """One process of the bot: which chats, which duties and how much of each limit are its own.

    This is the only one: it has every chat, every duty and all of each limit, and nothing is stored. One of several
    overrides every method.
    """

    is_alone: bool = True
    """Whether there can be no other worker."""

    @property
    def is_alive(self) -> bool:
        """Whether the others know that it lives; one that they do not hear of answers nobody."""
        return True

    @property
    def speaks(self) -> bool:
        """Whether it is this worker that speaks for all while nothing can be claimed."""
        return True

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Be one of the workers; leaving gives up everything at once.

        Raises:
            StorageError: the database cannot be used.
        """
        yield

    async def present(self) -> Sequence[Colleague]:
        """Return all workers, this one among them; nobody if there can be no other.

        Raises:
            StorageError: they cannot be read.
        """
        return ()

    # --- chats: claimed by the inbox, as it accepts a message (`core.stores.Accepted`), and by `owed` ---

    def serve(self, chats: HeldChats) -> None:
        """Tell these chats from now on what there is to look at."""

    def connect(self, platform: str) -> None:
        """Claim chats of that platform: this worker can write there."""

    def disconnect(self, platform: str) -> None:
        """Claim no more chats of that platform."""

    def claim(self, name: str, worker: int, epoch: int) -> Claim | None:
        """Return the claim of that number; None if it is another worker's, or if nobody has claimed the chat."""
        del worker, epoch
        return own_claim(name)

    def wake(self, name: str, worker: int) -> None:
        """Tell that worker, or any if it is 0, that something is owed in a chat."""

    async def owed(self) -> OwedChats:
        """Claim chats in which something is owed, and return all that are claimed.

        Raises:
            StorageError: it could not be read.
        """
        return {}

    async def release(self, claim: Claim) -> bool:
        """Give up a chat if nothing is owed there; return False, and keep it, if something is.

        Raises:
            StorageError: it is not known.
        """
        del claim
        return True

    async def give_up(self, claims: Collection[Claim]) -> None:
        """Give up chats in which something may be owed: other workers go on at once.

        Raises:
            StorageError: it is not known.
        """

    async def end_others(self, users: Collection[UserKey]) -> None:
        """Let no other worker go on answering these people: what it would still write under its claim is refused.

        Their messages there are dropped, and other people's in the same chats are taken in again.

        Raises:
            StorageError: it is not known.
        """

    # --- duties: work that one worker does at a time ---

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[Claim]:
        """Wait until that work is this worker's; leaving gives it up.

        It becomes another's within seconds of the death of the worker that has it.
        """
        yield own_claim(name)

    # --- limits of platforms that hold for all workers together ---

    def share(self, limit: str) -> float:
        """Return how much of a limit is this worker's, over 0 and at most 1.

        It follows what each has used of it lately (`used`), and nobody is left without.
        """
        del limit
        return 1.0

    def used(self, limit: str, count: int = 1) -> None:
        """Note that so much of a limit was used; nothing is written by it."""
