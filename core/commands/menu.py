"""Commands as menus show them: plain data that platforms are given, so that no platform knows a command."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from core.text.catalogue import text
from core.types import Locale, Localized

_WORDS: Final = re.compile(r"\[?([a-z]+(?: \| [a-z]+)+)\]?")
_NAMED_PERSON: Final = re.compile(r"^ \[?PLATFORM:ID")


class OptionKind(Enum):
    """What a field of a menu takes."""

    TEXT = "text"
    PERSON = "person"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class MenuOption:
    """A field to fill in beside a command. `words` are the only texts that it takes; () for any text."""

    name: str
    kind: OptionKind
    about: Localized
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """One command of a menu. A menu is no right: the core checks who runs a command, each time.

    `for_staff` is shown to owners and admins only, `in_private` only where nobody reads along. `in_conversation` acts
    on the conversation that it is given in; `for_all` is also answered in it, for everybody there; `in_order` waits for
    the answers before it. An entry with `verbs` is a group, each verb said as "/name verb". What a menu calls it in
    other languages is `core.text.catalogue.menu_names(name)`.
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
    verbs: Sequence[MenuEntry] = ()

    @property
    def options(self) -> tuple[MenuOption, ...]:
        """What can be filled in beside it, in the order in which it is said: read off the usage."""
        if self.takes_file:
            return (FILE,)
        usage = self.usage.strip()
        if not usage:
            return ()
        found = _WORDS.fullmatch(usage)
        words = tuple(found[1].split(" | ")) if found else ()
        option = MenuOption("text", OptionKind.TEXT, dict.fromkeys(Locale, usage), words)
        return (PERSON, option) if _NAMED_PERSON.match(self.usage) else (option,)


PERSON: Final = MenuOption("person", OptionKind.PERSON, text("menus.person"))
FILE: Final = MenuOption("file", OptionKind.FILE, text("menus.file"))
