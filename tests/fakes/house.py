"""A whole bot in memory, for tests of the cycle: real core, in-memory stores, a scripted model, words as vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from core.access import Access, Mode
from core.actions import ACTIONS
from core.actions.registry import Registry
from core.broadcast.broadcasts import Broadcasts
from core.chatbot import ChatBot, ChatBotParts, TurnLimits
from core.commands import Desk, Kept
from core.commands.decided import ways_by
from core.commands.machine import Machine
from core.confirmations import Confirmations
from core.delivery.view import View
from core.dialogue import Prompt, Task
from core.history.conversation import Conversations
from core.llm import MODES, HotModel, Models
from core.memory.indexes import Indexes
from core.memory.memories import Memories
from core.money import Ledger
from core.people import Decisions, LinkCodes, People, PreferenceStore
from core.ports import Clock
from core.quota.limits import Defaults
from core.quota.quotas import Quotas
from core.screen import SurfaceLimits
from core.storage.exact_index import ExactIndex
from core.storage.in_memory_awaited import InMemoryAwaited
from core.storage.in_memory_broadcasts import InMemoryBroadcasts
from core.storage.in_memory_confirmations import InMemoryConfirmations
from core.storage.in_memory_decisions import InMemoryDecisions
from core.storage.in_memory_history import InMemoryHistory
from core.storage.in_memory_inbox import InMemoryInbox
from core.storage.in_memory_ledger import InMemoryLedger
from core.storage.in_memory_link_codes import InMemoryLinkCodes
from core.storage.in_memory_memories import InMemoryMemories
from core.storage.in_memory_people import InMemoryPeople
from core.storage.in_memory_preferences import InMemoryPreferences
from core.stores import HistoryStore, Inbox, MemoryStore
from core.thread import Awaited, ConfirmationStore
from core.turn import Turn
from core.types import ChatKey, Incoming, Locale, Message, Role, UserKey
from tests.fakes.clock import FakeClock
from tests.fakes.machine import machine
from tests.fakes.model import Answer, HashEmbedder, ScriptedModel
from tests.fakes.surface import RecordingSurface

Script = Mapping[Task, Sequence[Answer] | Callable[[Prompt], Answer]]
ANA = UserKey("test", "ana")
BIA = UserKey("test", "bia")


class ToldView(View):
    """A view that keeps every status it was told, also those that were gone before they could be written."""

    def __init__(self, surface: RecordingSurface, clock: Clock) -> None:
        super().__init__(surface, clock)
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
    store: MemoryStore = field(default_factory=InMemoryMemories)
    limits: TurnLimits = field(default_factory=TurnLimits)
    people: People = field(default_factory=InMemoryPeople)
    preferences: PreferenceStore = field(default_factory=InMemoryPreferences)
    trusted: tuple[str, ...] = ("test",)
    mode: Mode = Mode.PRIVATE
    off: tuple[str, ...] = ()
    language: Locale | None = None
    log_content: bool = False
    links: LinkCodes = field(default_factory=InMemoryLinkCodes)
    awaited: Awaited = field(default_factory=InMemoryAwaited)
    confirmations: ConfirmationStore = field(default_factory=InMemoryConfirmations)
    broadcasts: Broadcasts = field(default_factory=InMemoryBroadcasts)
    ledger: Ledger = field(default_factory=InMemoryLedger)
    defaults: Defaults = field(default_factory=Defaults)
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    decisions: Decisions = field(init=False)
    quotas: Quotas = field(init=False)
    model: ScriptedModel = field(init=False)
    models: Models = field(init=False)
    memories: Memories = field(init=False)
    conversations: Conversations = field(init=False)
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
        self.conversations = Conversations(self.history, self.clock, ways=ways_by(self.decisions), zone=self.zone)
        self.registry = Registry(ACTIONS, self.off)

    def access(self) -> Access:
        return Access(self.people, self.decisions, self.clock, trusted=self.trusted, mode=self.mode)

    def desk(self, access: Access) -> Desk:
        stores = (self.preferences, self.decisions, self.quotas, self.history, self.inbox, self.broadcasts)
        kept = Kept(
            self.decisions,
            self.preferences,
            self.memories,
            self.history,
            stores,
            self.links,
            self.awaited,
            self.confirmations,
            self.broadcasts,
        )
        parts = (access, kept, self.models, self.registry, self.clock, self.quotas)
        desk = Desk(*parts, machine=self.machine, language=self.language)
        desk.started_s = 0.0
        return desk

    def chatbot(self, access: Access | None = None) -> ChatBot:
        return ChatBot(
            ChatBotParts(
                desk=self.desk(access or self.access()),
                inbox=self.inbox,
                conversations=self.conversations,
                memories=self.memories,
                models=self.models,
                registry=self.registry,
                clock=self.clock,
                limits=self.limits,
                log_content=self.log_content,
            )
        )

    def incoming(self, text: str, *, user: UserKey = ANA, message_id: str = "1", chat: str = "c") -> Incoming:
        return Incoming(ChatKey("test", chat), user, user.user, message_id, text, self.clock.now(), language="en")

    def surface(self) -> RecordingSurface:
        return RecordingSurface(self.clock, SurfaceLimits(max_chars=4096, edit_interval_s=0.0))  # time stands still

    async def turn(self, text: str, surface: RecordingSurface, *, user: UserKey = ANA, chat: str = "c") -> Turn:
        conversation = await self.conversations.open(self.incoming(text, user=user, chat=chat).conversation)
        asked = await conversation.add(Message(Role.USER, text, turn=f"t{len(surface.log)}"))
        return Turn(
            asked=asked,
            locale=Locale.EN,
            conversation=conversation,
            memory=self.memories.of(user),
            models=self.models,
            view=ToldView(surface, self.clock),
            clock=self.clock,
            confirmations=Confirmations(self.confirmations, self.clock),
        )
