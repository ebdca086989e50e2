"""Which platforms there are, and how each is started. A new one is one entry of `PLATFORMS`.

Knows each adapter's name; a vendor's library is imported only when its platform has a token.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.settings import Settings
from bot.wiring import App
from core.ports import Door


@dataclass(frozen=True, slots=True)
class Start:
    """What a platform is started with: the bot, its door, when to stop, and how to tell the owner something."""

    app: App
    door: Door
    stop: asyncio.Event
    say: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Platform:
    """A platform: whether it has a token, and what runs it until `stop` is set."""

    enabled: Callable[[Settings], bool]
    run: Callable[[Start], Awaitable[None]]


async def _telegram(start: Start) -> None:
    from adapters import telegram

    if (config := start.app.settings.telegram()) is not None:
        code = await start.app.access.claim_code("telegram")
        await telegram.run(config, start.door, start.app.clock, start.stop, say=start.say, claim_code=code)


async def _discord(start: Start) -> None:
    from adapters import discord

    if (config := start.app.settings.discord(start.app.settings.data_dir)) is not None:
        own = start.app.access.own
        await discord.run(config, start.door, start.app.clock, start.stop, say=start.say, own=own)


PLATFORMS: dict[str, Platform] = {
    "telegram": Platform(lambda settings: bool(settings.telegram_token.get_secret_value().strip()), _telegram),
    "discord": Platform(lambda settings: bool(settings.discord_token.get_secret_value().strip()), _discord),
}
