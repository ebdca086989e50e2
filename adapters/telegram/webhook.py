"""The webhook: a small HTTP server that Telegram pushes updates to, with a shared secret.

An update is answered with 200 only after it was taken, and thereby is on disk; anything else makes Telegram send it
again. Updates of one chat come one after another. Source: core.telegram.org/bots/api#setwebhook and WebhookActor.cpp.
Of several workers behind a load balancer each serves all updates, and tells Telegram of the one address of all.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import ssl
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from urllib.parse import urlsplit

from aiohttp import web
from telegram import Bot
from telegram.error import BadRequest, InvalidToken, TelegramError

from adapters.running import Connected, keep_trying, listening
from adapters.telegram.config import Webhook
from adapters.telegram.failure import MALFORMED, rejected_token
from adapters.telegram.updates import Take, take_one
from core.errors import ConfigError, StorageDown
from core.ports import Clock

_LOG = logging.getLogger(__name__)

_SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 (the header's name is no secret)
_MAX_UPDATE_BYTES = 1 << 20


def secret(token: str) -> str:
    """Return the secret that Telegram shows with each update: the same for all workers of a bot, and kept nowhere.

    Nobody who does not know the token can make it, nor the token from it.
    """
    return hmac.new(token.encode(), b"elefante webhook", hashlib.sha256).hexdigest()


class WebhookListener:
    """Serves one address until cancelled. `offer` sets the menus once Telegram knows it."""

    def __init__(
        self,
        bot: Bot,
        take: Take,
        clock: Clock,
        webhook: Webhook,
        connected: Connected,
        *,
        kinds: Sequence[str],
        offer: Callable[[], Awaitable[None]],
    ) -> None:
        self._bot = bot
        self._take = take
        self._clock = clock
        self._webhook = webhook
        self._kinds = kinds
        self._connected = connected
        self._offer = offer
        self._secret = secret(bot.token)

    async def run(self) -> None:
        """Listen, have Telegram told where, and wait for ever.

        Raises:
            ConfigError: the address or the certificate cannot be used, or the token is not valid.
        """
        app = web.Application(client_max_size=_MAX_UPDATE_BYTES)
        app.router.add_post(urlsplit(self._webhook.url).path or "/", self._pushed)
        hook = self._webhook
        async with listening(app, hook.host, hook.port, setting="TELEGRAM_WEBHOOK_PORT", tls=_tls(hook)):
            await self._announce()
            self._connected(True)
            await self._offer()
            await asyncio.Event().wait()

    async def _announce(self) -> None:
        """Tell Telegram where to push; while it does not answer, again."""

        async def announce() -> None:
            try:
                await self._bot.set_webhook(
                    self._webhook.url,
                    certificate=self._webhook.cert,  # so that one we signed ourselves is trusted
                    allowed_updates=self._kinds,
                    secret_token=self._secret,
                )
            except InvalidToken:
                raise rejected_token() from None
            except BadRequest as error:
                raise ConfigError("TELEGRAM_WEBHOOK_URL", f"Telegram refused it: {error.message}") from None

        await keep_trying(announce, self._clock, "the webhook was not set", TelegramError, *MALFORMED)

    async def _pushed(self, request: web.Request) -> web.Response:
        if not hmac.compare_digest(request.headers.get(_SECRET_HEADER, "").encode(), self._secret.encode()):
            return web.Response(status=HTTPStatus.FORBIDDEN)
        try:
            raw = await request.json()
        except MALFORMED:
            return web.Response(status=HTTPStatus.BAD_REQUEST)
        if isinstance(raw, dict):
            try:
                await take_one(raw, self._bot, self._take)
            except StorageDown:
                _LOG.warning("an update cannot be stored")
                return web.Response(status=HTTPStatus.SERVICE_UNAVAILABLE)  # Telegram brings it again
        return web.Response()


def _tls(hook: Webhook) -> ssl.SSLContext | None:
    if hook.cert is None or hook.key is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(hook.cert, hook.key)
    except OSError as error:
        advice = f"cannot use the certificate and its key ({error.strerror or 'they do not fit'})"
        raise ConfigError("TELEGRAM_WEBHOOK_CERT", advice) from None
    return context
