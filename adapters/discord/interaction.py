"""An answer to a slash command or a press: hidden from others where it is private, longer-lived than what it answers.

Knows what Discord allows an interaction: one deferred response, follow-ups, 15 minutes. Does not know what was asked.
Source: discord.com/developers/docs/interactions/receiving-and-responding.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import discord

from adapters.discord.api import DiscordApi, FollowUpsUsedUp, InteractionOver, edit_options, sent, time_for
from adapters.discord.attachment import attachment
from adapters.discord.markup import MAX_CHARS, Drawn, measure
from adapters.discord.pen import Pen
from adapters.discord.surface import DiscordSurface
from core.errors import SurfaceBusy, SurfaceError
from core.ports import Clock, Surface
from core.screen import Shown, SurfaceLimits

_LIFE = timedelta(minutes=14, seconds=30)
"""An interaction's token is good for 15 minutes; the last half minute is left to the request itself."""

_ORIGINAL = "@original"


class InteractionSurface(Surface):
    """Writes the deferred response first, then follow-ups; what Discord takes no more goes to `later`, another place.

    That is after 15 minutes, or after 5 follow-ups where somebody took the bot along.

    The response to a press that is answered `in_place` is the message whose button was pressed.
    """

    def __init__(
        self, api: DiscordApi, interaction: discord.Interaction[Any], later: DiscordSurface, clock: Clock,
        *, private: bool, pen: Pen, in_place: bool = False,
    ) -> None:  # fmt: skip
        self._api = api
        self._interaction = interaction
        self._later = later
        self._clock = clock
        self._ends: datetime = interaction.created_at + _LIFE
        self._private = private
        self._pen = pen
        self._in_place = in_place
        self._drawn: dict[str, Drawn] = {}
        self._moved: dict[str, str] = {}

    @property
    def limits(self) -> SurfaceLimits:
        """What one message holds, and how often it may be edited."""
        return SurfaceLimits(MAX_CHARS, self._later.limits.edit_interval_s)

    @property
    def silent(self) -> bool:
        """Whether nothing was written here, so that the client still shows that the bot is thinking."""
        return not self._drawn

    def measure(self, text: str) -> int:
        """Return the UTF-16 units of the text."""
        return measure(text)

    async def post(self, shown: Shown) -> str:
        """Write a new message: where the interaction takes it, else in the other place."""
        if not self._expired:
            try:
                return await self._respond(shown)
            except (FollowUpsUsedUp, InteractionOver):
                self._ends = self._clock.now()
            except SurfaceBusy:
                raise
            except SurfaceError:
                if not shown.plain:
                    raise
        handle = await self._later.post(shown)
        self._moved[handle] = handle
        return handle

    async def edit(self, handle: str, shown: Shown) -> None:
        """Replace a message in place; after the interaction's time, by a new one."""
        if handle in self._moved:
            await self._later.edit(self._moved[handle], shown)
            return
        drawn = self._pen.draw(shown)
        if drawn == self._drawn[handle]:
            return
        if self._expired:
            self._moved[handle] = await self._later.post(shown)
        else:
            await self._edit_response(handle, drawn)
            self._drawn[handle] = drawn

    async def remove(self, handle: str) -> None:
        """Take a message away."""
        if handle in self._moved:
            await self._later.remove(self._moved[handle])
        elif handle == _ORIGINAL:
            await self.hush()
        else:
            delete = self._interaction.followup.delete_message
            await self._api.perform(f"DELETE {self._path}/messages/*", lambda: delete(int(handle)))

    async def fetch(self, file: str, max_bytes: int) -> bytes:
        """Return what is in a file that came with a command: `file` is its address, good for a day."""
        return await self._api.fetch(file, max_bytes)

    async def hush(self) -> None:
        """Take the sign away that says the bot is thinking; a message answered in place never had one."""
        if self._in_place:
            return
        await self._api.perform(f"DELETE {self._path}/messages/*", self._interaction.delete_original_response)

    @property
    def _expired(self) -> bool:
        return self._clock.now() >= self._ends

    @property
    def _path(self) -> str:
        return f"/webhooks/{self._interaction.application_id}/{self._interaction.token}"

    async def _respond(self, shown: Shown) -> str:
        drawn = self._pen.draw(shown)
        if self._drawn or (self._in_place and drawn.file):  # no file takes the place of a text
            handle = await self._follow_up(drawn)
        else:
            await self._edit_response(_ORIGINAL, drawn)
            handle = _ORIGINAL
        self._drawn[handle] = drawn
        return handle

    async def _edit_response(self, handle: str, drawn: Drawn) -> None:
        interaction = self._interaction

        async def request() -> None:
            options = edit_options(drawn)
            if drawn.file:
                options["attachments"] = [attachment(drawn.file)]
            if handle == _ORIGINAL:
                await interaction.edit_original_response(**options)
            else:
                await interaction.followup.edit_message(int(handle), **options)

        await self._api.perform(f"PATCH {self._path}/messages/*", request, time_for(drawn))

    async def _follow_up(self, drawn: Drawn) -> str:
        follow_up = self._interaction.followup

        async def request() -> discord.WebhookMessage:
            options = {name: value for name, value in edit_options(drawn).items() if value}
            if drawn.file:
                options["file"] = attachment(drawn.file)
            return await follow_up.send(wait=True, ephemeral=self._private, **options)

        message = await self._api.perform(f"POST {self._path}", request, time_for(drawn))
        return str(sent(message).id)
