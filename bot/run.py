"""`elefante run`: every platform that has a token, in one process.

Knows when platforms start and stop. Does not know any of them: `PLATFORMS` names them.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Awaitable

from bot.metering import AttributedDoor
from bot.platforms import PLATFORMS, Start
from bot.settings import Settings
from bot.wiring import build, embedder_trouble, open_chatbot, say
from core.errors import ConfigError

_log = logging.getLogger(__name__)


async def run(settings: Settings) -> None:
    """Run until a signal says stop. One platform that fails does not stop the others.

    Raises:
        ConfigError: no platform has a token, or every platform's was refused.
    """
    chosen = [platform for platform in PLATFORMS.values() if platform.enabled(settings)]
    if not chosen:
        advice = "no platform has a token; write TELEGRAM_TOKEN=... or DISCORD_TOKEN=... into .env, or try `make chat`"
        raise ConfigError("TELEGRAM_TOKEN", advice)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with build(settings) as app, open_chatbot(app) as chatbot, app.parts.desk.broadcaster.until(stop):
        if (trouble := await embedder_trouble(app)) is not None:
            say(trouble)
        start = Start(app, AttributedDoor(chatbot), stop, say)
        ended = await asyncio.gather(*(_watched(platform.run(start)) for platform in chosen), return_exceptions=True)
        chatbot.abandon()
    failures = [failure for failure in ended if isinstance(failure, BaseException)]
    if failures and not stop.is_set():
        raise failures[0]


def _watched(work: Awaitable[None]) -> asyncio.Future[None]:
    """Start a platform, and tell at once when it ends by a failure."""
    task = asyncio.ensure_future(work)

    def tell(done: asyncio.Future[None]) -> None:
        if not done.cancelled() and (failure := done.exception()) is not None:
            _log.error("platform ended", exc_info=failure)
            say(f"A platform ended: {failure}")

    task.add_done_callback(tell)
    return task
