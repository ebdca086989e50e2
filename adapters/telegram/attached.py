"""What a message of Telegram holds besides words, as attachments that can be fetched and sent again."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from telegram import Contact, ExternalReplyInfo, Location, Message, PhotoSize, Poll, Sticker, Venue
from telegram.constants import MessageLimit

from adapters.running import handle_for
from core.enclosures import Attachment, AttachmentKind

PLATFORM: Final = "telegram"

CUT_UNITS: Final = MessageLimit.MAX_TEXT_LENGTH // 2
"""From how many UTF-16 units on a text may be a piece: clients cut a longer one than 4,096 where a line, a sentence or
a word ends, in the second half of the limit. Source: `TextUtilities::CutPart` of Telegram Desktop."""

_KINDS: Final = {
    "photo": AttachmentKind.PHOTO,
    "voice": AttachmentKind.VOICE,
    "audio": AttachmentKind.AUDIO,
    "video": AttachmentKind.VIDEO,
    "video_note": AttachmentKind.VIDEO_NOTE,
    "animation": AttachmentKind.ANIMATION,
    "sticker": AttachmentKind.STICKER,
    "document": AttachmentKind.FILE,
    "venue": AttachmentKind.LOCATION,
    "location": AttachmentKind.LOCATION,
    "contact": AttachmentKind.CONTACT,
    "poll": AttachmentKind.POLL,
}
"""The kind by the Bot API's field; the first that is set counts, since some messages set a second one."""

_NAMED: Final = {
    "story": "story",
    "paid_media": "paid media",
    "giveaway": "giveaway",
    "giveaway_winners": "giveaway",
    "checklist": "checklist",
}
"""What has no kind of its own, and its name."""

_MEDIA_TYPES: Final = {
    AttachmentKind.PHOTO: "image/jpeg",
    AttachmentKind.VOICE: "audio/ogg",
    AttachmentKind.VIDEO_NOTE: "video/mp4",
    AttachmentKind.CONTACT: "text/vcard",
}
"""Of what the Bot API tells no type, since there is one. Source: core.telegram.org/bots/api#available-types."""

_SPECIAL = re.compile(r"[\\,;]")


def attached(message: Message | ExternalReplyInfo) -> Attachment | None:
    """Return what a message holds, of its sizes the largest; None if that is nothing of a kind that is known."""
    for field, kind in _KINDS.items():
        if value := getattr(message, field, None):
            return _attachment(kind, max(value, key=_area) if isinstance(value, tuple) else value)
    named = next((name for field, name in _NAMED.items() if getattr(message, field, None)), "")
    return Attachment(AttachmentKind.OTHER, named) if named else None


def _attachment(kind: AttachmentKind, value: object) -> Attachment:
    match value:
        case Location():
            return Attachment(kind, detail=_place(value))
        case Venue():
            return Attachment(
                kind, ", ".join(filter(None, (value.title, value.address))), detail=_place(value.location)
            )
        case Contact():
            name = " ".join(filter(None, (value.first_name, value.last_name)))
            return Attachment(kind, name, _MEDIA_TYPES[kind], detail=value.vcard or _vcard(name, value.phone_number))
        case Poll():
            return Attachment(kind, value.question, detail="\n".join(option.text for option in value.options))
    side = _number(value, "length")  # of the square round a video note
    return Attachment(
        kind,
        _word(value, "file_name") or _word(value, "title") or _word(value, "emoji"),
        _word(value, "mime_type") or (_drawn(value) if isinstance(value, Sticker) else _MEDIA_TYPES.get(kind, "")),
        int(_number(value, "file_size")),
        handle_for(PLATFORM, _word(value, "file_id")),
        width=int(_number(value, "width") or side),
        height=int(_number(value, "height") or side),
        duration_s=_seconds(value),
    )


def _area(size: PhotoSize) -> int:
    return size.width * size.height


def _place(location: Location) -> str:
    return f"{location.latitude},{location.longitude}"


def _vcard(name: str, phone: str) -> str:
    """Return a vCard of what the server tells of a contact that has none. Source: RFC 6350."""
    said = [_SPECIAL.sub(r"\\\g<0>", " ".join(value.split())) for value in (name, phone)]
    return "BEGIN:VCARD\nVERSION:3.0\nFN:{}\nTEL:{}\nEND:VCARD".format(*said)


def _drawn(sticker: Sticker) -> str:
    """Return how a sticker is drawn. Source: core.telegram.org/stickers."""
    if sticker.is_video:
        return "video/webm"
    return "application/x-tgsticker" if sticker.is_animated else "image/webp"


def _word(value: object, field: str) -> str:
    found = getattr(value, field, None)
    return found if isinstance(found, str) else ""


def _number(value: object, field: str) -> float:
    found = getattr(value, field, None)
    return found if isinstance(found, int | float) else 0


def _seconds(value: object) -> float:
    found = getattr(value, "duration", None)  # a number, or a timedelta in later versions of the library
    return found.total_seconds() if isinstance(found, timedelta) else float(found or 0)
