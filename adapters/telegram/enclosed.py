"""What comes along with a Telegram message: attachments, and the words that it replies to or passes on."""

from __future__ import annotations

from typing import Final

from telegram import (
    Chat,
    ExternalReplyInfo,
    Message,
    MessageOrigin,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUser,
    User,
)

from core.enclosures import Attachment, AttachmentKind, Quote, QuoteKind, Speaker

_KINDS: Final = {
    "photo": AttachmentKind.PHOTO,
    "voice": AttachmentKind.VOICE,
    "audio": AttachmentKind.AUDIO,
    "video": AttachmentKind.VIDEO,
    "video_note": AttachmentKind.VIDEO,
    "animation": AttachmentKind.VIDEO,
    "sticker": AttachmentKind.STICKER,
    "document": AttachmentKind.FILE,
    "venue": AttachmentKind.LOCATION,
    "location": AttachmentKind.LOCATION,
    "contact": AttachmentKind.CONTACT,
    "poll": AttachmentKind.POLL,
}
"""By the field that the Bot API puts it in; the first that is there counts, since some come with a second one."""


def attachments_of(message: Message | ExternalReplyInfo) -> tuple[Attachment, ...]:
    """Return what there is in a message besides text, be it of a kind that this library does not know yet."""
    for field, kind in _KINDS.items():
        if value := getattr(message, field, None):
            return (Attachment(kind, _name(value)),)
    unknown = isinstance(message, Message) and (
        message.effective_attachment is not None
        or bool(message.api_kwargs and not message.text and not message.caption)
    )
    return (Attachment(AttachmentKind.OTHER),) if unknown else ()


def forwarded(message: Message, me: User) -> Quote | None:
    """Return what a message passes on; None for one that is said, or that its sender had said before."""
    if message.forward_origin is None:
        return None
    speaker, name = _origin(message.forward_origin, message.from_user, me)
    if speaker is Speaker.SELF:
        return None
    return Quote(QuoteKind.FORWARD, message.text or message.caption or "", speaker, name, "", attachments_of(message))


def replied_to(message: Message, me: User) -> Quote | None:
    """Return what a message replies to; None where it replies to nothing that was said."""
    excerpt = message.quote.text if message.quote is not None else ""
    if (other := message.external_reply) is not None:  # in another chat, of which only the marked part is told
        speaker, name = _origin(other.origin, message.from_user, me)
        return Quote(QuoteKind.REPLY, excerpt, speaker, name, "", attachments_of(other))
    replied = message.reply_to_message
    # In a topic, whatever replies to nothing "replies" to the message that opened it.
    if replied is None or replied.forum_topic_created is not None:
        return None
    if (passed_on := forwarded(replied, me)) is not None:
        speaker, name = passed_on.speaker, passed_on.name
    else:
        speaker, name = _speaker(replied.sender_chat or replied.from_user, message.from_user, me)
    text = replied.text or replied.caption or excerpt
    return Quote(QuoteKind.REPLY, text, speaker, name, excerpt, attachments_of(replied))


def _origin(origin: MessageOrigin, sender: User | None, me: User) -> tuple[Speaker, str]:
    match origin:
        case MessageOriginUser(sender_user=user):
            return _speaker(user, sender, me)
        case MessageOriginHiddenUser(sender_user_name=name):
            return Speaker.OTHER, name
        case MessageOriginChat(sender_chat=chat) | MessageOriginChannel(chat=chat):
            return _speaker(chat, sender, me)
        case _:
            return Speaker.OTHER, ""


def _speaker(who: User | Chat | None, sender: User | None, me: User) -> tuple[Speaker, str]:
    if who is None:
        return Speaker.OTHER, ""
    if who.id == me.id:
        return Speaker.BOT, ""
    if sender is not None and who.id == sender.id:
        return Speaker.SELF, ""
    return Speaker.OTHER, (who.full_name or "") if isinstance(who, User) else who.title or ""


def _name(value: object) -> str:
    """Return what people know it by: a file's name or type, a sticker's emoji, a venue's title."""
    for field in ("file_name", "title", "emoji", "question", "mime_type"):
        if isinstance(name := getattr(value, field, None), str) and name:
            return name
    return ""
