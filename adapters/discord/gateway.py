"""Keep the bot connected to the gateway: the library's client as we use it, and when to connect again."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, Protocol

import aiohttp
import discord
import yarl  # aiohttp's own

from adapters.discord.api import DiscordApi
from adapters.discord.bookmark import Bookmarks
from adapters.discord.config import DiscordConfig
from adapters.discord.identity import Identity, new_backoff, rejected_token
from adapters.discord.interaction_handler import InteractionHandler
from adapters.discord.pacer import Pacer
from adapters.discord.read_back import ReadBack
from adapters.discord.slash import CommandTranslator, CommandTree, Menus
from adapters.running import Connected
from core.commands.menu import MenuEntry
from core.errors import ChannelError
from core.ports import Clock

_LOG = logging.getLogger(__name__)

_STABLE_AFTER_S = 600.0
_WRONG_TOKEN = 4004
_IDENTIFY_EVERY_S = 5.0
_MAX_IDENTIFIES = 10  # of one connection


class SessionUnstable(Exception):
    """The gateway wants a new session again and again: that eats the day's 1000, so connect anew, and slower."""


Press = Callable[["discord.Interaction[Any]"], Awaitable[None]]
"""Called with each press of a button, choice out of a menu, and form that was filled in."""

_PRESSES = {discord.InteractionType.component, discord.InteractionType.modal_submit}


class Listener(Protocol):
    """Takes messages, and what was said before a session began."""

    async def take(self, message: discord.Message) -> None:
        """Take a message."""
        ...

    async def edited(self, message: discord.Message) -> None:
        """Take a message that was changed, by a person or by Discord."""
        ...

    async def deleted(self, channel_id: int, message_ids: Collection[int]) -> None:
        """Take note of messages that were deleted."""
        ...

    @property
    def past(self) -> ReadBack:
        """What reads back messages that were not delivered."""
        ...


