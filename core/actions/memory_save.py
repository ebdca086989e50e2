"""MemorySave (T10): save what the person asked to remember. Only committed rows are reported as saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from core import outcomes
from core.actions.action import Action
from core.actions.change_report import undo_button
from core.actions.memory_drafts import MAX_DRAFTS, DraftEntry, to_draft
from core.actions.offer import offer_saving, own_words
from core.dialogue import Outcome, Step, Task
from core.models import NOT_BRIEF
from core.outgoing import Button
from core.text import claims
from core.text.catalogue import text
from core.text.unicode import one_line
from core.turn import Turn
from core.types import ChangeKind, Learn, MemoryDraft, MemoryItem

NAME = "MemorySave"
WRITES = ChangeKind.SAVED
MAX_NAMED_CHARS = 80

WHEN = (
    "The person's message plainly holds information to keep: they ask to remember or note something, or tell a "
    "lasting fact about themselves. Not for questions, small talk, or what you said yourself, "
    "and not when this turn's steps show that it was saved already."
)

DRAFTS = """\
List the memories to save from the person's message: one for each separate piece of information. `content` is the \
information itself, complete enough to be understood alone, with names, amounts and dates exactly as given, but with \
the date in place of "tomorrow" or "next Friday", counted from when it was said; `type` is \
"text", or "json" when the content is structured data (then `content` is that JSON as text). `bindings` are two to six \
short, isolated contexts by which the person would look for it later, like "user information" or "aliexpress \
password", in the person's language, without the secret value itself. Only what the person said counts: never \
memories recalled above, what stands in a <quote>, your own words, or these instructions. `asked` is true if the \
person asks to remember or note it, false if they only told a lasting fact about themselves in passing."""

SAVING = text("actions.memory_save.saving")
EMBEDDING = text("actions.memory_save.embedding")
WRITING = text("actions.memory_save.writing")


@dataclass(frozen=True)
class Drafts:
    """The memories to save, and whether the person asked for that; if not, they told a fact in passing.

    Where a tool call does not say (None), their words decide; the stepwise cycle decided before.
    """

    items: list[DraftEntry]
    asked: Annotated[bool | None, NOT_BRIEF] = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """The drafts to save, and the words of those that cannot be saved ("" if unknown)."""

    drafts: tuple[MemoryDraft, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Saved:
    """The memories that were saved, and those that were known before."""

    saved: tuple[MemoryItem, ...] = ()
    known: tuple[MemoryItem, ...] = ()


async def run(turn: Turn, answer: Drafts) -> None:
    """Save the memories, and confirm what was saved."""
    if not turn.remembers:
        off = "the person turned remembering off"
        turn.steps.append(Step(NAME, Outcome.NOTHING, detail=off, writes=WRITES, missing=("",)))
        return
    wanted = wanted_drafts(answer)
    is_foreign = any(turn.is_from_others(draft.content) for draft in wanted.drafts)
    is_asked = answer.asked if answer.asked is not None else not turn.is_single
    if (is_foreign or not is_asked) and not claims.asks_to_save(turn.asked.text):
        own = (draft for draft in own_words(turn.asked, wanted.drafts) if not turn.is_from_others(draft.content))
        wanted = Wanted(tuple(own))
        if turn.learn is not Learn.AUTO or not wanted.drafts:
            await _offer(turn, wanted.drafts)
            return
    kept = await keep(turn, wanted.drafts) if wanted.drafts else Saved()
    known = f"known before: {', '.join(item.id for item in kept.known)}" if kept.known else ""
    outcome = Outcome.DONE if kept.saved else Outcome.NOTHING
    missing = wanted.missing or (("",) if not wanted.drafts else ())
    step = Step(NAME, outcome, items=kept.saved, detail=known, writes=WRITES, missing=missing)
    if kept.saved or kept.known:
        await turn.confirm(step, told(turn, kept, wanted.missing), await buttons(turn, kept))
    else:
        turn.steps.append(step)


async def _offer(turn: Turn, drafts: Sequence[MemoryDraft]) -> None:
    """Put a button below the answer that saves what the person told in passing, if they want that."""
    buttons = await offer_saving(turn, drafts)
    turn.add_buttons(buttons)
    offered = ", and a button below your answer offers it" if buttons else ""
    turn.steps.append(Step(NAME, Outcome.NOTHING, detail=f"told in passing: not saved{offered}"))


def wanted_drafts(answer: Drafts) -> Wanted:
    """Return the drafts that can be saved, and the words of the others."""
    drafts = [to_draft(item) for item in answer.items[:MAX_DRAFTS]] + [None] * len(answer.items[MAX_DRAFTS:])
    missing = [item.content for item, draft in zip(answer.items, drafts, strict=True) if draft is None]
    return Wanted(tuple(filter(None, drafts)), tuple(one_line(content, MAX_NAMED_CHARS) for content in missing))


async def keep(turn: Turn, drafts: Sequence[MemoryDraft]) -> Saved:
    """Embed the drafts' bindings and save all drafts in one transaction."""
    await turn.status(EMBEDDING[turn.locale])
    memory = turn.memory
    vectors = await memory.embed([phrase for draft in drafts for phrase in memory.phrases_of(draft)])
    await turn.status(WRITING[turn.locale])
    found = [await memory.store.find(memory.owner, draft.kind, draft.content) for draft in drafts]
    before = {item.id for item in found if item is not None}
    items = await memory.save(drafts, vectors, source_ids=[turn.asked.id])
    return Saved(
        tuple(item for item in items if item.id not in before), tuple(item for item in items if item.id in before)
    )


async def buttons(turn: Turn, kept: Saved) -> tuple[Button, ...]:
    """Return the buttons below the report of what was saved: to undo it, and what features offer."""
    offered = await turn.additions.below_saved(turn, kept.saved) if turn.additions and kept.saved else ()
    return (*await undo_button(turn), *offered)


def told(turn: Turn, kept: Saved, missing: Sequence[str] = ()) -> str:
    """Return our own words on what was saved, what was known before, and what was not saved."""
    lines = [outcomes.written(WRITES, kept.saved, turn.locale)] if kept.saved else []
    lines += [outcomes.listed(outcomes.KNOWN[turn.locale], kept.known)] if kept.known else []
    lines += [outcomes.not_done(WRITES, missing, turn.locale, some=True)] if missing else []
    return "\n".join(lines)


MEMORY_SAVE = Action(
    NAME,
    WHEN,
    run,
    arguments=Drafts,
    instruction=DRAFTS,
    example='{"items": [{"type": "text", "content": "...", "bindings": ["..."]}], "asked": true}',
    status=SAVING,
    remembers=True,
    writes=WRITES,
    task=Task.SAVE_DRAFTS,
)
