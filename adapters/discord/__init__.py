"""Discord as a platform: messages and interactions become Incoming, a Channel writes the answers.

Knows how a run begins and ends. Does not know what the bot says.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from adapters.discord.api import DiscordApi
from adapters.discord.bookmark import Bookmarks
from adapters.discord.client import point_rest_at
from adapters.discord.config import DiscordConfig
from adapters.discord.form import Forms
from adapters.discord.gateway import Gateway, introduce
from adapters.discord.interaction_handler import InteractionHandler
from adapters.discord.message_handler import UpdateHandler
from adapters.discord.pacer import Pacer
from adapters.discord.room import PLATFORM
from core.ports import Clock, MessageHandler
from core.types import UserKey

_LOG = logging.getLogger(__name__)

_Done = TypeVar("_Done")


async def run(
    config: DiscordConfig,
    handler: MessageHandler,
    clock: Clock,
    stop: asyncio.Event,
    *,
    say: Callable[[str], None] = _LOG.info,
    own: Callable[[UserKey, str], Awaitable[None]] | None = None,
) -> None:
    """Listen until `stop` is set, then finish what is being answered, for `drain_s` at most.

    `say` is told what the owner should read: who the bot is, and the link that invites it. `own` is told who owns the
    bot by Discord's own word: the application's owner, or the administrators of its team.

    Raises:
        ConfigError: Discord does not know the token, be it at the start or later.
    """
    logging.getLogger("discord").setLevel(logging.WARNING)  # it logs what people write, and tokens
    logging.getLogger("discord.client").setLevel(logging.ERROR)  # and warns that there is no voice
    point_rest_at(config.api_base_url)
    pacer = Pacer(clock)
    who = await _unless(stop, introduce(config, pacer, clock))
    if who is None:
        return
    for line in who.lines:
        say(line)
    if own is not None:
        for user_id, name in who.owners.items():
            await own(UserKey(PLATFORM, str(user_id)), name)
    bookmarks = Bookmarks(config.state_path, clock)
    bookmarks.load()
    api = DiscordApi(pacer, clock)
    forms = Forms(clock)
    intake = UpdateHandler(handler, api, bookmarks, config, clock, forms=forms, me=who.user)
    reception = InteractionHandler(intake, api, forms, config, clock, me=who.user)
    gateway = Gateway(config, api, pacer, bookmarks, clock, listener=intake, reception=reception, identity=who)
    try:
        await intake.resume()
        await _unless(stop, gateway.listen())
        await intake.drain(config.drain_s)
    finally:
        bookmarks.close()
        await gateway.close()


async def about(config: DiscordConfig, clock: Clock) -> list[str]:
    """Return what the owner should read about the bot as Discord sees it. Asks until somebody answers.

    Raises:
        ConfigError: Discord does not know the token.
    """
    point_rest_at(config.api_base_url)
    return (await introduce(config, Pacer(clock), clock)).lines


async def _unless(stop: asyncio.Event, work: Coroutine[Any, Any, _Done]) -> _Done | None:
    """Do the work, but leave off when `stop` is set; None then."""
    doing, stopping = asyncio.create_task(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({doing, stopping}, return_when=asyncio.FIRST_COMPLETED)
        return await doing if doing.done() else None
    finally:
        for task in (doing, stopping):
            task.cancel()
        await asyncio.gather(doing, stopping, return_exceptions=True)
