"""Where people talk in Discord: which conversation a channel is, and who reads an answer there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import discord

from adapters.running import display_name
from core.commands.menu import MenuEntry
from core.types import ASIDE, ChatKey

PLATFORM = "discord"


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
        """The place by its name in the core."""
        place = (str(self.parent), str(self.id)) if self.parent else (str(self.id), "")
        return ChatKey(PLATFORM, *place, server=str(self.guild or ""), is_thread=bool(self.parent))

    def allowed(self, rooms: frozenset[int]) -> bool:
        """Whether the owner lets the bot answer here."""
        return self.private or not rooms or not rooms.isdisjoint((self.id, self.parent, self.category, self.guild))

    def shard(self, count: int) -> int:
        """Return the shard, of `count`, of its events. Source: discord.com/developers/docs/events/gateway#sharding."""
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


def groups_of(person: Any) -> tuple[str, ...]:
    """Return the ids of the roles that an author of the library's has in the server where they wrote."""
    return tuple(str(role.id) for role in person.roles) if isinstance(person, discord.Member) else ()


def aside(chat: ChatKey, user_id: int) -> ChatKey:
    """Return the place of what a person says to the bot unseen by the room: a conversation of its own.

    What is recalled in it is never part of what is said aloud in the same room, and people do not wait for each other.
    """
    return replace(chat, thread=f"{chat.thread}{ASIDE}{user_id}")


def aside_of(chat: ChatKey) -> str:
    """Return the id of the person whose place was made by `aside`."""
    return chat.thread.partition(ASIDE)[2]


def channel_id(chat: ChatKey) -> int:
    """Return the id of the channel or thread to write into."""
    return int(chat.thread.partition(ASIDE)[0] or chat.chat)


@dataclass(frozen=True, slots=True)
class Readers:
    """Who reads an answer: the conversation that it is part of, and whether only the person reads it.

    An answer is `hidden` if Discord has to show it to that person alone, because the room is not private.
    """

    chat: ChatKey
    private: bool
    hidden: bool


def audience(room: Room, user_id: int, command: MenuEntry | None, *, unseen: bool) -> Readers:
    """Return who reads the answer to a command, or to what is said (None); `unseen` is wanted by the person.

    In a room of many, what is recalled for one person stays in a conversation of its own: as a part of what is said
    aloud there, the next answer to all could repeat it.
    """
    if room.private:
        return Readers(room.chat, private=True, hidden=False)
    hidden = unseen or (command is not None and not command.for_all)
    apart = unseen or (command is not None and not command.in_conversation)
    return Readers(aside(room.chat, user_id) if apart else room.chat, private=hidden, hidden=hidden)


def handle_of(channel_id: int, message_id: int) -> str:
    """Return the handle of a message."""
    return f"{channel_id}/{message_id}"


def ids_in(handle: str) -> tuple[int, int]:
    """Return the channel and the message that a handle names."""
    channel, _, message = handle.partition("/")
    return int(channel), int(message)


def title_of(channel: Any) -> str:
    """Return what people call a channel: "#general (Book club)"; "" where Discord does not tell."""
    name, guild = getattr(channel, "name", None), getattr(channel, "guild", None)
    if not name:
        return ""
    return display_name(f"#{name} ({guild.name})" if guild is not None else f"#{name}")
