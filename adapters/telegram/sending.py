"""Things to send, as the Bot API takes them: by the id of what it has, as bytes of their kind, or as documents."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from telegram import (
    Bot,
    InputFile,
    InputMediaAudio,
    InputMediaDocument,
    InputMediaPhoto,
    InputMediaVideo,
    Message,
)

from adapters.running import content_of, named_on
from adapters.telegram.attached import PLATFORM
from adapters.telegram.markup import Rendered
from core.enclosures import AttachmentKind
from core.errors import ChannelError
from core.outgoing import File, takes_caption

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
