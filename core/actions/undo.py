"""The button that takes back what a turn did to memories. Knows its command. Does not know what undoing does."""

from __future__ import annotations

from core.outgoing import Button
from core.text.catalogue import text
from core.turn import Turn

UNDO = text("actions.undo")


async def undo_button(turn: Turn) -> tuple[Button, ...]:
    """Return the button for what is told to have changed; none, where this turn changed nothing that can be undone."""
    memory, act = turn.memory, turn.memory.mark.act
    if (
        not act
        or not memory.undo_within
        or not await memory.store.changes(memory.owner, act=act, not_undone=True, limit=1)
    ):
        return ()
    return (Button(UNDO[turn.locale], f"/undo {act}", in_place=True),)
