"""MemorySave (T10): save what the person asked to remember. Only committed rows are reported as saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from typing import Annotated

from pydantic.json_schema import SkipJsonSchema

from core.actions.action import Action
from core.actions.memory_drafts import MAX_DRAFTS, UNSAID, DraftAnswer, DraftEntry, to_draft, to_kind
from core.actions.proposal import (
    Rewrite,
    keep_both_button,
    narrowed_text,
    offer_saving,
    open_offers,
    propose_keeping,
    propose_replacement,
    proposes,
    undo_button,
)
from core.actions.things import nearly_full, put_away, with_things
from core.answering import outcomes
from core.answering.turn import Turn
from core.dialogue import Outcome, Step, Task
from core.memory.relation import Compared, Relation, Resolved
from core.memory.statement import tells_change
from core.memory.timed import timed
from core.models import NOT_BRIEF
from core.outgoing import Button
from core.text import assertions
from core.text.catalogue import text
from core.text.markdown import quoted
from core.text.senses import bindings, question_of
from core.text.unicode import one_line
from core.types import ChangeKind, Learn, MemoryDraft, MemoryItem, MemoryKind, Vector

NAME = "MemorySave"
WRITES = ChangeKind.SAVED
MAX_NAMED_CHARS = 80

WHEN = (
    "They ask to remember or note something, or tell a lasting fact about themselves. Not for questions, small talk, "
    "or what you said yourself, and not what this turn's steps show as saved already."
)

DRAFTS = """\
One entry for each separate piece of information. `content` is the information itself, complete enough to be \
understood alone, names, amounts and dates exactly as given, but the date in place of "tomorrow" or "next Friday"; \
`type` is "json" for structured data (`content` is that JSON as text), else "text". `bindings` are two to six short \
contexts by which they would look for it later, like "aliexpress password", in their language, without the secret \
value itself. Only what the person said counts, never memories or your own words; what stands in a <quote> or <room> \
only if they ask to remember just that, with who said it: "Ana: lunch is at one". `instead_of` is the mark (m1, m2, \
...) of the memory that says the same, or that is no longer true because of this; null if both are true: a second cat \
does not replace the first. `asked` is false if they only told it in passing. `until` is the last day on which it is \
true, as an ISO date, if they say that it is for a time only; else null."""

SAVING = text("actions.memory_save.saving")
EMBEDDING = text("actions.memory_save.embedding")
WRITING = text("actions.memory_save.writing")
ASK_FOR_IT = text("actions.memory_save.ask_for_it")
ASK_ANY_TIME = text("actions.memory_save.ask_any_time")
REPLACED = "what was known until now is kept as an earlier version"
"""The detail of a step whose memories took the place of others, for models."""

BESIDE = "kept; the person is asked whether it takes the place of another"
"""The detail of a step that kept something beside what it may replace, for models."""


@dataclass(frozen=True)
class Drafts:
    """The memories to save, and whether the person asked for that; if not, they told a fact in passing.

    Where a tool call does not say (None), their words decide; the stepwise cycle decided before. With `ask`, which
    language models are not shown, the person is asked before what is new is kept.
    """

    items: list[DraftEntry]
    asked: Annotated[bool | None, NOT_BRIEF] = None
    ask: SkipJsonSchema[bool] = False


@dataclass(frozen=True, slots=True)
class SaveRequest:
    """The drafts to save, and the words of those that cannot be saved ("" if unknown).

    `hints` are the memories that the model named for drafts, by their content; `refused` are its marks that it was not
    shown.
    """

    drafts: tuple[MemoryDraft, ...] = ()
    missing: tuple[str, ...] = ()
    hints: Mapping[str, str] = field(default_factory=dict)
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SaveResult:
    """The memories that were saved, those that were known before, and those that took the place of others.

    `doubts` are those of the saved that may take the place of another, with that. `proposed` are the drafts that were
    not saved, as the person is to be asked about them.
    """

    saved: tuple[MemoryItem, ...] = ()
    known: tuple[MemoryItem, ...] = ()
    replaced: tuple[Resolved, ...] = ()
    doubts: tuple[tuple[MemoryItem, MemoryItem], ...] = ()
    proposed: tuple[MemoryDraft, ...] = ()
    troubles: tuple[str, ...] = ()
    """Sentences on things that could not be kept, whose memories were not saved therefore."""

    @property
    def written(self) -> tuple[MemoryItem, ...]:
        """The memories that say something new."""
        return (*self.saved, *(each.item for each in self.replaced))


async def run(turn: Turn, answer: Drafts) -> Step:
    """Save the memories, and confirm what was saved."""
    if not turn.person.remembers:
        off = "the person turned remembering off"
        return Step(NAME, Outcome.NOTHING, detail=off, writes=WRITES, missing=("",))
    answer = replace(answer, items=[_credited(turn, item) for item in answer.items])
    wanted = await hinted(turn, answer)
    said, unsaid = await _parted(turn, wanted)
    if unsaid and not said and (own := await _own_change(turn, unsaid, wanted)):
        said, wanted = [own], replace(wanted, hints={**wanted.hints, own.content: _hint(unsaid, wanted)})
    is_asked = answer.asked if answer.asked is not None else not turn.is_single
    # Limited mode knows more words for "keep it".
    is_plain = assertions.asks_to_save(turn.asked.text) or (turn.services.models.is_limited and is_asked)
    if is_plain and turn.enclosed.files:  # what stands in a file they did not say, and ask to keep
        said, unsaid = list(wanted.drafts), []
    if not (is_plain or is_asked or turn.person.learn is Learn.AUTO):
        said = await _changes(turn, said) if said and turn.person.learn is Learn.OFFERED else []
        unsaid = [draft for draft in wanted.drafts if draft not in said]
    if not is_plain and (unsaid or not is_asked):
        offered = await _offer(turn, unsaid)
        if not said:
            return offered
        wanted, unsaid = replace(wanted, missing=()), []
    said = await with_things(turn, said)
    kept = await keep(turn, said, wanted.hints, ask=answer.ask) if said else SaveResult()
    return await _report(turn, wanted, replace(kept, proposed=(*kept.proposed, *unsaid)))


async def _report(turn: Turn, wanted: SaveRequest, kept: SaveResult) -> Step:
    """Tell what became of the drafts, and ask about those that are proposed or in doubt."""
    known = f"known before: {', '.join(item.id for item in kept.known)}" if kept.known else ""
    mine = turn.log.changed_ids  # perhaps before a restart
    kept = replace(kept, known=tuple(item for item in kept.known if item.id not in mine))
    missing = wanted.missing or (("",) if not wanted.drafts else ())
    detail = "; ".join(filter(None, (known, *(["what came along could not be kept"] if kept.troubles else []))))
    step = Step(NAME, Outcome.NOTHING, refused_ids=wanted.refused, detail=detail, writes=WRITES, missing=missing)
    if kept.saved:
        step = replace(step, outcome=Outcome.DONE, items=kept.saved)
    if kept.replaced:
        items = tuple(each.item for each in kept.replaced)
        update = replace(step, outcome=Outcome.DONE, items=items, detail=REPLACED, writes=ChangeKind.UPDATED)
        if kept.saved or missing:
            turn.log.add(replace(update, missing=()))
        else:
            step = update
    if kept.written or kept.known or kept.troubles:
        await turn.answer.report(step, await told(turn, kept, wanted.missing), await buttons(turn, kept))
    if kept.proposed or kept.doubts:
        return await propose(turn, kept, () if kept.written or kept.known else wanted.missing)
    return step


def _credited(turn: Turn, item: DraftAnswer) -> DraftAnswer:
    """Return the memory with the names of those whose words it holds, if the person did not say them."""
    is_text = to_kind(item.type, item.content) is MemoryKind.TEXT
    return (
        replace(item, content=turn.shown.credited(item.content))
        if is_text and turn.shown.is_from_others(item.content)
        else item
    )


async def propose(turn: Turn, kept: SaveResult, missing: tuple[str, ...] = ()) -> Step:
    """Ask the person whether to save what is proposed; else, of the first doubt, whether it replaces the known one.

    What is `missing` of their message is told below.
    """
    step = Step(NAME, Outcome.NOTHING, detail=proposes(WRITES), writes=WRITES, missing=missing)
    if kept.proposed:
        return await propose_keeping(turn, step, kept.proposed)
    [(item, known), *_] = kept.doubts
    rewrite = Rewrite(known.id, item.draft, known.updated_at)
    return await propose_replacement(turn, replace(step, detail=BESIDE), [known], [rewrite], item)


async def hinted(turn: Turn, answer: Drafts) -> SaveRequest:
    """Return what can be saved, with what the model said of it; only marks that it was shown count."""
    wanted, said = wanted_drafts(answer, turn.person.zone), [item for item in answer.items if item.instead_of != UNSAID]
    in_view = await turn.search.in_view()
    named, refused = turn.shown.resolve([item.instead_of for item in said if item.instead_of], in_view)
    hints = {
        draft.content: named[item.instead_of].id
        for item in said
        if item.instead_of in named and (draft := to_draft(item, turn.person.zone)) is not None
    }
    return replace(wanted, hints=hints, refused=refused)


async def _parted(turn: Turn, wanted: SaveRequest) -> tuple[list[MemoryDraft], list[MemoryDraft]]:
    """Return the drafts that the person said, and those that they did not."""
    support, ids = turn.support, list(dict.fromkeys(wanted.hints.values()))
    known = {item.id: item.content for item in await turn.memory.get(ids)}
    said = [
        draft
        for draft in wanted.drafts
        if await support.has(draft.content)
        or ((before := known.get(wanted.hints.get(draft.content, ""))) and await support.has(draft.content, before))
    ]
    unsaid = [draft for draft in wanted.drafts if draft not in said]
    return said, unsaid


def _hint(drafts: Sequence[MemoryDraft], wanted: SaveRequest) -> str:
    return next((wanted.hints[draft.content] for draft in drafts if draft.content in wanted.hints), "")


async def _own_change(turn: Turn, unsaid: Sequence[MemoryDraft], wanted: SaveRequest) -> MemoryDraft | None:
    """Return the person's sentence, if it changes what is known and a model put it into words that they did not say.

    The model's wording is offered, and what they said is true now is not lost.
    """
    if not (sentence := turn.support.own_change()):
        return None
    own = own_draft(sentence)
    found = await _changes(turn, [own], {own.content: _hint(unsaid, wanted)})
    return own if found else None


async def _changes(
    turn: Turn, drafts: Sequence[MemoryDraft], hints: Mapping[str, str] | None = None
) -> list[MemoryDraft]:
    """Return the drafts that take the place of something known, or may."""
    compared = await turn.memory.compare(drafts, await turn.memory.embed_drafts(drafts), hints=hints)
    return [each.draft for each in compared if each.relation in {Relation.REPLACES, Relation.DOUBTS}]


def own_draft(text: str) -> MemoryDraft:
    """Return the draft that keeps a sentence of the person's."""
    return MemoryDraft(MemoryKind.TEXT, text, bindings(text))


