"""MemoryUpdate (T11): change memories recalled in this conversation: their content, their bindings, or both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BeforeValidator

from core.actions.action import Action
from core.actions.audience import narrowed_text
from core.actions.drafts import MAX_CONTENT_CHARS, MAX_DRAFTS, as_answered, to_bindings, to_kind
from core.actions.undo import undo_button
from core.dialogue import Outcome, Step, Task
from core.llm import complete_as
from core.turn import Turn
from core.types import Locale, Localized, MemoryDraft, MemoryItem
from core.unicode import clean

NAME = "MemoryUpdate"

WHEN = (
    "A memory that was recalled above (it stands in a <memory> block) must change: its content is out of date, or the "
    "person wants it found by other words. If the memory was not recalled yet, search for it first."
)

CHANGES = """\
List the recalled memories to change. `id` is the id in the memory's block, copied exactly. `content` is the whole new \
content, and `type` its type, or both null to leave them; `bindings` is the whole new list of phrases it is found by, \
or null to leave it. Change only what the person asked for. \
Answer with the JSON {"items": [{"id": "...", "type": "text", "content": "...", "bindings": null}]}."""

REPORT = """\
Tell the person in one short sentence what you just updated, with the new content. \
If the last step updated nothing, say that nothing was changed."""

UPDATING: Localized = {
    Locale.PT: "Atualizando memórias...",
    Locale.EN: "Updating memories...",
    Locale.ES: "Actualizando memorias...",
}
WRITING: Localized = {
    Locale.PT: "Atualizando memórias, gravando...",
    Locale.EN: "Updating memories, writing...",
    Locale.ES: "Actualizando memorias, escribiendo...",
}
UPDATED: Localized = {Locale.PT: "Atualizei isto:", Locale.EN: "I updated this:", Locale.ES: "Actualicé esto:"}
NOT_UPDATED: Localized = {
    Locale.PT: "Não alterei nada.",
    Locale.EN: "I changed nothing.",
    Locale.ES: "No cambié nada.",
}


@dataclass(frozen=True)
class Change:
    """One memory's change; null leaves a part as it is."""

    id: str
    type: Literal["text", "json"] | None
    content: str | None
    bindings: list[str] | None


@dataclass(frozen=True)
class Changes:
    """What the reasoning model answers."""

    items: list[Annotated[Change, BeforeValidator(as_answered)]]


def changed(item: MemoryItem, change: Change) -> MemoryDraft:
    """Return the memory as the change would leave it; empty content or bindings leave that part as it is."""
    content = clean(change.content or "", MAX_CONTENT_CHARS) or item.content
    kind = to_kind(change.type or item.kind.value, content)
    return MemoryDraft(kind, content, to_bindings(change.bindings or ()) or item.bindings)


async def run(turn: Turn) -> None:
    """Ask what to change, refuse ids that do not count, write each change with its vectors, say so."""
    if not turn.remembers:
        step = Step(NAME, Outcome.NOTHING, detail="the person turned remembering off")
        await turn.report(step, REPORT, NOT_UPDATED[turn.locale])
        return
    await turn.status(UPDATING[turn.locale])
    answer = await complete_as(Changes, turn.models.reasoning, await turn.prompt(Task.UPDATE_DRAFTS, CHANGES))
    changes = {change.id: change for change in answer.items[:MAX_DRAFTS]}
    items, refused = await turn.known_ids(list(changes))
    drafts = {item.id: changed(item, changes[item.id]) for item in items}
    drafts = {item.id: drafts[item.id] for item in items if drafts[item.id] != item.draft}
    vectors = await turn.memory.embed([phrase for draft in drafts.values() for phrase in turn.memory.phrases_of(draft)])
    await turn.status(WRITING[turn.locale])
    written = [
        await turn.memory.update(
            memory_id, kind=draft.kind, content=draft.content, bindings=draft.bindings, vectors=vectors
        )
        for memory_id, draft in drafts.items()
    ]
    updated = tuple(item for item in written if item is not None)
    step = Step(NAME, Outcome.DONE if updated else Outcome.NOTHING, items=updated, refused_ids=refused)
    undo = await undo_button(turn) if updated else ()
    await turn.report(step, REPORT, (UPDATED if updated else NOT_UPDATED)[turn.locale], undo)
    if fewer := narrowed_text(turn, items, updated):
        await turn.tell(fewer)


MEMORY_UPDATE = Action(NAME, WHEN, run, remembers=True)
