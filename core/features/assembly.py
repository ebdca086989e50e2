"""The features of the bot. One is added or taken out by its line in FEATURES, and its folder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from core.actions import ACTIONS
from core.actions.action import Registry
from core.answering.enclosed import FileService
from core.answering.incognito import IncognitoTalks
from core.answering.parts import ChatBotParts, Hooks, Reach, TurnLimits, TurnSettings
from core.answering.turn import Services
from core.commands.command import CONTINUE_COMMAND, RESET, RETRY, CommandTable
from core.features.access.gate import AccessGate, Cards
from core.features.access.rules import Access
from core.features.admin.machine import Machine
from core.features.admin.verbs import build as admin
from core.features.broadcast.commands import build as broadcast
from core.features.feature import Contribution, FeatureSettings, Shared, Stores
from core.features.ledger.admin_usage import build as ledger
from core.features.links.link import build as links
from core.features.memories.commands import build as memories
from core.features.pending_input import stop_command
from core.features.preferences.commands import build as preferences
from core.features.privacy.forget import build as privacy
from core.features.quotas.commands import build as quotas
from core.features.quotas.quotas import Allowance
from core.features.reminders.feature import build as reminders
from core.features.servers import build as servers
from core.features.threads import build as threads
from core.features.transfer.import_ import build as transfer
from core.features.undo import TakesBackMemories
from core.features.undo import build as undo
from core.features.why import build as why
from core.history.conversation import Conversations
from core.models import Models
from core.ports import Clock
from core.stores import Inbox
from core.times.said import TimeWords
from core.workers.port import Worker

FEATURES: Final[Sequence[Callable[[Shared], Contribution]]] = (
    memories,
    undo,
    why,
    reminders,
    preferences,
    privacy,
    transfer,
    links,
    broadcast,
    threads,
    quotas,
    ledger,
    servers,
)
"""In the order of /help and of menus; /admin, which has verbs of all, is the last."""


class Features(Shared):
    """Every feature of a running bot, and the hooks and the table of commands that the chatbot gets from them.

    `registry` takes the place of one with all actions, of which those named in `actions_off` are off.
    """

    def __init__(
        self,
        stores: Stores,
        *,
        access: Access,
        models: Models,
        machine: Machine,
        clock: Clock,
        settings: FeatureSettings | None = None,
        worker: Worker | None = None,
        registry: Registry | None = None,
        actions_off: Sequence[str] = (),
        files: FileService | None = None,
    ) -> None:
        self._files = files
        super().__init__(
            stores,
            access=access,
            models=models,
            machine=machine,
            clock=clock,
            settings=settings or FeatureSettings(),
            worker=worker or Worker(),
        )
        for build in FEATURES:
            self.added.add(build(self))
        self.registry = registry or Registry(
            (*ACTIONS[:-1], *self.added.actions, ACTIONS[-1]), (*self.added.off, *actions_off)
        )
        staff = admin(self, self.registry)
        own = (RESET, RETRY, CONTINUE_COMMAND, stop_command(self.replies))
        self.commands = CommandTable((*self.added.commands, *own, *staff.commands))
        self.added.add(staff)
        self.added.add(Contribution(forgetters=stores.forgetters))

    async def open(self) -> None:
        """Put into force what was decided before this start."""
        await self.confirmations.expire()
        await self.decider.put_in_force()

    @asynccontextmanager
    async def at_work(self, stop: asyncio.Event, *, serves: bool) -> AsyncIterator[None]:
        """Run the background tasks of the features; with `serves`, also those for people of all platforms."""
        async with AsyncExitStack() as stack:
            for task in (*(self.added.served if serves else ()), *self.added.tasks):
                await stack.enter_async_context(task(stop))
            yield

    def parts(
        self, inbox: Inbox, conversations: Conversations, limits: TurnLimits, incognito: IncognitoTalks
    ) -> ChatBotParts:
        """Return the parts of a chatbot with these features."""
        stores, settings = self.stores, self.settings
        cards = Cards(self.access, self.notifier, self.locales, self.clock, kept=stores.kept, titles=self.titles)
        return ChatBotParts(
            inbox,
            self.worker,
            conversations,
            self.memories,
            self.registry,
            self.commands,
            incognito,
            Services(
                self.models,
                self.clock,
                self.confirmations,
                TimeWords(),
                self.memories.profiles,
                self.added.additions,
                self.titles.told,
                effects=tuple(self.added.effects),
                files=self._files,
            ),
            Hooks(
                gate=AccessGate(self.access, cards, self.locales, self.clock),
                limiter=Allowance(stores.quotas, self.access, self.notifier, self.clock, self.locales),
                replies=self.replies,
                preferences=stores.preferences.of,
                catch_up=self.decider.catch_up,
                takes_back=(TakesBackMemories(), *self.added.undoes),
            ),
            Reach(self.notifier, self.alerts, self.locales),
            TurnSettings(limits, settings.language, settings.learn, settings.logs_words),
        )
