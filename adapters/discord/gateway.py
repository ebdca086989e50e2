"""Keep the bot connected to the gateway: the library's client as we use it, and when to connect again.

The servers are spread over shards, which the workers of the bot share out among themselves (`Duties.parts`). A worker
has one client for all of its shards, and writes through it though it has none.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import aclosing
from typing import Any, Final, Protocol

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
from adapters.running import Connected, ignored, keep_trying, until
from core.commands.menu import MenuEntry
from core.errors import ChannelError, StorageError
from core.ports import Clock, Duties

_LOG = logging.getLogger(__name__)

_STABLE_AFTER_S: Final = 600.0
_WRONG_TOKEN: Final = 4004
_IDENTIFY_EVERY_S: Final = 5.0
_MAX_IDENTIFIES: Final = 10  # of one client, besides the first of each shard


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


class Turns:
    """The turns of shards to begin a new session: of all whose ids leave the same rest, one in 5 s, in any worker.

    Source: discord.com/developers/docs/events/gateway#sharding-max-concurrency.
    """

    def __init__(self, duties: Duties, application: int, clock: Clock) -> None:
        self._duties = duties
        self._application = application
        self._clock = clock
        self._lanes: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._passing: set[asyncio.Task[None]] = set()

    async def take(self, rest: int) -> Callable[[], None]:
        """Wait until a shard with that rest may begin a session; call what this returns when it did.

        The next one may 5 s later.
        """
        begun, ended = asyncio.Event(), asyncio.Event()
        turn = asyncio.create_task(self._pass(rest, begun, ended))
        self._passing.add(turn)
        turn.add_done_callback(self._passing.discard)
        try:
            await begun.wait()
        except asyncio.CancelledError:
            turn.cancel()
            raise
        return ended.set

    async def _pass(self, rest: int, begun: asyncio.Event, ended: asyncio.Event) -> None:
        async with self._lanes[rest], self._duties.hold(f"discord:{self._application}:identify:{rest}"):
            begun.set()
            await ended.wait()
            await self._clock.sleep(_IDENTIFY_EVERY_S)

    async def close(self) -> None:
        """Give up what is left of the turns."""
        for turn in self._passing:
            turn.cancel()
        await asyncio.gather(*self._passing, return_exceptions=True)


class GatewayClient(discord.AutoShardedClient):
    """discord.py's client with small caches and no pings; an event that cannot be read does not end it.

    It connects the shards that are this worker's, and those alone.
    """

    def __init__(
        self,
        listener: Listener,
        press: Press,
        trace: aiohttp.TraceConfig,
        clock: Clock,
        *,
        bookmarks: Bookmarks,
        duties: Duties,
        turns: Turns,
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
            shard_connect_timeout=None,  # a shard may wait long for its turn
            http_trace=trace,
        )
        self._listener = listener
        self._press = press
        self._clock = clock
        self._connected = connected
        self._bookmarks = bookmarks
        self._duties = duties
        self._turns = turns
        self._mine: frozenset[int] = frozenset()  # the shards that are this worker's
        self._shards: set[int] = set()  # those of them that are connected now
        self._launching: dict[int, asyncio.Task[None]] = {}
        self._closing: set[asyncio.Future[None]] = set()
        self._at_once = 1  # sessions that may begin at the same time
        self._sessions_known: Any = None  # what Discord said of the day's sessions, until it is used
        self._identifies = 0
        # One event that the library cannot read would end its connection, and the same one the next connection.
        parsers: dict[str, Callable[[Any], None]] = self._connection.parsers
        parsers["GUILD_CREATE"] = self._telling(parsers["GUILD_CREATE"])
        parsers.update({name: _guarded(name, parse) for name, parse in parsers.items()})

    async def enter(self, gateway_url: str, shards: int) -> None:
        """Connect the shards that are this worker's, and return or raise when a connection cannot be resumed.

        The client is logged in. There are so many `shards`, or, for 0, as many as Discord recommends; when the workers
        agree on another number, this returns.
        """
        recommended, url, self._sessions_known = await self.http.get_bot_gateway()
        await self._bookmarks.agree(recommended, shards)
        self.shard_count = self._bookmarks.count
        _point_gateway_at(gateway_url or url)
        await until(asyncio.Event(), self.connect(), self._follow(), self._bookmarks.until_changed())

    async def launch_shards(self) -> None:
        """Launch none yet: the library would launch all of them."""
        self._connection.shard_count = self.shard_count
        self._connection.shard_ids = range(self._bookmarks.count)

    async def _follow(self) -> None:
        """Have the shards that are this worker's, and no others, connected, for ever."""
        name = f"discord:{self.application_id}:shards:{self._bookmarks.era}"
        async with aclosing(self._duties.parts(name, self._bookmarks.count)) as dealt:
            asked = asyncio.ensure_future(anext(dealt))
            try:
                while True:
                    mine = await asyncio.shield(asked)
                    lost, new = self._mine - mine, mine - self._mine
                    self._mine = mine
                    await self._leave(lost)
                    asked = asyncio.ensure_future(anext(dealt))  # what was lost may go to another worker
                    self._launch(new)
                    self._tell()
            finally:
                await self._leave(self._mine)
                asked.cancel()
                await asyncio.gather(asked, return_exceptions=True)

    def _launch(self, shards: Collection[int]) -> None:
        """Connect shards, each in its turn."""
        if not shards:
            return
        sessions = asyncio.ensure_future(self._await_sessions(len(shards)))
        for shard_id in sorted(shards):
            self._launching[shard_id] = asyncio.create_task(self._launch_one(shard_id, sessions))

    async def _launch_one(self, shard_id: int, sessions: asyncio.Future[None]) -> None:
        await asyncio.shield(sessions)
        await keep_trying(lambda: self._bookmarks.open(shard_id), self._clock, "bookmarks not read", StorageError)
        done = await self._turns.take(shard_id % self._at_once)  # before there is a socket to keep alive
        try:
            await self.launch_shard(discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY, shard_id)
        finally:
            done()
        del self._launching[shard_id]

    async def _await_sessions(self, wanted: int) -> None:
        """Wait, if the day's sessions are used up, until there are new ones for so many shards."""
        limits, self._sessions_known = self._sessions_known, None
        if limits is None:
            ask = self.http.get_bot_gateway
            _, _, limits = await keep_trying(ask, self._clock, "discord cannot be reached", Exception)
        self._at_once = max(int(limits["max_concurrency"]), 1)
        if limits["remaining"] < wanted + _MAX_IDENTIFIES:
            wait_s = limits["reset_after"] / 1000
            _LOG.warning("discord sessions used up", extra={"wait_s": wait_s})
            await self._clock.sleep(wait_s)

    async def _leave(self, shards: Collection[int]) -> None:
        """Close shards that are another worker's from now on, for good."""
        for shard_id in shards:
            if (launching := self._launching.pop(shard_id, None)) is not None:
                launching.cancel()
                await asyncio.gather(launching, return_exceptions=True)
            if (shard := self.get_shard(shard_id)) is not None:
                await self._retire(shard._parent)  # noqa: SLF001 (the library has no way to take a shard away)
            self._shards.discard(shard_id)
            self._listener.past.leave(shard_id, self._bookmarks.count)
            await self._bookmarks.leave(shard_id)
            for guild in [guild for guild in self.guilds if guild.shard_id == shard_id]:
                self._connection._remove_guild(guild)  # noqa: SLF001 (nothing tells what becomes of it)

    async def _retire(self, shard: discord.shard.Shard) -> None:
        """Close a shard, and let nothing connect it again that the library has begun or queued for it."""

        async def do_nothing(*_: object) -> None:
            return

        def close_again() -> None:  # in place of listening to a connection that was being made
            closing = asyncio.ensure_future(shard.ws.close(code=1000))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

        retired: Any = shard
        retired.reidentify = retired.reconnect = do_nothing
        retired.launch, retired._queue_put = close_again, ignored  # noqa: SLF001
        await shard.close()

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Wait for the shard's turn to begin a new session, as Discord wants."""
        del initial
        if shard_id in self._launching:  # it has its turn
            return
        self._identifies += 1
        if self._identifies > _MAX_IDENTIFIES:
            raise SessionUnstable
        done = await self._turns.take((shard_id or 0) % self._at_once)
        done()

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
        if shard_id not in self._mine:
            return
        _LOG.info("discord is connected", extra={"shard": shard_id})
        self._shard_is(shard_id, connected=True)
        servers = [guild.id for guild in self.guilds if guild.shard_id == shard_id]
        self._listener.past.begin(shard_id, servers)

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
        self._tell()

    def _tell(self) -> None:
        """Tell whether every shard of this worker's is connected; who has none can write."""
        self._connected(self._mine <= self._shards)

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
        duties: Duties,
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
        self._duties = duties
        self._turns = Turns(duties, identity.id, clock)
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
                await client.enter(self._config.gateway_url, self._config.shards)
            except discord.LoginFailure:
                raise rejected_token() from None
            except Exception as error:  # noqa: BLE001  (whatever ends a connection, another one is opened)
                self._connected(False)
                self._note(error)
            await self._close_client()
            if self._clock.monotonic() - began_s > _STABLE_AFTER_S:
                backoff.reset()
            await self._clock.sleep(backoff.next_s())

    async def close(self) -> None:
        """Leave the gateway and close every connection."""
        await self._turns.close()
        await self._close_client()

    async def _close_client(self) -> None:
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
            bookmarks=self._bookmarks,
            duties=self._duties,
            turns=self._turns,
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
        known = await self._bookmarks.commands()
        try:
            fingerprint = await self._api.insist("PUT /applications", lambda: menus.tell_if_new(known))
        except ChannelError as error:
            _LOG.warning("commands not told", extra={"error": type(error).__name__})
            return
        if fingerprint != known:
            await self._bookmarks.told(fingerprint)

    def _note(self, error: Exception) -> None:
        if isinstance(error, discord.ConnectionClosed) and error.code == _WRONG_TOKEN:
            raise rejected_token() from None
        if isinstance(error, discord.PrivilegedIntentsRequired):
            _LOG.warning("the message-content intent was turned off; going on without it")
            self._reads_all = False
        else:
            _LOG.warning("discord connection ended", extra={"error": type(error).__name__})
