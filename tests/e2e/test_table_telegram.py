"""Who is answered what on Telegram: the table of roles and places, over the wire."""

from __future__ import annotations

from functools import partial
from itertools import count

import pytest

from tests.e2e.table import Cell, Cells, wrong
from tests.e2e.telegram_kit import flow, idle, serving
from tests.fakes.clock import FakeClock
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TelegramServer
from tests.table import GROUP, GROUP_LET_IN, PRIVATE, ROLES, Names

PLACES = {PRIVATE: 1, GROUP: -1, GROUP_LET_IN: -1}
"""Where; and the sign of its chat's id, which is otherwise that of the person."""


@pytest.mark.parametrize("place", PLACES)
async def test_each_gets_what_their_role_gives_them_there(place: str) -> None:
    clock, numbers = FakeClock(), count(1000)
    async with TelegramServer(clock) as server, Cells(clock) as cells, serving(server, clock, cells):
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
    person, chat_id = Person(int(cell.names.me), "Ana", "en"), int(cell.names.here)
    if place == PRIVATE:
        server.says(person, cell.text)
        return
    command, space, rest = cell.text.partition(" ")
    text = f"{command}@elefante_bot{space}{rest}" if command.startswith("/") else f"@elefante_bot {cell.text}"
    server.says(person, text, chat_id=chat_id)
