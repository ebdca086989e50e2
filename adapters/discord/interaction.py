"""An answer to a slash command: hidden from others where it is private, and longer-lived than what it answers.

Knows what Discord allows an interaction: one deferred response, follow-ups, 15 minutes. Does not know what was asked.
Source: discord.com/developers/docs/interactions/receiving-and-responding.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import discord

from adapters.discord.api import DiscordApi, MessageLost, edit_options, sent
from adapters.discord.markup import MAX_CHARS, Drawn, draw, measure, stays
from adapters.discord.surface import DiscordSurface
from core.ports import Clock, Surface
from core.screen import Shown, SurfaceLimits

_LIFE = timedelta(minutes=14, seconds=30)
"""An interaction's token is good for 15 minutes; the last half minute is left to the request itself."""

_ORIGINAL = "@original"


class InteractionSurface(Surface):
    """Writes the deferred response first, then follow-ups; after 15 minutes all goes to `later`, an ordinary place."""

    def __init__(
        self, api: DiscordApi, interaction: discord.Interaction[Any], later: DiscordSurface, clock: Clock,
        *, private: bool, stop: str = "",
    ) -> None:  # fmt: skip
        self._api = api
        self._interaction = interaction
        self._later = later
        self._clock = clock
        self._ends: datetime = interaction.created_at + _LIFE
        self._private = private
        self._stop = stop
        self._drawn: dict[str, Drawn] = {}
        self._moved: dict[str, str] = {}

    @property
    def limits(self) -> SurfaceLimits:
        """What one message holds, and how often it may be edited."""
        return SurfaceLimits(MAX_CHARS, self._later.limits.edit_interval_s)

    @property
    def silent(self) -> bool:
        """Whether nothing was written yet, so that the client still shows that the bot is thinking."""
        return not self._drawn and not self._moved

    def measure(self, text: str) -> int:
        """Return the UTF-16 units of the text."""
        return measure(text)

    async def post(self, shown: Shown) -> str:
        """Write a new message."""
        if self._expired:
            handle = await self._later.post(shown)
            self._moved[handle] = handle
            return handle
        drawn = draw(shown, stop=self._stop)
        if not self._drawn:
            await self._edit_response(_ORIGINAL, drawn)
            handle = _ORIGINAL
        else:
            handle = await self._follow_up(drawn)
        self._drawn[handle] = drawn
        return handle

    async def edit(self, handle: str, shown: Shown) -> None:
        """Replace a message in place; one that cannot be changed any more is written anew once its text is whole."""
        if handle in self._moved:
            await self._later.edit(self._moved[handle], shown)
            return
        drawn = draw(shown, stop=self._stop)
        if drawn == self._drawn[handle]:
            return
        if not self._expired:
            try:
                await self._edit_response(handle, drawn)
            except MessageLost:
                if not stays(shown):
                    return
            else:
                self._drawn[handle] = drawn
                return
        self._moved[handle] = await self._later.post(shown)

    async def hush(self) -> None:
        """Take the sign away that says the bot is thinking."""
        await self._api.perform(f"DELETE {self._path}/messages/*", self._interaction.delete_original_response)

    @property
    def _expired(self) -> bool:
        return self._clock.now() >= self._ends

    @property
    def _path(self) -> str:
        return f"/webhooks/{self._interaction.application_id}/{self._interaction.token}"

    async def _edit_response(self, handle: str, drawn: Drawn) -> None:
        options = edit_options(drawn)
        interaction = self._interaction
        if handle == _ORIGINAL:
            await self._api.perform(
                f"PATCH {self._path}/messages/*", lambda: interaction.edit_original_response(**options)
            )
        else:
            await self._api.perform(
                f"PATCH {self._path}/messages/*", lambda: interaction.followup.edit_message(int(handle), **options)
            )

    async def _follow_up(self, drawn: Drawn) -> str:
        options = {name: value for name, value in edit_options(drawn).items() if value}
        follow_up = self._interaction.followup
        message = await self._api.perform(
            f"POST {self._path}", lambda: follow_up.send(wait=True, ephemeral=self._private, **options)
        )
        return str(sent(message).id)
