"""The bot as a whole: settings, models, platforms, command line. `from bot import open_chat` embeds it in a program.

`open_chat` is loaded when it is first used, so that importing `bot` costs nothing (docs/history.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.embedded import open_chat

__all__ = ["open_chat"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Load `open_chat` (PEP 562)."""
        if name != "open_chat":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from bot.embedded import open_chat

        return open_chat
