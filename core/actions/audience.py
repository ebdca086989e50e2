"""Tell a person that an update made a memory known in fewer rooms: its new words were not said in the others."""

from __future__ import annotations

from collections.abc import Sequence

from core.text.catalogue import text
from core.turn import Turn
from core.types import MemoryItem


def is_narrowed(before: MemoryItem, after: MemoryItem) -> bool:
    """Return whether the bot may speak of the memory in fewer rooms than before."""
    return (before.shared and not after.shared) or (not after.shared and not set(before.rooms) <= set(after.rooms))


def narrowed_text(turn: Turn, before: Sequence[MemoryItem], after: Sequence[MemoryItem]) -> str:
    """Return the sentence about memories that are known in fewer rooms than before; "" if there are none."""
    old = {item.id: item for item in before}
    fewer = [item for item in after if item.id in old and is_narrowed(old[item.id], item)]
    if not fewer:
        return ""
    if turn.memory.mark.room:
        return ONLY_HERE[turn.locale]
    return ONLY_IN_PRIVATE[turn.locale].format(id=fewer[0].id if len(fewer) == 1 else "ID")


ONLY_IN_PRIVATE = text("actions.audience.only_in_private")
ONLY_HERE = text("actions.audience.only_here")
