"""Whether a setting is meant for the place it is said in ("here") or for the bot. Knows the word. Nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from core.commands.command import Request
from core.features.access.admission import HERE
from core.text.catalogue import text
from core.types import Locale, room_name


@dataclass(frozen=True, slots=True)
class Scope:
    """`name` is that of the decision: the place as PLATFORM:ID, or "" for the bot."""

    name: str

    @property
    def word(self) -> str:
        """What is said after the verb to mean it."""
        return f" {HERE}" if self.name else ""

    def told(self, locale: Locale) -> str:
        """Return its name for people."""
        return (THIS_PLACE if self.name else WHOLE_BOT)[locale]


def scoped(request: Request, argument: str) -> tuple[Scope, str]:
    """Return what is meant, and what was written besides."""
    first, _, rest = argument.partition(" ")
    if first.casefold() == HERE:
        return Scope(room_name(request.incoming.chat)), rest.strip()
    return Scope(""), argument.strip()


THIS_PLACE = text("scope.this_place")
WHOLE_BOT = text("scope.whole_bot")
