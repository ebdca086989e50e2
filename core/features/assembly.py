"""Build every feature over its stores, and the hooks and the table of commands that the chatbot gets from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Final

from core.actions import ACTIONS
from core.actions.action import Action
from core.actions.registry import Registry
from core.answering.parts import ChatBotParts, Hooks, Reach, TurnLimits, TurnSettings
from core.answering.turn import Services
from core.commands.builtin import CONTINUE_COMMAND, RESET, RETRY, stop_command
from core.commands.command import Command
from core.commands.table import CommandTable
from core.confirmations import Confirmations
from core.delivery.alerts import OwnerAlerts
from core.delivery.notifier import Notifier
from core.errors import ConfigError
from core.features.access.gate import AccessGate, Cards
from core.features.access.rules import Access
from core.features.admin.admin import Admin, Verb
from core.features.admin.admission import PeopleVerbs
from core.features.admin.decide import Decider, DecisionEffects
from core.features.admin.decisions import OFF, ON, DecisionKind, Decisions
from core.features.admin.handover import Handover
from core.features.admin.machine import Machine
from core.features.admin.model import ModelVerb
from core.features.admin.names import Names
from core.features.admin.places import PlaceVerbs
from core.features.admin.rooms import RoomVerb
from core.features.admin.status import Logs, Status
from core.features.admin.switches import ActionVerb, DecisionVerbs
from core.features.broadcast.broadcaster import Audience, Broadcaster
from core.features.broadcast.broadcasts import Broadcasts
from core.features.broadcast.commands import BroadcastVerb, NewsCommand
from core.features.ledger.admin_usage import UsageVerb
from core.features.ledger.chart import Draw
from core.features.links.codes import LinkCodes
from core.features.links.link import LinkCommands
from core.features.memories.commands import REMEMBER, MemoryCommands
from core.features.memories.completion import MemoryCompletion
from core.features.memories.confirm import ConfirmCommand
from core.features.memories.listed import ListedMemories
from core.features.pending_input.replies import PendingReplies
from core.features.preferences.action import answer_language
from core.features.preferences.commands import PreferenceCommands
from core.features.preferences.store import PreferenceStore
from core.features.preferences.timezone import TimezoneCommand
from core.features.privacy.erasure import Erasure, Forgets
from core.features.privacy.forget import ForgetCommand, ForgetVerb, PrivacyCommand
from core.features.quotas.allowance import Allowance
from core.features.quotas.commands import QuotaVerb, UsageCommand
from core.features.quotas.quotas import Quotas
from core.features.reminders.actions import reminder_actions
from core.features.reminders.additions import ReminderAdditions
from core.features.reminders.briefing import Briefings
from core.features.reminders.commands import ReminderCommands
from core.features.reminders.completion import TimeCompletion
from core.features.reminders.delivery import DueMessages
from core.features.reminders.permission import permission_by
from core.features.reminders.scheduler import LONGEST_SLEEP_S, Scheduler
from core.features.reminders.service import Reminders
from core.features.threads import CONTEXT_COMMAND, threads_command
from core.features.transfer.export import ExportCommands, Takeout
from core.features.transfer.files import Copies, NoCopies, Spool
from core.features.transfer.import_ import ImportCommand
from core.features.undo import TakesBack, disliked_command, undo_command
from core.history.conversation import Conversations
from core.language_choice import Locales
from core.memory.memories import Memories
from core.models import Models
from core.ports import Clock
from core.stores import HistoryStore, Inbox, KeptStore
from core.threads import ConfirmationStore, PendingInputs
from core.times.reader import TimeWords
from core.types import Learn
from core.workers import OneWorker, Worker

_OTHERS_S: Final = 5.0
"""How often a worker looks for what others began, or left as they died."""


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores of the features. `forgetters` are further stores from which a person is erased.

    What is deleted inside `forgetting` is scrubbed from the disk at its end. `logs_words` says that the log holds what
    people ask, where /forget does not reach.
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
    kept: KeptStore
    logs_words: bool = False
    spool: Spool = field(default_factory=Spool)
    copies: Copies = field(default_factory=NoCopies)
    forgetting: Callable[[], AbstractAsyncContextManager[None]] = nullcontext


def actions(preferences: PreferenceStore, reminders: Reminders) -> tuple[Action, ...]:
    """Return every action: the engine's, and those of features before the last, which is the fallback."""
    own = reminder_actions(reminders) if reminders.limits.most else ()
    return (*ACTIONS[:-1], *own, answer_language(preferences), ACTIONS[-1])


