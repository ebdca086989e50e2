"""The button below a deletion that removes, too, what the person themselves had written about what is deleted."""

from __future__ import annotations

from collections.abc import Sequence

from core.outgoing import Button
from core.text.catalogue import text
from core.types import Locale, MemoryItem

ERASE = text("actions.erase")


def erase_button(locale: Locale, deleted: Sequence[MemoryItem]) -> tuple[Button, ...]:
    """Return the button for what was deleted; none where it rests on no message."""
    said = [item for item in deleted if item.source_ids]
    if not said:
        return ()
    return (Button(ERASE[locale], f"/forget said {said[0].id}" if len(said) == 1 else "/forget said", in_place=True),)
