"""MemorySave (T10): keep what the person asked to be remembered. "Saved" is said only of what was committed."""

from __future__ import annotations

from dataclasses import dataclass

from core.actions.action import Action
from core.actions.drafts import MAX_DRAFTS, DraftAnswer, to_draft
from core.dialogue import Outcome, Step, Task
from core.llm import complete_as
from core.turn import Turn
from core.types import Locale, Localized

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

    items: list[DraftAnswer]


async def run(turn: Turn) -> None:
    """Ask what to save, embed every phrase it will be found by, write it all in one transaction, say so."""
    await turn.status(SAVING[turn.locale])
    answer = await complete_as(Drafts, turn.models.reasoning, await turn.prompt(Task.SAVE_DRAFTS, DRAFTS))
    drafts = [draft for draft in map(to_draft, answer.items[:MAX_DRAFTS]) if draft is not None]
    if not drafts:
        await turn.report(Step(NAME, Outcome.NOTHING, detail="nothing to save"), REPORT, NOT_SAVED[turn.locale])
        return
    await turn.status(EMBEDDING[turn.locale])
    vectors = await turn.memory.embed([phrase for draft in drafts for phrase in turn.memory.phrases_of(draft)])
    await turn.status(WRITING[turn.locale])
    items = await turn.memory.save(drafts, vectors, source_ids=[turn.asked.id])
    await turn.report(Step(NAME, Outcome.DONE, items=tuple(items)), REPORT, SAVED[turn.locale])


MEMORY_SAVE = Action(NAME, WHEN, run)
