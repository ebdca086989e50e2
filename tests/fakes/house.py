"""A whole bot in RAM, for tests of the cycle: real core and stores, a scripted model, words as vectors."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from types import TracebackType
from typing import Any, Generic, TypeVar, cast
from zoneinfo import ZoneInfo

from core.actions.action import Registry
from core.answering.asker import Asker
from core.answering.chatbot import ChatBot
from core.answering.confirmations import Confirmations
from core.answering.enclosed import FileService
from core.answering.incognito import IncognitoTalks
from core.answering.loop import think
from core.answering.opening import new_turn
from core.answering.parts import ChatBotParts, TurnLimits
from core.answering.questions import QUIET_S, begins
from core.answering.turn import Services, Turn
from core.delivery.view import View
from core.dialogue import Prompt, Task
from core.features.access.rules import Access, Mode
from core.features.access.storage import People
from core.features.admin.machine import Doubt, Machine, ModelSwitch, Proof, Survey, Trouble, TroubleLog
from core.features.admin.storage import Decisions
from core.features.assembly import Features
from core.features.broadcast.storage import Broadcasts
from core.features.feature import FeatureSettings, Stores
from core.features.ledger.chart import Draw
from core.features.ledger.storage import Ledger
from core.features.links.storage import LinkCodes
from core.features.preferences.storage import PreferenceStore
from core.features.quotas.limits import Defaults
from core.features.quotas.quotas import Quotas
from core.features.reminders.service import Limits, Reminders
from core.features.reminders.storage import ReminderStore
from core.features.transfer.files import Spool
from core.files.port import FileStore
from core.history.conversation import Conversations
from core.memory.embedding import Indexes
from core.memory.memories import Memories
from core.models import MODES, Cycle, HotModel, Models
from core.outgoing import ChannelLimits
from core.ports import ChatModel, Clock
from core.storage.database import Database
from core.storage.faiss_index import FaissIndex
from core.storage.files import SqlFiles
from core.storage.history import SqlHistory
from core.storage.inbox import SqlConfirmations, SqlInbox, SqlPendingInputs
from core.storage.kept import SqlKept
from core.storage.memories import SqlMemories
from core.stores import Backlog, HistoryStore, Inbox, KeptStore, SearchableMemoryStore
from core.threads import ConfirmationStore, PendingInputs
from core.times.said import TimeWords
from core.types import (
    ChatKey,
    Incoming,
    Learn,
    Locale,
    MemoryDraft,
    MemoryItem,
    MemoryKind,
    Message,
    MessageRole,
    UserKey,
)
from core.workers.port import Colleague, Worker
from tests.fakes.channel import RecordingChannel
from tests.fakes.clock import FakeClock
from tests.fakes.model import Answer, HashEmbedder, ScriptedModel
from tests.fakes.ram import RamDatabase


class NamedModels(ModelSwitch):
    """Models by the names that a test gives them; any other name is refused as unknown."""

    def __init__(self, models: Models, known: Mapping[str, ChatModel] | None = None) -> None:
        self._models = models
        self.known = dict(known or {})
        self.without_price: list[str] = []
        self.proofs: dict[str, Proof] = {}
        self.proved: list[tuple[str, str]] = []
        self._usual = {mode: getattr(models, mode).model for mode in MODES}
        self._decided = dict.fromkeys(MODES, "")

    def usual(self, mode: str) -> str:
        return str(self._usual[mode].name)

    def held(self, mode: str) -> str:
        return self._decided[mode] or self.usual(mode)

    def is_limited(self, mode: str) -> bool:
        return self.held(mode).partition(":")[0] == "limited"

    def names(self) -> Sequence[str]:
        return list(self.known)

    def unpriced(self) -> Sequence[str]:
        return self.without_price

    async def prove(self, mode: str, name: str) -> Proof:
        self.proved.append((mode, name))
        is_known = name in self.known or name == self.usual(mode)
        return self.proofs.get(name) or (Proof() if is_known else Proof(Doubt.PROVIDER, name, "scripted"))

    def put(self, mode: str, name: str) -> None:
        place = getattr(self._models, mode)
        assert isinstance(place, HotModel)
        place.model = self.known.get(name, self._usual[mode])
        self._decided[mode] = name if name in self.known else ""


@dataclass
class ToldTroubles(TroubleLog):
    """Troubles as a test tells them, the newest first."""

    troubles: list[Trouble] = field(default_factory=list)

    def newest(self, limit: int) -> Sequence[Trouble]:
        return self.troubles[:limit]

    def errors_since(self, at: datetime) -> int:
        return sum(trouble.count for trouble in self.troubles if trouble.level == "ERROR" and trouble.at >= at)


async def _storage() -> tuple[str, int]:
    return "SQLite 3.50", 5 * 1024 * 1024


async def _owed() -> Mapping[str, Backlog]:
    return {}


async def _workers() -> Sequence[Colleague]:
    return ()


NOBODY = Survey(_storage, _owed, _workers)


def machine(models: Models, survey: Survey | None = None) -> Machine:
    return Machine(NamedModels(models), ToldTroubles(), "1.2.3", survey or NOBODY)


T = TypeVar("T")
Script = Mapping[Task, Sequence[Answer] | Callable[[Prompt], Answer]]
ANA = UserKey("test", "ana")
BIA = UserKey("test", "bia")
_QUOTA = 10_000_000


@dataclass(frozen=True, slots=True)
class _Over(Generic[T]):
    make: Callable[[Database], T]


def over(make: Callable[[Database], T]) -> T:
    """Give a house a store of that class, made over the house's database."""
    return cast("T", _Over(make))


