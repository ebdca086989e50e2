"""Telegram as a platform: Updates become Incoming, a Channel writes the answers."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

from telegram import Bot
from telegram.error import InvalidToken, TelegramError
from telegram.request import HTTPXRequest

from adapters.running import Connected, Hindered, Wrote, ignored, keep_trying, until
from adapters.telegram.api import TelegramApi
from adapters.telegram.config import TelegramConfig
from adapters.telegram.failure import MALFORMED, rejected_token
from adapters.telegram.menu import Menus, Staff
from adapters.telegram.pacer import Pacer
from adapters.telegram.state import State
from adapters.telegram.update_handler import UpdateHandler
from adapters.telegram.updates import LongPoll, Take, kinds
from core.commands.menu import MenuEntry
from core.ports import Clock, MessageHandler
from core.stores import KeptStore
from core.workers.port import Worker

_LOG = logging.getLogger(__name__)

_KNOWN_REFUSALS = (400, 401, 403, 404, 409, 429)
_PRIVACY = (
    "Telegram: privacy mode is on. In groups the bot sees commands and replies to it, but no mentions. To change that: "
    "@BotFather, /setprivacy, Disable; then remove the bot from each group and add it again, or make it administrator."
)

_NO_INLINE = (
    "Telegram: TELEGRAM_INLINE is true, but the bot's inline mode is off, so nothing is offered. To turn it on: "
    "@BotFather, /setinline, and a few words for people to see, like: search your memories"
)


async def run(
    config: TelegramConfig,
    handler: MessageHandler,
    clock: Clock,
    stop: asyncio.Event,
    *,
    menu: Sequence[MenuEntry],
    worker: Worker,
    kept: KeptStore,
    say: Callable[[str], None] = _LOG.info,
    claim_code: str | None = None,
    staff: Staff | None = None,
    connected: Connected = ignored,
    hindered: Hindered = ignored,
    wrote: Wrote = ignored,
) -> None:
    """Listen until `stop` is set, then finish what is being answered, for `drain_s` at most.

    Of several workers (`worker` is this one) one asks Telegram for updates; all of them write. `kept` holds what
    outlives the process. `menu` are the commands that people are offered. `say` is told what the owner should read: who
    the bot is, whether groups hide from the bot what is said there, and, with a `claim_code`, the one-time link that
    makes whoever opens it the owner. `staff` says who is offered the commands of owners and admins. `connected` is told
    whether Telegram can be reached, `hindered` what other program is in the way, `wrote` how each write was answered.

    Raises:
        ConfigError: Telegram does not know the token, be it at the start or later.
        StorageError: what is kept cannot be read.
    """
    async with _bot(config, wrote) as bot:
        lines = await until(stop, _introduce(bot, config, clock))
        if lines is None:
            return
        for line in lines:
            say(line)
        if claim_code is not None:
            say(_claim(bot, claim_code))
        state = State(kept)
        await state.load()
        pacer = Pacer(config.private, config.group, config.overall, clock, worker)
        api = TelegramApi(bot, pacer, state, waiting_reaction=config.waiting_reaction)
        menus = Menus(bot, state, menu, staff)
        updates = UpdateHandler(
            handler,
            api,
            bot.bot,
            clock,
            config,
            state=state,
            commands=frozenset(entry.name for entry in menu),
            unseen=frozenset(entry.name for entry in menu if not entry.for_all),
            claimed=menus.changed,
        )
        await updates.resume()
        connected(config.webhook is None)  # else once Telegram knows where to push
        try:
            following = asyncio.create_task(menus.follow())
            try:
                listening = _listen(
                    config,
                    bot,
                    updates.take,
                    clock,
                    worker=worker,
                    offer=menus.offer,
                    connected=connected,
                    hindered=hindered,
                )
                await until(stop, listening, _until_rejected(api))
            finally:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
        finally:
            await updates.drain(config.drain_s if stop.is_set() else 0.0)  # else nothing can be written any more


async def about(config: TelegramConfig, clock: Clock) -> list[str]:
    """Return what the owner should read about the bot as Telegram sees it. Asks until somebody answers.

    Raises:
        ConfigError: Telegram does not know the token.
    """
    async with _bot(config) as bot:
        return await _introduce(bot, config, clock)


async def claim_link(config: TelegramConfig, clock: Clock, code: str) -> str:
    """Return what the owner should read about the one-time link of that code. Asks until somebody answers.

    Raises:
        ConfigError: Telegram does not know the token.
    """
    async with _bot(config) as bot:
        await _introduce(bot, config, clock)
        return _claim(bot, code)


def _claim(bot: Bot, code: str) -> str:
    return f"Telegram: open https://t.me/{bot.username}?start={code} to own this bot; the link works once"


async def _introduce(bot: Bot, config: TelegramConfig, clock: Clock) -> list[str]:
    """Learn who the bot is, and return what the owner should read about it. While nobody answers, keep asking."""

    async def ask() -> None:
        try:
            await bot.initialize()
        except InvalidToken:
            raise rejected_token() from None  # the library's own message holds the token

    await keep_trying(ask, clock, "telegram cannot be reached", TelegramError, *MALFORMED)
    _LOG.info("telegram is connected", extra={"bot": bot.username})
    lines = [f"Telegram: connected as @{bot.username}"]
    lines += [] if bot.can_read_all_group_messages else [_PRIVACY]
    return lines if bot.supports_inline_queries or not config.inline else [*lines, _NO_INLINE]


async def _listen(
    config: TelegramConfig,
    bot: Bot,
    take: Take,
    clock: Clock,
    *,
    worker: Worker,
    offer: Callable[[], Awaitable[None]],
    connected: Connected,
    hindered: Hindered,
) -> None:
    """Take updates for ever: pushed to the webhook if the owner set one, else by asking, as the one worker that does.

    `offer` sets the menus.
    """
    if config.webhook is not None:
        from adapters.telegram.webhook import WebhookListener  # only who uses it loads a web server

        listener = WebhookListener(bot, take, clock, config.webhook, connected, kinds=kinds(config), offer=offer)
        await listener.run()
        return
    while True:
        async with worker.hold(f"telegram:{bot.id}:poll") as duty:
            _LOG.info("this worker asks telegram for updates")
            poll = LongPoll(bot, take, clock, config, connected=connected, hindered=hindered, lost=duty.lost)
            await until(duty.lost, poll.run(), _once(offer))
        connected(True)  # as far as is known to one who only writes


async def _once(work: Callable[[], Awaitable[None]]) -> None:
    """Do it beside what goes on for ever."""
    await work()
    await asyncio.Event().wait()


async def _until_rejected(api: TelegramApi) -> None:
    await api.rejected.wait()
    raise rejected_token()


class _ReportingRequest(HTTPXRequest):
    """Requests that report each refusal as such, not as a failure of the network or the server."""

    def __init__(self, wrote: Wrote) -> None:
        super().__init__(connect_timeout=5.0, read_timeout=20.0, write_timeout=20.0, pool_timeout=20.0)
        self._wrote = wrote

    async def do_request(self, url: str, method: str, *args: Any, **kwargs: Any) -> tuple[int, bytes]:
        """Make a request; the library treats refusals that it does not know as a failing network."""
        code = 0
        try:
            code, payload = await super().do_request(url, method, *args, **kwargs)
        finally:
            if method == "POST" and not url.rpartition("/")[2].startswith("get"):  # getUpdates, getMe, getChatMember
                self._wrote(code)
        known = code not in range(400, 500) or code in _KNOWN_REFUSALS
        return (code if known else HTTPStatus.BAD_REQUEST), payload


@asynccontextmanager
async def _bot(config: TelegramConfig, wrote: Wrote = ignored) -> AsyncIterator[Bot]:
    """Open the client; nothing is sent yet."""
    os.environ.setdefault("PTB_TIMEDELTA", "true")  # else every flood wait comes with a deprecation warning
    logging.getLogger("telegram.request.BaseRequest").setLevel(logging.CRITICAL)  # it logs answers that it cannot read
    for talkative in ("httpx", "httpcore", "telegram"):  # they log addresses, which hold the token, and what people say
        logging.getLogger(talkative).setLevel(logging.WARNING)
    request = _ReportingRequest(wrote)
    server = config.base_url.rstrip("/")
    bot = Bot(config.token, base_url=f"{server}/bot", base_file_url=f"{server}/file/bot", request=request)
    try:
        yield bot
    finally:
        await bot.shutdown()
