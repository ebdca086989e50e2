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
MAX_HOPS: Final = 4
"""Of a chain of replies, how many messages come along: the one replied to, the one that it replied to, and so on."""

_MAX_ASKED_CHARS: Final = 200
"""Of a question that is kept with its answer."""

_EARLIER_SHARE: Final = 4
"""A message further up a chain, or said in the room, may be this much shorter than the one that is pointed at."""


class AttachmentKind(StrEnum):
    """What an attachment is."""

    PHOTO = "photo"
    FILE = "file"
    VOICE = "voice message"
    AUDIO = "audio"
    VIDEO = "video"
    VIDEO_NOTE = "video note"
    """A short round one, which a platform takes as nothing else."""

    ANIMATION = "animation"
    """A moving picture without sound."""

    STICKER = "sticker"
    LOCATION = "location"
    CONTACT = "contact"
    POLL = "poll"
    OTHER = "attachment"


class QuoteKind(StrEnum):
    """Why other words come with a message: it replies to them, or forwards them.

    EARLIER is what the message in the quote before it replied to: a chain, the nearest first. ROOM was said in the room
    before, to nobody or to somebody else; it comes with a prompt only, never with a message that is stored.
    """

    REPLY = "reply"
    EARLIER = "earlier"
    FORWARD = "forward"
    ROOM = "room"


class Speaker(StrEnum):
    """Who said the quoted words: the bot, the person who quotes them, or somebody else."""

    BOT = "bot"
    SELF = "self"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Attachment:
    """One thing that comes with a message, or is kept with a memory."""

    kind: AttachmentKind
    name: str = ""
    """Its name, title or emoji if the platform tells it, else ""."""

    media_type: str = ""
    """"image/jpeg", as the platform tells it, or as its first bytes do once it was fetched; "" if unknown."""

    size: int = 0
    """Bytes; 0 if unknown."""

    handle: str = ""
    """What its platform needs to hand it out again, for `Channel.fetch` and for sending it: "PLATFORM:…", by which
    other platforms know that it is none of theirs; "": it has no bytes."""

    sha256: str = ""
    """Of its bytes, in hexadecimal digits, once they are in the file store; "" before."""

    width: int = 0
    height: int = 0
    """Pixels, as it is looked at; 0 if unknown."""

    duration_s: float = 0.0
    """Of what is heard or seen over time; 0 if unknown."""

    detail: str = ""
    """What it says without bytes: of a location "LATITUDE,LONGITUDE" in degrees, of a contact its vCard, of a poll its
    options, a line each."""


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

    @property
    def is_unread(self) -> bool:
        """Whether the platform tells nothing of the message but that it is there."""
        return not (self.text or self.excerpt or self.attachments)


_BESIDE: Final = {QuoteKind.EARLIER, QuoteKind.ROOM}


def cleaned_attachments(attachments: Sequence[Attachment]) -> tuple[Attachment, ...]:
    """Return the attachments with names and types on one line and clean details, bounded in number and length."""
    return tuple(map(_cleaned, attachments[:MAX_ATTACHMENTS]))


def _cleaned(one: Attachment) -> Attachment:
    named = replace(one, name=_name(one.name), media_type=one_line(one.media_type, MAX_NAME_CHARS))
    return replace(named, detail=_cut(one.detail, MAX_QUOTE_CHARS)) if one.detail else named


def _name(name: str) -> str:
    """Return a name on one line, without what turns the direction of reading and makes "fdp.exe" look like a PDF."""
    return one_line(name.translate(_TURNING), MAX_NAME_CHARS)


_TURNING: Final = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
"""Source: Unicode Standard Annex 9, explicit directional embeddings, overrides and isolates."""


def cleaned_quotes(
    quotes: Sequence[Quote], max_chars: int = MAX_QUOTE_CHARS, *, most: int = MAX_QUOTES
) -> tuple[Quote, ...]:
    """Return the quotes cleaned, bounded in number and length; a text that was cut ends with an ellipsis."""
    return tuple(
        replace(
            quote,
            text=_cut(quote.text, max_chars // _EARLIER_SHARE if quote.kind in _BESIDE else max_chars),
            name=one_line(quote.name, MAX_NAME_CHARS),
            excerpt=_cut(quote.excerpt, max_chars),
            attachments=cleaned_attachments(quote.attachments),
        )
        for quote in quotes[:most]
    )


def pointed_words(quotes: Sequence[Quote]) -> str:
    """Return the words to keep of what a message points at, with who said them; "" if it points at none.

    They are the marked part, or all; after the question that they answer, if that is known and short.
    """
    said, asked = next(iter(quotes), None), next(iter(quotes[1:]), None)
    if said is None or not (words := said.excerpt or said.text):
        return ""
    is_answer = asked is not None and asked.kind is QuoteKind.EARLIER and asked.text.rstrip().endswith("?")
    if asked is None or not is_answer or len(asked.text) > _MAX_ASKED_CHARS:
        return _named(said, words)
    return f"{_named(asked, asked.text)}\n{_named(said, words)}"


def _named(quote: Quote, words: str) -> str:
    return f"{quote.name}: {words}" if quote.name else words


def identities(attachments: Sequence[Attachment]) -> tuple[str, ...]:
    """Return what tells some things from others, in any order and whatever they are called: bytes, or what they say."""
    return tuple(sorted(f"{one.kind} {one.sha256 or one.detail or one.handle or one.name}" for one in attachments))


def enclosures_to_json(attachments: Sequence[Attachment], quotes: Sequence[Quote]) -> dict[str, Any]:
    """Return both in the JSON form that is stored and exported; empty ones are left out."""
    attached = attachments_to_json(attachments)
    quoted = [asdict(one) | {"attachments": attachments_to_json(one.attachments)} for one in quotes]
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
            attachments_from_json(quote["attachments"]),
        )
        for quote in fields.get("quotes", ())
    )
    return attachments_from_json(fields.get("attachments", ())), quotes


def attachments_to_json(attachments: Sequence[Attachment]) -> list[dict[str, Any]]:
    """Return the JSON form that is stored and exported: the kind, and every field that says something."""
    return [{name: value for name, value in asdict(one).items() if value} for one in attachments]


def attachments_from_json(values: Sequence[Mapping[str, Any]]) -> tuple[Attachment, ...]:
    """Read what `attachments_to_json` returned.

    Raises:
        ValueError, KeyError, TypeError: the fields have another form.
    """
    return tuple(Attachment(**{**value, "kind": AttachmentKind(value["kind"])}) for value in values)


def _cut(text: str, max_chars: int) -> str:
    whole = clean(text, max_chars + 1)
    return whole if len(whole) <= max_chars else f"{whole[: max_chars - 1].rstrip()}…"
