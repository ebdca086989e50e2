"""MemorySend: hand back what memories keep beside their words: the thing itself, with its words as the caption.

A model calls it where the person's own words do not already ask for the thing.
"""

from __future__ import annotations

from typing import Final

from core.actions.action import Action
from core.actions.memory_drafts import MemoryIds
from core.actions.things import names
from core.answering.turn import Turn
from core.dialogue import Outcome, Step
from core.enclosures import Attachment
from core.errors import ChannelError, ChannelGone
from core.outgoing import File
from core.text.catalogue import text
from core.text.markdown import quoted, verbatim
from core.text.pointing import asks_to_show
from core.text.unicode import one_line
from core.text.words import FUNCTION_WORDS, folded_words, same
from core.types import MemoryItem

NAME = "MemorySend"

WHEN = (
    "What a <memory> block keeps besides its words (a photo, a file, a recording, a place, a contact) is what the "
    "person wants to have now, or shows best what they ask. It is sent below your text, which only says what it is."
)

IDS = "The ids of those memories, the one that fits best first."

SENDING = text("actions.memory_send.sending")


async def run(turn: Turn, answer: MemoryIds) -> Step:
    """Note the memories whose things `core.actions.memory_send` sends when the answer is complete."""
    known, refused = turn.shown.resolve(answer.ids, await turn.search.in_view())
    items = tuple({item.id: item for item in known.values() if item.attachments}.values())
    if not items:
        return Step(NAME, Outcome.NOTHING, detail="these memories keep nothing to send", refused_ids=refused)
    await turn.answer.recall(items)
    return Step(NAME, Outcome.DONE, items=items, detail="sent below the answer", refused_ids=refused)


MAX_MEMORIES: Final = 3
"""Of the memories that an answer rests on, the things of how many are handed back."""

_MAX_CAPTION_CHARS: Final = 300


async def hand_back(turn: Turn) -> None:
    """Hand back what a model sends, and the things that the answer rests on if they are what was asked for."""
    sent = dict.fromkeys(item.id for step in turn.log.steps if step.action == NAME for item in step.items)
    basis = turn.log.basis(turn.answer.text)
    rests = () if turn.answer.is_limited and basis.messages else basis.memories  # it quotes what was said before
    done = (item for step in turn.log.steps for item in step.items)
    known = {item.id: item for item in (*turn.log.cited, *turn.shown.memories, *done)}
    keeping = [i for i in sent | dict.fromkeys(rests) if i not in known or known[i].attachments]
    items = [item for item in await turn.memory.get(keeping) if item.attachments]
    wanted = asks_to_show(turn.asked.text)
    quoted_ids = {hit.item.id for step in turn.log.steps for hit in step.hits if hit.passages}
    for item in items[:MAX_MEMORIES]:
        is_answer = item.id not in quoted_ids and _says_no_more(item, turn.asked.text)
        if item.id in sent or ((wanted or is_answer) and item.id not in turn.log.changed_ids):
            await hand_over(turn, item)


def _says_no_more(item: MemoryItem, question: str) -> bool:
    """Return whether a memory's words say no more than the question: then the answer is the thing itself."""
    asked = folded_words(question)
    told = set(folded_words(item.content)) - FUNCTION_WORDS
    return all(any(same(word, other) for other in asked) for word in told)


async def hand_over(turn: Turn, item: MemoryItem) -> None:
    """Send the things that a memory keeps, its words as their caption; say if they are not there or not taken."""
    caption = verbatim(one_line(item.content, _MAX_CAPTION_CHARS))
    async with turn.enclosed.room():
        files = [await _file(turn, thing) for thing in item.attachments]
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


async def _file(turn: Turn, thing: Attachment) -> File | None:
    """Return a thing as it is sent; None if it is not there any more."""
    content = await turn.memory.files.get(turn.memory.owner, thing.sha256) if thing.sha256 else None
    if content is None and (thing.sha256 or not thing.detail):
        return None
    return File(
        None, thing.name, thing.media_type, thing.kind, content=content, handle=thing.handle, detail=thing.detail
    )


NOT_SENT: Final = text("files.not_sent")


MEMORY_SEND = Action(
    NAME,
    WHEN,
    run,
    arguments=MemoryIds,
    instruction=IDS,
    example='{"ids": ["..."]}',
    status=SENDING,
    needs=lambda item: bool(item.attachments),
)
