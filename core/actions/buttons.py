"""Buttons below the report of a change: to undo it, and to delete the messages that told what was deleted."""

from __future__ import annotations

from collections.abc import Sequence

from core.outgoing import Button
from core.text.catalogue import text
from core.turn import Turn
from core.types import Locale, MemoryItem

ERASE = text("actions.erase")
UNDO = text("actions.undo")


def erase_button(locale: Locale, deleted: Sequence[MemoryItem]) -> tuple[Button, ...]:
    """Return the button for deleted memories; none if they rest on no message."""
    said = [item for item in deleted if item.source_ids]
    if not said:
        return ()
    return (Button(ERASE[locale], f"/forget said {said[0].id}" if len(said) == 1 else "/forget said", in_place=True),)


async def undo_button(turn: Turn) -> tuple[Button, ...]:
    """Return the button for this turn's changes; none if there is nothing to undo."""
    memory, act = turn.memory, turn.memory.mark.act
    if (
        not act
        or not memory.undo_within
        or not await memory.store.changes(memory.owner, act=act, not_undone=True, limit=1)
    ):
        return ()
    return (Button(UNDO[turn.locale], f"/undo {act}", in_place=True),)
