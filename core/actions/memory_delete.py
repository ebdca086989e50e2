"""MemoryDelete (T12): delete memories for good, only when that was clearly asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator

from core.actions.action import Action
from core.actions.drafts import as_id
from core.actions.undo import undo_button
from core.dialogue import Outcome, Step, Task
from core.llm import complete_as
from core.turn import Turn
from core.types import Locale, Localized

NAME = "MemoryDelete"

WHEN = (
    "The person clearly asks to delete or forget something that was recalled above (it stands in a <memory> block). "
    "If it was not recalled yet, search for it first; if it is not clear which memory is meant, ask."
)

IDS = """\
List the ids of the recalled memories that the person clearly asked to delete, copied exactly from their blocks, and \
no others. Answer with the JSON {"ids": ["..."]}."""

REPORT = """\
Tell the person in one short sentence what you just deleted. \
If the last step deleted nothing, say that nothing was deleted."""

DELETING: Localized = {
    Locale.PT: "Apagando memórias...",
    Locale.EN: "Deleting memories...",
    Locale.ES: "Borrando memorias...",
}
WRITING: Localized = {
    Locale.PT: "Apagando memórias, deletando...",
    Locale.EN: "Deleting memories, writing...",
    Locale.ES: "Borrando memorias, eliminando...",
}
DELETED: Localized = {Locale.PT: "Apaguei isto:", Locale.EN: "I deleted this:", Locale.ES: "Borré esto:"}
NOT_DELETED: Localized = {
    Locale.PT: "Não apaguei nada.",
    Locale.EN: "I deleted nothing.",
    Locale.ES: "No borré nada.",
}


@dataclass(frozen=True)
class Ids:
    """What the reasoning model answers."""

    ids: list[Annotated[str, BeforeValidator(as_id)]]


async def run(turn: Turn) -> None:
    """Ask which, refuse ids that do not count, delete with every vector in one transaction, say so."""
    await turn.status(DELETING[turn.locale])
    answer = await complete_as(Ids, turn.models.reasoning, await turn.prompt(Task.DELETE_IDS, IDS))
    items, refused = await turn.known_ids(answer.ids)
    await turn.status(WRITING[turn.locale])
    deleted = tuple(await turn.memory.delete([item.id for item in items]))
    step = Step(NAME, Outcome.DONE if deleted else Outcome.NOTHING, items=deleted, refused_ids=refused)
    undo = await undo_button(turn) if deleted else ()
    await turn.report(step, REPORT, (DELETED if deleted else NOT_DELETED)[turn.locale], undo)


MEMORY_DELETE = Action(NAME, WHEN, run)
