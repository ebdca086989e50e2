"""Ask Discord who the bot is, and keep it connected: the library's client as we use it, and when to connect again.

One worker of the bot at a time is connected, with all shards; the others are logged in, and write.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

import aiohttp
import discord
import discord.backoff
import yarl  # aiohttp's own

from adapters.discord.api import DiscordApi
from adapters.discord.bookmark import Bookmarks
from adapters.discord.config import DiscordConfig
from adapters.discord.interaction_handler import InteractionHandler
from adapters.discord.pacer import Pacer
from adapters.discord.slash import CommandTranslator, CommandTree, SlashMenus
from adapters.discord.update_handler import UpdateHandler
from adapters.running import Backoff, Bucket, Connected, keep_trying, until
from core.commands.menu import MenuEntry
from core.errors import ChannelError, ConfigError, StorageError
from core.ports import Clock
from core.workers.port import Worker

LONGEST_PAUSE_S: Final = 30.0
"""So long after the end of an outage, at most, the next attempt to connect begins."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What Discord says about the application, before anything is connected.

    `id` is the application's, `user` the bot's own user id; `owners` maps user ids to names; `invite` is the link that
    adds the bot with exactly the rights it needs; `reads_all` says whether the message-content intent is on,
    `goes_along` whether people may install the bot for themselves and take it to wherever they write.
    """

    id: int
    user: int
    name: str
    owners: dict[int, str]
    invite: str
    reads_all: bool
    goes_along: bool = False

    @property
    def lines(self) -> list[str]:
        """What the owner should read at the start."""
        lines = [
            f"Discord: connected as {self.name}; owner: {', '.join(self.owners.values())}",
            f"Discord: add the bot to a server: {self.invite}",
        ]
        if not self.reads_all:
            lines.append(
                "Discord: the message-content intent is off. Direct messages, mentions, replies that ping and slash "
                "commands work; talk without a mention in threads of the bot's own does not. To change that: "
                f"https://discord.com/developers/applications/{self.id}/bot, Message Content Intent."
            )
        return lines


async def introduce(config: DiscordConfig, pacer: Pacer, clock: Clock) -> Identity:
    """Return who the bot is. While nobody answers, keep asking.

    Raises:
        ConfigError: the token is wrong.
    """

    async def ask() -> Identity:
        try:
            async with discord.Client(intents=discord.Intents(guilds=True), http_trace=pacer.trace()) as client:
                await client.login(config.token)
                return _identity_of(client, auto_thread=config.auto_thread)
        except discord.LoginFailure:
            raise rejected_token() from None

    return await keep_trying(ask, clock, "discord cannot be reached", Exception, backoff=new_backoff())


def new_backoff() -> Backoff:
    """Return the pauses between attempts to reach Discord: 2 s to 30 s."""
    return Backoff(2.0, LONGEST_PAUSE_S)


def rejected_token() -> ConfigError:
    """Return the error for a token that Discord does not know."""
    advice = "Discord does not accept it; copy it again from the developer portal, page Bot, Reset Token"
    return ConfigError("DISCORD_TOKEN", advice)


def point_rest_at(api_base_url: str) -> None:
    """Make the library speak to that API; it keeps the address in its class."""
    discord.http.Route.BASE = api_base_url.rstrip("/")


def _identity_of(client: discord.Client, *, auto_thread: bool) -> Identity:
    """Return the identity of a client that is logged in."""
    info, user = client.application, client.user
    if info is None or user is None:
        raise RuntimeError("the client is not logged in")
    people = [info.owner] if info.team is None else [member for member in info.team.members if _owns(member, info.team)]
    flags = info.flags
    return Identity(
        id=info.id,
        user=user.id,
        name=info.name,
        owners={person.id: person.name for person in people},
        invite=discord.utils.oauth_url(
            info.id, permissions=_permissions(auto_thread=auto_thread), scopes=("bot", "applications.commands")
        ),
        reads_all=flags.gateway_message_content or flags.gateway_message_content_limited,
        goes_along=info.user_integration_config is not None,
    )


def _owns(member: discord.TeamMember, team: discord.Team) -> bool:
    """Whether a member of the team owns the bot: the team's owner and its administrators do."""
    joined = member.membership_state is discord.TeamMembershipState.accepted
    return member.id == team.owner_id or (joined and member.role is discord.TeamMemberRole.admin)