class Features:
    """Every feature of a running bot. `draw` draws charts; `language`, if set, is the tag of that of every answer.

    `learn` is the most that people can choose to have saved unasked.
    """

    def __init__(
        self,
        stores: Stores,
        *,
        reminders: Reminders,
        access: Access,
        models: Models,
        registry: Registry,
        clock: Clock,
        quotas: Quotas,
        machine: Machine,
        draw: Draw | None = None,
        broadcast_interval_s: float = 1.0,
        language: str = "",
        learn: Learn = Learn.OFFERED,
        worker: OneWorker | Worker | None = None,
    ) -> None:
        self.worker = worker or OneWorker()
        self.access = access
        self.stores = stores
        self.memories = stores.memories
        self._models = models
        self._registry = registry
        self.clock = clock
        self.quotas = quotas
        self._language = language
        self._learn = learn
        self.notifier = Notifier(clock)
        self.platforms = machine.platforms
        self.locales = Locales(stores.preferences.of, stores.history, language, access.language)
        self.alerts = OwnerAlerts(access.owners, self.notifier, self.locales.known, clock)
        self._allowance = Allowance(quotas, access, self.notifier, clock, self.locales)
        self.confirmations = Confirmations(stores.confirmations, clock)
        self.reminders = reminders
        self._names = Names(access, self.notifier)
        self._replies = PendingReplies(
            stores.pending_inputs, self.confirmations, stores.memories, self.reminders, clock
        )
        self.audience = Audience(access, stores.preferences.of, stores.memories, self.notifier)
        self.broadcaster = Broadcaster(
            stores.broadcasts,
            self.notifier,
            self.audience.wants,
            clock,
            self.worker,
            interval_s=broadcast_interval_s,
            others_s=math.inf if self.worker.is_alone else _OTHERS_S,
        )
        self.scheduler = Scheduler(
            reminders.store,
            self.notifier,
            DueMessages(self.locales, Briefings(reminders, stores.memories, clock).told),
            clock,
            allowed=permission_by(access, stores.decisions),
            purge=self._purge,
            is_alone=self.worker.is_alone,
            longest_sleep_s=LONGEST_SLEEP_S if self.worker.is_alone else _OTHERS_S,
        )
        reminders.wake = self.scheduler.wake
        self._listed = ListedMemories(stores.kept)
        self._listed_reminders = ListedMemories(stores.kept, "reminders")
        forgetters: Sequence[Forgets] = (
            stores.links,
            stores.pending_inputs,
            stores.confirmations,
            self._listed,
            self._listed_reminders,
            reminders.store,
            *stores.forgetters,
        )
        self.erasure = Erasure(stores.memories, access, forgetters, copies=stores.copies, scrubbing=stores.forgetting)
        self.takeout = Takeout(
            stores.memories,
            stores.history,
            reminders.store,
            access=access,
            preferences=stores.preferences,
            ledger=quotas.ledger,
            clock=clock,
        )
        self.effects = DecisionEffects(stores.decisions)
        self.effects.on(DecisionKind.ACTION, self._turn_action)
        self.effects.on(DecisionKind.MODEL, machine.models.put)
        self._decider = Decider(stores.decisions, access, clock, self.effects)
        self._usage = UsageCommand(quotas)
        self._browsing = MemoryCommands(self._listed, stores.memories, stores.history, self._replies)
        self._preferences = PreferenceCommands(
            stores.preferences, self._browsing.share, MemoryCompletion(stores.memories), learn
        )
        self._export = ExportCommands(
            self.takeout,
            stores.spool,
            stores.copies,
            decisions=stores.decisions,
            names=self._names,
            notifier=self.notifier,
            clock=clock,
        )
        self._handover = Handover(
            stores.decisions,
            access,
            self.effects,
            names=self._names,
            confirmations=self.confirmations,
            notifier=self.notifier,
            locales=self.locales,
            clock=clock,
        )
        self.admin = Admin(self._verbs(machine, draw), self._replies)
        self.commands = CommandTable(self._commands())

    async def _purge(self) -> None:
        """Remove reminders that are over, and questions that nobody answered, with what they hold."""
        await self.reminders.purge()
        await self.confirmations.expire()

    async def open(self) -> None:
        """Put into force what was decided before this start."""
        await self.confirmations.expire()
        await self.effects.put_in_force()

    def parts(
        self,
        inbox: Inbox,
        conversations: Conversations,
        limits: TurnLimits,
        *,
        log_content: bool = False,
    ) -> ChatBotParts:
        """Return the parts of a chatbot with these features."""
        cards = Cards(self.access, self.notifier, self.locales, self.clock, self.stores.kept)
        memories, additions = self.stores.memories, ReminderAdditions(self.reminders)
        return ChatBotParts(
            inbox,
            self.worker,
            conversations,
            memories,
            self._registry,
            self.commands,
            Services(self._models, self.clock, self.confirmations, TimeWords(), memories.profiles, additions),
            Hooks(
                gate=AccessGate(self.access, cards, self.locales, self.clock),
                limiter=self._allowance,
                replies=self._replies,
                preferences=self.stores.preferences.of,
                catch_up=self.effects.catch_up,
                takes_back=(TakesBack(self.reminders),),
            ),
            Reach(self.notifier, self.alerts, self.locales),
            TurnSettings(limits, self._language, self._learn, log_content),
        )

    def _commands(self) -> Sequence[Command]:
        """Return every command, in the order of /help and of menus."""
        stores, memories, history = self.stores, self.stores.memories, self.stores.history
        forget = ForgetCommand(
            self._listed,
            memories,
            history,
            confirmations=self.confirmations,
            access=self.access,
            erasure=self.erasure,
            logs_words=stores.logs_words,
        )
        completion = TimeCompletion(stores.preferences.of, self.clock, self.quotas.zone)
        links = LinkCommands(stores.links, memories, history, self.notifier, self.clock)
        return (
            REMEMBER,
            *self._browsing.commands,
            forget.command,
            undo_command(self.reminders, self.access),
            disliked_command(self.reminders),
            *ReminderCommands(
                self._listed_reminders, self.reminders, self.confirmations, self._replies, completion
            ).commands,
            self._preferences.memory,
            self._export.command,
            ImportCommand(memories, history, self.reminders, self.confirmations).command,
            PrivacyCommand(self._models, stores.decisions, logs_words=stores.logs_words, copies=stores.copies).command,
            *links.commands,
            self._preferences.language,
            TimezoneCommand(stores.preferences, self.reminders.move_zone, self.clock).command,
            NewsCommand(stores.preferences).command,
            threads_command(history, self.quotas.zone),
            CONTEXT_COMMAND,
            self._usage.command,
            RESET,
            RETRY,
            CONTINUE_COMMAND,
            stop_command(self._replies),
            ConfirmCommand(self.confirmations).command,
            self._handover.command,
            self.admin.command,
        )

    def _verbs(self, machine: Machine, draw: Draw | None) -> Sequence[Verb]:
        """Return every verb of /admin, in the order in which they are listed."""
        access, clock, quotas, decider = self.access, self.clock, self.quotas, self._decider
        decisions, memories, notifier = self.stores.decisions, self.stores.memories, self.notifier
        status = Status(
            machine,
            self._models,
            memories,
            decisions=decisions,
            access=access,
            notifier=notifier,
            alerts=self.alerts,
            clock=clock,
            spend_line=self._usage.spend_line,
        )
        people = PeopleVerbs(
            decider,
            decisions,
            access,
            names=self._names,
            confirmations=self.confirmations,
            notifier=notifier,
            locales=self.locales,
        )
        forget = ForgetVerb(
            memories,
            self.erasure,
            decisions,
            access=access,
            confirmations=self.confirmations,
            names=self._names,
            clock=clock,
        )
        return (
            status.verb,
            *people.verbs,
            self._handover.verb,
            ActionVerb(decider, self._registry).verb,
            ModelVerb(decider, decisions, machine.models, self._models.embedder).verb,
            *PlaceVerbs(decider, decisions, machine.models).verbs,
            RoomVerb(decider, decisions, notifier).verb,
            UsageVerb(quotas.ledger, quotas.zone, access, clock, place=self.stores.spool.place, draw=draw).verb,
            QuotaVerb(decider, decisions, quotas, access=access, names=self._names, clock=clock).verb,
            BroadcastVerb(self.stores.broadcasts, self.broadcaster, self.audience, decisions, clock).verb,
            Logs(machine).verb,
            *self._export.verbs,
            forget.verb,
            *DecisionVerbs(decider, decisions).verbs,
        )

    def _turn_action(self, name: str, value: str) -> None:
        """Turn an action ON or OFF, or leave it to the settings ("")."""
        registry = self._registry
        with suppress(ConfigError):  # decided by a version of this program that had the action
            {ON: registry.enable, OFF: registry.disable}.get(value, registry.restore)(name)
