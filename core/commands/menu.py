"""Menus of commands as plain data for platforms, which know no commands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from core.text.catalogue import text
from core.types import Locale, Localized

_WORDS: Final = re.compile(r"\[?([a-z]+(?: \| [a-z]+)+)\]?")
_NAMED_PERSON: Final = re.compile(r"^ \[?PERSON")


class OptionKind(Enum):
    """The kind of a menu field's value."""

    TEXT = "text"
    PERSON = "person"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class MenuOption:
    """A field of a command. `words` are the only texts that it accepts; () for any text.

    A field that `completes` offers texts while the person types (`MessageHandler.complete`).
    """

    name: str
    kind: OptionKind
    about: Localized
    words: tuple[str, ...] = ()
    completes: bool = False


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """One command of a menu. A menu gives no right: the core checks who runs a command, each time.

    `for_staff` is shown to owners and admins only, `in_private` only where nobody else reads along. `in_conversation`
    acts on the conversation in which it is given; `for_all` is answered there, too, for everybody to see; `in_order`
    waits for earlier answers. `is_listed` is also shown where a menu has room for a dozen commands. `fields` are its
    own fields; without them they are derived from the usage. An entry with `verbs` is a group, each verb given as
    "/name verb". Its names in other languages are `core.text.catalogue.menu_names(name)`.
    """

    name: str
    about: Localized
    usage: str = ""
    for_staff: bool = False
    in_private: bool = False
    takes_file: bool = False
    in_conversation: bool = False
    for_all: bool = False
    in_order: bool = False
    is_listed: bool = False
    fields: tuple[MenuOption, ...] = ()
    verbs: Sequence[MenuEntry] = ()

    @property
    def options(self) -> tuple[MenuOption, ...]:
        """The fields of the command, in the order in which it takes them."""
        if self.fields:
            return self.fields
        if self.takes_file:
            return (FILE,)
        usage = self.usage.strip()
        if not usage:
            return ()
        found = _WORDS.fullmatch(usage)
        words = tuple(found[1].split(" | ")) if found else ()
        option = MenuOption("text", OptionKind.TEXT, dict.fromkeys(Locale, usage), words)
        return (PERSON, option) if _NAMED_PERSON.match(self.usage) else (option,)


DISLIKED: Final = "disliked"
"""The name of the command of who did not like an answer, which takes the handle of a message of it (`Channel.post`)."""

PERSON: Final = MenuOption("person", OptionKind.PERSON, text("menus.person"))
FILE: Final = MenuOption("file", OptionKind.FILE, text("menus.file"))
