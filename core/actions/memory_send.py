"""MemorySend: hand back what memories keep beside their words, where the person's own do not already ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator

from core.actions.action import Action
from core.actions.memory_drafts import as_id
from core.answering.turn import Turn
from core.dialogue import Outcome, Step
from core.text.catalogue import text

NAME = "MemorySend"

WHEN = (
    "What a <memory> block keeps besides its words (a photo, a file, a recording, a place, a contact) is what the "
    "person wants to have now, or shows best what they ask. It is sent below your text, which only says what it is."
)

IDS = "The ids of those memories, the one that fits best first."

SENDING = text("actions.memory_send.sending")


@dataclass(frozen=True)
class Ids:
    """The memories whose things to send."""

    ids: list[Annotated[str, BeforeValidator(as_id)]]


async def run(turn: Turn, answer: Ids) -> Step:
    """Note the memories whose things `core.actions.handing_back` sends when the answer is complete."""
    known, refused = turn.shown.resolve(answer.ids, await turn.search.in_view())
    items = tuple({item.id: item for item in known.values() if item.attachments}.values())
    if not items:
        return Step(NAME, Outcome.NOTHING, detail="these memories keep nothing to send", refused_ids=refused)
    await turn.answer.recall(items)
    return Step(NAME, Outcome.DONE, items=items, detail="sent below the answer", refused_ids=refused)


MEMORY_SEND = Action(
    NAME,
    WHEN,
    run,
    arguments=Ids,
    instruction=IDS,
    example='{"ids": ["..."]}',
    status=SENDING,
    needs=lambda item: bool(item.attachments),
)
