"""The table of commands of a whole bot."""

from __future__ import annotations

from core.commands.menu import MenuEntry
from core.features.admin.admin import Admin
from core.features.assembly import Features
from tests.fakes.house import House


def _features() -> Features:
    house = House()
    return house.features()


_FEATURES = _features()
TABLE = _FEATURES.commands
VERBS = _FEATURES.get(Admin).verbs
OFFERED = {each.name: each for each in TABLE if each.in_menus}
STAFF_COMMANDS = {name: each for name, each in OFFERED.items() if each.for_staff}
COMMANDS = {name: each for name, each in OFFERED.items() if name not in STAFF_COMMANDS}


def menu() -> tuple[MenuEntry, ...]:
    """Return what menus show."""
    return TABLE.menu()
