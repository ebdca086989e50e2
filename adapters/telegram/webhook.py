"""The webhook: a small HTTP server that Telegram pushes updates to, with a shared secret.

An update is answered with 200 only after it was taken, and thereby is on disk; anything else makes Telegram send it
again. Updates of one chat come one after another. Source: core.telegram.org/bots/api#setwebhook and WebhookActor.cpp.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import ssl
from collections.abc import Sequence
from http import HTTPStatus
from urllib.parse import urlsplit

from aiohttp import web
from telegram import Bot
from telegram.error import BadRequest, InvalidToken, TelegramError

from adapters.running import Connected, keep_trying
from adapters.serving import listening
from adapters.telegram.config import Webhook
from adapters.telegram.failure import MALFORMED, rejected_token
from adapters.telegram.updates import Take, take_one
from core.errors import ConfigError
from core.ports import Clock

_LOG = logging.getLogger(__name__)

_SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 (the header's name is no secret)
_MAX_UPDATE_BYTES = 1 << 20


class WebhookListener:
    """Serves one address until cancelled."""

    def __init__(
        self, bot: Bot, take: Take, clock: Clock, webhook: Webhook, connected: Connected, *, kinds: Sequence[str]
    ) -> None:
        self._bot = bot
        self._take = take
        self._clock = clock
        self._webhook = webhook
        self._kinds = kinds
        self._connected = connected
        self._secret = secrets.token_urlsafe(32)

    async def run(self) -> None:
        """Listen, tell Telegram where, and wait for ever.

        Raises:
            ConfigError: the address or the certificate cannot be used, or the token is not valid.
        """
        app = web.Application(client_max_size=_MAX_UPDATE_BYTES)
        app.router.add_post(urlsplit(self._webhook.url).path or "/", self._pushed)
        hook = self._webhook
        async with listening(app, hook.host, hook.port, setting="TELEGRAM_WEBHOOK_PORT", tls=_tls(hook)):
            await self._announce()
            self._connected(True)
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
            await take_one(raw, self._bot, self._take)
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
