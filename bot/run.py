"""`elefante run`: every platform that has a token, in one process.

Knows when platforms start and stop. Does not know any of them: `PLATFORMS` names them.
"""

from __future__ import annotations

import asyncio
import logging
import signal

from bot.metering import AttributedDoor
from bot.platforms import PLATFORMS, Platform, Start
from bot.settings import Settings
from bot.wiring import build, embedder_trouble, open_chatbot, say
from core.errors import ConfigError

_log = logging.getLogger(__name__)


async def run(settings: Settings) -> None:
    """Run until a signal says stop. One platform that fails does not stop the others.

    Raises:
        ConfigError: no platform has a token, or every platform's was refused.
    """
    chosen = {name: platform for name, platform in PLATFORMS.items() if platform.enabled(settings)}
    if not chosen:
        advice = "no platform is on; write TELEGRAM_TOKEN=... or DISCORD_TOKEN=... into .env, or try `make chat`"
        raise ConfigError("TELEGRAM_TOKEN", advice)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with build(settings) as app, open_chatbot(app) as chatbot, app.parts.desk.broadcaster.until(stop):
        if (trouble := await embedder_trouble(app)) is not None:
            say(trouble)
        start = Start(app, AttributedDoor(chatbot), stop, say)
        running = [_watched(start, name, platform) for name, platform in chosen.items()]
        ended = await asyncio.gather(*running, return_exceptions=True)
        chatbot.abandon()
    failures = [failure for failure in ended if isinstance(failure, BaseException)]
    if failures and not stop.is_set():
        raise failures[0]


def _watched(start: Start, name: str, platform: Platform) -> asyncio.Future[None]:
    """Start a platform; once it has ended nothing is written there, and that it failed is told at once."""
    task = asyncio.ensure_future(platform.run(start))

    def tell(done: asyncio.Future[None]) -> None:
        start.app.parts.desk.notices.disconnect(name)
        if not done.cancelled() and (failure := done.exception()) is not None:
            _log.error("platform ended", exc_info=failure)
            say(f"A platform ended: {failure}")

    task.add_done_callback(tell)
    return task
