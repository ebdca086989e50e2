"""Keeps the bot connected. Knows what ends a connection and when to try again. Does not know what is said over it."""

from __future__ import annotations

import logging

import discord
from discord import app_commands

from adapters.discord.api import DiscordApi
from adapters.discord.bookmark import Bookmarks
from adapters.discord.client import GatewayClient, Listener
from adapters.discord.config import DiscordConfig
from adapters.discord.identity import Identity, identity_of
from adapters.discord.interaction_handler import InteractionHandler
from adapters.discord.pacer import Pacer
from adapters.discord.slash import CommandTranslator, Menus
from core.errors import ChannelError, ConfigError
from core.ports import Clock

_LOG = logging.getLogger(__name__)

_FIRST_PAUSE_S = 2.0
_LONGEST_PAUSE_S = 300.0
_STABLE_AFTER_S = 600.0
_WRONG_TOKEN = 4004


def rejected_token() -> ConfigError:
    """Return what to tell the owner of a token that Discord does not know."""
    advice = "Discord does not accept it; copy it again from the developer portal, page Bot, Reset Token"
    return ConfigError("DISCORD_TOKEN", advice)


async def introduce(config: DiscordConfig, pacer: Pacer, clock: Clock) -> Identity:
    """Return who we are. While nobody answers, keep asking.

    Raises:
        ConfigError: the token is wrong.
    """
    pause_s = _FIRST_PAUSE_S
    while True:
        try:
            async with discord.Client(intents=discord.Intents(guilds=True), http_trace=pacer.trace()) as client:
                await client.login(config.token)
                return identity_of(client, auto_thread=config.auto_thread)
        except discord.LoginFailure:
            raise rejected_token() from None
        except Exception as error:  # noqa: BLE001  (whatever it answers, it is asked again)
            _LOG.warning("discord cannot be reached", extra={"error": type(error).__name__})
            await clock.sleep(pause_s)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)


class Gateway:
    """One client after another, each as long as it lasts."""

    def __init__(
        self,
        config: DiscordConfig,
        api: DiscordApi,
        pacer: Pacer,
        bookmarks: Bookmarks,
        clock: Clock,
        *,
        listener: Listener,
        reception: InteractionHandler,
        identity: Identity,
    ) -> None:
        self._config = config
        self._api = api
        self._pacer = pacer
        self._bookmarks = bookmarks
        self._clock = clock
        self._listener = listener
        self._reception = reception
        self._identity = identity
        self._reads_all = identity.reads_all
        self._client: GatewayClient | None = None

    async def listen(self) -> None:
        """Stay connected until cancelled; what was connected last stays open for those who still write.

        Raises:
            ConfigError: the token does not count any more.
        """
        pause_s = _FIRST_PAUSE_S
        while True:
            began_s = self._clock.monotonic()
            try:
                client = await self._open()
                await client.enter(self._config.gateway_url)
            except discord.LoginFailure:
                raise rejected_token() from None
            except Exception as error:  # noqa: BLE001  (whatever ends a connection, another one is opened)
                self._note(error)
            await self.close()
            if self._clock.monotonic() - began_s > _STABLE_AFTER_S:
                pause_s = _FIRST_PAUSE_S
            await self._clock.sleep(pause_s)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)

    async def close(self) -> None:
        """Leave the gateway and close every connection."""
        if self._client is not None and not self._client.is_closed():
            try:
                await self._client.close()
            except Exception as error:  # noqa: BLE001  (it is of no use any more)
                _LOG.warning("discord connection not closed", extra={"error": type(error).__name__})

    async def _open(self) -> GatewayClient:
        """Return a client that is logged in, with its commands; the gateway is not connected yet."""
        client = GatewayClient(
            self._listener, self._reception.press, self._pacer.trace(), self._clock, reads_all=self._reads_all
        )
        self._client = client
        await client.login(self._config.token)
        tree: app_commands.CommandTree[GatewayClient] = app_commands.CommandTree(client)
        await tree.set_translator(CommandTranslator())
        self._api.use(client)
        menus = Menus(
            tree, self._reception.say, admin_guild=self._config.admin_guild, goes_along=self._identity.goes_along
        )
        await self._offer(menus)
        return client

    async def _offer(self, menus: Menus) -> None:
        """Tell Discord of the commands, if they are not as it knows them."""
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
