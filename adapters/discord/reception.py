"""What becomes of each interaction: slash commands and buttons. Knows who sees the answer. Does not know any answer."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import discord

from adapters.discord.api import DiscordApi
from adapters.discord.config import DiscordConfig
from adapters.discord.intake import FROM_INTERACTION, Intake
from adapters.discord.interaction import InteractionSurface
from adapters.discord.room import PLATFORM, Room, room_of
from adapters.discord.texts import NOT_HERE, NOT_YOURS, STOPPING
from core.errors import SurfaceBusy, SurfaceError
from core.language import choose
from core.ports import Clock
from core.screen import Shown
from core.types import ChatKey, ConversationKey, Incoming, Localized, UserKey
from core.unicode import one_line

_LOG = logging.getLogger(__name__)

_MAX_NAME_CHARS = 64
_STOP = "/stop"


class Reception:
    """Turns interactions into messages for the door. Each is acknowledged first: Discord waits 3 s for that."""

    def __init__(self, intake: Intake, api: DiscordApi, config: DiscordConfig, clock: Clock, me: int) -> None:
        self._intake = intake
        self._api = api
        self._config = config
        self._clock = clock
        self._me = me

    async def say(self, interaction: discord.Interaction[Any], text: str, private: bool) -> None:
        """Take what a person said by a slash command; `private` hides the answer from everybody else."""
        room = self._room(interaction)
        if room is None or not room.allowed(self._config.rooms):
            await self._only_say(interaction, NOT_HERE)
            return
        hidden = private and not room.private
        surface = await self._pass_on(interaction, text, room.chat, hidden=hidden, private=private or room.private)
        if surface is None or not surface.silent:
            return
        if text == _STOP:  # the answer that it stopped ends in its own place
            await self._insist(lambda: surface.post(Shown(_in_language(STOPPING, interaction))))
        else:
            await self._insist(surface.hush)

    async def press_stop(self, interaction: discord.Interaction[Any], conversation: ConversationKey) -> None:
        """Take a press of the Stop button below an answer of that conversation."""
        if str(interaction.user.id) != conversation.user.user:
            await self._only_say(interaction, NOT_YOURS)
            return
        surface = await self._pass_on(interaction, _STOP, conversation.chat, hidden=True, private=True)
        if surface is None:
            return
        if surface.silent:
            await self._insist(surface.hush)
        elif (message := interaction.message) is not None:  # nothing was running: the button outlived its answer
            name = f"PATCH /channels/{message.channel.id}/messages/*"
            await self._insist(lambda: self._api.perform(name, lambda: message.edit(view=None)))

    async def _pass_on(
        self, interaction: discord.Interaction[Any], text: str, chat: ChatKey, *, hidden: bool, private: bool
    ) -> InteractionSurface | None:
        """Acknowledge, hand over and wait for the answer; None where Discord took the acknowledgement too late."""
        if not await self._insist(lambda: self._api.acknowledge(interaction, hidden=hidden)):
            return None
        incoming = _incoming(interaction, text, chat, private=private)
        later, stop = self._intake.surface(incoming), self._intake.stop_of(incoming)
        surface = InteractionSurface(self._api, interaction, later, self._clock, private=hidden, stop=stop)
        await (await self._intake.receive(incoming, surface))
        return surface

    async def _only_say(self, interaction: discord.Interaction[Any], words: Localized) -> None:
        text, send = _in_language(words, interaction), interaction.response.send_message
        await self._insist(lambda: self._api.perform("POST /interactions", lambda: send(text, ephemeral=True)))

    async def _insist(self, request: Callable[[], Awaitable[object]]) -> bool:
        """Make a request as often as it takes; False where it was refused for good: too late, or nobody there."""
        while True:
            try:
                await request()
            except SurfaceBusy as busy:
                await self._clock.sleep(busy.retry_after_s)
            except SurfaceError as error:
                _LOG.warning("interaction not answered", extra={"error": type(error).__name__})
                return False
            else:
                return True

    def _room(self, interaction: discord.Interaction[Any]) -> Room | None:
        if interaction.channel is None:
            return None
        room = room_of(interaction.channel, self._me)
        # Where the bot was brought along by somebody who installed it, direct messages are those of two other people.
        return replace(room, private=room.private and not interaction.context.private_channel)


def _incoming(interaction: discord.Interaction[Any], text: str, chat: ChatKey, *, private: bool) -> Incoming:
    return Incoming(
        chat=chat,
        user=UserKey(PLATFORM, str(interaction.user.id)),
        user_name=one_line(interaction.user.display_name, _MAX_NAME_CHARS),
        message_id=f"{FROM_INTERACTION}{interaction.id}",
        text=text,
        at=interaction.created_at,
        private=private,
        language=str(interaction.locale),
    )


def _in_language(words: Localized, interaction: discord.Interaction[Any]) -> str:
    return words[choose("", str(interaction.locale))]
