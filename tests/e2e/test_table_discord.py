"""Who is answered what on Discord: the table of roles and places, typed and by slash command; and every command."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import pytest

from core.commands.menu import MenuOption, OptionKind
from tests.e2e.discord_kit import ME, flow, idle, serving
from tests.e2e.table import OF_EACH_KIND, Cell, Cells, wrong
from tests.fakes.clock import FakeClock
from tests.fakes.commands import COMMANDS, VERBS
from tests.fakes.discord_interactions import Interaction
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import EPHEMERAL, Person
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
)

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
async def test_each_who_writes_gets_what_their_role_gives_them_there(place: str) -> None:
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