class GatewayClient(discord.AutoShardedClient):
    """discord.py's client with small caches and no pings; an event that cannot be read does not end it."""

    def __init__(
        self,
        listener: Listener,
        press: Press,
        trace: aiohttp.TraceConfig,
        clock: Clock,
        *,
        reads_all: bool,
        connected: Connected,
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
        self._connected = connected
        self._shards: set[int] = set()  # those that are connected now
        self._identifies = 0
        # One event that the library cannot read would end its connection, and the same one the next connection.
        parsers: dict[str, Callable[[Any], None]] = self._connection.parsers
        parsers["GUILD_CREATE"] = self._telling(parsers["GUILD_CREATE"])
        parsers.update({name: _guarded(name, parse) for name, parse in parsers.items()})

    async def enter(self, gateway_url: str) -> None:
        """Connect, and return or raise when the connection cannot be resumed. The client is logged in.

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
        """Wait between two new sessions, as Discord wants."""
        del shard_id
        self._identifies += 1
        if self._identifies > (self.shard_count or 1) + _MAX_IDENTIFIES:
            raise SessionUnstable
        if not initial:
            await self._clock.sleep(_IDENTIFY_EVERY_S)

    async def on_message(self, message: discord.Message) -> None:
        """Pass a message on."""
        await self._listener.take(message)

    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        """Pass a changed message on."""
        await self._listener.edited(payload.message)

    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        """Pass on that a message was deleted."""
        await self._listener.deleted(payload.channel_id, [payload.message_id])

    async def on_raw_bulk_message_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        """Pass on that messages were deleted."""
        await self._listener.deleted(payload.channel_id, payload.message_ids)

    async def on_interaction(self, interaction: discord.Interaction[Any]) -> None:
        """Pass a press on; the library's own way would keep an object for each message."""
        if interaction.type in _PRESSES:
            await self._press(interaction)

    async def on_shard_connect(self, shard_id: int) -> None:
        """Read back what was said before this session began."""
        _LOG.info("discord is connected", extra={"shard": shard_id})
        self._shard_is(shard_id, connected=True)
        servers = [guild.id for guild in self.guilds if guild.shard_id == shard_id]
        self._listener.past.begin(shard_id, self.shard_count or 1, servers)

    async def on_server(self, server_id: int) -> None:
        """Read back what was said in a server before this session began."""
        if (guild := self.get_guild(server_id)) is not None:
            self._listener.past.server(guild)

    async def on_guild_unavailable(self, guild: discord.Guild) -> None:
        """Note that Discord has an outage, and what is said there is not delivered."""
        self._listener.past.lost(guild)

    async def on_shard_resumed(self, shard_id: int) -> None:
        """Note that the session goes on."""
        self._shard_is(shard_id, connected=True)

    async def on_shard_disconnect(self, shard_id: int) -> None:
        """Note that the connection was lost."""
        self._shard_is(shard_id, connected=False)

    def _telling(self, parse: Callable[[Any], None]) -> Callable[[Any], None]:
        """Return the parser of a server that becomes `on_server` at once; the library's events wait two seconds."""

        def parse_and_tell(event: Any) -> None:
            parse(event)
            if not event.get("unavailable"):
                self.dispatch("server", int(event["id"]))

        return parse_and_tell

    def _shard_is(self, shard_id: int, *, connected: bool) -> None:
        (self._shards.add if connected else self._shards.discard)(shard_id)
        self._connected(len(self._shards) == (self.shard_count or 1))

    async def on_error(self, event_method: str, /, *args: Any, **kwargs: Any) -> None:
        """Log a failure in one of the above, without what people wrote."""
        del args, kwargs
        _LOG.exception("discord event failed", extra={"event": event_method})


def _point_gateway_at(url: str) -> None:
    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(url)


def _intents(*, reads_all: bool) -> discord.Intents:
    """Return the events to receive: servers and messages, the content of all messages only if that is allowed."""
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


class Gateway:
    """Keeps one client connected, and opens another when it ends."""

    def __init__(
        self,
        config: DiscordConfig,
        api: DiscordApi,
        pacer: Pacer,
        bookmarks: Bookmarks,
        clock: Clock,
        *,
        menu: Sequence[MenuEntry],
        listener: Listener,
        interactions: InteractionHandler,
        identity: Identity,
        connected: Connected,
    ) -> None:
        self._config = config
        self._api = api
        self._pacer = pacer
        self._bookmarks = bookmarks
        self._clock = clock
        self._listener = listener
        self._menu = menu
        self._interactions = interactions
        self._identity = identity
        self._reads_all = identity.reads_all
        self._connected = connected
        self._client: GatewayClient | None = None

    async def listen(self) -> None:
        """Stay connected until cancelled; the last client stays open for answers that are still written.

        Raises:
            ConfigError: the token is no longer valid.
        """
        backoff = new_backoff()
        while True:
            began_s = self._clock.monotonic()
            try:
                client = await self._open()
                await client.enter(self._config.gateway_url)
            except discord.LoginFailure:
                raise rejected_token() from None
            except Exception as error:  # noqa: BLE001  (whatever ends a connection, another one is opened)
                self._connected(False)
                self._note(error)
            await self.close()
            if self._clock.monotonic() - began_s > _STABLE_AFTER_S:
                backoff.reset()
            await self._clock.sleep(backoff.next_s())

    async def close(self) -> None:
        """Leave the gateway and close every connection."""
        if self._client is not None and not self._client.is_closed():
            try:
                await self._client.close()
            except Exception as error:  # noqa: BLE001  (it is of no use any more)
                _LOG.warning("discord connection not closed", extra={"error": type(error).__name__})

    async def _open(self) -> GatewayClient:
        """Return a client that is logged in and offers the commands; the gateway is not connected yet."""
        client = GatewayClient(
            self._listener,
            self._interactions.press,
            self._pacer.trace(),
            self._clock,
            reads_all=self._reads_all,
            connected=self._connected,
        )
        self._client = client
        await client.login(self._config.token)
        tree = CommandTree(client, self._interactions)
        await tree.set_translator(CommandTranslator())
        self._api.use(client)
        menus = Menus(
            tree,
            self._interactions,
            self._menu,
            admin_guild=self._config.admin_guild,
            goes_along=self._identity.goes_along,
        )
        await self._offer(menus)
        return client

    async def _offer(self, menus: Menus) -> None:
        """Tell Discord of the commands if they changed."""
        known = self._bookmarks.commands
        try:
            fingerprint = await self._api.insist("PUT /applications", lambda: menus.tell_if_new(known))
        except ChannelError as error:
            _LOG.warning("commands not told", extra={"error": type(error).__name__})
            return
        if fingerprint != known:
            self._bookmarks.told(fingerprint)

    def _note(self, error: Exception) -> None:
        if isinstance(error, discord.ConnectionClosed) and error.code == _WRONG_TOKEN:
            raise rejected_token() from None
        if isinstance(error, discord.PrivilegedIntentsRequired):
            _LOG.warning("the message-content intent was turned off; going on without it")
            self._reads_all = False
        else:
            _LOG.warning("discord connection ended", extra={"error": type(error).__name__})
