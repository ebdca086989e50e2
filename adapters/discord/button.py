"""The Stop button below an answer that is still growing. Knows which answer it is of. Does not know what stops.

It is found by its id's form, not by an object that waits for it, so it goes on working after a restart.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, Self

import discord

from adapters.discord.room import PLATFORM
from core.types import ChatKey, ConversationKey, UserKey

Press = Callable[["discord.Interaction[Any]", ConversationKey], Awaitable[None]]
"""Called with the interaction, and the conversation that the answer is part of."""

_STOP_ID = re.compile(r"elefante:stop:(?P<user>\d{1,20}):(?P<chat>\d{1,20}):(?P<thread>\d{0,20})")


def stop_id(conversation: ConversationKey) -> str:
    """Return the id of the button that stops an answer there. Source: an id has up to 100 characters."""
    chat = conversation.chat
    return f"elefante:stop:{conversation.user.user}:{chat.chat}:{chat.thread}"


def stop_view(custom_id: str) -> discord.ui.View:
    """Return the row with that button."""
    view = discord.ui.View(timeout=None)
    view.add_item(_button(custom_id))
    view.stop()  # presses are found by the id's form: the library need not keep one object for each message
    return view


def stop_item(press: Press) -> type[discord.ui.DynamicItem[discord.ui.Button[Any]]]:
    """Return the class that the library makes of each press; `press` is told of it."""

    class StopButton(discord.ui.DynamicItem[discord.ui.Button[Any]], template=_STOP_ID):
        def __init__(self, found: re.Match[str]) -> None:
            super().__init__(_button(found[0]))
            chat = ChatKey(PLATFORM, found["chat"], found["thread"])
            self._conversation = ConversationKey(chat, UserKey(PLATFORM, found["user"]))

        @classmethod
        async def from_custom_id(
            cls, interaction: discord.Interaction[Any], item: discord.ui.Item[Any], match: re.Match[str], /
        ) -> Self:
            del interaction, item
            return cls(match)

        async def callback(self, interaction: discord.Interaction[Any]) -> None:
            await press(interaction, self._conversation)

    return StopButton


def _button(custom_id: str) -> discord.ui.Button[Any]:
    return discord.ui.Button(style=discord.ButtonStyle.secondary, emoji="⏹️", custom_id=custom_id)
