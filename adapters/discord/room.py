"""Where people talk in Discord. Knows which conversation a channel is. Does not know what is said there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import discord

from core.types import ChatKey

PLATFORM = "discord"


@dataclass(frozen=True, slots=True)
class Room:
    """A channel, thread or direct message, by ids. `parent` is the channel of a thread, or 0.

    `within` are the category and the server; `ours` says that the bot opened this thread; `language` is the tag that a
    community chose, or "".
    """

    id: int
    parent: int = 0
    within: tuple[int, ...] = ()
    private: bool = False
    ours: bool = False
    language: str = ""

    @property
    def chat(self) -> ChatKey:
        """The place as the core names it."""
        return ChatKey(PLATFORM, str(self.parent), str(self.id)) if self.parent else ChatKey(PLATFORM, str(self.id))

    def allowed(self, rooms: frozenset[int]) -> bool:
        """Whether the owner lets the bot answer here."""
        return self.private or not rooms or not rooms.isdisjoint((self.id, self.parent, *self.within))


def room_of(channel: Any, me: int) -> Room:
    """Return the room that a channel of the library's is; `me` is the bot's own user id."""
    if isinstance(channel, discord.DMChannel):
        return Room(channel.id, private=True)
    guild: discord.Guild | None = getattr(channel, "guild", None)
    category: int | None = getattr(channel, "category_id", None) if guild is not None else None
    within = tuple(one for one in (category, guild.id if guild else None) if one)
    # Only communities choose their language; every other server says en-US.
    language = str(guild.preferred_locale) if guild is not None and "COMMUNITY" in guild.features else ""
    if isinstance(channel, discord.Thread):
        return Room(channel.id, channel.parent_id, within, ours=channel.owner_id == me, language=language)
    return Room(int(channel.id), within=within, language=language)


def channel_id(chat: ChatKey) -> int:
    """Return the id of the channel or thread to write into."""
    return int(chat.thread or chat.chat)