def _permissions(*, auto_thread: bool) -> discord.Permissions:
    """Return the rights that the bot needs; to open threads only with `auto_thread`."""
    return discord.Permissions(
        view_channel=True,
        send_messages=True,
        send_messages_in_threads=True,
        read_message_history=True,
        embed_links=True,
        attach_files=True,
        add_reactions=True,
        create_public_threads=auto_thread,
    )


_LOG = logging.getLogger(__name__)

_STABLE_AFTER_S: Final = 600.0
_WRONG_TOKEN: Final = 4004
_IDENTIFY_EVERY_S: Final = 5.0
"""Source: discord.com/developers/docs/events/gateway#sharding-max-concurrency."""
_CANCEL_EVERY_S: Final = 0.1
_MAX_IDENTIFIES: Final = 10  # of one client, besides the first of each shard
_LONGEST_UNSTABLE_S: Final = 300.0


class SessionUnstable(Exception):
    """The gateway wants a new session again and again: that eats the day's 1000, so connect anew, and slower."""


class ReconnectPauses(discord.backoff.ExponentialBackoff[Literal[False]]):
    """The library's pauses before a shard connects again, which grow up to a quarter of an hour by themselves."""

    def delay(self) -> float:
        """Return the next pause, in seconds."""
        return min(super().delay(), LONGEST_PAUSE_S)


discord.shard.ExponentialBackoff = ReconnectPauses  # type: ignore[assignment,attr-defined]  # where every shard takes it from


Press = Callable[["discord.Interaction[Any]"], Awaitable[None]]
"""Called with each press of a button, choice out of a menu, and form that was filled in."""

_PRESSES = {discord.InteractionType.component, discord.InteractionType.modal_submit}


