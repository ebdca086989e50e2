"""The library's client as we use it: small caches, no pings, and events that cannot end the process.

Knows discord.py's settings and its events. Does not know what becomes of a message, nor when to connect again.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import aiohttp
import discord

from core.ports import Clock

_LOG = logging.getLogger(__name__)

_IDENTIFY_EVERY_S = 5.0
_MAX_IDENTIFIES = 10  # of one connection


class SessionUnstable(Exception):
    """The gateway wants a new session again and again: that eats the day's 1000, so connect anew, and slower."""


Press = Callable[["discord.Interaction[Any]"], Awaitable[None]]
"""Called with each press of a button, choice out of a menu, and form that was filled in."""

_PRESSES = {discord.InteractionType.component, discord.InteractionType.modal_submit}


class Listener(Protocol):
    """Who hears what happens."""

    async def take(self, message: discord.Message) -> None:
        """Hear a message."""
        ...

    async def read_back(self, shard: int, shards: int) -> None:
        """Hear that a new session of that shard began: what happened since its last one is not told."""
        ...


class GatewayClient(discord.AutoShardedClient):
    """As many shards as the gateway asks for, in one process."""

    def __init__(
        self, listener: Listener, press: Press, trace: aiohttp.TraceConfig, clock: Clock, *, reads_all: bool
    ) -> None:
        super().__init__(
            intents=_intents(reads_all=reads_all),
            allowed_mentions=discord.AllowedMentions.none(),  # whatever a model writes pings nobody
            max_messages=None,
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            max_ratelimit_timeout=30.0,
            http_trace=trace,
        )
        self._listener = listener
        self._press = press
        self._clock = clock
        self._identifies = 0
        # One event that the library cannot read would end its connection, and the same one the next connection.
        parsers: dict[str, Callable[[Any], None]] = self._connection.parsers
        parsers.update({name: _guarded(name, parse) for name, parse in parsers.items()})

    async def enter(self, gateway_url: str) -> None:
        """Connect, and return or raise when it is over for good. The client is logged in.

        Waits, if the day's sessions are used up, until there are new ones.
        """
        shards, url, limits = await self.http.get_bot_gateway()
        if limits["remaining"] < shards + _MAX_IDENTIFIES:
            wait_s = limits["reset_after"] / 1000
            _LOG.warning("discord sessions used up", extra={"wait_s": wait_s})
            await self._clock.sleep(wait_s)
        self.shard_count = shards
        _point_gateway_at(gateway_url or url)
        await self.connect()

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Keep the distance that Discord wants between two new sessions."""
        del shard_id
        self._identifies += 1
        if self._identifies > (self.shard_count or 1) + _MAX_IDENTIFIES:
            raise SessionUnstable
        if not initial:
            await self._clock.sleep(_IDENTIFY_EVERY_S)

    async def on_message(self, message: discord.Message) -> None:
        """Pass a message on."""
        await self._listener.take(message)

    async def on_interaction(self, interaction: discord.Interaction[Any]) -> None:
        """Pass a press on. The library's own way needs an object for each message; ours is found by the id's form."""
        if interaction.type in _PRESSES:
            await self._press(interaction)

    async def on_shard_connect(self, shard_id: int) -> None:
        """Read back what was said before this session began."""
        _LOG.info("discord is connected", extra={"shard": shard_id})
        await self._listener.read_back(shard_id, self.shard_count or 1)

    async def on_error(self, event_method: str, /, *args: Any, **kwargs: Any) -> None:
        """Log a failure in one of the above, without what it was about."""
        del args, kwargs
        _LOG.exception("discord event failed", extra={"event": event_method})


def point_rest_at(api_base_url: str) -> None:
    """Make the library speak to that API; it keeps the address in its class."""
    discord.http.Route.BASE = api_base_url.rstrip("/")


def _point_gateway_at(url: str) -> None:
    import yarl  # aiohttp's own

    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(url)


def _intents(*, reads_all: bool) -> discord.Intents:
    """Return the events we hear: where we are, and what is said. The content of all messages only if we may."""
    intents = discord.Intents.none()
    intents.guilds = intents.guild_messages = intents.dm_messages = True
    intents.message_content = reads_all
    return intents


def _guarded(name: str, parse: Callable[[Any], None]) -> Callable[[Any], None]:
    def parse_or_skip(event: Any) -> None:
        try:
            parse(event)
        except Exception as error:  # noqa: BLE001  (whatever stands in it)
            _LOG.warning("discord event not understood", extra={"event": name, "error": type(error).__name__})

    return parse_or_skip
