"""Message -> Incoming: what people say in Discord, with attachments and quoted words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

import discord

from adapters.discord.api import with_message
from adapters.discord.room import PLATFORM, Room, groups_of, handle_of, title_of
from adapters.running import display_name, handle_for, without_mention
from core.enclosures import Attachment, AttachmentKind, Quote, QuoteKind, Speaker
from core.types import ANSWER_TO, Incoming, UserKey

FROM_INTERACTION = "i"
"""Begins the ids of interactions: there is no message to reply to."""

_SPOKEN = {discord.MessageType.default, discord.MessageType.reply}
_KINDS = {"image": AttachmentKind.PHOTO, "audio": AttachmentKind.AUDIO, "video": AttachmentKind.VIDEO}
_DRAWING = "image/svg"  # a document, which no client shows as a picture
_STICKERS = {
    discord.StickerFormatType.png: "image/png",
    discord.StickerFormatType.apng: "image/apng",
    discord.StickerFormatType.lottie: "application/json",
    discord.StickerFormatType.gif: "image/gif",
}


def incoming_of(message: discord.Message, room: Room, me: int) -> Incoming | None:
    """Return what a person said, or None where no person speaks (bots, webhooks, the service itself).

    `me` is the bot's own user id. The text is empty where there is none to read. A message that was edited is the
    version of that moment, which tells it from the earlier ones also when it is read back.
    """
    if message.author.bot or message.webhook_id is not None or message.type not in _SPOKEN:
        return None
    edited_at = message.edited_at
    return Incoming(
        chat=room.chat,
        user=UserKey(PLATFORM, str(message.author.id)),
        user_name=display_name(message.author.display_name),
        message_id=f"{message.id}.{edited_at.timestamp():.6f}" if edited_at else str(message.id),
        edits=str(message.id) if edited_at else "",
        text=_readable(message, _without(_tokens(message, me), message.content)),
        at=edited_at or message.created_at,
        addressed=room.private or _addressed(message, me) or (room.ours and _goes_on(message)),
        private=room.private,
        room_title="" if room.private else title_of(message.channel),
        language=room.language,
        attachments=attachments_of(message, message) if not message.message_snapshots else (),
        quotes=quotes_of(message, me),
        quoted_user=_quoted_user(message),
        replies_to=_reply_to_us(message, me),
        handle=message.author.name,
        groups=groups_of(message.author),
    )


def _addressed(message: discord.Message, me: int) -> bool:
    """Whether a message in a room is for the bot: our name or our role in it, or a reply to us."""
    if any(user.id == me for user in message.mentions) or _our_role(message) is not None:
        return True
    replied = message.reference.resolved if message.reference is not None else None
    return isinstance(replied, discord.Message) and replied.author.id == me


def _goes_on(message: discord.Message) -> bool:
    """Whether a message in a thread of ours continues the talk: it has text, and addresses nobody else."""
    return bool(message.content) and not message.raw_mentions and message.reference is None


def _our_role(message: discord.Message) -> int | None:
    """Return the id of the role that Discord gave the bot, if it is mentioned: people pick it by mistake."""
    role = message.guild.self_role if message.guild is not None else None
    return role.id if role is not None and role.id in message.raw_role_mentions else None


def _tokens(message: discord.Message, me: int) -> tuple[str, ...]:
    """Return the forms in which our name may stand in the text."""
    role = _our_role(message)
    return (f"<@{me}>", f"<@!{me}>", *([f"<@&{role}>"] if role is not None else []))


def _without(tokens: tuple[str, ...], text: str) -> str:
    """Return the text without our own name where it only calls us: at the start, at the end."""
    for token in tokens:
        text = without_mention(text, token)
    return text


def _readable(message: discord.Message, text: str | None = None) -> str:
    """Return what a message says, or that part of it, with the names that people see in place of ids."""
    names = dict(_names(message))
    said = message.content if text is None else text
    return re.sub(r"<(?:@[!&]?|#)\d+>", lambda found: names.get(found[0].replace("!", ""), found[0]), said)


def _names(message: discord.Message) -> Iterator[tuple[str, str]]:
    for user in message.mentions:
        yield f"<@{user.id}>", f"@{display_name(user.display_name)}"
    for role in message.role_mentions:
        yield f"<@&{role.id}>", f"@{display_name(role.name)}"
    for channel in message.channel_mentions:
        yield f"<#{channel.id}>", f"#{display_name(channel.name)}"


# --- what comes along with a message ---


def attachments_of(said: discord.Message | discord.MessageSnapshot, message: discord.Message) -> tuple[Attachment, ...]:
    """Return the attachments of what is `said` in a message: in itself, or in the one that it passes on."""
    where = handle_of(message.channel.id, message.id)
    found = [attached(one, where) for one in said.attachments]
    found += [
        Attachment(
            AttachmentKind.STICKER, one.name, _STICKERS.get(one.format, ""), handle=handle_for(PLATFORM, one.url)
        )
        for one in said.stickers
    ]
    if isinstance(said, discord.Message) and said.poll is not None:
        options = "\n".join(answer.text for answer in said.poll.answers)
        found.append(Attachment(AttachmentKind.POLL, said.poll.question, detail=options))
    if said.embeds and not _text(said, said.content):  # else it is read, or a link's preview
        found.append(Attachment(AttachmentKind.OTHER))
    return tuple(found)


def quotes_of(message: discord.Message, me: int) -> tuple[Quote, ...]:
    """Return what a message replies to or passes on."""
    if message.message_snapshots:
        return tuple(
            # Discord does not tell who said it.
            Quote(QuoteKind.FORWARD, _text(one, one.content), attachments=attachments_of(one, message))
            for one in message.message_snapshots
        )
    if message.type is not discord.MessageType.reply or message.reference is None:
        return ()
    replied = message.reference.resolved
    if not isinstance(replied, discord.Message):  # deleted, or not told
        return (Quote(QuoteKind.REPLY),)
    return (_said(QuoteKind.REPLY, replied, message.author.id, me),)


def pointed(message: discord.Message, asker: int, me: int) -> Quote:
    """Return the message of whose menu a command was chosen, as one quotes it who replies to it."""
    return _said(QuoteKind.REPLY, message, asker, me)


def earlier(message: discord.Message, asker: int, me: int) -> Quote:
    """Return a message further up a chain of replies; `asker` is who points at the chain."""
    return _said(QuoteKind.EARLIER, message, asker, me)


def said_in_room(messages: Iterable[discord.Message], asker: int, me: int) -> list[Quote]:
    """Return what people and the bot itself said, out of messages of a room; other bots and the service are left out.

    Where Discord does not hand out a message's content, nothing is left of it.
    """
    spoken = (each for each in messages if each.author.id == me or _is_a_persons(each))
    return [quote for each in spoken if not (quote := _said(QuoteKind.ROOM, each, asker, me)).is_unread]


def answers(message: discord.Message) -> discord.MessageReference | None:
    """Return what a message replies to; None if it is no reply."""
    is_reply = message.type is discord.MessageType.reply and not message.message_snapshots
    return message.reference if is_reply else None


def answer_handle(message: discord.Message) -> str:
    """Return what names a message of ours as an answer (`Incoming.replies_to`); one to an interaction has no handle."""
    asked = message.interaction_metadata
    return f"{message.channel.id}/{message.id}" if asked is None else f"{ANSWER_TO}{FROM_INTERACTION}{asked.id}"


def _reply_to_us(message: discord.Message, me: int) -> str:
    reference = answers(message)
    replied = reference.resolved if reference is not None else None
    return answer_handle(replied) if isinstance(replied, discord.Message) and replied.author.id == me else ""


def _is_a_persons(message: discord.Message) -> bool:
    return not message.author.bot and message.webhook_id is None and message.type in _SPOKEN


def _said(kind: QuoteKind, message: discord.Message, asker: int, me: int) -> Quote:
    """Return a message as a quote; of one that was forwarded, Discord does not tell who said it."""
    if message.message_snapshots:
        one = message.message_snapshots[0]  # Discord sends one
        return Quote(kind, _text(one, one.content), attachments=attachments_of(one, message))
    speaker, name = _speaker(message.author, asker, me)
    return Quote(kind, _text(message, _readable(message)), speaker, name, "", attachments_of(message, message))


def _quoted_user(message: discord.Message) -> str:
    """Return the id of the person to whose own words a message replies, "" if there is none.

    Discord does not tell whose words were forwarded.
    """
    replied = message.reference.resolved if message.type is discord.MessageType.reply and message.reference else None
    if not isinstance(replied, discord.Message) or replied.message_snapshots or message.message_snapshots:
        return ""
    return "" if replied.author.bot or replied.webhook_id is not None else str(replied.author.id)


def _speaker(who: discord.abc.User, asker: int, me: int) -> tuple[Speaker, str]:
    if who.id == me:
        return Speaker.BOT, ""
    return (Speaker.SELF, "") if who.id == asker else (Speaker.OTHER, who.display_name)


def _text(message: discord.Message | discord.MessageSnapshot, content: str) -> str:
    """Return what is written in a message: in its text, its embeds, or its components."""
    parts = [content, *(part for embed in message.embeds for part in _embedded(embed))]
    return "\n".join(part for part in (*parts, *_displayed(message.components)) if part)


def _embedded(embed: discord.Embed) -> Iterator[str | None]:
    yield from (embed.author.name, embed.title, embed.description)
    for field in embed.fields:
        yield ": ".join(part for part in (field.name, field.value) if part)


def _displayed(components: Iterable[Any]) -> Iterator[str]:
    """Yield the texts of a message that is made of components alone. Source: components/reference#text-display."""
    for component in components:
        if isinstance(component, discord.TextDisplay):
            yield component.content
        else:
            yield from _displayed(getattr(component, "children", ()))


def attached(file: discord.Attachment, where: str = "") -> Attachment:
    """Return a file as an attachment; `where` is the handle of the message with it, from which its address is renewed.

    An address is signed, and good for a day. Source: discord.com/developers/docs/reference#signed-attachment-cdn-urls.
    """
    media_type = file.content_type or ""
    kind = _KINDS.get(media_type.partition("/")[0], AttachmentKind.FILE)
    if file.is_voice_message():
        kind = AttachmentKind.VOICE
    elif media_type.startswith(_DRAWING):
        kind = AttachmentKind.FILE
    return Attachment(
        kind,
        "" if kind is AttachmentKind.VOICE else _name(file),
        media_type,
        file.size,
        handle_for(PLATFORM, with_message(file.url, where)),
        width=file.width or 0,
        height=file.height or 0,
        duration_s=file.duration or 0.0,
    )


def _name(file: discord.Attachment) -> str:
    """Return what the sender calls a file; its title lacks nothing but the end, its name what Discord takes out."""
    return f"{file.title}{PurePosixPath(file.filename).suffix}" if file.title else file.filename
