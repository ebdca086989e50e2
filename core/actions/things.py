"""What a memory keeps beside its words: the things that came along, their bytes put away before it is saved."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from core.actions.memory_drafts import MAX_BINDING_CHARS
from core.answering.enclosed import MAX_FILE_BYTES
from core.answering.turn import Turn
from core.enclosures import Attachment, AttachmentKind, QuoteKind
from core.errors import ChannelError, FileQuotaExceeded, FileTooLarge
from core.files.passages import MAX_PASSAGES, passages, title
from core.files.port import LOST
from core.history.rendering import asks
from core.text.assertions import asks_to_save
from core.text.catalogue import text
from core.text.markdown import quoted
from core.text.pointing import asks_to_show, points_at_sent, points_only
from core.text.senses import bindings
from core.text.unicode import flat, one_line
from core.types import MemoryDraft, MemoryItem, MemoryKind, Message, MessageRole, Modal

_AGO: Final = timedelta(minutes=30)
"""How long ago what "this" means may have come as a message of its own."""

_LOOKED_AT: Final = 8
"""How many of the last messages of the thread are looked at for it."""

_MAX_TITLE_CHARS: Final = 120

_RECORDING: Final = re.compile(
    r"\b(?:recording|voice|audios?|gravacao|grabacion|nota de voz|(?:this|este|ese|esse) video)\b"
)
"""Words, folded, for a recording itself."""

_NEARLY: Final = 0.9
"""Of the room for a person's files: from there on they are told at each save."""

_KEPT: Final = frozenset(AttachmentKind) - {AttachmentKind.STICKER}


async def things_of(turn: Turn) -> tuple[Attachment, ...]:
    """Return what a memory of this turn keeps: what came with the message, what it replies to, or what it points at.

    What came just before counts if the words point at it, or answer what it is.
    """
    asked = turn.asked
    if own := _own(turn):
        return own
    quotes = [quote for quote in asked.quotes if quote.kind in {QuoteKind.REPLY, QuoteKind.FORWARD}]
    if quoted := _kept([each for quote in quotes for each in quote.attachments]):
        return quoted
    return await _sent_before(turn)


def _own(turn: Turn) -> tuple[Attachment, ...]:
    """Return what came with the message; of what was said aloud the words count, unless they ask for the recording."""
    heard = {each.handle for each in turn.enclosed.heard}
    kept = _kept(turn.asked.attachments)
    if _RECORDING.search(flat(turn.asked.text)):
        return kept
    return tuple(each for each in kept if each.handle not in heard)


def _kept(attachments: Sequence[Attachment]) -> tuple[Attachment, ...]:
    return tuple(each for each in attachments if each.kind in _KEPT)


async def asked_about(turn: Turn) -> tuple[Attachment, ...]:
    """Return what a question without anything of its own may be about: what came just before, or before questions."""
    asked = turn.asked
    if asked.attachments or asked.quotes or not _is_question(asked.text):
        return ()
    for said in reversed(await _said_before(turn)):
        if said.role is MessageRole.USER and said.attachments:
            return () if _is_old(said, asked) else _kept(said.attachments)
        if said.role is MessageRole.USER and not _is_question(said.text):
            return ()
    return ()


def _is_question(text: str) -> bool:
    return asks(text) and not asks_to_save(text) and not asks_to_show(text)


async def _said_before(turn: Turn) -> list[Message]:
    conversation, asked = turn.conversation, turn.asked
    recent = [m for m in await conversation.store.tail(conversation.thread.id, _LOOKED_AT) if m.turn != asked.turn]
    return [m for m in recent if m.role in {MessageRole.USER, MessageRole.ASSISTANT} and m.modal is Modal.TEXT]


async def _sent_before(turn: Turn) -> tuple[Attachment, ...]:
    asked, said = turn.asked, await _said_before(turn)
    last = next((m for m in reversed(said) if m.role is MessageRole.USER), None)
    if last is None or not _kept(last.attachments) or _is_old(last, asked):
        return ()
    is_asked = said[-1].role is MessageRole.ASSISTANT and said[-1].question is not None
    return _kept(last.attachments) if is_asked or points_at_sent(asked.text) else ()


def _is_old(before: Message, asked: Message) -> bool:
    return before.at is not None and asked.at is not None and asked.at - before.at > _AGO


async def with_things(turn: Turn, drafts: Sequence[MemoryDraft]) -> list[MemoryDraft]:
    """Return the drafts, the first of which keeps the things of this turn."""
    if not drafts or any(draft.attachments for draft in drafts):
        return list(drafts)
    things = await things_of(turn)
    return [replace(drafts[0], attachments=things), *drafts[1:]] if things else list(drafts)


