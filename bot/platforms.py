"""Which platforms there are, and how each is started. A new one is one line in `PLATFORMS`.

Knows each adapter's name; a vendor's library is imported only when its platform has a token.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from bot.settings import Settings
from core.ports import Clock, Door

Start = Callable[[Settings, Door, Clock, asyncio.Event], Awaitable[None]]


async def _telegram(settings: Settings, door: Door, clock: Clock, stop: asyncio.Event) -> None:
    if (config := settings.telegram()) is not None:
        from adapters import telegram

        await telegram.run(config, door, clock, stop)


PLATFORMS: dict[str, tuple[Callable[[Settings], bool], Start]] = {
    "telegram": (lambda settings: bool(settings.telegram_token.get_secret_value()), _telegram),
}
"""For each platform, whether it has a token, and what runs it until the event is set."""
