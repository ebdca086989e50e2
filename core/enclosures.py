"""Attachments and quotes that come with a message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, Final

from core.text.unicode import clean, one_line

MAX_QUOTE_CHARS: Final = 4_000
"""Of one quote. A whole message has at most 4,096 on Telegram, 4,000 on Discord."""

MAX_NAME_CHARS: Final = 64
MAX_ATTACHMENTS: Final = 10
MAX_QUOTES: Final = 10


class AttachmentKind(StrEnum):
    """What an attachment is."""

    PHOTO = "photo"
    FILE = "file"
    VOICE = "voice message"
    AUDIO = "audio"
    VIDEO = "video"
    STICKER = "sticker"
    LOCATION = "location"
    CONTACT = "contact"
    POLL = "poll"
    OTHER = "attachment"


class QuoteKind(StrEnum):
    """Why a message quotes other words: it replies to them, or forwards them."""

    REPLY = "reply"
    FORWARD = "forward"


class Speaker(StrEnum):
    """Who said the quoted words: the bot, the person who quotes them, or somebody else."""

    BOT = "bot"
    SELF = "self"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Attachment:
    """One attachment; `name` is its name or type if the platform tells it, else ""."""

    kind: AttachmentKind
    name: str = ""


@dataclass(frozen=True, slots=True)
class Quote:
    """Words that a message replies to or forwards.

    `name` is who said them ("" if unknown); `excerpt` is the part that the sender marked ("" for all of it).
    """

    kind: QuoteKind
    text: str = ""
    speaker: Speaker = Speaker.OTHER
    name: str = ""
    excerpt: str = ""
    attachments: tuple[Attachment, ...] = ()


def cleaned_attachments(attachments: Sequence[Attachment]) -> tuple[Attachment, ...]:
    """Return the attachments with names on one line, bounded in number and length."""
    return tuple(replace(one, name=one_line(one.name, MAX_NAME_CHARS)) for one in attachments[:MAX_ATTACHMENTS])


def cleaned_quotes(quotes: Sequence[Quote], max_chars: int = MAX_QUOTE_CHARS) -> tuple[Quote, ...]:
    """Return the quotes cleaned, bounded in number and length; a text that was cut ends with an ellipsis."""
    return tuple(
        replace(
            quote,
            text=_cut(quote.text, max_chars),
            name=one_line(quote.name, MAX_NAME_CHARS),
            excerpt=_cut(quote.excerpt, max_chars),
            attachments=cleaned_attachments(quote.attachments),
        )
        for quote in quotes[:MAX_QUOTES]
    )


def enclosures_to_json(attachments: Sequence[Attachment], quotes: Sequence[Quote]) -> dict[str, Any]:
    """Return both in the JSON form that is stored and exported; empty ones are left out."""
    attached, quoted = [asdict(one) for one in attachments], [asdict(one) for one in quotes]
    return {name: found for name, found in (("attachments", attached), ("quotes", quoted)) if found}


def enclosures_from_json(fields: Mapping[str, Any]) -> tuple[tuple[Attachment, ...], tuple[Quote, ...]]:
    """Read what `enclosures_to_json` returned.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: the fields have another form.
    """
    quotes = tuple(
        Quote(
            QuoteKind(quote["kind"]),
            str(quote["text"]),
            Speaker(quote["speaker"]),
            str(quote["name"]),
            str(quote["excerpt"]),
            _attachments(quote["attachments"]),
        )
        for quote in fields.get("quotes", ())
    )
    return _attachments(fields.get("attachments", ())), quotes


def _attachments(values: Sequence[Mapping[str, Any]]) -> tuple[Attachment, ...]:
    return tuple(Attachment(AttachmentKind(value["kind"]), str(value["name"])) for value in values)


def _cut(text: str, max_chars: int) -> str:
    whole = clean(text, max_chars + 1)
    return whole if len(whole) <= max_chars else f"{whole[: max_chars - 1].rstrip()}…"
