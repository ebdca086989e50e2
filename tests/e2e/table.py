"""What holds the platforms to the table of the core: a bot of their own for each one who speaks, behind one adapter."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Self

from core.dialogue import Task
from core.features.access.rules import Mode
from core.ports import Channel, Channels, Clock, MessageHandler
from core.types import Incoming, Locale
from tests.fakes.house import House
from tests.table import Names, expected, settle

OF_EACH_KIND = ("/help", "/memories", "/wonder", "hello", "/admin status", "/admin role {zoe} admin")
"""Of what everybody may say, ask of their own, cannot say, say to a model, and say as staff and as an owner.

All that can be said is in the table that the core is held to (`tests/unit/test_command_table.py`)."""


@dataclass(frozen=True)
class Cell:
    """One answer of the table: who says what where, and how the answer begins."""

    text: str
    names: Names
    begins: str
    house: House

    def is_wrong(self, said: str) -> bool:
        """Whether something else is said, or a model was asked for anything but an answer of its own."""
        asked = bool(self.house.model.prompts)
        met = plain(said).startswith(plain(self.begins)) and bool(said) is bool(self.begins)
        return not met or asked is not (self.begins == "Hello")


def plain(text: str) -> str:
    """Return the text without marks that a platform may have turned into formatting."""
    return text.replace("`", "").replace("**", "")


@dataclass
class Cells(MessageHandler):
    """Hands what each person says to a bot of theirs alone, so that no answer of the table changes another."""

    clock: Clock
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    handlers: dict[str, MessageHandler] = field(default_factory=dict)
    answered: dict[str, asyncio.Future[None]] = field(default_factory=dict)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stack.aclose()

    async def row(
        self, role: str, place: str, names: Iterator[Names], texts: tuple[str, ...] = OF_EACH_KIND
    ) -> list[Cell]:
        """Open a bot for each thing that somebody of that role may say there."""
        cells = []
        for text, who in zip(texts, names, strict=False):
            script = {Task.DECIDE: ["Finish"], Task.FINISH: ["Hello"]}
            house = House(script, clock=self.clock, trusted=(), language=Locale.EN)
            await settle(house, role, place, who)
            bot = await self.stack.enter_async_context(house.chatbot())
            self.handlers[who.me] = bot
            cells.append(Cell(who.put_into(text), who, who.put_into(expected(role, text, place, Mode.PRIVATE)), house))
        return cells

    async def receive(self, incoming: Incoming, channel: Channel) -> Awaitable[None]:
        answered = asyncio.ensure_future(await self.handlers[incoming.user.user].receive(incoming, channel))
        self.answered[incoming.user.user] = answered
        return answered

    async def resume(self, platform: str, channels: Channels) -> None:
        """Nothing is owed, and nobody is written to unasked."""

    def is_done(self, cells: list[Cell]) -> bool:
        """Whether all of them were answered."""
        return all((found := self.answered.get(cell.names.me)) and found.done() for cell in cells)


def wrong(cells: list[Cell], said: Callable[[Cell], str]) -> dict[str, tuple[str, str]]:
    """Return the cells in which something else was said: what should be, and what was."""
    return {cell.text: (cell.begins, said(cell)[:200]) for cell in cells if cell.is_wrong(said(cell))}
