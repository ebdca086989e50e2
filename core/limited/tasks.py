"""The data that an action asks for, and the line that reports what a search found.

Knows wishes, memories and steps. Does not know how a wish was recognised, nor what comes next.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.dialogue import NOTHING_TO_ADD, Outcome, PromptContext, Step
from core.limited import deletion, moves
from core.limited import sentences as say
from core.limited.cues import Cues, Intent
from core.limited.days import dated
from core.limited.extract import bindings, drafts, queries
from core.limited.move import targets
from core.limited.renewal import fits, renewed
from core.limited.scene import SEARCH, Scene
from core.limited.understanding import Wish
from core.limited.words import words
from core.text.markdown import quoted
from core.text.unicode import fold
from core.types import JSONValue, Locale, MemoryDraft, MemoryItem, MemoryKind

MAX_QUERIES = 8

EVERYTHING = "*"
"""What a search for all that is kept, newest first, is asked by."""


def search_queries(scene: Scene, cues: Cues, wishes: Sequence[Wish]) -> list[str]:
    """Return the short isolated phrases to look for."""
    found: list[str] = []
    for wish in wishes:
        match wish.intent:
            case Intent.LIST:
                found.append(EVERYTHING)
            case Intent.UPDATE if wish.agreed:
                found += [option.rsplit(" (", 1)[0].strip("“”` ") for option in wish.targets]
            case Intent.DELETE if deletion.everything(cues, wish):
                found.append(EVERYTHING)
            case Intent.DELETE:
                found += queries(deletion.about_deletion(scene, cues, wish) or wish.text)
            case Intent.UPDATE:
                told = moves.change_of(cues, wish)
                found += queries(told.subject or wish.text)
            case Intent.ASK:
                found += [query for piece in wish.said for query in queries(cues.opened(piece))]
            case _:
                pass
    return list(dict.fromkeys(found))[:MAX_QUERIES] or [scene.message]


def save_drafts(scene: Scene, cues: Cues, wishes: Sequence[Wish]) -> list[JSONValue]:
    """Return what to save, in the shape of a MemoryDraft."""
    said = [piece for wish in wishes if wish.intent is Intent.SAVE for piece in wish.said]
    changes = [moves.change_of(cues, wish) for wish in wishes if wish.intent is Intent.UPDATE and not wish.agreed]
    said += [change.told or change.statement for change in changes]
    return [
        {"type": draft.kind.value, "content": _dated(draft, scene), "bindings": list(draft.bindings)}
        for draft in drafts(cues, [piece for piece in said if piece])
    ]


def _dated(draft: MemoryDraft, scene: Scene) -> str:
    return draft.content if draft.kind is MemoryKind.JSON else dated(draft.content, scene.brief.now)


def update_drafts(scene: Scene, cues: Cues, wishes: Sequence[Wish]) -> list[JSONValue]:
    """Return the new text of the one memory that each wish changes; phrases change if they held the old value."""
    found: list[JSONValue] = []
    for wish in wishes:
        if wish.intent is not Intent.UPDATE:
            continue
        told = moves.change_of(cues, wish)
        chosen = targets(scene, wish) if wish.agreed else fits(told.aim, scene.found or scene.shown)[0]
        if chosen and told.value:
            text = dated(renewed(chosen[0].content, told)[0], scene.brief.now)
            found.append({"id": chosen[0].id, "type": None, "content": text, "bindings": _rebound(chosen[0], text)})
    return found


def _rebound(item: MemoryItem, text: str) -> list[JSONValue] | None:
    """Return the phrases for the new text, or None where those it has name nothing that is gone."""
    gone = {fold(word) for word in words(item.content)} - {fold(word) for word in words(text)}
    stale = [phrase for phrase in item.bindings if gone & {fold(word) for word in words(phrase)}]
    if not stale:
        return None
    kept = [phrase for phrase in item.bindings if phrase not in stale]
    return list(dict.fromkeys((*kept, *bindings(text))))


def delete_ids(scene: Scene, cues: Cues, wishes: Sequence[Wish]) -> list[JSONValue]:
    """Return the ids of the memories whose deletion is to be proposed."""
    wanted = (wish for wish in wishes if wish.intent is Intent.DELETE)
    return list(dict.fromkeys(item.id for wish in wanted for item in deletion.proposed(scene, cues, wish)))


# --- reports ---------------------------------------------------------------------------------------------------------


def report(brief: PromptContext) -> str:
    """Return one short text on what the last step found; what was written is told without us."""
    if not brief.steps:
        return say.FAILED[brief.locale]
    step = brief.steps[-1]
    if step.outcome in {Outcome.FAILED, Outcome.REPEATED}:
        return say.FAILED[brief.locale]
    return _search_report(step, brief.locale) if step.action == SEARCH else NOTHING_TO_ADD


def _search_report(step: Step, locale: Locale) -> str:
    if EVERYTHING in step.queries:
        return say.LOOKED_AT_ALL[locale].format(count=len(step.items))
    first = quoted(step.queries[0]) if step.queries else "…"
    told = say.FOUND_NOTHING if not step.items else say.FOUND_ONE if len(step.items) == 1 else say.FOUND_MANY
    return told[locale].format(queries=first, count=len(step.items))
