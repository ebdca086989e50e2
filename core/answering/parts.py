"""What the wiring gives a ChatBot: the engine's own parts, and the hooks by which features take part in answering.

The engine names no feature.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Protocol, TypeAlias

from core.actions.action import Registry
from core.answering.asker import Locales, PreferencesOf
from core.answering.confirmations import Arrival
from core.answering.incognito import IncognitoTalks
from core.answering.turn import Services, Turn
from core.commands.command import CommandTable
from core.commands.menu import MenuEntry
from core.delivery.alerts import OwnerAlerts
from core.delivery.notifier import Notifier
from core.delivery.view import View
from core.dialogue import switched_off
from core.history.conversation import Conversation, Conversations
from core.memory.memories import Memories
from core.models import Cycle
from core.ports import Channel
from core.stores import Inbox
from core.tasks import Phase
from core.types import Incoming, Invitation, Learn, Locale, Role
from core.workers.port import Worker

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


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """Limits of one turn, how it is thought, and when it shows what (`core.delivery.views.Views`)."""

    cycle: Cycle = Cycle.AUTO
    max_steps: int = 8
    timeout_s: float = 300.0
    min_message_chars: int = 1
    max_message_chars: int = 32_000

    answers_at_once: int = 8
    """How many people of a room are answered side by side."""

    status_after_s: float = 1.5
    notify_after_s: float = 20.0


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """What the owner set for all turns."""

    limits: TurnLimits = field(default_factory=TurnLimits)

    language: str = ""
    """The tag of the language of every answer; "" if none is fixed."""

    learn: Learn = Learn.OFFERED
    """The most that people can choose to have saved unasked."""

    log_content: bool = False
    """Whether the log holds what people ask."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """Where features take part in answering a message."""

    gate: Gate
    limiter: Limiter
    replies: ReplyReader
    preferences: PreferencesOf

    catch_up: Callable[[], Awaitable[None]]
    """Loads what other processes decided."""

    takes_back: Sequence[TakeBack] = ()

    turn_ended: TurnEnded | None = None
    """Is told how each turn went."""

    watch: Callable[[Turn], None] | None = None
    """Gets each turn before it is answered, for those who look at its steps afterwards."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How people are reached who have not just written, and in which language."""

    notifier: Notifier
    alerts: OwnerAlerts
    locales: Locales


@dataclass(frozen=True, slots=True)
class ChatBotParts:
    """Parts of a ChatBot."""

    inbox: Inbox
    worker: Worker
    conversations: Conversations
    memories: Memories
    registry: Registry
    commands: CommandTable
    incognito: IncognitoTalks

    services: Services
    """What turns work with; each gets the models and actions of the moment in which it begins."""

    hooks: Hooks
    reach: Reach
    settings: TurnSettings = field(default_factory=TurnSettings)

    def menu(self) -> tuple[MenuEntry, ...]:
        """Return the entries of menus, without commands of what is turned off."""
        return self.commands.menu(switched_off(self.registry.infos()))
