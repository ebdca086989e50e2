"""What platforms share when they read messages and presses."""

from __future__ import annotations

from core.text.catalogue import text
from core.text.unicode import one_line

_MAX_NAME_CHARS = 64
_AROUND_MENTION = " \t\n,;:-–—"


def display_name(name: str) -> str:
    """Return a person's or room's name on one line, at most 64 characters."""
    return one_line(name, _MAX_NAME_CHARS)


def without_mention(said: str, mention: str) -> str:
    """Return the text without a mention of the bot that only calls it: at the start or at the end."""
    stripped = said.strip(_AROUND_MENTION)
    if stripped.startswith(mention):
        return stripped.removeprefix(mention).lstrip(_AROUND_MENTION)
    if stripped.endswith(mention):
        return stripped.removesuffix(mention).rstrip(_AROUND_MENTION)
    return said


NOT_YOURS = text("adapters.not_yours")
