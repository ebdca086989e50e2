"""Hand back what memories keep: the thing itself, with its words as the caption."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from core.actions.things import names
from core.answering.turn import Turn
from core.enclosures import Attachment
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
    """Send the things that a memory keeps, its words as their caption; say if they are not there or not taken."""
    caption = verbatim(one_line(item.content, _MAX_CAPTION_CHARS))
    with TemporaryDirectory() as folder:
        files = [await _file(turn, thing, Path(folder) / str(at)) for at, thing in enumerate(item.attachments)]
        there = [file for file in files if file is not None]
        try:
            if there:
                await turn.answer.hand_over(there, caption)
        except ChannelGone:
            raise
        except ChannelError:
            there = []
    if len(there) < len(files):
        name = quoted(names(item.attachments) or item.content)
        await turn.answer.tell(NOT_SENT[turn.person.locale].format(name=name))


async def _file(turn: Turn, thing: Attachment, path: Path) -> File | None:
    """Return a thing as it is sent, its bytes laid down at `path`; None if it is not there any more."""
    file = File(None, thing.name, thing.media_type, thing.kind, handle=thing.handle, detail=thing.detail)
    if not thing.sha256:
        return file if thing.detail else None
    async with turn.enclosed.room():
        content = await turn.memory.files.get(turn.memory.owner, thing.sha256)
        if content is None:
            return None
        await asyncio.to_thread(path.write_bytes, content)
    return replace(file, path=path)


NOT_SENT: Final = text("files.not_sent")
