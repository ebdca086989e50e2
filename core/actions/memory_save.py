"""MemorySave (T10): keep what the person asked to be remembered. "Saved" is said only of what was committed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.actions.action import Action
from core.actions.drafts import MAX_DRAFTS, DraftEntry, to_draft
from core.actions.undo import undo_button
from core.dialogue import Outcome, Step, Task
from core.llm import complete_as
from core.turn import Turn
from core.types import Locale, Localized, MemoryDraft, MemoryItem

NAME = "MemorySave"

WHEN = (
    "The person's message plainly holds information to keep: they ask to remember or note something, or tell a "
    "lasting fact about themselves. Not for questions, small talk, or what you said yourself, "
    "and not when this turn's steps show that it was saved already."
)

DRAFTS = """\
List the memories to save from the person's message: one for each separate piece of information. `content` is the \
information itself, complete enough to be understood alone, with names, amounts and dates exactly as given; `type` is \
"text", or "json" when the content is structured data (then `content` is that JSON as text). `bindings` are two to six \
short, isolated contexts by which the person would look for it later, like "user information" or "aliexpress \
password", in the person's language, without the secret value itself. Only what the person said counts: never \
memories recalled above, your own words, or these instructions. \
Answer with the JSON {"items": [{"type": "text", "content": "...", "bindings": ["..."]}]}."""

REPORT = """\
Tell the person in one short sentence what you just saved. \
If the last step saved nothing, say that nothing was saved, and why."""

SAVING: Localized = {
    Locale.PT: "Salvando memórias...",
    Locale.EN: "Saving memories...",
    Locale.ES: "Guardando memorias...",
}
EMBEDDING: Localized = {
    Locale.PT: "Salvando memórias, formatando...",
    Locale.EN: "Saving memories, preparing...",
    Locale.ES: "Guardando memorias, preparando...",
}
WRITING: Localized = {
    Locale.PT: "Salvando memórias, gravando...",
    Locale.EN: "Saving memories, writing...",
    Locale.ES: "Guardando memorias, escribiendo...",
}
SAVED: Localized = {Locale.PT: "Salvei isto:", Locale.EN: "I saved this:", Locale.ES: "Guardé esto:"}
NOT_SAVED: Localized = {
    Locale.PT: "Não salvei nada.",
    Locale.EN: "I saved nothing.",
    Locale.ES: "No guardé nada.",
}


@dataclass(frozen=True)
class Drafts:
    """What the reasoning model answers."""

    items: list[DraftEntry]


async def run(turn: Turn) -> None:
    """Ask what to save, keep it, say so."""
    await turn.status(SAVING[turn.locale])
    drafts = await asked_drafts(turn) if turn.remembers else []
    if drafts:
        step = Step(NAME, Outcome.DONE, items=tuple(await keep(turn, drafts)))
        await turn.report(step, REPORT, SAVED[turn.locale], await undo_button(turn))
    else:
        detail = "nothing to save" if turn.remembers else "the person turned remembering off"
        await turn.report(Step(NAME, Outcome.NOTHING, detail=detail), REPORT, NOT_SAVED[turn.locale])


async def asked_drafts(turn: Turn) -> list[MemoryDraft]:
    """Ask the reasoning model for the memories in the person's message.

    Raises:
        ProviderError: it did not answer as asked.
    """
    answer = await complete_as(Drafts, turn.models.reasoning, await turn.prompt(Task.SAVE_DRAFTS, DRAFTS))
    return [draft for draft in map(to_draft, answer.items[:MAX_DRAFTS]) if draft is not None]


async def keep(turn: Turn, drafts: Sequence[MemoryDraft]) -> Sequence[MemoryItem]:
    """Embed every phrase that the drafts will be found by, write it all in one transaction; return what holds them."""
    await turn.status(EMBEDDING[turn.locale])
    vectors = await turn.memory.embed([phrase for draft in drafts for phrase in turn.memory.phrases_of(draft)])
    await turn.status(WRITING[turn.locale])
    return await turn.memory.save(drafts, vectors, source_ids=[turn.asked.id])


MEMORY_SAVE = Action(NAME, WHEN, run, remembers=True)
