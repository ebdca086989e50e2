"""A chat with a bot over SQLite that can be started again: what is on the screen, and its buttons."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from core.answering.chatbot import ChatBot
from core.features.reminders.service import Limits
from core.outgoing import MAX_COMMAND_BYTES, Button, OutgoingMessage
from core.ports import ChatModel
from core.storage.sqlite import open_database
from core.types import MemoryDraft, MemoryItem, MemoryKind, UserKey
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA, House, Script
from tests.fakes.model import HashEmbedder


@dataclass(slots=True)
class Talk:
    """Says and presses; `shown` is the last message on the screen, `seen` every text that came of the last message.

    A `mind` answers in place of the script; `off` names actions that are off. Every button that is shown is checked.
    """

    path: Path
    script: Script
    clock: FakeClock = field(default_factory=FakeClock)
    embedder: HashEmbedder = field(default_factory=HashEmbedder)
    mind: ChatModel | None = None
    off: tuple[str, ...] = ()
    most_reminders: int = Limits().most
    shown: OutgoingMessage = field(default_factory=lambda: OutgoingMessage(""))
    seen: list[str] = field(default_factory=list)
    house: House = field(init=False)
    bot: ChatBot = field(init=False)
    _stack: AsyncExitStack = field(init=False)

    async def start(self) -> None:
        self._stack = AsyncExitStack()
        database = await open_database(self.path)
        self._stack.push_async_callback(database.close)
        self.house = House(
            self.script,
            clock=self.clock,
            embedder=self.embedder,
            off=self.off,
            reminder_limits=replace(Limits(), most=self.most_reminders),
            database=database,
        )
        if self.mind is not None:
            self.house.answered_by(self.mind)
        self._stack.push_async_callback(self.house.memories.close)
        self.bot = await self._stack.enter_async_context(self.house.chatbot())

    async def stop(self) -> None:
        await self._stack.aclose()

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    async def say(
        self,
        text: str,
        user: UserKey = ANA,
        *,
        chat: str = "c",
        private: bool = True,
        pressed: bool = False,
        title: str = "",
    ) -> str:
        """Send a message and return the text of the last one that came of it."""
        channel = self.house.channel()
        incoming = self.house.incoming(text, user=user, message_id=uuid.uuid4().hex, chat=chat)
        incoming = replace(incoming, private=private, pressed=pressed, room_title=title)
        await (await self.bot.receive(incoming, channel))
        self.shown, self.seen = channel.screen[-1], channel.texts
        for choice in (*self.shown.choices, *self.shown.menu):
            assert len(choice.command.encode()) <= MAX_COMMAND_BYTES, choice
            assert choice.command.startswith("/"), choice
        return self.shown.text

    def button(self, label: str) -> Button:
        """The button that says something with that in it."""
        [choice] = [each for each in (*self.shown.choices, *self.shown.menu) if label in each.label]
        return choice

    async def press(self, label: str, user: UserKey = ANA, *, text: str = "", private: bool = True) -> str:
        """Press that button, in the form that it opens write the text, and return what came of it."""
        return await self.say(f"{self.button(label).command} {text}".rstrip(), user, private=private, pressed=True)

    async def keep(self, *contents: str, user: UserKey = ANA) -> Sequence[MemoryItem]:
        """Let the person have memories, each found by its content."""
        kept: list[MemoryItem] = []
        for content in contents:
            draft = MemoryDraft(MemoryKind.JSON if content.startswith("{") else MemoryKind.TEXT, content, (content,))
            kept += await self.house.memories.of(user).add([draft], {})
        return kept

    async def contents(self, user: UserKey = ANA) -> list[str]:
        return [item.content for item in await self.house.memories.of(user).page(limit=999)]


@asynccontextmanager
async def talking(folder: Path, script: Script | None = None, **given: Any) -> AsyncIterator[Talk]:
    """Start a bot, with further fields of the chat as `given`; at the end stop it."""
    talk = Talk(folder / "talk.db", script or {}, **given)
    await talk.start()
    try:
        yield talk
    finally:
        await talk.stop()
