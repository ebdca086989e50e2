"""One message being answered: the record that actions, commands and features get."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from core.answering.answer import Answer
from core.answering.budget import PromptBudget
from core.answering.log import Log
from core.answering.person import Person
from core.answering.search import Search
from core.answering.shown import Shown
from core.confirmations import Confirmations
from core.dialogue import ActionInfo
from core.history.conversation import Conversation
from core.memory.profile import Profiles
from core.memory.user_memory import UserMemory
from core.models import Models
from core.outgoing import Button
from core.ports import Clock, TimeReader
from core.types import MemoryItem, Message


class Additions(Protocol):
    """What features add to a turn."""

    async def known(self, turn: Turn, queries: Sequence[str]) -> Sequence[str]:
        """Return what features know about what is looked for, a line each in the person's language, the best first."""

    async def below_saved(self, turn: Turn, saved: Sequence[MemoryItem]) -> Sequence[Button]:
        """Return what features offer below memories that were just saved."""


@dataclass(frozen=True, slots=True)
class Services:
    """What a turn works with that is not its own."""

    models: Models
    clock: Clock
    confirmations: Confirmations
    times: TimeReader
    profiles: Profiles | None = None
    additions: Additions | None = None

    actions: tuple[ActionInfo, ...] = ()
    """The actions that are on."""


@dataclass(slots=True)
class Turn:
    """One message being answered."""

    person: Person
    conversation: Conversation

    memory: UserMemory
    """What the bot remembers of the person, as far as it may be spoken of here."""

    services: Services
    shown: Shown
    log: Log
    answer: Answer
    search: Search
    budget: PromptBudget

    is_single: bool = False
    """Whether the model answers and calls actions in one: then it cites what its answer rests on."""

    @property
    def asked(self) -> Message:
        """The person's message."""
        return self.log.asked
