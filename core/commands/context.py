"""What commands steer. Knows the parts that a command may touch besides its turn. Does not know any command."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

from core.actions.registry import Registry
from core.confirmations import Confirmations
from core.delivery.notifier import Notifier
from core.errors import ConfigError
from core.features.access.rules import Access
from core.features.admin.decisions import OFF, ON, DecisionKind, Decisions
from core.features.admin.machine import Machine
from core.features.alerts import OwnerAlerts
from core.features.broadcast.broadcaster import Broadcaster
from core.features.broadcast.broadcasts import Broadcasts
from core.features.ledger.chart import Draw
from core.features.links.codes import LinkCodes
from core.features.preferences.store import PreferenceStore
from core.features.quotas.allowance import Allowance
from core.features.quotas.quotas import Quotas
from core.features.transfer.files import Copies, NoCopies, Spool
from core.language_choice import Locales
from core.memory.memories import Memories
from core.models import Models
from core.ports import Clock
from core.stores import HistoryStore
from core.threads import ConfirmationStore, PendingInputs
from core.types import ConversationKey, Locale, Role, UserKey

_MAX_LISTS: Final = 1000


class Forgets(Protocol):
    """Whatever keeps something of a person and can let go of it."""

    def forget(self, user: UserKey, /) -> Awaitable[object]:
        """Keep nothing of that person any more."""
        ...


Effect: TypeAlias = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class Stores:
    """Where things are kept: what commands read, and in `forgetters` all that forgets.

    What is forgotten inside `forgetting` is scrubbed from the disk at its end. `logs_words` says that what people ask
    stands in the log, too, which forgets nobody.
    """

    decisions: Decisions
    preferences: PreferenceStore
    memories: Memories
    history: HistoryStore
    forgetters: Sequence[Forgets]
    links: LinkCodes
    pending_inputs: PendingInputs
    confirmations: ConfirmationStore
    broadcasts: Broadcasts
    logs_words: bool = False
    spool: Spool = field(default_factory=Spool)
    copies: Copies = field(default_factory=NoCopies)
    forgetting: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
    foreign_version: Callable[[], Awaitable[int]] | None = (
        None  # another one whenever another process changed something
    )


@dataclass(slots=True)
class CommandContext:
    """The parts of a running bot that people steer by commands.

    `platforms` are those that have been heard of, `drafts_on` those where an answer can grow in a draft.
    """

    access: Access
    stores: Stores
    models: Models
    registry: Registry
    clock: Clock
    quotas: Quotas
    machine: Machine
    draw: Draw | None = None  # draws charts, where that can be done
    broadcast_interval_s: float = 1.0
    language: Locale | None = None  # answers in this one, whatever people write
    started_s: float = field(init=False)
    platforms: set[str] = field(default_factory=set)
    drafts_on: set[str] = field(default_factory=set)
    notifier: Notifier = field(init=False)
    locales: Locales = field(init=False)
    alerts: OwnerAlerts = field(init=False)
    allowance: Allowance = field(init=False)
    confirmations: Confirmations = field(init=False)
    broadcaster: Broadcaster = field(init=False)
    _effects: dict[DecisionKind, Effect] = field(init=False)
    _lists: dict[ConversationKey, Mapping[int, str]] = field(default_factory=dict)
    _in_force: dict[tuple[DecisionKind, str], str] = field(default_factory=dict)
    _foreign: int = 0

    def __post_init__(self) -> None:
        """Note when the bot started."""
        self.started_s = self.clock.monotonic()
        self.notifier = Notifier(self.clock)
        self.locales = Locales(self.stores.preferences, self.stores.history, self.language)
        self.alerts = OwnerAlerts(self.access, self.notifier, self.locales)
        self.allowance = Allowance(self.quotas, self.access, self.notifier, self.clock)
        self.confirmations = Confirmations(self.stores.confirmations, self.clock)
        self.broadcaster = Broadcaster(
            self.stores.broadcasts, self.notifier, self.wants_news, self.clock, interval_s=self.broadcast_interval_s
        )
        self._effects = {DecisionKind.ACTION: self.turn_action, DecisionKind.MODEL: self.machine.models.put}

    async def open(self) -> None:
        """Let what was decided before this start be so again."""
        await self.confirmations.expire()
        await self._put_in_force()

    async def catch_up(self) -> None:
        """Let what another process, such as the command line, decided meanwhile be so here."""
        if self.stores.foreign_version is None:
            return
        foreign = await self.stores.foreign_version()
        if foreign != self._foreign:
            await self._put_in_force()
            self._foreign = foreign

    async def _put_in_force(self) -> None:
        for matter in self._effects:
            values = await self.stores.decisions.values(matter)
            gone = [name for (of, name), value in self._in_force.items() if of is matter and value]
            for name in dict.fromkeys((*values, *gone)):
                if self._in_force.get((matter, name), "") != values.get(name, ""):
                    self.take_effect(matter, name, values.get(name, ""))

    def on(self, matter: DecisionKind, effect: Effect) -> None:
        """Have `effect` called with the name and the value of what is decided of that matter; before `open`."""
        self._effects[matter] = effect

    def take_effect(self, matter: DecisionKind, name: str, value: str) -> None:
        """Let a decision be so at once. Of most matters whoever asks reads it anew each time, and nothing is to do."""
        if matter in self._effects:
            self._in_force[matter, name] = value
            self._effects[matter](name, value)

    async def wants_news(self, user: UserKey) -> bool:
        """Whether the person is told what owners tell everybody: not a guest, and not who turned that off."""
        if await self.access.role(user) not in {Role.OWNER, Role.ADMIN, Role.MEMBER}:
            return False
        return (await self.stores.preferences.of(user)).news

    def turn_action(self, name: str, value: str) -> None:
        """Let it be offered (ON), not be offered (OFF), or be as the settings say (""). An unknown name is fine."""
        registry = self.registry
        with suppress(ConfigError):  # decided by a version of this program that had the action
            {ON: registry.enable, OFF: registry.disable}.get(value, registry.restore)(name)

    def note_list(self, conversation: ConversationKey, memory_ids: Mapping[int, str]) -> None:
        """Keep which memory each number on the screen stands for, until the next list there or the next start."""
        self._lists.pop(conversation, None)
        if len(self._lists) >= _MAX_LISTS:
            self._lists.pop(next(iter(self._lists)))
        self._lists[conversation] = memory_ids

    def listed(self, conversation: ConversationKey, number: int) -> str:
        """Return the id of the memory that the number stood for in the last list there, or ""."""
        return self._lists.get(conversation, {}).get(number, "")

    async def forget(self, user: UserKey) -> None:
        """Keep nothing of that person any more, on any account that they linked.

        An owner or admin stays that, and the blocked stay blocked, without a name.
        """
        accounts = await self.stores.memories.accounts(user)
        stores = self.stores
        forgetters: Sequence[Forgets] = (stores.links, stores.pending_inputs, stores.confirmations, *stores.forgetters)
        async with stores.forgetting():
            await stores.memories.of(accounts[0]).forget()
            for account in accounts:
                await self.access.forget(account)
                for store in forgetters:
                    await store.forget(account)
        self._lists = {where: ids for where, ids in self._lists.items() if where.user not in accounts}
