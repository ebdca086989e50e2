"""Render stored messages for language models: text, time, attachments, quotes.

The same message gives the same text in every call, so that providers can cache it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import Final

from core.enclosures import Attachment, Quote, QuoteKind, Speaker
from core.files.passages import FoundPassage
from core.files.port import ReadFile
from core.stores import Quoted
from core.text.marks import not_cited, quoted
from core.types import Message, MessageRole, Modal

WITHHELD: Final = "<withheld>"
FAILED: Final = "<failed>"
"""What stands for our apology: models repeat one that they read among their own words."""

_SPEAKERS: Final = {Speaker.BOT: "you", Speaker.SELF: "the person", Speaker.OTHER: "somebody else"}
_KINDS: Final = {
    QuoteKind.REPLY: "the message replies to",
    QuoteKind.EARLIER: "which replied to",
    QuoteKind.FORWARD: "the person forwarded",
}
_UNREAD: Final = """\
(The platform does not show you this message. If the person asks about it, say in one sentence that you cannot read it \
here and ask for its words; never guess them.)"""


def rendered(message: Message, zone: tzinfo) -> str:
    """Return a message with its marks. Only this package and `core/answering/prompting.py` write marks."""
    if message.modal is Modal.MEMORY:
        return f"<memory>{quoted(message.text)}</memory>"
    if is_withheld(message):
        return WITHHELD
    if message.error:
        return FAILED
    if message.role is not MessageRole.USER:
        return quoted(message.text)
    said_at = [f"<said-at {message.at.astimezone(zone):%a %Y-%m-%d %H:%M}>"] if message.at is not None else []
    return "\n".join((quoted(message.text), *enclosed(message), *said_at)).strip()


def enclosed(message: Message) -> list[str]:
    """Return a block for the attachments of a message, and one for each quote."""
    return [*_attached(message.attachments), *(_quote(quote) for quote in message.quotes)]


def past_words(quoted_message: Quoted, zone: tzinfo) -> str:
    """Return the block of a past message, after what was said just before it if a search needed that, too.

    Each stands on a line that begins with who said it, so that nothing in it passes for another line.
    """
    message, before = quoted_message.message, quoted_message.before
    day = f' when="{message.at.astimezone(zone):%Y-%m-%d}"' if message.at is not None else ""
    lines = [_line(each) for each in (before, message) if each is not None]
    inside = "\n".join(("", *lines, "")) if before is not None else lines[0]
    return f"<said{day}>{inside}</said>"


def _line(message: Message) -> str:
    who = _SPEAKERS[Speaker.SELF if message.role is MessageRole.USER else Speaker.BOT]
    return f"{who}: {quoted(not_cited(' '.join(message.text.split())))}"


def speaker_mark(name: str) -> str:
    """Return the mark that names who speaks in a room."""
    return f"<speaker: {_name(name)}, in a room where others read along>"


def is_withheld(message: Message) -> bool:
    """Return whether nothing of a message may be shown but that it was said."""
    return message.content == "" and not message.attachments and not message.quotes


def _attached(attachments: tuple[Attachment, ...]) -> list[str]:
    if not attachments:
        return []
    named = (f"{one.kind.value} {_name(one.name)}".strip() for one in attachments)
    return [f"<attached>{', '.join(named)}</attached>"]


def file_blocks(files: Sequence[ReadFile], found: Sequence[FoundPassage], max_chars: int) -> list[str]:
    """Return a `<file name= page=>` block for each page of the files that were read, as far as they fit.

    Of what does not fit the passages that were found are shown, in their order. What could not be read says so.
    """
    blocks = [_unread(each) for each in files if each.problem is not None]
    pages = [(at, number, page) for at, each in enumerate(files) for number, page in enumerate(each.pages, 1) if page]
    if sum(len(page) for _, _, page in pages) <= max_chars:
        return [*blocks, *(_file_block(files[at], number, page) for at, number, page in pages)]
    kept: list[FoundPassage] = []
    for each in found:
        max_chars -= len(each.passage.text)
        if max_chars < 0:
            break
        kept.append(each)
    kept.sort(key=lambda each: (each.file, each.passage.page))
    shown = [_file_block(files[each.file], each.passage.page, each.passage.text) for each in kept]
    blocks += [
        _file_block(files[at], number, f"{page[:max_chars].rstrip()}…") for at, number, page in pages[:1] if not kept
    ]
    return [*blocks, _LONG, *shown]


_LONG: Final = "(The files are too long to be shown whole: these are the parts that the message may be about.)"


def _file_block(file: ReadFile, page: int, text: str) -> str:
    count = len(file.pages)
    place = f' page="{page} of {count}"' if count > 1 else ""
    return f'<file name="{_name(file.attachment.name)}"{place}>\n{quoted(not_cited(text))}\n</file>'


def _unread(file: ReadFile) -> str:
    why = "" if file.problem is None else file.problem.value
    return f'<file name="{_name(file.attachment.name)}">(not read to its end: {why})</file>'


def _quote(quote: Quote) -> str:
    text = quoted(quote.text) or ("" if quote.attachments else _UNREAD)
    lines = [*([text] if text else []), *_attached(quote.attachments)]
    if quote.excerpt and quote.excerpt != quote.text:
        lines.append(f"The person marked this part: {quoted(quote.excerpt)}")
    body = "\n".join(lines)
    return f"<quote: {_KINDS[quote.kind]}, said by {_who(quote)}>\n{body}\n</quote>"


def room_mark(*, together: bool) -> str:
    """Return the mark before what was said in a room; where people talk `together`, it says so."""
    return "<room: one conversation of all who speak here with you>" if together else "<room>"


def said_in_room(message: Message) -> Quote:
    """Return what somebody else asked in the room, or what answered it, as a quote."""
    is_asked = message.role is MessageRole.USER
    speaker, name = (Speaker.OTHER, message.speaker) if is_asked else (Speaker.BOT, "")
    return Quote(QuoteKind.ROOM, message.text, speaker, name, "", message.attachments)


def room_line(quote: Quote, at: datetime | None = None) -> str:
    """Return what was said in the room on one line that begins with who said it, so that nothing passes for another.

    `at` is when, if that is known.
    """
    text = quoted(not_cited(" ".join(quote.text.split())))
    who = _who(quote) if at is None else f"{_who(quote)} at {at:%Y-%m-%d %H:%M}"
    return " ".join((f"{who}:", *([text] if text else []), *_attached(quote.attachments)))


def _who(quote: Quote) -> str:
    return " ".join(filter(None, (_SPEAKERS[quote.speaker], quote.name and f"({_name(quote.name)})")))


def _name(name: str) -> str:
    """Return a name that cannot end the mark around it."""
    return quoted(name).replace("<", "‹").replace(">", "›")
