"""A whole bot in memory, for tests of the cycle: real core, in-memory stores, a scripted model, words as vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from core.actions.registry import Registry
from core.answering.opening import new_turn
from core.answering.parts import TurnLimits
from core.answering.think import think
from core.answering.turn import Person, Services, Turn
from core.chatbot import ChatBot
from core.confirmations import Confirmations
from core.delivery.view import View
from core.dialogue import Prompt, Task
from core.features.access.people import People
from core.features.access.rules import Access, Mode
from core.features.admin.decisions import Decisions, place_settings_by
from core.features.admin.machine import Machine
from core.features.assembly import Features, Stores, actions
from core.features.broadcast.broadcasts import Broadcasts
from core.features.ledger.calls import Ledger
from core.features.ledger.chart import Draw
from core.features.links.codes import LinkCodes
from core.features.preferences.store import PreferenceStore
from core.features.quotas.limits import Defaults
from core.features.quotas.quotas import Quotas
from core.features.reminders.reminders import ReminderStore
from core.features.reminders.service import Limits, Reminders
from core.features.transfer.files import Spool
from core.history.conversation import Conversations
from core.memory.indexes import Indexes
from core.memory.memories import Memories
from core.models import MODES, Cycle, HotModel, Models
from core.outgoing import ChannelLimits
from core.ports import ChatModel, Clock
from core.stores import HistoryStore, Inbox, KeptStore, SearchableMemoryStore
from core.threads import ConfirmationStore, PendingInputs
from core.times.reader import TimeWords
from core.types import ChatKey, Incoming, Learn, Locale, Message, MessageRole, UserKey
from core.workers import Worker
from tests.fakes.channel import RecordingChannel
from tests.fakes.clock import FakeClock
from tests.fakes.machine import machine
from tests.fakes.model import Answer, HashEmbedder, ScriptedModel
from tests.reference.broadcasts import InMemoryBroadcasts
from tests.reference.decisions import InMemoryDecisions
from tests.reference.exact_index import ExactIndex
from tests.reference.history import InMemoryHistory
from tests.reference.inbox import InMemoryInbox
from tests.reference.kept import InMemoryKept
from tests.reference.ledger import InMemoryLedger
from tests.reference.link_codes import InMemoryLinkCodes
from tests.reference.memories import InMemoryMemories
from tests.reference.people import InMemoryPeople
from tests.reference.preferences import InMemoryPreferences
from tests.reference.reminders import InMemoryReminders
from tests.reference.waiting import InMemoryConfirmations, InMemoryPendingInputs

Script = Mapping[Task, Sequence[Answer] | Callable[[Prompt], Answer]]
ANA = UserKey("test", "ana")
BIA = UserKey("test", "bia")


class ToldView(View):
    """A view that keeps every status it was told, also those that were gone before they could be written."""

    def __init__(self, channel: RecordingChannel, clock: Clock) -> None:
        super().__init__(channel, clock)
        self.told: list[str] = []

    async def status(self, text: str) -> None:
        self.told.append(text)
        await super().status(text)


@dataclass(slots=True)
class House:
    """The parts of a bot, each of which a test may look into or replace before `chatbot` is asked for."""

    script: Script = field(default_factory=dict)
    clock: Clock = field(default_factory=FakeClock)
    embedder: HashEmbedder = field(default_factory=HashEmbedder)
    history: HistoryStore = field(default_factory=InMemoryHistory)
    inbox: Inbox = field(default_factory=InMemoryInbox)
    store: SearchableMemoryStore = field(default_factory=InMemoryMemories)
    limits: TurnLimits = field(default_factory=lambda: TurnLimits(cycle=Cycle.STEPWISE))
    people: People = field(default_factory=InMemoryPeople)
    kept: KeptStore = field(default_factory=InMemoryKept)
    preferences: PreferenceStore = field(default_factory=InMemoryPreferences)
    trusted: tuple[str, ...] = ("test",)
    mode: Mode = Mode.PRIVATE
    off: tuple[str, ...] = ()
    language: str = ""
    learn: Learn = Learn.OFFERED
    log_content: bool = False
    links: LinkCodes = field(default_factory=InMemoryLinkCodes)
    pending_inputs: PendingInputs = field(default_factory=InMemoryPendingInputs)
    confirmations: ConfirmationStore = field(default_factory=InMemoryConfirmations)
    broadcasts: Broadcasts = field(default_factory=InMemoryBroadcasts)
    reminders: ReminderStore = field(default_factory=InMemoryReminders)
    reminder_limits: Limits = field(default_factory=Limits)
    ledger: Ledger = field(default_factory=InMemoryLedger)
    defaults: Defaults = field(default_factory=Defaults)
    draw: Draw | None = None
    spool: Spool = field(default_factory=Spool)
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    decisions: Decisions = field(init=False)
    quotas: Quotas = field(init=False)
    model: ScriptedModel = field(init=False)
    models: Models = field(init=False)
    memories: Memories = field(init=False)
    conversations: Conversations = field(init=False)
    reminding: Reminders = field(init=False)
    registry: Registry = field(init=False)
    machine: Machine = field(init=False)

    def __post_init__(self) -> None:
        self.decisions = InMemoryDecisions(self.people)
        self.quotas = Quotas(self.ledger, self.decisions, self.clock, self.defaults, self.zone)
        self.model = ScriptedModel(self.script)
        heavy, reasoning, chat, summary = (HotModel(self.model) for _ in MODES)
        self.models = Models(heavy, reasoning, chat, summary, self.embedder)
        self.machine = machine(self.models)
        self.memories = Memories(self.store, self.embedder, Indexes(self.store, ExactIndex, max_owners=8), self.clock)
        self.conversations = Conversations(
            self.history, self.clock, place_settings=place_settings_by(self.decisions), zone=self.zone
        )
        self.reminding = Reminders(
            self.reminders,
            self.memories,
            self.clock,
            self.reminder_limits,
            wake=lambda: None,
            is_off=self.decisions.reminders_off,
        )
        self.registry = Registry(actions(self.preferences, self.reminding), self.off)

    def answered_by(self, mind: ChatModel) -> None:
        """Let that model take the place of the scripted one."""
        for mode in (self.models.heavy, self.models.reasoning, self.models.chat, self.models.summary):
            assert isinstance(mode, HotModel)
            mode.model = mind

    def access(self) -> Access:
        return Access(self.people, self.decisions, self.kept, self.clock, trusted=self.trusted, mode=self.mode)

    def features(self, access: Access | None = None, worker: Worker | None = None) -> Features:
        stores = (self.preferences, self.decisions, self.quotas, self.history, self.inbox, self.broadcasts)
        kept = Stores(
            self.decisions,
            self.preferences,
            self.memories,
            self.history,
            stores,
            self.links,
            self.pending_inputs,
            self.confirmations,
            self.broadcasts,
            self.kept,
            logs_words=self.log_content,
            spool=self.spool,
        )
        return Features(
            kept,
            reminders=self.reminding,
            access=access or self.access(),
            models=self.models,
            registry=self.registry,
            clock=self.clock,
            quotas=self.quotas,
            machine=self.machine,
            draw=self.draw,
            language=self.language,
            learn=self.learn,
            worker=worker,
        )

    def chatbot(self, access: Access | None = None, worker: Worker | None = None) -> ChatBot:
        features = self.features(access, worker)
        return ChatBot(features.parts(self.inbox, self.conversations, self.limits, log_content=self.log_content))

    def incoming(self, text: str, *, user: UserKey = ANA, message_id: str = "1", chat: str = "c") -> Incoming:
        return Incoming(ChatKey("test", chat), user, user.user, message_id, text, self.clock.now(), language="en")

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
            actions=tuple(action.info for action in self.registry.enabled),
        )
        person = Person(Locale.EN, usual_zone=self.conversations.zone)
        view = ToldView(channel, self.clock)
        return new_turn(asked, person, conversation, memory=self.memories.of(user), services=services, view=view)
