"""Message -> Incoming. Knows what people do in Discord and what of it is said to the bot. Does not know any answer."""

from __future__ import annotations

import re
from collections.abc import Iterator

import discord

from adapters.discord.enclosed import attachments_of, quotes_of
from adapters.discord.room import PLATFORM, Room
from core.text.unicode import one_line
from core.types import Incoming, UserKey

_MAX_NAME_CHARS = 64
_AROUND_MENTION = " \t\n,;:-–—"
_SPOKEN = {discord.MessageType.default, discord.MessageType.reply}


def incoming_of(message: discord.Message, room: Room, me: int) -> Incoming | None:
    """Return what a person said, or None where no person speaks (bots, webhooks, the service itself).

    `me` is the bot's own user id. The text is empty where there is none to read.
    """
    if message.author.bot or message.webhook_id is not None or message.type not in _SPOKEN:
        return None
    return Incoming(
        chat=room.chat,
        user=UserKey(PLATFORM, str(message.author.id)),
        user_name=_name(message.author),
        message_id=str(message.id),
        text=_readable(_without(_tokens(message, me), message.content), message),
        at=message.created_at,
        addressed=room.private or _addressed(message, me) or (room.ours and _goes_on(message)),
        private=room.private,
        language=room.language,
        file=message.attachments[0].url if message.attachments else "",
        attachments=attachments_of(message) if not message.message_snapshots else (),
        quotes=quotes_of(message, me, lambda other: _readable(other.content, other)),
    )


def _addressed(message: discord.Message, me: int) -> bool:
    """Whether a message in a room is for the bot: our name or our role in it, or a reply to us."""
    if any(user.id == me for user in message.mentions) or _our_role(message) is not None:
        return True
    replied = message.reference.resolved if message.reference is not None else None
    return isinstance(replied, discord.Message) and replied.author.id == me


def _goes_on(message: discord.Message) -> bool:
    """Whether a message in a thread of ours goes on with the talk: it says something, and to nobody else."""
    return bool(message.content) and not message.raw_mentions and message.reference is None


def _our_role(message: discord.Message) -> int | None:
    """Return the id of the role that Discord gave the bot, if it is mentioned: people pick it by mistake."""
    role = message.guild.self_role if message.guild is not None else None
    return role.id if role is not None and role.id in message.raw_role_mentions else None


def _tokens(message: discord.Message, me: int) -> tuple[str, ...]:
    """Return how our name may stand in the text."""
    role = _our_role(message)
    return (f"<@{me}>", f"<@!{me}>", *([f"<@&{role}>"] if role is not None else []))


def _without(tokens: tuple[str, ...], text: str) -> str:
    """Return the text without our own name where it only calls us: at the start, at the end."""
    for token in tokens:
        stripped = text.strip(_AROUND_MENTION)
        if stripped.startswith(token):
            text = stripped.removeprefix(token).lstrip(_AROUND_MENTION)
        elif stripped.endswith(token):
            text = stripped.removesuffix(token).rstrip(_AROUND_MENTION)
    return text


def _readable(text: str, message: discord.Message) -> str:
    """Return the text with the names that people see in place of ids."""
    names = dict(_names(message))
    return re.sub(r"<(?:@[!&]?|#)\d+>", lambda found: names.get(found[0].replace("!", ""), found[0]), text)


def _names(message: discord.Message) -> Iterator[tuple[str, str]]:
    for user in message.mentions:
        yield f"<@{user.id}>", f"@{_name(user)}"
    for role in message.role_mentions:
        yield f"<@&{role.id}>", f"@{one_line(role.name, _MAX_NAME_CHARS)}"
    for channel in message.channel_mentions:
        yield f"<#{channel.id}>", f"#{one_line(channel.name, _MAX_NAME_CHARS)}"


def _name(user: discord.abc.User) -> str:
    return one_line(user.display_name, _MAX_NAME_CHARS)
