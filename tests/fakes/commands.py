"""The table of commands of a whole bot."""

from __future__ import annotations

from core.commands.menu import MenuEntry
from core.commands.table import CommandTable
from tests.fakes.house import House


def _table() -> CommandTable:
    house = House()
    return house.context(house.access()).commands


TABLE = _table()
OFFERED = {each.name: each for each in TABLE if each.in_menus}
STAFF_COMMANDS = {name: each for name, each in OFFERED.items() if each.for_staff}
COMMANDS = {name: each for name, each in OFFERED.items() if name not in STAFF_COMMANDS}


def menu() -> tuple[MenuEntry, ...]:
    """Return what menus show."""
    return TABLE.menu()