async def put_away(turn: Turn, drafts: Sequence[MemoryDraft]) -> tuple[list[MemoryDraft], tuple[str, ...]]:
    """Put the bytes of drafts' things into the file store.

    Return the drafts, without those whose things cannot be kept, and the sentences that say why.
    """
    kept: list[MemoryDraft] = []
    troubles: list[str] = []
    locale = turn.person.locale
    for draft in drafts:
        try:
            kept.append(await _put_away(turn, draft))
        except FileQuotaExceeded as error:
            troubles.append(QUOTA[locale].format(used=_megabytes(error.used), quota=_megabytes(error.quota)))
        except FileTooLarge as error:
            limit = _megabytes(error.limit_bytes or MAX_FILE_BYTES)
            troubles.append(TOO_LARGE[locale].format(name=_named(draft), limit=limit))
        except ChannelError:
            troubles.append(NOT_FETCHED[locale].format(name=_named(draft)))
    return kept, tuple(dict.fromkeys(troubles))


async def nearly_full(turn: Turn, kept: Sequence[MemoryItem]) -> str:
    """Return that there is little room left for files, if what was kept has any and there is; else ""."""
    files = turn.memory.files
    if not any(thing.sha256 for item in kept for thing in item.attachments):
        return ""
    used = await files.used(turn.memory.owner)
    if used < files.quota * _NEARLY:
        return ""
    return NEARLY_FULL[turn.person.locale].format(used=_megabytes(used), quota=_megabytes(files.quota))


def _named(draft: MemoryDraft) -> str:
    return quoted(names(draft.attachments) or draft.content)


def _megabytes(count: int) -> int:
    return round(count / 1_000_000)


async def _put_away(turn: Turn, draft: MemoryDraft) -> MemoryDraft:
    kept: list[Attachment] = []
    found = list(draft.passages)
    for thing in draft.attachments:
        if thing.sha256 or not thing.handle:
            kept += [thing] if thing.sha256 or thing.detail else []  # of the rest nothing is there to be kept
            continue
        async with turn.enclosed.opened(thing) as content:
            sha256 = await turn.memory.files.put(turn.memory.owner, content)
            reading = await turn.enclosed.reading(thing, content)
            told = replace(thing, sha256=sha256, size=len(content))
        if reading is not None:
            told = replace(told, media_type=reading.media_type or told.media_type)
            told = replace(told, width=reading.width, height=reading.height)
            found += passages(reading.pages)
        kept.append(told)
    named = tuple(one_line(thing.name, MAX_BINDING_CHARS) for thing in kept if thing.name)
    phrases = tuple(dict.fromkeys((*draft.bindings, *named)))
    return replace(draft, bindings=phrases, attachments=tuple(kept), passages=tuple(found[:MAX_PASSAGES]))


def own_draft(turn: Turn) -> MemoryDraft | None:
    """Return the draft that keeps what came with the message under its words, or what it calls itself; None for none.

    A question names nothing, and what could not be fetched is not kept.
    """
    lost = {each.attachment.handle for each in turn.enclosed.files if each.problem in LOST}
    things = tuple(each for each in _own(turn) if each.handle not in lost)
    words = turn.asked.text.strip()
    if not things or words.endswith("?"):
        return None
    content = words if words and not points_only(words) else called(turn, things)
    if not content:
        return None
    return MemoryDraft(MemoryKind.TEXT, content, bindings(content), attachments=things)


def called(turn: Turn, things: Sequence[Attachment]) -> str:
    """Return what things of this turn call themselves: the first line of a document, else a name; "" for none."""
    handles = {thing.handle for thing in things}
    files = [each for each in turn.enclosed.files if each.attachment.handle in handles]
    titles = list(filter(None, (title(each.pages, _MAX_TITLE_CHARS) for each in files)))
    return "; ".join(dict.fromkeys(titles or filter(None, map(_said, things))))


def _said(thing: Attachment) -> str:
    """Return what a thing says by itself, in a line: a contact with its numbers, a poll with its options."""
    if thing.kind in {AttachmentKind.PHOTO, AttachmentKind.VOICE}:
        return ""
    if thing.kind is AttachmentKind.CONTACT:
        return ": ".join(filter(None, (thing.name, ", ".join(_NUMBER.findall(thing.detail)))))
    options = ", ".join(thing.detail.splitlines()) if thing.kind is AttachmentKind.POLL else ""
    return f"{thing.name} ({options})" if options else thing.name


_NUMBER: Final = re.compile(r"(?im)^[^:\n]*\bTEL\b[^:\n]*:\s*(.+?)\s*$")
"""A telephone number in a vCard."""


def names(things: Collection[Attachment]) -> str:
    """Return the names of things; "" if they have none."""
    return ", ".join(dict.fromkeys(thing.name for thing in things if thing.name))


QUOTA: Final = text("files.quota")
NEARLY_FULL: Final = text("files.nearly_full")
NOT_FETCHED: Final = text("files.not_fetched")
TOO_LARGE: Final = text("files.problems.not_taken")
