"""`elefante chat`: the bot and the terminal, put together.

Knows who talks in the terminal. Does not know how a terminal is drawn.
"""

from __future__ import annotations

import getpass

from adapters import console
from bot.settings import Settings
from bot.wiring import build, open_chatbot
from core.types import UserKey


def console_user(settings: Settings) -> UserKey:
    """Return whose memory the terminal talks to: CONSOLE_USER, or the system's name for who runs it."""
    if settings.console_user.strip():
        return UserKey("console", settings.console_user.strip())
    try:
        return UserKey("console", getpass.getuser())
    except (OSError, KeyError):  # a container without a user table
        return UserKey("console", "me")


async def chat(settings: Settings) -> None:
    """Talk until the person leaves; what they asked is answered before this returns."""
    async with build(settings) as app, open_chatbot(app) as chatbot:
        await console.run(
            chatbot, app.clock, user=console_user(settings), data_dir=settings.data_dir, language=settings.locale
        )
