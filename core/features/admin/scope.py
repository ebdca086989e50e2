"""Whether a setting is meant for the place it is said in ("here") or for the bot. Knows the word. Nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from core.commands.command import Request
from core.features.access.admission import HERE
from core.types import Locale, Localized, room_name

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES


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


THIS_PLACE: Localized = {PT: "aqui", EN: "here", ES: "aquí"}
WHOLE_BOT: Localized = {PT: "no bot todo", EN: "in the whole bot", ES: "en todo el bot"}
