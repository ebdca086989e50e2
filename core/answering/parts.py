"""What the wiring gives a ChatBot: the engine's own parts, and the hooks that features fill."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from core.actions.registry import Registry
from core.answering.hooks import Gate, Limiter, PreferencesOf, ReplyReader, TakeBack, TurnEnded
from core.answering.incognito import IncognitoTalks
from core.answering.language_choice import Locales
from core.answering.turn import Services, Turn
from core.commands.command import CommandTable
from core.commands.menu import MenuEntry
from core.delivery.alerts import OwnerAlerts
from core.delivery.notifier import Notifier
from core.dialogue import switched_off
from core.history.conversation import Conversations
from core.memory.memories import Memories
from core.models import Cycle
from core.stores import Inbox
from core.types import Learn
from core.workers.port import Worker


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