async def _offer(turn: Turn, drafts: Sequence[MemoryDraft]) -> Step:
    """Put buttons below the answer that save what the person told in passing, or did not tell, if they want that.

    What stands only in a memory, in others' words or in the name of a file is not offered.
    """
    buttons = await offer_saving(turn, [draft for draft in drafts if not turn.shown.is_from_others(draft.content)])
    turn.answer.add_buttons(buttons)
    offered = ", and a button below your answer offers it" if buttons else ""
    return Step(NAME, Outcome.NOTHING, detail=f"they did not ask to keep this: not saved{offered}")


def wanted_drafts(answer: Drafts, zone: tzinfo) -> SaveRequest:
    """Return the drafts that can be saved, and the words of the others."""
    drafts = [to_draft(item, zone) for item in answer.items[:MAX_DRAFTS]] + [None] * len(answer.items[MAX_DRAFTS:])
    missing = [item.content for item, draft in zip(answer.items, drafts, strict=True) if draft is None]
    return SaveRequest(tuple(filter(None, drafts)), tuple(one_line(content, MAX_NAMED_CHARS) for content in missing))


async def keep(
    turn: Turn, drafts: Sequence[MemoryDraft], hints: Mapping[str, str] | None = None, *, ask: bool = False
) -> SaveResult:
    """Embed the drafts, compare them with what is known, and save them.

    With `ask`, nothing is saved that is new, but for what is otherwise now than it was: that must not be lost.
    """
    drafts, troubles = await put_away(turn, drafts)
    drafts = [timed(draft, turn.services.times, turn.search.said_at, turn.person.locale) for draft in drafts]
    await turn.answer.status(EMBEDDING[turn.person.locale])
    vectors = await turn.memory.embed_drafts(drafts)
    compared = [await _believed(turn, each) for each in await turn.memory.compare(drafts, vectors, hints=hints)]
    proposed = tuple(
        each for each in compared if ask and each.relation is Relation.NEW and not tells_change(each.draft.content)
    )
    kept = await _put(turn, [each for each in compared if each not in proposed], vectors)
    return replace(kept, proposed=tuple(each.draft for each in proposed), troubles=troubles)


