"""Discord as a platform: messages and interactions become Incoming, a Channel writes the answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from adapters.discord.api import DiscordApi
from adapters.discord.bookmark import Bookmarks
from adapters.discord.button import Forms
from adapters.discord.config import DiscordConfig
from adapters.discord.gateway import Gateway, introduce, point_rest_at
from adapters.discord.interaction_handler import InteractionHandler
from adapters.discord.pacer import Pacer
from adapters.discord.read_back import TellUnread
from adapters.discord.room import PLATFORM
from adapters.discord.update_handler import UpdateHandler
from adapters.running import Connected, Wrote, ignored, until
from core.commands.menu import MenuEntry
from core.ports import Clock, MessageHandler
from core.stores import KeptStore
from core.types import UserKey
from core.workers.port import Worker

_LOG = logging.getLogger(__name__)


async def run(
    config: DiscordConfig,
    handler: MessageHandler,
    clock: Clock,
    stop: asyncio.Event,
    *,
    menu: Sequence[MenuEntry],
    worker: Worker,
    kept: KeptStore,
    say: Callable[[str], None] = _LOG.info,
    own: Callable[[UserKey, str], Awaitable[None]] | None = None,
    connected: Connected = ignored,
    wrote: Wrote = ignored,
    tell_unread: TellUnread = ignored,
) -> None:
    """Listen until `stop` is set, then finish what is being answered, for `drain_s` at most.

    Of several workers (`worker` is this one) one is connected to the gateway; all of them write. `kept` holds what
    outlives the process. `menu` are the commands that people are offered. `say` is told what the owner should read: who
    the bot is, and the link that invites it. `own` is called with each owner of the bot as Discord names them: the
    application's owner, or the administrators of its team. `connected` is told whether every shard is connected to the
    gateway, `wrote` how Discord answered each write, `tell_unread` what could not be read back after an outage.

    Raises:
        ConfigError: Discord does not know the token, be it at the start or later.
    """
    logging.getLogger("discord").setLevel(logging.WARNING)  # it logs what people write, and tokens
    logging.getLogger("discord.client").setLevel(logging.ERROR)  # and warns that there is no voice
    point_rest_at(config.api_base_url)
    pacer = Pacer(clock, worker, wrote)
    who = await until(stop, introduce(config, pacer, clock))
    if who is None:
        return
    for line in who.lines:
        say(line)
    if own is not None:
        for user_id, name in who.owners.items():
            await own(UserKey(PLATFORM, str(user_id)), name)
    bookmarks = Bookmarks(kept, clock)
    api = DiscordApi(pacer, clock, waiting_reaction=config.waiting_reaction, edit_interval_s=config.edit_interval_s)
    forms = Forms(clock)
    messages = UpdateHandler(handler, api, bookmarks, config, clock, forms=forms, me=who.user, tell_unread=tell_unread)
    interactions = InteractionHandler(messages, api, forms, config, clock, menu=menu, me=who.user)
    gateway = Gateway(
        config,
        api,
        pacer,
        bookmarks,
        clock,
        menu=menu,
        listener=messages,
        interactions=interactions,
        identity=who,
        worker=worker,
        connected=connected,
    )
    try:
        await messages.resume()
        await until(stop, gateway.listen())
    finally:
        await messages.drain(config.drain_s if stop.is_set() else 0.0)  # else nothing can be written any more
        await gateway.close()


async def about(config: DiscordConfig, clock: Clock) -> list[str]:
    """Return what the owner should read about the bot as Discord sees it. Asks until somebody answers.

    Raises:
        ConfigError: Discord does not know the token.
    """
    point_rest_at(config.api_base_url)
    return (await introduce(config, Pacer(clock, Worker()), clock)).lines
