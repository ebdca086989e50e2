"""Telegram as a platform: Updates become Incoming, a Channel writes the answers.

Knows how a run begins and ends. Does not know what the bot says.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

from telegram import Bot
from telegram.error import InvalidToken, TelegramError
from telegram.request import HTTPXRequest

from adapters.telegram.api import TelegramApi
from adapters.telegram.config import TelegramConfig
from adapters.telegram.failure import MALFORMED, rejected_token
from adapters.telegram.menu import Menus, Staff
from adapters.telegram.pacer import Pacer
from adapters.telegram.state import State
from adapters.telegram.update_handler import Streams, UpdateHandler
from adapters.telegram.updates import LongPoll, Take
from core.ports import Clock, MessageHandler

_LOG = logging.getLogger(__name__)

_LONGEST_PAUSE_S = 30.0
_KNOWN_REFUSALS = (400, 401, 403, 404, 409, 429)
_PRIVACY = (
    "Telegram: privacy mode is on. In groups the bot sees commands and replies to it, but no mentions. To change that: "
    "@BotFather, /setprivacy, Disable; then remove the bot from each group and add it again, or make it administrator."
)


async def run(
    config: TelegramConfig,
    handler: MessageHandler,
    clock: Clock,
    stop: asyncio.Event,
    *,
    say: Callable[[str], None] = _LOG.info,
    claim_code: str | None = None,
    streams: Streams | None = None,
    staff: Staff | None = None,
) -> None:
    """Listen until `stop` is set, then finish what is being answered, for `drain_s` at most.

    `say` is told what the owner should read: who the bot is, and, with a `claim_code`, the one-time link that makes
    whoever opens it the owner; and whether groups hide from the bot what is said there. `streams` says of a message
    whether its answer is to grow in a draft, `staff` who is offered the commands of owners and admins.

    Raises:
        ConfigError: Telegram does not know the token, be it at the start or later.
    """
    async with _bot(config) as bot:
        if not await _unless(stop, _introduce(bot, clock)):
            return
        for line in _lines(bot):
            say(line)
        if claim_code is not None:
            say(f"Telegram: open https://t.me/{bot.username}?start={claim_code} to own this bot; the link works once")
        state = State(config.state_path)
        api = TelegramApi(bot, Pacer(config.private, config.group, config.overall, clock), state)
        menus = Menus(bot, state, staff)
        claimed = staff.changed.set if staff is not None else _nothing
        intake = UpdateHandler(handler, api, bot.bot, clock, config, state=state, streams=streams, claimed=claimed)
        await intake.resume()
        await _unless(stop, menus.offer())
        following = asyncio.create_task(menus.follow())
        try:
            await _unless(stop, _listen(config, bot, intake.take, clock), _until_rejected(api))
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
        await intake.drain(config.drain_s)


async def about(config: TelegramConfig, clock: Clock) -> list[str]:
    """Return what the owner should read about the bot as Telegram sees it. Asks until somebody answers.

    Raises:
        ConfigError: Telegram does not know the token.
    """
    async with _bot(config) as bot:
        await _introduce(bot, clock)
        return _lines(bot)


def _lines(bot: Bot) -> list[str]:
    return [f"Telegram: connected as @{bot.username}", *([] if bot.can_read_all_group_messages else [_PRIVACY])]


async def _listen(config: TelegramConfig, bot: Bot, take: Take, clock: Clock) -> None:
    """Take updates for ever, in the way that the owner chose."""
    if config.webhook is None:
        await LongPoll(bot, take, clock, config.poll_timeout_s).run()
        return
    from adapters.telegram.webhook import WebhookListener  # only who uses it loads a web server

    await WebhookListener(bot, take, clock, config.webhook).run()


class _Request(HTTPXRequest):
    """Requests whose refusals are all told apart from a network or a server that fails."""

    async def do_request(self, *args: Any, **kwargs: Any) -> tuple[int, bytes]:
        """Make a request; the library takes the refusals that it does not know for a failing network."""
        code, payload = await super().do_request(*args, **kwargs)
        known = code not in range(400, 500) or code in _KNOWN_REFUSALS
        return (code if known else HTTPStatus.BAD_REQUEST), payload


@asynccontextmanager
async def _bot(config: TelegramConfig) -> AsyncIterator[Bot]:
    """Open the client, which does not speak to anybody yet."""
    os.environ.setdefault("PTB_TIMEDELTA", "true")  # else every flood wait comes with a deprecation warning
    logging.getLogger("telegram.request.BaseRequest").setLevel(logging.CRITICAL)  # it logs answers that it cannot read
    for talkative in ("httpx", "httpcore", "telegram"):  # they log addresses, which hold the token, and what people say
        logging.getLogger(talkative).setLevel(logging.WARNING)
    request = _Request(connect_timeout=5.0, read_timeout=20.0, write_timeout=20.0, pool_timeout=20.0)
    server = config.base_url.rstrip("/")
    bot = Bot(config.token, base_url=f"{server}/bot", base_file_url=f"{server}/file/bot", request=request)
    try:
        yield bot
    finally:
        await bot.shutdown()


def _nothing() -> None:
    """Nobody wants to know."""


async def _introduce(bot: Bot, clock: Clock) -> None:
    """Learn who we are. While nobody answers, keep asking: a bot that starts before its network is no failure."""
    pause_s = 1.0
    while True:
        try:
            await bot.initialize()
        except InvalidToken:
            raise rejected_token() from None  # the library's own message holds the token
        except (TelegramError, *MALFORMED) as error:
            _LOG.warning("telegram cannot be reached", extra={"error": type(error).__name__})
            await clock.sleep(pause_s)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
        else:
            _LOG.info("telegram is connected", extra={"bot": bot.username})
            return


async def _until_rejected(api: TelegramApi) -> None:
    await api.rejected.wait()
    raise rejected_token()


async def _unless(stop: asyncio.Event, *work: Coroutine[None, None, None]) -> bool:
    """Do the work until the first of it is done, but leave off when `stop` is set. Return whether one was done."""
    doing = [asyncio.create_task(one) for one in work]
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({*doing, stopping}, return_when=asyncio.FIRST_COMPLETED)
        done = [task for task in doing if task.done()]
        await asyncio.gather(*done)
        return bool(done)
    finally:
        stopping.cancel()
        for task in doing:
            task.cancel()
        await asyncio.gather(*doing, stopping, return_exceptions=True)
