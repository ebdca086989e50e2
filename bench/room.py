"""Ten people who ask at once in one room, within what each platform bears."""

from __future__ import annotations

import asyncio

from bench.table import show
from core.clock import SystemClock
from tests.fakes.clock import FakeClock
from tests.fakes.discord_limits import Limits as DiscordLimits
from tests.fakes.room import Asked, on_discord, on_telegram
from tests.fakes.telegram_limits import Limits as TelegramLimits


def _row(platform: str, found: tuple[list[Asked], int]) -> tuple[str, ...]:
    seen, refused = found
    slowest = (max(getattr(one, name) for one in seen) for name in ("sign_s", "message_s", "whole_s"))
    return (platform, *(f"{time_s:.1f} s" for time_s in slowest), str(refused))


def main() -> None:
    """Measure and print."""
    rows = [
        _row("Telegram group", asyncio.run(on_telegram(FakeClock(), TelegramLimits()))),
        # On the real clock: discord.py sleeps over limits by itself.
        _row("Discord channel", asyncio.run(on_discord(SystemClock(), DiscordLimits()))),
    ]
    heads = ("room", "first sign", "first message", "whole answer", "429s (aim 0)")
    show("Ten people ask at once in one room, the model takes 3.6 s: the slowest of the ten", heads, rows)
