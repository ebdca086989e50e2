"""Ports through which features take part in answering a message. The wiring fills them: the engine names no feature."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from enum import Enum, auto
from typing import Protocol, TypeAlias

from core.answering.confirmations import Arrival
from core.answering.turn import Turn
from core.delivery.view import View
from core.history.conversation import Conversation
from core.ports import Channel
from core.trace import Phase
from core.types import Incoming, Invitation, Locale, Preferences, Role, UserKey

PreferencesOf: TypeAlias = Callable[[UserKey], Awaitable[Preferences]]

TurnEnded: TypeAlias = Callable[[str, str, Mapping[Phase, float]], None]
"""Called with the platform, the name of the failure ("" for none) and the seconds of each phase, for statistics."""


class Verdict(Enum):
    """What to do with a message."""

    ANSWER = auto()
    CLAIMED = auto()  # its sender has just become the owner
    TELL_OFF = auto()  # say in one line that the bot is private
    TELL_PAUSED = auto()  # say in one line that nobody is answered for now
    IGNORE = auto()


class Gate(Protocol):
    """Decide who is answered, and tell the others why not."""

    async def turned_away(self, incoming: Incoming, channel: Channel) -> Sequence[Coroutine[None, None, None]] | None:
        """Return None if the message may be stored; else the work that is left, telling the sender first.

        The caller runs the coroutines side by side. An empty sequence means that nobody is told.
        """

    async def recheck(self, incoming: Incoming) -> Verdict:
        """Judge a stored message again, by the present rights."""

    async def turn_away(self, verdict: Verdict, incoming: Incoming, view: View) -> None:
        """Tell the sender why they are not answered, if the verdict asks for it."""

    async def role_here(self, incoming: Incoming) -> Role | None:
        """Return the sender's role where they wrote, or None for a stranger."""

    async def welcome(self, invitation: Invitation, channel: Channel) -> None:
        """Say in a room that the bot was brought into who may talk to it, and tell the owners of it.

        Raises:
            StorageError: who may is not known.
        """


class Limiter(Protocol):
    """Hold answers within quotas."""

    async def answer(
        self, incoming: Incoming, text: str, view: View, locale: Locale, work: Callable[[], Awaitable[None]]
    ) -> bool:
        """Run `work`, which answers the text, if the quotas allow it, else say why not; return whether it ran."""

    async def tell_owners(self) -> None:
        """Tell owners of limits that were reached, or nearly, since the last call."""


class ReplyReader(Protocol):
    """Read a message as the reply to an earlier question: a text that a command waits for, a yes, a number."""

    async def read(self, incoming: Incoming, arrival: Arrival, conversation: Conversation) -> str:
        """Return the command that the message stands for in its conversation, or its own text."""

    async def drop(self, incoming: Incoming) -> bool:
        """Drop the open question of that conversation; return whether it was still valid."""


class TakeBack(Protocol):
    """Take back what a feature changed in an earlier turn."""

    async def take_back(self, turn: Turn, act: str) -> bool | None:
        """Take back all that the act of the turn's person changed; return None if it changed nothing.

        Return False if something of it stays, as it was changed since, or the time to take it back is over.
        """
