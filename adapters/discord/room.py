"""Where people talk in Discord. Knows which conversation a channel is. Does not know what is said there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import discord

from core.types import ChatKey

PLATFORM = "discord"

_ASIDE = "@"


@dataclass(frozen=True, slots=True)
class Room:
    """A channel, thread or direct message, by ids; `parent` is the channel of a thread; 0 where there is none.

    `private` says that nobody else reads along, `ours` that the bot opened this thread; `language` is the tag that a
    community chose, or "".
    """

    id: int
    parent: int = 0
    category: int = 0
    guild: int = 0
    private: bool = False
    ours: bool = False
    language: str = ""

    @property
    def chat(self) -> ChatKey:
        """The place as the core names it."""
        return ChatKey(PLATFORM, str(self.parent), str(self.id)) if self.parent else ChatKey(PLATFORM, str(self.id))

    def allowed(self, rooms: frozenset[int]) -> bool:
        """Whether the owner lets the bot answer here."""
        return self.private or not rooms or not rooms.isdisjoint((self.id, self.parent, self.category, self.guild))

    def shard(self, count: int) -> int:
        """Return which of so many shards tells of it. Source: discord.com/developers/docs/events/gateway#sharding."""
        return (self.guild >> 22) % count


def room_of(channel: Any, me: int) -> Room:
    """Return the room that a channel of the library's is; `me` is the bot's own user id."""
    if isinstance(channel, discord.DMChannel):
        return Room(channel.id, private=True)
    guild: discord.Guild | None = getattr(channel, "guild", None)
    if guild is None:
        return Room(int(channel.id))
    is_thread = isinstance(channel, discord.Thread)
    return Room(
        int(channel.id),
        parent=channel.parent_id if is_thread else 0,
        category=getattr(channel, "category_id", None) or 0,
        guild=guild.id,
        ours=is_thread and channel.owner_id == me,
        # Only communities choose their language; every other server says en-US.
        language=str(guild.preferred_locale) if "COMMUNITY" in guild.features else "",
    )


def aside(chat: ChatKey, user_id: int) -> ChatKey:
    """Return the place of what a person says there to the bot alone: a conversation of its own.

    What is recalled in it is never part of what is said aloud in the same room, and nobody waits for anybody.
    """
    return replace(chat, thread=f"{chat.thread}{_ASIDE}{user_id}")


def is_aside(chat: ChatKey) -> bool:
    """Whether that is such a place."""
    return _ASIDE in chat.thread


def channel_id(chat: ChatKey) -> int:
    """Return the id of the channel or thread to write into."""
    return int(chat.thread.partition(_ASIDE)[0] or chat.chat)