async def _believed(turn: Turn, each: Compared) -> Compared:
    """Return a draft that takes the place of a memory as one that may, if the person did not say what is new in it."""
    if each.relation is not Relation.REPLACES or each.known is None:
        return each
    is_said = await turn.support.has(each.draft.content, each.known.content)
    return each if is_said else replace(each, relation=Relation.DOUBTS)


async def keep_beside(turn: Turn, *drafts: MemoryDraft, known: str = "") -> SaveResult:
    """Save drafts without comparing them with what is known, beside the memory of that id, which they may replace."""
    kept_away, troubles = await put_away(turn, drafts)
    ready = [
        timed(replace(draft, may_replace=known), turn.services.times, turn.search.said_at, turn.person.locale)
        for draft in kept_away
    ]
    kept = await _put(turn, [Compared(draft) for draft in ready], await turn.memory.embed_drafts(ready))
    return replace(kept, troubles=troubles)


async def _put(turn: Turn, compared: Sequence[Compared], vectors: Mapping[str, Vector]) -> SaveResult:
    """Save what was compared, and return what became of it."""
    if not compared:
        return SaveResult()
    await turn.answer.status(WRITING[turn.person.locale])
    resolved = await turn.memory.put(compared, vectors, source_ids=[turn.asked.id])
    items = {
        kind: {each.item.id: each.item for each in resolved if each.relation is kind}
        for kind in (Relation.NEW, Relation.SAME)
    }
    return SaveResult(
        tuple(items[Relation.NEW].values()),
        tuple(items[Relation.SAME].values()),
        tuple(each for each in resolved if each.before is not None),
        tuple(
            (item, each.known)
            for each in compared
            if each.relation is Relation.DOUBTS and each.known is not None
            for item in items[Relation.NEW].values()
            if item.content == each.draft.content
        ),
    )


