"""MemoryUpdate (T11): change a memory recalled in this conversation; ask the person before changing several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import BeforeValidator
from pydantic.json_schema import SkipJsonSchema

from core.actions.action import Action
from core.actions.memory_drafts import (
    MAX_CONTENT_CHARS,
    MAX_DRAFTS,
    DraftEntry,
    as_answered,
    to_bindings,
    to_draft,
    to_kind,
)
from core.actions.memory_save import BESIDE, buttons, keep_beside, own_draft, told
from core.actions.memory_save import NAME as SAVE
from core.actions.proposal import (
    Rewrite,
    keep_both_button,
    narrowed_text,
    propose_replacement,
    propose_rewrites,
    proposes,
    undo_button,
)
from core.answering import outcomes
from core.answering.turn import Turn
from core.dialogue import Outcome, Step, Task
from core.errors import StorageError
from core.memory.relation import dropped, is_about, is_of_another, is_other_debt, settles
from core.memory.timed import timed_anew
from core.models import NOT_BRIEF
from core.text.catalogue import text
from core.text.unicode import clean
from core.text.words import folded_words
from core.types import ChangeKind, MemoryDraft, MemoryItem, MemoryKind

NAME = "MemoryUpdate"
WRITES = ChangeKind.UPDATED

WHEN = (
    "What a <memory> block above says is out of date, or the person wants it found by other words. Search first if it "
    "is not there."
)

CHANGES = """\
`id` is the id in the memory's block, copied exactly. `content` is the whole new content, and `type` its type, or both \
null to leave them; `bindings` is the whole new list of phrases it is found by, or null to leave it. Change only what \
the person asked for; write dates as dates, never as "tomorrow"."""

UPDATING = text("actions.memory_update.updating")
WRITING = text("actions.memory_update.writing")


@dataclass(frozen=True)
class MemoryPatch:
    """A change to one memory; null leaves a field as it is."""

    id: str
    type: Annotated[Literal["text", "json"] | None, NOT_BRIEF]
    content: str | None
    bindings: Annotated[list[str] | None, NOT_BRIEF]


@dataclass(frozen=True)
class Changes:
    """The changes to make; with a `statement`, the person's new words, those of which one may be what they mean.

    Language models are not shown the statement, nor `is_sure`: that it changes what is known. The items are then in
    order, the likeliest first.
    """

    items: list[Annotated[MemoryPatch, BeforeValidator(as_answered)]]
    statement: SkipJsonSchema[DraftEntry | None] = None
    is_sure: SkipJsonSchema[bool] = False


def changed(item: MemoryItem, change: MemoryPatch) -> MemoryDraft | None:
    """Return the changed memory; None if it is too long. Empty fields stay as they are."""
    content = clean(change.content or "", MAX_CONTENT_CHARS + 1) or item.content
    if len(content) > MAX_CONTENT_CHARS:
        return None
    kind = to_kind(change.type or item.kind.value, content)
    return MemoryDraft(kind, content, to_bindings(change.bindings or ()) or item.bindings)


def _timed(turn: Turn, item: MemoryItem, draft: MemoryDraft | None) -> MemoryDraft | None:
    return (
        None if draft is None else timed_anew(draft, item, turn.services.times, turn.search.said_at, turn.person.locale)
    )


