"""MemoryDelete (T12): propose to delete memories for good; nothing is deleted before the person agrees."""

from __future__ import annotations

from dataclasses import replace

from core.actions.action import Action
from core.actions.memory_drafts import MemoryIds
from core.actions.proposal import MAX_PROPOSED, propose_deletion, proposes
from core.answering.turn import Turn
from core.dialogue import Outcome, Step, Task
from core.text.catalogue import text
from core.types import ChangeKind

NAME = "MemoryDelete"
WRITES = ChangeKind.DELETED

WHEN = (
    "The person clearly asks to delete or forget what a <memory> block above says. Search first if it is not there; if "
    "it is not clear which is meant, ask. They are asked to agree, which ends the turn: do all else before."
)

IDS = """\
The ids of the memories that they clearly asked to delete, copied exactly from their blocks, and no others."""

DELETING = text("actions.memory_delete.deleting")
WRITING = text("actions.memory_delete.writing")


async def run(turn: Turn, answer: MemoryIds) -> Step:
    """Refuse ids not in view, and ask the person to agree."""
    known, refused = turn.shown.resolve(answer.ids, await turn.search.in_view())
    items = list({item.id: item for item in known.values()}.values())
    missing = ("",) * (len(refused) + len(items[MAX_PROPOSED:]))
    step = Step(NAME, Outcome.NOTHING, refused_ids=refused, writes=WRITES, missing=missing)
    if not items:
        return replace(step, missing=missing or ("",))
    return await propose_deletion(
        turn, replace(step, detail=proposes(WRITES)), items[:MAX_PROPOSED], which=answer.which
    )


MEMORY_DELETE = Action(
    NAME,
    WHEN,
    run,
    arguments=MemoryIds,
    instruction=IDS,
    example='{"ids": ["..."]}',
    status=DELETING,
    needs=lambda _: True,
    asks=True,
    writes=WRITES,
    task=Task.DELETE_IDS,
)
