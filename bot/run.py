"""`elefante run`: every platform that has a token, in one process.

Knows when platforms start and stop. Does not know any of them: `PLATFORMS` names them.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Mapping

from bot.models.metering import AttributedHandler
from bot.platforms import PLATFORMS, Platform, Start
from bot.serving import serving
from bot.settings.settings import Settings
from bot.wiring import build, embedder_trouble, open_chatbot, say
from core.errors import ConfigError, StorageError
from core.text.catalogue import text
from core.types import Localized

_log = logging.getLogger(__name__)


async def run(settings: Settings) -> None:
    """Run until a signal says stop. One platform that fails does not stop the others.

    Raises:
        ConfigError: no platform has a token, or every platform's was refused.
        BotError: another process answers one of the platforms from this data folder.
    """
    chosen = {name: platform for name, platform in PLATFORMS.items() if platform.enabled(settings)}
    if not chosen:
        advice = "no platform is on; write TELEGRAM_TOKEN=... or DISCORD_TOKEN=... into .env, or try `make chat`"
        raise ConfigError("TELEGRAM_TOKEN", advice)
    with serving(settings, "elefante run", chosen):
        await _run(settings, chosen)


async def _run(settings: Settings, chosen: Mapping[str, Platform]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with build(settings) as app, open_chatbot(app) as chatbot, app.parts.context.broadcaster.until(stop):
        if (trouble := await embedder_trouble(app)) is not None:
            say(trouble)
        start = Start(app, AttributedHandler(chatbot), stop, say)
        running = [_watched(start, name, platform) for name, platform in chosen.items()]
        ended = await asyncio.gather(*running, return_exceptions=True)
        chatbot.abandon()
    failures = [failure for failure in ended if isinstance(failure, BaseException)]
    if failures and not stop.is_set():
        raise failures[0]


async def _watched(start: Start, name: str, platform: Platform) -> None:
    """Run a platform; once it has ended nothing is written there, and owners elsewhere are told that it failed."""
    context = start.app.parts.context
    try:
        await platform.run(start)
    except Exception as failure:
        _log.exception("platform ended")
        say(f"A platform ended: {failure}")
        context.notifier.disconnect(name)
        try:
            await context.alerts.tell(f"platform:{name}", _ended(name, platform))
        except StorageError as error:
            _log.warning("owners not told", extra={"error": type(error).__name__})
        raise
    finally:
        context.notifier.disconnect(name)


def _ended(name: str, platform: Platform) -> Localized:
    """Return what owners are told, without what went wrong in detail: that is in the log."""
    words = {"platform": name.title(), "setting": platform.setting}
    return {locale: sentence.format(**words) for locale, sentence in ENDED.items()}


ENDED = text("platforms.ended")