async def run(turn: Turn, answer: Changes) -> Step:
    """Refuse ids not in view, and write the changes.

    The person is asked first if they are several, or if one has words that the person did not say. If something would
    be lost by one, or it is not surely what they mean, or they told of a change in other words, their words are kept
    beside it, and then they are asked.
    """
    if not turn.person.remembers:
        return Step(NAME, Outcome.NOTHING, detail="the person turned remembering off", writes=WRITES)
    wanted = {change.id: change for change in answer.items[:MAX_DRAFTS]}
    known, refused = turn.shown.resolve(list(wanted), await turn.search.in_view())
    changes = {item.id: wanted[name] for name, item in known.items()}
    items = list({item.id: item for item in known.values()}.values())
    drafts = {item.id: _timed(turn, item, changed(item, changes[item.id])) for item in items}
    new = [(item, draft) for item in items if (draft := drafts[item.id]) and draft != item.draft]
    rewrites = [Rewrite(item.id, draft, item.updated_at) for item, draft in new]
    too_long = sum(draft is None for draft in drafts.values())
    missing = ("",) * (len(refused) + too_long + len(answer.items[MAX_DRAFTS:]))
    step = Step(NAME, Outcome.NOTHING, refused_ids=refused, writes=WRITES, missing=missing)
    asked = [item for item in items if item.id in {each.memory_id for each in rewrites}]
    if answer.statement is not None and rewrites:
        return await _settle(turn, step, asked, rewrites, answer)
    is_cut = len(rewrites) == 1 and _says_less(asked[0], rewrites[0])
    if is_cut or _touched(turn, rewrites) > 1 or not await _are_said(turn, asked, rewrites):
        if len(rewrites) == 1 and not is_cut and (own := turn.support.own_change()):
            return await _keep_beside(turn, step, asked, rewrites, own_draft(own))
        return await propose_rewrites(turn, replace(step, detail=proposes(WRITES)), asked, rewrites)
    if rewrites and not _settles(asked[0], turn.asked.text, rewrites[0], is_sure=_is_about(asked[0], rewrites[0])):
        return await _keep_beside(turn, step, asked, rewrites, rewrites[0].draft)
    await turn.answer.status(WRITING[turn.person.locale])
    updated = await rewrite(turn, rewrites)
    same = [item for item in items if drafts[item.id] == item.draft]
    return await _tell(turn, step, updated, same, narrowed_text(turn, items, updated))


async def _settle(
    turn: Turn, step: Step, items: Sequence[MemoryItem], rewrites: Sequence[Rewrite], answer: Changes
) -> Step:
    """Do what a statement surely means; else keep it beside what it may mean, and ask."""
    draft = to_draft(answer.statement, turn.person.zone) if answer.statement else None
    if draft is None:
        return replace(step, missing=("",))
    if len(rewrites) == 1 and _settles(items[0], draft.content, rewrites[0], is_sure=answer.is_sure):
        return await _replace(turn, step, items[0], rewrites[0])
    known = {item.id: item.content for item in items}
    meant = [each for each in rewrites if _may_mean(known[each.memory_id], draft.content, each.draft.content)]
    asked = [item for item in items if item.id in {each.memory_id for each in meant}]
    return await _keep_beside(turn, step, asked, meant, draft)


def _settles(item: MemoryItem, said: str, rewrite: Rewrite, *, is_sure: bool) -> bool:
    """Return whether a memory may be rewritten at once, because of what was said."""
    if item.kind is not MemoryKind.TEXT or rewrite.draft.content == item.content:
        return True  # fields of data are what a model changed; other phrases to find one by lose nothing
    return settles(item.content, said, rewrite.draft.content, is_sure=is_sure)


def _says_less(item: MemoryItem, rewrite: Rewrite) -> bool:
    """Return whether a rewrite only leaves out something that a memory says: nothing of it can be kept beside that."""
    left = iter(folded_words(item.content))
    said = folded_words(rewrite.draft.content)
    return len(said) < len(folded_words(item.content)) and all(word in left for word in said)


def _may_mean(known: str, said: str, text: str) -> bool:
    """Return whether what was said may be meant to make that text of a known one."""
    return not (is_other_debt(known, said) or is_of_another(text, said, known))


def _is_about(item: MemoryItem, rewrite: Rewrite) -> bool:
    return is_about(item.content, rewrite.draft.content)


def _speaks_of(turn: Turn, item: MemoryItem, rewrite: Rewrite) -> bool:
    """Return whether a rewrite is one of what the memory tells, and not of another that a model named."""
    return turn.support.is_trusted or (_is_about(item, rewrite) and not dropped(item.content, rewrite.draft.content))


async def _replace(turn: Turn, step: Step, item: MemoryItem, wanted: Rewrite) -> Step:
    """Rewrite a memory, and tell what it says now, and what it said until now."""
    await turn.answer.status(WRITING[turn.person.locale])
    [now, *_] = updated = await rewrite(turn, [wanted], [turn.asked.id])
    lines = [outcomes.replaced(now, item, turn.person.locale, turn.person.zone)]
    lines += [note] if (note := narrowed_text(turn, [item], updated)) else []
    undo = await undo_button(turn)
    step = replace(step, outcome=Outcome.DONE, items=updated)
    return await turn.answer.report(step, "\n".join(lines), (*undo, keep_both_button(turn)) if undo else ())


