"""Hand back what memories keep: the thing itself, with its words as the caption."""

from __future__ import annotations

import asyncio
import mimetypes
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from core.answering.turn import Turn
from core.enclosures import Attachment, AttachmentKind
from core.errors import ChannelError, ChannelGone
from core.outgoing import File
from core.text.catalogue import text
from core.text.markdown import quoted, verbatim
from core.text.showing import asks_to_show
from core.text.unicode import one_line
from core.text.words import FUNCTION_WORDS, folded_words, same
from core.types import MemoryItem

MAX_MEMORIES: Final = 3
"""Of the memories that an answer rests on, the things of how many are handed back."""

_MAX_CAPTION_CHARS: Final = 300
_UNSAFE: Final = re.compile(r"[^\w .()@+-]+")
_MAP: Final = "https://www.openstreetmap.org/?mlat={latitude}&mlon={longitude}#map=17/{latitude}/{longitude}"


async def hand_back(turn: Turn) -> None:
    """Hand back the things of the memories that the answer rests on, if they are what was asked for."""
    rests = turn.log.basis(turn.answer.text).memories
    known = {item.id: item for item in (*turn.shown.memories, *turn.search.found) if item.id in rests}
    items = [item for item in await turn.memory.get(list(known)) if item.attachments]
    wanted = asks_to_show(turn.asked.text)
    quoted_ids = {hit.item.id for step in turn.log.steps for hit in step.hits if hit.passages}
    for item in items[:MAX_MEMORIES]:
        is_answer = item.id not in quoted_ids and _says_no_more(item, turn.asked.text)
        if (wanted or is_answer) and item.id not in turn.log.changed_ids:
            await hand_over(turn, item)


def _says_no_more(item: MemoryItem, question: str) -> bool:
    """Return whether a memory's words say no more than the question: then the answer is the thing itself."""
    asked = folded_words(question)
    told = set(folded_words(item.content)) - FUNCTION_WORDS
    return all(any(same(word, other) for other in asked) for word in told)


async def hand_over(turn: Turn, item: MemoryItem) -> None:
    """Send the things that a memory keeps; say of each whose bytes are gone, or that is not taken, that it is."""
    caption = verbatim(one_line(item.content, _MAX_CAPTION_CHARS))
    for thing in item.attachments:
        try:
            await _hand_over(turn, thing, caption)
        except ChannelGone:
            raise
        except ChannelError:
            await turn.answer.tell(NOT_SENT[turn.person.locale].format(name=quoted(thing.name or item.content)))


async def _hand_over(turn: Turn, thing: Attachment, caption: str) -> None:
    """Send one thing.

    Raises:
        ChannelError: it is not there any more, or the platform does not take it.
    """
    if thing.kind is AttachmentKind.LOCATION:
        latitude, _, longitude = thing.detail.partition(",")
        where = _MAP.format(latitude=latitude.strip(), longitude=longitude.strip())
        await turn.answer.tell("\n".join(filter(None, (f"📍 {caption}", verbatim(thing.name), where))))
        return
    content = await _content(turn, thing)
    if content is None:
        raise ChannelError("the bytes are gone")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "kept"
        await asyncio.to_thread(path.write_bytes, content)
        await turn.answer.hand_over(File(path, _name(thing), thing.media_type or "application/octet-stream"), caption)


async def _content(turn: Turn, thing: Attachment) -> bytes | None:
    if thing.kind is AttachmentKind.CONTACT and not thing.sha256:
        return thing.detail.encode()
    return await turn.memory.files.get(turn.memory.owner, thing.sha256) if thing.sha256 else None


def _name(thing: Attachment) -> str:
    """Return a name for a file that people save; what has none is called after its kind."""
    if thing.kind is AttachmentKind.CONTACT:
        return f"{_UNSAFE.sub('_', thing.name) or 'contact'}.vcf"
    ending = mimetypes.guess_extension(thing.media_type) or ""
    return _UNSAFE.sub("_", thing.name).strip(". ") or f"{thing.kind.value.replace(' ', '_')}{ending}"


NOT_SENT: Final = text("files.not_sent")