class ToldView(View):
    """A view that keeps every status it was told, also those that were gone before they could be written."""

    def __init__(self, channel: RecordingChannel, clock: Clock) -> None:
        super().__init__(channel, clock)
        self.told: list[str] = []

    async def status(self, text: str) -> None:
        self.told.append(text)
        await super().status(text)


class HouseBot(ChatBot):
    """Ends its alarms and what goes on in RAM when it ends, as the wiring does."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await super().__aexit__(kind, error, traceback)
        await self.parts.reach.alerts.close()
        await self.parts.incognito.close()


async def answered(bot: ChatBot, incoming: Incoming, channel: RecordingChannel) -> None:
    """Say it, let the time go by in which more may belong to it, and wait for its answer."""
    answer = await bot.receive(incoming, channel)
    if begins(incoming) and isinstance(clock := bot.parts.services.clock, FakeClock):
        await clock.advance(QUIET_S)
    await answer


@dataclass(slots=True)
class House:
    """The parts of a bot, each of which a test may look into or replace before `chatbot` is asked for."""

    script: Script = field(default_factory=dict)
    clock: Clock = field(default_factory=FakeClock)
    embedder: HashEmbedder = field(default_factory=HashEmbedder)
    database: Database = field(default_factory=RamDatabase)
    history: HistoryStore = field(default=over(SqlHistory))
    inbox: Inbox = field(default=over(SqlInbox))
    store: SearchableMemoryStore = field(default=over(SqlMemories))
    limits: TurnLimits = field(default_factory=lambda: TurnLimits(cycle=Cycle.STEPWISE))
    people: People = field(default=over(People))
    kept: KeptStore = field(default=over(SqlKept))
    preferences: PreferenceStore = field(default=over(PreferenceStore))
    trusted: tuple[str, ...] = ("test",)
    mode: Mode = Mode.PRIVATE
    off: tuple[str, ...] = ()
    language: str = ""
    learn: Learn = Learn.OFFERED
    log_content: bool = False
    links: LinkCodes = field(default=over(LinkCodes))
    pending_inputs: PendingInputs = field(default=over(SqlPendingInputs))
    confirmations: ConfirmationStore = field(default=over(SqlConfirmations))
    broadcasts: Broadcasts = field(default=over(Broadcasts))
    reminders: ReminderStore = field(default=over(ReminderStore))
    reminder_limits: Limits = field(default_factory=Limits)
    ledger: Ledger = field(default=over(Ledger))
    defaults: Defaults = field(default_factory=Defaults)
    draw: Draw | None = None
    spool: Spool = field(default_factory=Spool)
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    reading: FileService | None = None
    decisions: Decisions = field(init=False)
    quotas: Quotas = field(init=False)
    model: ScriptedModel = field(init=False)
    models: Models = field(init=False)
    files: FileStore | None = None
    memories: Memories = field(init=False)
    conversations: Conversations = field(init=False)
    reminding: Reminders = field(init=False)
    machine: Machine = field(init=False)
    _registry: Registry | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        for each in fields(self):
            if isinstance(made := getattr(self, each.name, None), _Over):
                setattr(self, each.name, made.make(self.database))
        self.decisions = Decisions(self.database)
        self.quotas = Quotas(self.ledger, self.decisions, self.clock, self.defaults, self.zone)
        self.model = ScriptedModel(self.script)
        heavy, reasoning, chat, summary = (HotModel(self.model) for _ in MODES)
        self.models = Models(heavy, reasoning, chat, summary, self.embedder)
        self.machine = machine(self.models)
        self.files = self.files or SqlFiles(self.database, self.clock, _QUOTA)
        indexes = Indexes(self.store, FaissIndex, max_owners=8)
        self.memories = Memories(self.store, self.embedder, indexes, self.clock, files=self.files)
        self.conversations = Conversations(
            self.history, self.clock, place_settings=self.decisions.place_settings, zone=self.zone
        )
        self.reminding = Reminders(
            self.reminders,
            self.memories,
            self.clock,
            self.reminder_limits,
            wake=lambda: None,
        )

    @property
    def registry(self) -> Registry:
        """The actions of the first features that were made, which all later ones share."""
        if self._registry is None:
            self.features()
        assert self._registry is not None
        return self._registry

    @registry.setter
    def registry(self, registry: Registry) -> None:
        self._registry = registry

    def answered_by(self, mind: ChatModel) -> None:
        """Let that model take the place of the scripted one."""
        for mode in (self.models.heavy, self.models.reasoning, self.models.chat, self.models.summary):
            assert isinstance(mode, HotModel)
            mode.model = mind

    def access(self) -> Access:
        return Access(self.people, self.decisions, self.kept, self.clock, trusted=self.trusted, mode=self.mode)

    def features(self, access: Access | None = None, worker: Worker | None = None) -> Features:
        made = Features(
            **self._shared(access or self.access()), worker=worker, registry=self._registry, actions_off=self.off
        )
        self._registry = made.registry
        return made

    def _shared(self, access: Access) -> dict[str, Any]:
        stores = Stores(
            self.decisions,
            self.preferences,
            self.memories,
            self.history,
            self.quotas,
            self.kept,
            links=self.links,
            pending_inputs=self.pending_inputs,
            confirmations=self.confirmations,
            broadcasts=self.broadcasts,
            reminders=self.reminders,
            forgetters=(self.history, self.inbox),
            spool=self.spool,
        )
        settings = FeatureSettings(
            self.language,
            self.learn,
            logs_words=self.log_content,
            draw=self.draw,
            reminder_limits=self.reminder_limits,
        )
        return {
            "stores": stores,
            "access": access,
            "models": self.models,
            "machine": self.machine,
            "clock": self.clock,
            "settings": settings,
            "files": self.reading,
        }

    def chatbot(self, access: Access | None = None, worker: Worker | None = None) -> ChatBot:
        features = self.features(access, worker)
        return HouseBot(self.parts(features))

    def parts(self, features: Features) -> ChatBotParts:
        """The parts of a chatbot with those features; each talk in incognito has a database of its own."""
        talks = IncognitoTalks(self._open_talk, self.clock)
        return features.parts(self.inbox, self.conversations, self.limits, talks)

    async def _open_talk(self, stack: AsyncExitStack) -> tuple[Conversations, Memories]:
        database = RamDatabase()
        store = SqlMemories(database)
        memories = Memories(store, self.embedder, Indexes(store, FaissIndex, max_owners=8), self.clock)
        stack.push_async_callback(memories.close)
        return Conversations(SqlHistory(database), self.clock, zone=self.zone), memories

    def incoming(self, text: str, *, user: UserKey = ANA, message_id: str = "1", chat: str = "c") -> Incoming:
        return Incoming(ChatKey("test", chat), user, user.user, message_id, text, self.clock.now(), language="en")

    async def keep(self, content: str, *bindings: str, user: UserKey = ANA) -> MemoryItem:
        """Put a memory into the store, found by its own words unless there are others."""
        [item] = await self.memories.of(user).add([MemoryDraft(MemoryKind.TEXT, content, bindings or (content,))])
        return item

    async def contents(self, user: UserKey = ANA) -> list[str]:
        """Return what is remembered."""
        return sorted(item.content for item in await self.memories.of(user).page(limit=99))

    async def say(self, *texts: str, user: UserKey = ANA, chat: str = "c", **more: Any) -> RecordingChannel:
        """Say these one after the other to a bot that has just been started, and return what was shown."""
        channel = self.channel()
        async with self.chatbot() as bot:
            for text in texts:
                said = self.incoming(text, user=user, chat=chat, message_id=uuid.uuid4().hex)
                await answered(bot, replace(said, **more), channel)
        return channel

    def channel(self) -> RecordingChannel:
        return RecordingChannel(self.clock, ChannelLimits(max_chars=4096, edit_interval_s=0.0))  # time stands still

    async def think(self, turn: Turn, *, max_steps: int = 8) -> None:
        """Think the turn through, and complete its answer."""
        try:
            await think(turn, self.registry, self.limits.cycle, max_steps=max_steps)
        finally:
            await turn.answer.complete()
        await turn.answer.view.close()

    async def turn(self, text: str, channel: RecordingChannel, *, user: UserKey = ANA, chat: str = "c") -> Turn:
        conversation = await self.conversations.open(self.incoming(text, user=user, chat=chat).conversation)
        asked = await conversation.add(Message(MessageRole.USER, text, turn=f"t{len(channel.log)}"))
        services = Services(
            self.models,
            self.clock,
            Confirmations(self.confirmations, self.clock),
            TimeWords(),
            actions=self.registry.enabled,
            files=self.reading,
        )
        person = Asker(Locale.EN, usual_zone=self.conversations.zone)
        view = ToldView(channel, self.clock)
        return new_turn(asked, person, conversation, memory=self.memories.of(user), services=services, view=view)
