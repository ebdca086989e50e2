"""What comes along with a Discord message: attachments, and the words that it replies to or passes on."""

from __future__ import annotations

from collections.abc import Callable

import discord

from core.enclosures import Attachment, AttachmentKind, Quote, QuoteKind, Speaker

_KINDS = {"image": AttachmentKind.PHOTO, "audio": AttachmentKind.AUDIO, "video": AttachmentKind.VIDEO}


def attachments_of(message: discord.Message | discord.MessageSnapshot) -> tuple[Attachment, ...]:
    """Return what there is in a message besides text."""
    found = [_attachment(one) for one in message.attachments]
    found += [Attachment(AttachmentKind.STICKER, one.name) for one in message.stickers]
    if isinstance(message, discord.Message) and message.poll is not None:
        found.append(Attachment(AttachmentKind.POLL, message.poll.question))
    if message.embeds and not message.content:  # else it is what Discord shows of a link in the text
        found.append(Attachment(AttachmentKind.OTHER))
    return tuple(found)


def quotes_of(message: discord.Message, me: int, readable: Callable[[discord.Message], str]) -> tuple[Quote, ...]:
    """Return what a message replies to or passes on; `readable` gives a message's text as people see it."""
    if message.message_snapshots:
        return tuple(
            # Discord does not tell who said it.
            Quote(QuoteKind.FORWARD, _text(one, one.content), attachments=attachments_of(one))
            for one in message.message_snapshots
        )
    if message.type is not discord.MessageType.reply or message.reference is None:
        return ()
    replied = message.reference.resolved
    if not isinstance(replied, discord.Message):  # deleted, or not told
        return (Quote(QuoteKind.REPLY),)
    speaker, name = _speaker(replied.author, message.author, me)
    if replied.message_snapshots:
        return tuple(
            Quote(QuoteKind.REPLY, _text(one, one.content), attachments=attachments_of(one))
            for one in replied.message_snapshots
        )
    text = _text(replied, readable(replied))
    return (Quote(QuoteKind.REPLY, text, speaker, name, "", attachments_of(replied) if not text else _files(replied)),)


def _speaker(who: discord.abc.User, sender: discord.abc.User, me: int) -> tuple[Speaker, str]:
    if who.id == me:
        return Speaker.BOT, ""
    return (Speaker.SELF, "") if who.id == sender.id else (Speaker.OTHER, who.display_name)


def _text(message: discord.Message | discord.MessageSnapshot, content: str) -> str:
    """Return what is written in a message, in its text or in its embeds."""
    parts = [content, *(part for embed in message.embeds for part in (embed.title, embed.description) if part)]
    return "\n".join(part for part in parts if part)


def _files(message: discord.Message) -> tuple[Attachment, ...]:
    return tuple(one for one in attachments_of(message) if one.kind is not AttachmentKind.OTHER)


def _attachment(attachment: discord.Attachment) -> Attachment:
    if attachment.is_voice_message():
        return Attachment(AttachmentKind.VOICE)
    kind = (attachment.content_type or "").partition("/")[0]
    return Attachment(_KINDS.get(kind, AttachmentKind.FILE), attachment.filename)
