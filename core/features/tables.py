"""Commands by who sees them in menus. Transitional: adapters get menu data instead."""

from __future__ import annotations

from typing import Any, cast

from core.commands.command import Command
from core.commands.table import CommandTable
from core.features.assembly import Features


def _commands() -> list[Command]:
    features = cast("Any", object.__new__(Features))
    features.replies, features.drafts_on = None, frozenset({"telegram"})
    return list(CommandTable(features._commands()))  # noqa: SLF001


_ALL = {each.name: each for each in _commands()}
STAFF_COMMANDS = {name: each for name, each in _ALL.items() if each.for_staff}
DRAFT_COMMANDS = {name: each for name, each in _ALL.items() if name == "drafts"}
COMMANDS = {name: each for name, each in _ALL.items() if each.in_menus and name not in {"drafts", "admin"}}
