"""Signs of life while an answer takes its time. Knows how often. Does not know what they look like."""

from __future__ import annotations

import asyncio
import logging

from adapters.telegram.channel import TelegramChannel
from core.errors import ChannelError
from core.ports import Clock

_LOG = logging.getLogger(__name__)

_EVERY_S = 5.0  # "typing" fades after that time. Source: core.telegram.org/bots/api#sendchataction


async def accompany(channel: TelegramChannel, answered: asyncio.Future[None], clock: Clock) -> None:
    """Refresh the channel every few seconds until the answer is given. What the chat does not bear is left out."""
    while not answered.done():
        timer = asyncio.create_task(clock.sleep(_EVERY_S))
        try:
            await asyncio.wait({timer, answered}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
        if answered.done():
            return
        try:
            await channel.refresh()
        except ChannelError as error:
            _LOG.debug("no sign of life", extra={"error": type(error).__name__})
