"""How one person's answer is drawn. Knows whose it is, and so whose Stop button and forms. Does not know where."""

from __future__ import annotations

from dataclasses import dataclass

from adapters.discord.form import Forms
from adapters.discord.markup import Drawn, draw
from core.outgoing import OutgoingMessage


@dataclass(frozen=True, slots=True)
class Renderer:
    """Draws for the `person` of that id; `stop` is the id of their Stop button, "" for none.

    `aside` says that this is a conversation unseen by the room; `forms` is told what forms behind buttons begin with.
    """

    person: str = ""
    stop: str = ""
    aside: bool = False
    forms: Forms | None = None

    def draw(self, shown: OutgoingMessage) -> Drawn:
        """Return how that is shown to the person."""
        drawn = draw(shown, stop=self.stop, aside=self.aside)
        if self.forms is not None and (drawn.choices or drawn.menu):
            self.forms.note(self.person, drawn)
        return drawn
