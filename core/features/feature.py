"""What a feature is: a function `build(shared) -> Contribution`, listed in `core/features/assembly.py`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Protocol, TypeAlias, TypeVar

from core.actions.action import Action
from core.answering.asker import Locales
from core.answering.confirmations import Confirmations
from core.answering.parts import TakeBack
from core.answering.turn import Additions, Turn
from core.commands.command import Command, Request
from core.delivery.alerts import OwnerAlerts
from core.delivery.notifier import Notifier
from core.dialogue import Effect
from core.features.access.gate import RoomTitles
from core.features.access.rules import Access
from core.features.admin.admin import Verb
from core.features.admin.decide import Decider
from core.features.admin.machine import Machine
from core.features.admin.names import Names
from core.features.admin.storage import Decisions, Matter
from core.features.broadcast.storage import Broadcasts
from core.features.ledger.chart import Draw
from core.features.links.storage import LinkCodes
from core.features.pending_input import PendingReplies, QuestionReader
from core.features.preferences.storage import PreferenceStore
from core.features.preferences.timezone import ZoneChange
from core.features.quotas.quotas import Quotas
from core.features.reminders.service import Limits as ReminderLimits
from core.features.reminders.storage import ReminderStore
from core.features.transfer.files import Copies, NoCopies, Spool
from core.memory.memories import Memories
from core.models import Models
from core.outgoing import Button
from core.ports import Clock
from core.stores import HistoryStore, KeptStore, NoKeys, PeoplesKeys
from core.text.catalogue import Counted
from core.threads import ConfirmationStore, PendingInputs
from core.types import Incoming, JSONValue, Learn, Locale, Localized, UserKey
from core.workers.port import Worker

Offered = TypeVar("Offered")


class Forgets(Protocol):
    """A store that keeps something of people and can forget one of them."""

    def forget(self, user: UserKey, /) -> Awaitable[object]:
        """Delete everything kept of that account."""
        ...


@dataclass(frozen=True, slots=True)
class Undoable:
    """A change that /undo can take back."""

    at: datetime | None
    button: Button

    undo: Callable[[Request], Awaitable[None]]
    """Takes it back, and says what that did."""

    act: str = ""
    """The act that is taken back as a whole instead, if it was part of one; else ""."""


class Undoes(TakeBack, Protocol):
    """What a feature lets /undo take back, and an edit of the question, besides memories."""

    async def newest(self, turn: Turn) -> Undoable | None:
        """Return the newest change that can still be taken back there."""
        ...

    async def done(self, turn: Turn) -> Undoable | None:
        """Return what this turn took back before a restart broke it off."""
        ...

    async def take_back_besides(self, turn: Turn, act: str) -> str:
        """Take back what an act set besides memories, and return a line on it; "" if it set nothing."""
        ...

    async def can_undo(self, incoming: Incoming) -> bool:
        """Return whether its sender changed something lately."""
        ...


Counts: TypeAlias = Sequence[tuple[Counted, int]]
"""Sentences with the numbers to be told in them."""


class Section(Protocol):
    """What a feature has in the file of an export: a list of entries, which an import reads and saves.

    Of the export of somebody else, entries come without the names of accounts.
    """

    name: str
    """The name of the list in the file."""

    async def entries(self, users: Sequence[UserKey]) -> Sequence[Mapping[str, object]]:
        """Return everything that is kept of a person on those accounts."""
        ...

    async def calendar(self, users: Sequence[UserKey]) -> tuple[bytes, int]:
        """Return what a calendar can show of it (RFC 5545), and how many events that are; nothing for none."""
        ...

    def read(self, entries: Sequence[Any]) -> tuple[list[dict[str, Any]], int]:
        """Return what can be saved of the entries of a file, each once, and how many others there are."""
        ...

    async def preview(self, request: Request, entries: Sequence[Any], unread: int) -> tuple[Counts, int]:
        """Return what is told of entries that were read, `unread` others, and how many would be saved."""
        ...

    async def save(self, request: Request, entries: Sequence[Any]) -> tuple[Counts, bool]:
        """Save entries that were read; return all that is told of that, and whether it can be undone."""
        ...


class Thought(Protocol):
    """What `elefante think` shows of a feature, beside steps and messages."""

    async def known(self, user: UserKey) -> frozenset[str]:
        """Return the ids of what there is of a person before a message is thought through."""
        ...

    async def shown(
        self, user: UserKey, known: frozenset[str], asked: object, locale: Locale, now: datetime
    ) -> tuple[dict[str, JSONValue], list[str]]:
        """Return what is not known, as JSON and as lines; under "asks" what belongs to the question `asked`, if any."""
        ...


@dataclass(frozen=True, slots=True)
class RoomSwitch:
    """Something that /admin room turns on and off in a room, where it is on until decided otherwise.

    `kind` is the kind of decision, `word` what is written. `on` and `off` say what holds, `turn_on` and `turn_off` are
    the choices in menus.
    """

    kind: str
    word: str
    on: Localized
    off: Localized
    turn_on: Localized
    turn_off: Localized


Task: TypeAlias = Callable[[asyncio.Event], AbstractAsyncContextManager[None]]
"""Works in the background while its context is entered, and begins nothing new once the event is set."""


@dataclass(slots=True)
class Contribution:
    """What a feature adds to the bot."""

    commands: Sequence[Command] = ()
    verbs: Sequence[Verb] = ()
    """Verbs of /admin."""

    actions: Sequence[Action] = ()
    off: Sequence[str] = ()
    """Names of its actions that are off at first, as settings of the feature leave them nothing to do."""

    effects: Sequence[Effect] = ()
    """What its actions do besides changing memories, so that a model's words about that are checked."""

    additions: Sequence[Additions] = ()
    matters: Sequence[Matter] = ()
    """Kinds of decision of its own."""

    switches: Sequence[RoomSwitch] = ()
    status: Sequence[Callable[[Locale], Awaitable[str]]] = ()
    """Lines of /admin status."""

    undoes: Sequence[Undoes] = ()
    questions: Sequence[QuestionReader] = ()
    """Reads a message as the reply to a question of the feature."""

    zone_moves: Sequence[Callable[[Request, ZoneChange], Awaitable[Sequence[str]]]] = ()
    """Called when a person chose a time zone; return what to tell them, a paragraph each."""

    forgetters: Sequence[Forgets] = ()
    counts: Sequence[tuple[str, Callable[[Sequence[UserKey]], Awaitable[int]]]] = ()
    """Of what is kept of a person's accounts: its name in English, and how much there is."""

    thoughts: Sequence[Thought] = ()
    sections: Sequence[Section] = ()
    tasks: Sequence[Task] = ()
    """Background tasks of every process."""

    served: Sequence[Task] = ()
    """Background tasks of processes that serve all platforms."""

    offers: Sequence[object] = ()
    """What the command line and other features ask for by its type (`Shared.get`)."""


