"""Who is answered what on each platform: the table of roles and places, typed and by slash command, over the wire.

Each one who speaks has a bot of their own, behind one adapter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any, Self

import pytest

from core.commands.menu import MenuOption, OptionKind
from core.dialogue import Task
from core.features.access.rules import Mode
from core.ports import Channel, Channels, Clock, MessageHandler
from core.types import Incoming, Locale
from tests.e2e import telegram_kit
from tests.e2e.discord_kit import ME, flow, idle, serving
from tests.fakes.clock import FakeClock
from tests.fakes.commands import COMMANDS, VERBS
from tests.fakes.discord_interactions import Interaction
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import EPHEMERAL, Person
from tests.fakes.house import House
from tests.fakes.telegram_people import Person as Friend
from tests.fakes.telegram_server import TelegramServer
from tests.table import (
    ASIDE,
    ASIDE_LET_IN,
    BLOCKED,
    GROUP,
    GROUP_LET_IN,
    OWNER,
    PRIVATE,
    ROLES,
    STRANGER,
    TEXTS,
    TOLD_OFF,
    Names,
    expected,
    settle,
)

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


# --- on Telegram ---

PLACES = {PRIVATE: 1, GROUP: -1, GROUP_LET_IN: -1}
"""Where; and the sign of its chat's id, which is otherwise that of the person."""


@pytest.mark.parametrize("place", PLACES)
async def test_each_who_writes_on_telegram_gets_what_their_role_gives_them_there(place: str) -> None:
    clock, numbers = FakeClock(), count(1000)
    async with TelegramServer(clock) as server, Cells(clock) as cells, telegram_kit.serving(server, clock, cells):
        for role in ROLES:
            names = (Names("telegram", str(n), "500", str(n * PLACES[place])) for n in numbers)
            row = await cells.row(role, place, names)
            for cell in row:
                says(server, cell, place)
            await flow(server, clock, partial(cells.is_done, row))
            await idle(server)
            assert wrong(row, lambda cell: "\n".join(server.chat(int(cell.names.here)).screen())) == {}, role
            if place != PRIVATE:
                assert not any(server.chat(int(cell.names.me)).ours() for cell in row)


def says(server: TelegramServer, cell: Cell, place: str) -> None:
    person, chat_id = Friend(int(cell.names.me), "Ana", "en"), int(cell.names.here)
    if place == PRIVATE:
        server.says(person, cell.text)
        return
    command, space, rest = cell.text.partition(" ")
    text = f"{command}@elefante_bot{space}{rest}" if command.startswith("/") else f"@elefante_bot {cell.text}"
    server.says(person, text, chat_id=chat_id)


# --- on Discord ---

FIRST, ROOMS, DIRECT = 10**17 + 10_000, 10**17 + 50_000, 500_000
ZOE = Person(10**17 + 500, "Zoe")
NO_SLASH = {"/start", "/wonder", "/admin", "/import", "/remember", "/recall", "/remind", "/admin reminders"}
"""What no client can send by a slash command: there is none, or Discord wants more with it (a verb, a file, a text);
and /stop, to which the adapter itself says that it stops."""
SLASHED = tuple(text for text in TEXTS if text not in NO_SLASH)
UNSEEN = {ASIDE, ASIDE_LET_IN}
"""Where the person wants to be answered alone; of most commands that goes without saying."""


def names(place: str, numbers: count[int]) -> Names:
    number = next(numbers)
    here = DIRECT + FIRST + number if place == PRIVATE else ROOMS + number
    return Names("discord", str(FIRST + number), str(ZOE.id), str(here))


def person_of(cell: Cell) -> Person:
    return Person(int(cell.names.me), "Ana", "en-US")


@pytest.mark.parametrize("place", [PRIVATE, GROUP, GROUP_LET_IN])
async def test_each_who_writes_on_discord_gets_what_their_role_gives_them_there(place: str) -> None:
    clock, numbers = FakeClock(), count()
    async with DiscordServer(clock) as server, Cells(clock) as cells:
        rooms = [server.room(ROOMS + number) for number in range(len(OF_EACH_KIND) * len(ROLES))]
        async with serving(server, clock, cells):
            for role in ROLES:
                row = await cells.row(role, place, iter(lambda: names(place, numbers), None))
                for cell in row:
                    text = cell.text if place == PRIVATE else f"{ME} {cell.text}"
                    await server.says(person_of(cell), text, room=0 if place == PRIVATE else int(cell.names.here))
                await flow(server, clock, partial(cells.is_done, row))
                await idle(server)
                assert wrong(row, lambda cell: "\n".join(server.channels[int(cell.names.here)].screen())) == {}, role
                assert place == PRIVATE or not any(server.direct(person_of(cell)).screen() for cell in row)
            assert place != PRIVATE or not any(room.screen() for room in rooms)


