"""Offer texts in a field of a command while a person types."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from core.outgoing import Choice
from core.text.unicode import fold, one_line

MOST_OFFERED: Final = 25
MAX_LABEL_CHARS: Final = 100
"""Source of both: discord.com/developers/docs/interactions/application-commands, choices."""


def offered(typed: str, choices: Iterable[Choice]) -> list[Choice]:
    """Return the choices whose label or value has every word that is typed, in their order, as many as can be shown."""
    words, found = fold(typed).split(), list[Choice]()
    for choice in choices:
        if len(found) == MOST_OFFERED:
            break
        if all(word in fold(f"{choice.label} {choice.value}") for word in words):
            found.append(Choice(one_line(choice.label, MAX_LABEL_CHARS), choice.value))
    return found
