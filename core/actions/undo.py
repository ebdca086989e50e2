"""The button that takes back what a turn did to memories. Knows its command. Does not know what undoing does."""

from __future__ import annotations

from core.screen import Choice
from core.turn import Turn
from core.types import Locale, Localized

UNDO: Localized = {Locale.PT: "↩️ Desfazer", Locale.EN: "↩️ Undo", Locale.ES: "↩️ Deshacer"}


async def undo_button(turn: Turn) -> tuple[Choice, ...]:
    """Return the button for what is told to have changed; none, where this turn changed nothing that can be undone."""
    last = await turn.memory.last_change()
    if last is None or last.act != turn.memory.mark.act:
        return ()
    return (Choice(UNDO[turn.locale], f"/undo {last.act}", in_place=True),)
