"""Menus of commands as plain data for platforms, which know no commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from core.text.catalogue import text
from core.types import Localized

FORM_TEXT: Final = "form"
"""In place of a field's name, what a platform asks `MessageHandler.complete` for the text that a form begins with."""


class OptionKind(Enum):
    """The kind of a menu field's value."""

    TEXT = "text"
    NUMBER = "number"
    PERSON = "person"
    CHANNEL = "channel"  # said as ID=NAME
    ROLE = "role"  # of the server; said as ID=NAME
    FILE = "file"


@dataclass(frozen=True, slots=True)
class MenuOption:
    """A field of a command.

    `words` are the only texts that it accepts, each with what people are shown for it; none for any text. A field that
    `completes` offers texts while the person types (`MessageHandler.complete`). A NUMBER is at least `least`, and at
    most `most` (None for no bound). One that is `required` has to be filled in.
    """

    name: str
    kind: OptionKind
    about: Localized
    words: Mapping[str, Localized] = field(default_factory=dict)
    completes: bool = False
    required: bool = False
    least: int = 1
    most: int | None = None


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """One command of a menu. A menu gives no right: the core checks who runs a command, each time.

    `for_staff` is shown to owners and admins only, `for_managers` to who manages the server or group, `in_private` only
    where nobody else reads along. `in_conversation` acts on the conversation in which it is given; `for_all` is
    answered there, too, for everybody to see; `in_order` waits for earlier answers. `is_listed` is also shown where a
    menu has room for a dozen commands. `fields` are filled in, in the order in which the command takes them as text; an
    entry with `verbs` is a group, each verb given as "/name verb". Its names in other languages are
    `core.text.catalogue.menu_names(name)`.
    """

    name: str
    about: Localized
    usage: str = ""
    for_staff: bool = False
    for_managers: bool = False
    in_private: bool = False
    in_conversation: bool = False
    for_all: bool = False
    in_order: bool = False
    is_listed: bool = False
    fields: tuple[MenuOption, ...] = ()
    verbs: Sequence[MenuEntry] = ()


def is_as_asked(command: str) -> bool:
    """Return whether a button is about the very answer below which it stands: "/confirm …", "/undo …", "/x undo …".

    Whoever read the answer reads what became of it, in its place.
    """
    words = command.removeprefix("/").split()
    return len(words) > 1 and (words[0] in {CONFIRM, UNDO} or words[1] == UNDO)


def text_field(name: str, about: Localized, *, required: bool = False) -> MenuOption:
    """Return a field for any text."""
    return MenuOption(name, OptionKind.TEXT, about, required=required)


def completed_field(name: str, about: Localized, *, required: bool = False) -> MenuOption:
    """Return a field that offers texts while the person types."""
    return MenuOption(name, OptionKind.TEXT, about, completes=True, required=required)


def choice_field(name: str, about: Localized, words: Mapping[str, Localized], *, required: bool = False) -> MenuOption:
    """Return a field that accepts these words only, each with what people are shown for it."""
    return MenuOption(name, OptionKind.TEXT, about, words, required=required)


def number_field(name: str, about: Localized, most: int | None = None) -> MenuOption:
    """Return a field for a whole number from 1 on."""
    return MenuOption(name, OptionKind.NUMBER, about, most=most)


CONFIRM: Final = "confirm"
"""The name of the command that answers a question of the bot, in the conversation in which that was asked."""

UNDO: Final = "undo"
"""The name of the command that takes changes back, and of verbs that take back one."""

DISLIKED: Final = "disliked"
"""The name of the command of who did not like an answer, which is a message about it (`Incoming.replies_to`)."""

WHY: Final = "why"
"""The name of the command that tells what an answer rests on: that which it is about, or else the last one."""

PERSON: Final = MenuOption("person", OptionKind.PERSON, text("menus.person"))
"""Somebody who can be picked where the command is given."""

FILE: Final = MenuOption("file", OptionKind.FILE, text("menus.file"), required=True)