async def _keep_beside(
    turn: Turn, step: Step, items: Sequence[MemoryItem], rewrites: Sequence[Rewrite], draft: MemoryDraft
) -> Step:
    """Keep the person's words beside the memories that they may replace, if any, and ask whether they do."""
    known = [each.memory_id for item, each in zip(items, rewrites, strict=True) if _speaks_of(turn, item, each)]
    kept = await keep_beside(turn, draft, known=next(iter(known), ""))
    beside = next(iter((*kept.saved, *kept.known)))
    saved = Step(SAVE, Outcome.DONE, items=kept.saved, writes=ChangeKind.SAVED)
    reported = await turn.answer.report(saved, await told(turn, kept), await buttons(turn, kept))
    if not rewrites:
        return reported
    return await propose_replacement(turn, replace(step, detail=BESIDE), items, rewrites, beside)


async def rewrite(turn: Turn, rewrites: Sequence[Rewrite], source_ids: Sequence[int] = ()) -> tuple[MemoryItem, ...]:
    """Write the changes, each with its vectors, and return the memories that were changed.

    They rest on those messages, too.
    """
    memory = turn.memory
    vectors = await memory.embed_drafts([each.draft for each in rewrites])
    written: list[MemoryItem] = []
    for each in rewrites:
        draft = each.draft
        try:
            item = await memory.update(
                each.memory_id,
                kind=draft.kind,
                content=draft.content,
                bindings=draft.bindings,
                until=draft.until,
                meant=draft.meant,
                vectors=vectors,
                source_ids=source_ids,
                keeps_past=True,
            )
        except StorageError:
            if not written:
                raise
            break  # earlier changes are committed, and told
        written += [] if item is None else [item]
    return tuple(written)


async def _tell(turn: Turn, step: Step, updated: Sequence[MemoryItem], same: Sequence[MemoryItem], note: str) -> Step:
    """Return the step; tell what was changed, what was so already, and what was not changed, and the note."""
    locale, zone = turn.person.locale, turn.person.zone
    lines = [outcomes.written(WRITES, updated, locale, zone)] if updated else []
    lines += [outcomes.listed(outcomes.SAME[locale], same, locale, zone)] if same else []
    if not lines:
        return replace(step, missing=step.missing or ("",))
    lines += [outcomes.not_done(WRITES, step.missing, locale, some=True)] if step.missing else []
    lines += [note] if note else []
    if same:
        step = replace(step, detail=f"said so before: {', '.join(item.id for item in same)}")
    if updated:
        step = replace(step, outcome=Outcome.DONE, items=tuple(updated))
    return await turn.answer.report(step, "\n".join(lines), await undo_button(turn) if updated else ())


async def _are_said(turn: Turn, items: Sequence[MemoryItem], rewrites: Sequence[Rewrite]) -> bool:
    """Return whether the person said what the memories are to say, or else by which other words to find one."""
    pairs = [
        (each.draft.content, item.content)
        if each.draft.content != item.content
        else (" ".join((each.draft.content, *each.draft.bindings)), " ".join((item.content, *item.bindings)))
        for item, each in zip(items, rewrites, strict=True)
    ]
    return all([await turn.support.has(new, old) for new, old in pairs])


def _touched(turn: Turn, rewrites: Sequence[Rewrite]) -> int:
    """Return the number of memories that this turn changes with these rewrites; 0 without any."""
    before = {item.id for step in turn.log.steps if step.writes is WRITES for item in step.items}
    return len(before | {each.memory_id for each in rewrites}) if rewrites else 0


MEMORY_UPDATE = Action(
    NAME,
    WHEN,
    run,
    arguments=Changes,
    instruction=CHANGES,
    example='{"items": [{"id": "...", "type": "text", "content": "...", "bindings": null}]}',
    status=UPDATING,
    remembers=True,
    needs=lambda _: True,
    asks=True,
    writes=WRITES,
    task=Task.UPDATE_DRAFTS,
)
