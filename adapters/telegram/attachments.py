"""Attachments of Telegram: read off a message, and sent again.

To send they are taken by the id of what the server has, as bytes of their kind, or as documents.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum
from typing import Any, Final

from telegram import (
    Bot,
    Contact,
    ExternalReplyInfo,
    InputFile,
    InputMediaAudio,
    InputMediaDocument,
    InputMediaPhoto,
    InputMediaVideo,
    Location,
    Message,
    PhotoSize,
    Poll,
    Sticker,
    Venue,
)
from telegram.constants import MessageLimit

from adapters.running import content_of, handle_for, named_on
from adapters.telegram.markup import Rendered
from core.enclosures import Attachment, AttachmentKind
from core.errors import ChannelError
from core.outgoing import File, takes_caption

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


# --- sent ---

_MAX_FILE_BYTES: Final = 50_000_000
_MAX_PICTURE_BYTES: Final = 10_000_000
"""What a bot may send. Source: core.telegram.org/bots/faq#how-do-i-upload-a-large-file, bots/api#sendphoto."""

_PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/webp", ""})
_FILE_ID = re.compile(r"[\w-]+", re.ASCII)  # never a path, which the library would open and upload

_METHODS: Final = {
    AttachmentKind.PHOTO: "photo",
    AttachmentKind.VOICE: "voice",
    AttachmentKind.AUDIO: "audio",
    AttachmentKind.VIDEO: "video",
    AttachmentKind.VIDEO_NOTE: "video_note",
    AttachmentKind.ANIMATION: "animation",
    AttachmentKind.STICKER: "sticker",
}
_ALBUM: Final = {"photo": InputMediaPhoto, "video": InputMediaVideo, "audio": InputMediaAudio}


class Form(IntEnum):
    """How files are sent; where Telegram refuses one form, the next is tried."""

    KNOWN = 0
    """By the id of what the server has, without its bytes."""

    OF_KIND = 1
    DOCUMENT = 2


def first_form(files: Sequence[File]) -> Form:
    """Return the form to begin with."""
    return Form.KNOWN if any(map(file_id_of, files)) else Form.OF_KIND


def has_next(files: Sequence[File], form: Form) -> bool:
    """Return whether the files can be sent in another form than that, which was refused."""
    if not all(file.has_bytes for file in files):
        return False
    return form is Form.KNOWN or (form is Form.OF_KIND and any(_method(file) != "document" for file in files))


def file_id_of(file: File) -> str:
    """Return the id by which Telegram has a file; "" if it has it not."""
    found = named_on(PLATFORM, file.handle)
    return found if _FILE_ID.fullmatch(found) else ""


@dataclass(frozen=True, slots=True)
class Item:
    """A file, the method that sends it, and what that is given: an id, or bytes; "" for a place or a contact."""

    file: File
    method: str
    what: str | InputFile = ""


async def prepared(files: Sequence[File], form: Form) -> list[Item]:
    """Return the files in that form.

    Raises:
        ChannelError: one cannot be read, or is larger than what Telegram takes.
    """
    return [await _prepared(file, form, is_alone=len(files) == 1) for file in files]


async def _prepared(file: File, form: Form, *, is_alone: bool) -> Item:
    if file.kind in {AttachmentKind.LOCATION, AttachmentKind.CONTACT}:
        return Item(file, file.kind.value)
    if form is Form.KNOWN and (known := file_id_of(file)):
        return Item(file, _METHODS.get(file.kind, "document"), known)
    if not file.has_bytes:
        raise ChannelError("nothing is there to send")
    content = await asyncio.to_thread(content_of, file, _MAX_FILE_BYTES)
    method = "document" if form is Form.DOCUMENT else _method(file)
    if method == "photo" and len(content) > _MAX_PICTURE_BYTES:
        method = "document"
    return Item(file, method, InputFile(content, filename=file.file_name, attach=not is_alone))


def _method(file: File) -> str:
    """Return the method for the bytes of a file."""
    if file.kind is AttachmentKind.PHOTO and file.media_type not in _PICTURES:
        return "animation" if file.media_type == "image/gif" else "document"
    return _METHODS.get(file.kind, "document")


async def send(bot: Bot, chat_id: int, items: Sequence[Item], caption: Rendered, options: Mapping[str, Any]) -> Message:
    """Send one thing, or several as an album, below which no buttons can stand; return the first message."""
    said = {"caption": caption.text or None, "caption_entities": caption.entities or None}
    if len(items) > 1:
        media = [
            _ALBUM.get(one.method, InputMediaDocument)(one.what, **(said if one is items[0] else {})) for one in items
        ]
        return (await bot.send_media_group(chat_id, media, **options))[0]
    [item] = items
    options = {**options, "reply_markup": caption.keyboard}
    if item.file.kind is AttachmentKind.LOCATION:
        return await _send_place(bot, chat_id, item.file, options)
    if item.file.kind is AttachmentKind.CONTACT:
        return await _send_contact(bot, chat_id, item.file, options)
    sent: Message = await getattr(bot, f"send_{item.method}")(
        chat_id, item.what, **options, **(said if takes_caption([item.file]) else {})
    )
    return sent


async def _send_contact(bot: Bot, chat_id: int, file: File, options: Mapping[str, Any]) -> Message:
    phone, name = _in_vcard(file.detail, "TEL"), file.name or _in_vcard(file.detail, "FN")
    return await bot.send_contact(chat_id, phone, name or phone, vcard=file.detail, **options)


async def _send_place(bot: Bot, chat_id: int, file: File, options: Mapping[str, Any]) -> Message:
    try:
        latitude, longitude = map(float, file.detail.split(","))
    except ValueError:
        raise ChannelError("a place without its degrees") from None
    if not file.name:
        return await bot.send_location(chat_id, latitude, longitude, **options)
    title, _, address = file.name.partition(", ")
    return await bot.send_venue(chat_id, latitude, longitude, title, address or file.detail, **options)


def _in_vcard(card: str, name: str) -> str:
    """Return the first value of that name in a vCard; "" for none."""
    found = re.search(rf"^{name}\b[^:\r\n]*:(.*)$", card, re.MULTILINE | re.IGNORECASE)
    return re.sub(r"\\(.)", r"\1", found[1]).strip() if found else ""