class Contributions(Contribution):
    """What all features added so far."""

    def __init__(self) -> None:
        super().__init__(**{each.name: [] for each in fields(Contribution)})

    def add(self, added: Contribution) -> None:
        """Add what one feature contributes. Whoever holds a list of these sees it grow."""
        for each in fields(Contribution):
            getattr(self, each.name).extend(getattr(added, each.name))


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores of the features. `forgetters` are further stores from which a person is erased, at last.

    What is deleted inside `forgetting` is scrubbed from the disk at its end.
    """

    decisions: Decisions
    preferences: PreferenceStore
    memories: Memories
    history: HistoryStore
    quotas: Quotas
    kept: KeptStore
    links: LinkCodes
    pending_inputs: PendingInputs
    confirmations: ConfirmationStore
    broadcasts: Broadcasts
    reminders: ReminderStore
    forgetters: Sequence[Forgets] = ()
    spool: Spool = field(default_factory=Spool)
    copies: Copies = field(default_factory=NoCopies)
    keys: PeoplesKeys = field(default_factory=NoKeys)
    forgetting: Callable[[], AbstractAsyncContextManager[None]] = nullcontext


@dataclass(frozen=True, slots=True)
class FeatureSettings:
    """What the settings say about features."""

    language: str = ""
    """The tag of the language of every answer; "" if none is fixed."""

    learn: Learn = Learn.OFFERED
    """The most that people can choose to have saved unasked."""

    logs_words: bool = False
    """Whether the log holds what people ask, where /forget does not reach."""

    draw: Draw | None = None
    """Draws charts; None: there are none."""

    broadcast_interval_s: float = 1.0
    reminder_limits: ReminderLimits = field(default_factory=ReminderLimits)


class Shared:
    """What features are built over: the same objects for all of them."""

    def __init__(
        self,
        stores: Stores,
        *,
        access: Access,
        models: Models,
        machine: Machine,
        clock: Clock,
        settings: FeatureSettings,
        worker: Worker,
    ) -> None:
        self.stores = stores
        self.access = access
        self.models = models
        self.machine = machine
        self.platforms = machine.platforms
        self.clock = clock
        self.settings = settings
        self.worker = worker
        self.added = Contributions()
        self.memories = stores.memories
        self.notifier = Notifier(clock)
        self.locales = Locales(
            stores.preferences.of,
            stores.history,
            self.settings.language,
            access.language,
            stores.decisions.language_in,
        )
        self.alerts = OwnerAlerts(self._owners, self.notifier, clock)
        self.confirmations = Confirmations(stores.confirmations, clock)
        self.titles = RoomTitles(stores.kept)
        self.names = Names(access, self.notifier, self.titles)
        self.decider = Decider(stores.decisions, self.names, clock, self.added.matters)
        self.replies = PendingReplies(
            stores.pending_inputs,
            self.confirmations,
            self.memories,
            clock,
            questions=self.added.questions,
            can_undo=self._can_undo,
        )

    def get(self, kind: type[Offered]) -> Offered:
        """Return the object of that type that a feature offers.

        Raises:
            LookupError: no feature does.
        """
        found = next((each for each in self.added.offers if isinstance(each, kind)), None)
        if found is None:
            raise LookupError(f"no feature offers {kind.__name__}")
        return found

    async def _owners(self) -> Mapping[UserKey, Locale]:
        """Return who owns the bot, and in which language each is told of trouble."""
        return {user: await self.locales.known(user) for user in await self.access.owners()}

    async def _can_undo(self, incoming: Incoming) -> bool:
        return any([await each.can_undo(incoming) for each in self.added.undoes])