class GatewayClient(discord.AutoShardedClient):
    """discord.py's client with small caches and no pings; an event that cannot be read does not end it."""

    def __init__(
        self,
        listener: UpdateHandler,
        press: Press,
        trace: aiohttp.TraceConfig,
        clock: Clock,
        *,
        identifies: Bucket,
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
        self.ended = asyncio.Event()
        """Set when it is closed while it waits for its turn; later `stay` ends by that."""
        self._connecting: asyncio.Task[None] | None = None
        self._listener = listener
        self._press = press
        self._clock = clock
        self._connected = connected
        self._bucket = identifies
        self._up: set[int] = set()  # shards that are connected now
        self._launches = 0
        self.sessions = 0
        """How many sessions were asked for."""
        # One event that the library cannot read would end its connection, and the same one the next connection.
        parsers: dict[str, Callable[[Any], None]] = self._connection.parsers
        parsers.update({name: _guarded(name, parse) for name, parse in parsers.items()})

    async def prepare(self, gateway_url: str, shards: int) -> int:
        """Return how many shards there will be: so many, or, for 0, as many as Discord recommends.

        The client is logged in. While the day's sessions are used up, wait for new ones.
        """
        recommended, url, limits = await self.http.get_bot_gateway()
        self.shard_count = shards or recommended
        discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway_url or url)
        if limits["remaining"] < self.shard_count + _MAX_IDENTIFIES:
            wait_s = limits["reset_after"] / 1000
            _LOG.warning("discord sessions used up", extra={"wait_s": wait_s})
            await self._clock.sleep(wait_s)
        return self.shard_count

    async def stay(self, lost: asyncio.Event) -> None:
        """Be connected until `lost` is set; return or raise when a connection cannot be resumed.

        When this ends, nothing is connected, and requests can still be made.
        """
        connecting = self._connecting = asyncio.create_task(self.connect())
        try:
            await until(lost, asyncio.wait({connecting}))
        finally:
            while not connecting.done():  # while it reconnects, the library takes a cancellation for its own
                connecting.cancel()
                await asyncio.wait({connecting}, timeout=_CANCEL_EVERY_S)
            await asyncio.gather(*(shard.disconnect() for shard in self.shards.values()), return_exceptions=True)
        if not connecting.cancelled():
            connecting.result()

    async def close(self) -> None:
        """Close every connection."""
        if self._connecting is None:
            self.ended.set()
        await super().close()

    async def launch_shard(self, gateway: yarl.URL, shard_id: int, *, initial: bool = False) -> None:
        """Connect a shard in its turn, for which it waits before there is a socket to keep alive."""
        del initial
        self._launches += 1
        self._check(self._launches)
        await self._take_turn()
        await super().launch_shard(gateway, shard_id, initial=True)

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Wait until a shard may begin another session."""
        del shard_id
        self.sessions += 1
        self._check(self.sessions)
        if not initial:
            await self._take_turn()

    async def _take_turn(self) -> None:
        """Wait until a session may begin, as Discord wants."""
        self._bucket.refill(self._clock.monotonic())
        wait_s = self._bucket.wait_s()
        self._bucket.take()
        await self._clock.sleep(wait_s)

    def _check(self, attempts: int) -> None:
        if attempts > (self.shard_count or 1) + _MAX_IDENTIFIES:
            raise SessionUnstable

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
        self._listener.past.begin(shard_id, [guild.id for guild in self.guilds if guild.shard_id == shard_id])

    async def on_guild_available(self, guild: discord.Guild) -> None:
        """Read back what was said in a server before this session began; of one that is new, note the channels."""
        self._listener.past.server(guild)

    on_guild_join = on_guild_available

    async def on_guild_unavailable(self, guild: discord.Guild) -> None:
        """Note that Discord has an outage, and what is said there is not delivered."""
        self._listener.past.lost(guild)

    async def on_shard_resumed(self, shard_id: int) -> None:
        """Note that the session goes on."""
        self._shard_is(shard_id, connected=True)

    async def on_shard_disconnect(self, shard_id: int) -> None:
        """Note that the connection was lost."""
        self._shard_is(shard_id, connected=False)

    def _shard_is(self, shard_id: int, *, connected: bool) -> None:
        (self._up.add if connected else self._up.discard)(shard_id)
        self._connected(len(self._up) == self.shard_count)

    async def on_error(self, event_method: str, /, *args: Any, **kwargs: Any) -> None:
        """Log a failure in one of the above, without what people wrote."""
        del args, kwargs
        _LOG.exception("discord event failed", extra={"event": event_method})


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
        listener: UpdateHandler,
        interactions: InteractionHandler,
        identity: Identity,
        worker: Worker,
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
        self._worker = worker
        self._identifies = Bucket(1.0, 1 / _IDENTIFY_EVERY_S, clock.monotonic())
        self._client: GatewayClient | None = None

    async def listen(self) -> None:
        """Stay connected until cancelled; the last client stays open for answers that are still written.

        Raises:
            ConfigError: the token is no longer valid.
        """
        unreached, unstable = new_backoff(), Backoff(2.0, _LONGEST_UNSTABLE_S)
        while True:
            began_s = self._clock.monotonic()
            try:
                client = await self._open()
                await until(client.ended, self._serve(client))
            except discord.LoginFailure:
                raise rejected_token() from None
            except Exception as error:  # noqa: BLE001  (whatever ends a connection, another one is opened)
                self._connected(False)
                self._note(error)
            await self.close()
            if self._clock.monotonic() - began_s > _STABLE_AFTER_S:
                unstable.reset()
            if self._client is not None and self._client.sessions:  # the day has so many, and an outage costs none
                unreached.reset()
                await self._clock.sleep(unstable.next_s())
            else:
                await self._clock.sleep(unreached.next_s())

    async def _serve(self, client: GatewayClient) -> None:
        """Connect, as the one worker that does; return or raise when a connection cannot be resumed."""
        if not self._worker.is_alone:
            self._connected(True)  # who waits for its turn can write
        async with self._worker.hold(f"discord:{self._identity.id}:gateway") as duty:
            self._connected(False)
            shards = await client.prepare(self._config.gateway_url, self._config.shards)
            open_them = partial(self._bookmarks.open, shards)
            await keep_trying(open_them, self._clock, "bookmarks not read", StorageError)
            try:
                await client.stay(duty.lost)
            finally:
                await self._listener.past.close()
                await self._bookmarks.close(is_lost=duty.lost.is_set())

    async def close(self) -> None:
        """Close every connection."""
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
            identifies=self._identifies,
            reads_all=self._reads_all,
            connected=self._connected,
        )
        self._client = client
        await client.login(self._config.token)
        tree = CommandTree(client, self._interactions)
        await tree.set_translator(CommandTranslator())
        self._api.use(client)
        menus = SlashMenus(
            tree,
            self._interactions,
            self._menu,
            admin_guild=self._config.admin_guild,
            goes_along=self._identity.goes_along,
        )
        await self._offer(menus)
        return client

    async def _offer(self, menus: SlashMenus) -> None:
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