async def buttons(turn: Turn, kept: SaveResult) -> tuple[Button, ...]:
    """Return the buttons below the report of what was saved: to undo it, and what features offer."""
    additions = turn.services.additions if kept.written else ()
    offered = [button for each in additions for button in await each.below_saved(turn, kept.written)]
    if not kept.doubts:  # else a yes answers the question that follows
        await open_offers(turn, offered, quoted(kept.written[0].content) if kept.written else "")
    undo = await undo_button(turn)
    both = (keep_both_button(turn),) if kept.replaced and undo else ()
    return (*undo, *both, *offered)


async def told(turn: Turn, kept: SaveResult, missing: Sequence[str] = ()) -> str:
    """Return our own words on what was saved, replaced, known before, and not saved; how to ask for a first memory."""
    lines = [outcomes.written(WRITES, kept.saved, turn.person.locale, turn.person.zone)] if kept.saved else []
    locale, zone = turn.person.locale, turn.person.zone
    lines += [outcomes.replaced(each.item, each.before, locale, zone) for each in kept.replaced if each.before]
    lines += [outcomes.listed(outcomes.KNOWN[locale], kept.known, locale, zone)] if kept.known else []
    lines += kept.troubles
    lines += [room] if (room := await nearly_full(turn, kept.written)) else []
    lines += [outcomes.not_done(WRITES, missing, turn.person.locale, some=True)] if missing else []
    before = [each.before for each in kept.replaced if each.before]
    lines += [note] if (note := narrowed_text(turn, before, [each.item for each in kept.replaced])) else []
    lines += [how] if (how := await _how_to_ask(turn, kept)) else []
    return "\n".join(lines)


async def _how_to_ask(turn: Turn, kept: SaveResult) -> str:
    """Return how what was saved can be asked for, of the first memories that a person was told of; else "".

    What was deleted or undone since counts. It is not said where a question follows, others read along, or there is a
    language model, which says such things itself.
    """
    is_said = turn.services.models.is_limited and turn.person.is_private and not (kept.doubts or kept.proposed)
    if not kept.saved or not is_said:
        return ""
    conversation, first = turn.conversation, kept.saved[0]
    if await conversation.store.told_by(conversation.thread.conversation.user):
        return ""
    question = "" if first.meant else question_of(first.content)
    locale = turn.person.locale
    return ASK_FOR_IT[locale].format(question=question) if question else ASK_ANY_TIME[locale]


MEMORY_SAVE = Action(
    NAME,
    WHEN,
    run,
    arguments=Drafts,
    instruction=DRAFTS,
    example='{"items": [{"type": "text", "content": "...", "bindings": ["..."], "instead_of": null}], "asked": true}',
    status=SAVING,
    remembers=True,
    compares=True,
    writes=WRITES,
    task=Task.SAVE_DRAFTS,
)
