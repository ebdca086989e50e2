"""/remember: save a text as the action MemorySave does; where models fail, save it as it is."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from core.actions.change_report import undo_button
from core.actions.memory_drafts import MAX_BINDING_CHARS, MAX_CONTENT_CHARS, to_bindings
from core.actions.memory_save import NAME, SAVING, Wanted, asked_drafts, keep, told
from core.commands.command import Command, Request
from core.dialogue import Outcome, Step
from core.errors import ProviderError
from core.features.preferences.commands import NOT_REMEMBERING
from core.text.catalogue import text
from core.text.unicode import one_line
from core.turn import Turn
from core.types import MemoryDraft, MemoryKind

_log = logging.getLogger(__name__)


async def remember(request: Request, text: str) -> None:
    """Save the text as memories, and say which."""
    turn = request.turn
    if not text:
        await request.tell(HOW_TO_REMEMBER)
    elif not turn.remembers:
        await request.tell(NOT_REMEMBERING)
    else:
        turn.asked = await turn.conversation.add(replace(turn.asked, content=text))
        await turn.status(SAVING[turn.locale])
        wanted = await _wanted(turn)
        kept = await keep(turn, wanted.drafts if wanted.drafts and not wanted.missing else whole(text))
        turn.steps.append(Step(NAME, Outcome.DONE, items=(*kept.saved, *kept.known)))
        await turn.say(told(turn, kept), in_history=True, choices=await undo_button(turn))


async def _wanted(turn: Turn) -> Wanted:
    """Return the drafts that the models make of the text; none if they fail: the text is then saved as it is."""
    try:
        return await asked_drafts(turn)
    except ProviderError as error:
        _log.warning("kept as it is", extra={"error": type(error).__name__})
        return Wanted()


def whole(text: str) -> Sequence[MemoryDraft]:
    """Return the text split into as many drafts as it takes, each found by its beginning."""
    parts = [text[at : at + MAX_CONTENT_CHARS].strip() for at in range(0, len(text), MAX_CONTENT_CHARS)]
    return [
        MemoryDraft(MemoryKind.TEXT, part, to_bindings([one_line(part, MAX_BINDING_CHARS)])) for part in parts if part
    ]


HOW_TO_REMEMBER = text("memories.remember.how_to_remember")

REMEMBER = Command("remember", text("commands.remember"), remember, usage=" …", in_order=True)
