"""Ports through which features take part in answering a message; the wiring fills them, the engine names no feature."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from enum import Enum, auto
from typing import Protocol, TypeAlias

from core.confirmations import Arrival
from core.delivery.view import View
from core.ports import Channel
from core.types import Incoming, Locale, Preferences, Role, UserKey

PreferencesOf: TypeAlias = Callable[[UserKey], Awaitable[Preferences]]


class Verdict(Enum):
    """What is done with a message."""

    ANSWER = auto()
    CLAIMED = auto()  # its sender has just become the owner
    TELL_OFF = auto()  # one polite line that the bot is private
    TELL_PAUSED = auto()  # one line that nobody is answered for now
    IGNORE = auto()


class Gate(Protocol):
    """Decide who is answered, and tell the others why not."""

    async def turned_away(self, incoming: Incoming, channel: Channel) -> Sequence[Coroutine[None, None, None]] | None:
        """Return None if the message goes on to the inbox; else what is left to do, beginning with telling the sender.

        Each coroutine is run by the caller, side by side; an empty sequence means that nobody is told anything.
        """
        ...

    async def recheck(self, incoming: Incoming) -> Verdict:
        """Judge a stored message again, by the rights that hold now."""
        ...

    async def turn_away(self, verdict: Verdict, incoming: Incoming, view: View) -> None:
        """Tell the sender why they are not answered, if that verdict is one to be told."""
        ...

    async def role_here(self, incoming: Incoming) -> Role | None:
        """Return the sender's role where they wrote, or None for a stranger."""
        ...


class Limiter(Protocol):
    """Hold answers within quotas."""

    async def answer(
        self, incoming: Incoming, text: str, view: View, locale: Locale, work: Callable[[], Awaitable[None]]
    ) -> bool:
        """Run `work`, which answers the text, if the quotas allow it, else say why not; return whether it was run."""
        ...

    async def tell_owners(self) -> None:
        """Tell owners of limits that were used up or nearly so since the last call."""
        ...


class ReplyReader(Protocol):
    """Read a message as the reply to what the bot asked before: a text a command waits for, a yes, a number."""

    async def read(self, incoming: Incoming, arrival: Arrival) -> str:
        """Return the command that the message amounts to, or its own text."""
        ...

    async def drop(self, incoming: Incoming) -> bool:
        """Forget what was asked in that conversation; return whether a reply to it would still have counted."""
        ...
