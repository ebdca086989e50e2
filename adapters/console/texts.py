"""What the terminal itself says, in every language. Knows no answer of the bot's."""

from __future__ import annotations

from core.text.catalogue import text

GREETING = text("console.greeting")
HOW_TO_LEAVE = text("console.how_to_leave")