@pytest.mark.parametrize("place", [PRIVATE, ASIDE, ASIDE_LET_IN])
async def test_each_who_uses_a_command_gets_what_their_role_gives_them_and_nobody_else_reads_it(place: str) -> None:
    clock, numbers = FakeClock(), count()
    async with DiscordServer(clock) as server, Cells(clock) as cells:
        rooms = [server.room(ROOMS + number) for number in range(len(TEXTS) + len(OF_EACH_KIND) * len(ROLES))]
        async with serving(server, clock, cells):
            for role in ROLES:
                texts = SLASHED if (role, place) == (OWNER, PRIVATE) else tuple({*SLASHED} & {*OF_EACH_KIND})
                row = await cells.row(role, place, iter(lambda: names(place, numbers), None), texts)
                used = {cell.text: await slash(server, cell, place) for cell in row}
                await flow(server, clock, partial(all_met, used.values()))
                await flow(server, clock, partial(cells.is_done, row))
                await idle(server)
                assert wrong([told_why(cell, role) for cell in row], partial(read, used)) == {}, role
                if place != PRIVATE:
                    assert all(note.flags & EPHEMERAL for one in used.values() for note in one.notes)
            assert not any(room.screen() for room in rooms)


@pytest.mark.parametrize("role", [OWNER, STRANGER, BLOCKED])
@pytest.mark.parametrize("place", [GROUP, GROUP_LET_IN])
async def test_what_is_asked_aloud_by_a_command_is_answered_as_if_it_was_written(place: str, role: str) -> None:
    clock, numbers = FakeClock(), count()
    async with DiscordServer(clock) as server, Cells(clock) as cells:
        server.room(ROOMS)
        async with serving(server, clock, cells):
            [cell] = await cells.row(role, place, iter([names(place, numbers)]), ("hello",))
            used = await slash(server, cell, place)
            await flow(server, clock, lambda: used.kind and not used.thinking)
            assert wrong([told_why(cell, role)], lambda _: "\n".join(used.screen)) == {}
            assert server.room(ROOMS).screen() == (used.screen if cell.begins else [])


def told_why(cell: Cell, role: str) -> Cell:
    """The cell of a command, to which there is no silence: only who gave it reads why it is not answered."""
    return cell if cell.begins else replace(cell, begins="I do not answer you" if role == BLOCKED else TOLD_OFF)


def all_met(used: Iterable[Interaction]) -> bool:
    """Whether each was acknowledged, and none is being thought about."""
    return all(one.kind and not one.thinking for one in used)


def read(used: Mapping[str, Interaction], cell: Cell) -> str:
    """What the person read."""
    return "\n".join(used[cell.text].screen)


async def slash(server: DiscordServer, cell: Cell, place: str) -> Interaction:
    """Say it by the slash command that says so; only the person reads the answer."""
    room = 0 if place == PRIVATE else int(cell.names.here)
    person, command = person_of(cell), server.interactions.command
    unseen = {"private": True} if place in UNSEEN else {}
    if not cell.text.startswith("/"):
        return await command(person, "ask", room=room, message=cell.text, **unseen)
    name, _, rest = cell.text[1:].partition(" ")
    if name == "admin":
        verb, _, rest = rest.partition(" ")
        name = f"admin {verb}"
        fields = VERBS[verb].fields
    elif name in {"reminders", "threads"}:  # a group has no command of its own name
        name, fields = f"{name} list", ()
    else:
        fields = COMMANDS[name].fields
    given: dict[str, Any] = filled_in(fields, rest) if rest else {}
    given |= unseen if name in COMMANDS and COMMANDS[name].for_all else {}
    return await command(person, name, room=room, **given)


def filled_in(fields: Iterable[MenuOption], said: str) -> dict[str, str]:
    """What stands in which field when that is said: words in the one that has them, the rest in one for any text."""
    given: dict[str, str] = {}
    anything = [field.name for field in fields if field.kind is OptionKind.TEXT and not field.words]
    for word in said.split():
        [name] = [field.name for field in fields if word in field.words] or anything[:1]
        given[name] = f"{given.get(name, '')} {word}".strip()
    return given
