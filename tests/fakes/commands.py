"""The table of commands of a whole bot, which has drafts on Telegram."""

from __future__ import annotations

from core.commands.menu import MenuEntry
from core.commands.table import CommandTable
from tests.fakes.house import House


def _table() -> CommandTable:
    house = House(drafts_on=frozenset({"telegram"}))
    return house.context(house.access()).commands


TABLE = _table()
OFFERED = {each.name: each for each in TABLE if each.in_menus}
STAFF_COMMANDS = {name: each for name, each in OFFERED.items() if each.for_staff}
DRAFT_COMMANDS = {name: each for name, each in OFFERED.items() if each.on_platforms is not None}
COMMANDS = {name: each for name, each in OFFERED.items() if name not in {*STAFF_COMMANDS, *DRAFT_COMMANDS}}


def menu(platform: str) -> tuple[MenuEntry, ...]:
    """Return what menus of that platform show."""
    return TABLE.menu(platform)
