"""Telling a person that a memory is heard in fewer places than before: its new words were not said in the others."""

from __future__ import annotations

from collections.abc import Sequence

from core.turn import Turn
from core.types import Locale, Localized, MemoryItem

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES


def is_narrowed(before: MemoryItem, after: MemoryItem) -> bool:
    """Tell whether there is a place where the memory was heard and is no more."""
    return (before.shared and not after.shared) or (not after.shared and not set(before.rooms) <= set(after.rooms))


def narrowed_text(turn: Turn, before: Sequence[MemoryItem], after: Sequence[MemoryItem]) -> str:
    """Return what to say of those that are heard in fewer places, "" where there is none."""
    old = {item.id: item for item in before}
    fewer = [item for item in after if item.id in old and is_narrowed(old[item.id], item)]
    if not fewer:
        return ""
    if turn.memory.mark.room:
        return ONLY_HERE[turn.locale]
    return ONLY_IN_PRIVATE[turn.locale].format(id=fewer[0].id if len(fewer) == 1 else "ID")


ONLY_IN_PRIVATE: Localized = {
    PT: "Como você disse isso em particular, já não falo dela nas salas. Para eu poder falar: /memory share {id}",
    EN: "You told me that in private, so I no longer speak of it in rooms. To let me: /memory share {id}",
    ES: "Como lo dijiste en privado, ya no hablo de ella en las salas. Para que pueda: /memory share {id}",
}
ONLY_HERE: Localized = {
    PT: "Como você disse isso aqui, só falo dela aqui e em particular.",
    EN: "You told me that here, so I speak of it only here and in private.",
    ES: "Como lo dijiste aquí, solo hablo de ella aquí y en privado.",
}
