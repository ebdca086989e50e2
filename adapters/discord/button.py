"""The Stop button below an answer that is still growing. Knows whose it is. Does not know what stops.

It is found by its id's form, not by an object that waits for it, so it goes on working after a restart.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, Self

import discord

Press = Callable[["discord.Interaction[Any]", str], Awaitable[None]]
"""Called with the interaction, and the id of the person whose answer it is."""

_STOP_ID = re.compile(r"elefante:stop:(?P<asker>\d{1,20})")


def stop_view(asker: str) -> discord.ui.View:
    """Return the row with the Stop button of that person's answer."""
    view = discord.ui.View(timeout=None)
    view.add_item(_button(asker))
    view.stop()  # presses are found by the id's form: the library need not keep one object for each message
    return view


def stop_item(press: Press) -> type[discord.ui.DynamicItem[discord.ui.Button[Any]]]:
    """Return the class that the library makes of each press; `press` is told of it."""

    class StopButton(discord.ui.DynamicItem[discord.ui.Button[Any]], template=_STOP_ID):
        def __init__(self, asker: str) -> None:
            super().__init__(_button(asker))
            self._asker = asker

        @classmethod
        async def from_custom_id(
            cls, interaction: discord.Interaction[Any], item: discord.ui.Item[Any], match: re.Match[str], /
        ) -> Self:
            del interaction, item
            return cls(match["asker"])

        async def callback(self, interaction: discord.Interaction[Any]) -> None:
            await press(interaction, self._asker)

    return StopButton


def _button(asker: str) -> discord.ui.Button[Any]:
    return discord.ui.Button(style=discord.ButtonStyle.secondary, emoji="⏹️", custom_id=f"elefante:stop:{asker}")
