"""The data that an action asks for, and the line that reports what it did.

Knows wishes, memories and steps. Does not know how a wish was recognised, nor what comes next.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.dialogue import Brief, Outcome, Step
from core.mind import moves
from core.mind import sentences as say
from core.mind.change import fits, renewed
from core.mind.cues import Cues, Intent
from core.mind.extract import bindings, drafts, queries
from core.mind.scene import DELETE, SAVE, SEARCH, UPDATE, Scene, quoted
from core.mind.understanding import Wish
from core.mind.words import words
from core.types import JSONValue, Locale, Localized, MemoryItem
from core.unicode import fold

MAX_QUERIES = 8

_MORE_LIST_QUERIES: Localized = {
    Locale.PT: "alergia|telefone|trabalho|comida|consulta|dinheiro|código|viagem",
    Locale.EN: "allergy|phone|work|food|appointment|money|code|trip",
    Locale.ES: "alergia|teléfono|trabajo|comida|cita|dinero|código|viaje",
}
_LIST_QUERIES: Localized = {
    Locale.PT: "sobre mim|nome|aniversário|família|endereço|senha|gosto|*",
    Locale.EN: "about me|name|birthday|family|address|password|likes|*",
    Locale.ES: "sobre mí|nombre|cumpleaños|familia|dirección|contraseña|gustos|*",
}
"""What a person may have told about themselves; the last is a search's sign for everything."""

_CHANGES: dict[str, tuple[Localized, Localized]] = {
    SAVE: (say.SAVED, say.SAVED_NOTHING),
    UPDATE: (say.UPDATED, say.UPDATED_NOTHING),
    DELETE: (say.DELETED, say.DELETED_NOTHING),
}


def search_queries(scene: Scene, cues: Cues, wishes: Sequence[Wish]) -> list[str]:
    """Return the short isolated phrases to look for."""
    found: list[str] = []
    for wish in wishes:
        match wish.intent:
            case Intent.LIST:
                found += _list_queries(scene)
            case Intent.DELETE | Intent.UPDATE if wish.agreed:
                found += [option.rsplit(" (", 1)[0].strip("“”` ") for option in wish.targets]
            case Intent.DELETE if moves.everything(cues, wish):
                found += _list_queries(scene)
            case Intent.DELETE:
                found += queries(moves.about_deletion(scene, cues, wish) or wish.text)
            case Intent.UPDATE:
                told = moves.change_of(cues, wish)
                found += queries(told.subject or wish.text)
            case Intent.ASK:
                found += [query for piece in wish.said for query in queries(cues.opened(piece))]
            case _:
                pass
    return list(dict.fromkeys(found))[:MAX_QUERIES] or [scene.message]


def _list_queries(scene: Scene) -> list[str]:
    """Return what a list is made of: at first what people tell most, then the rest."""
    return (_MORE_LIST_QUERIES if scene.ran(SEARCH) else _LIST_QUERIES)[scene.locale].split("|")


def save_drafts(cues: Cues, wishes: Sequence[Wish]) -> list[JSONValue]:
    """Return what to save, in the shape of a MemoryDraft."""
    said = [piece for wish in wishes if wish.intent is Intent.SAVE for piece in wish.said]
    said += [
        moves.change_of(cues, wish).statement for wish in wishes if wish.intent is Intent.UPDATE and not wish.agreed
    ]
    return [
        {"type": draft.kind.value, "content": draft.content, "bindings": list(draft.bindings)}
        for draft in drafts(cues, [piece for piece in said if piece])
    ]


def update_drafts(scene: Scene, cues: Cues, wishes: Sequence[Wish]) -> list[JSONValue]:
    """Return the new text of the one memory that each wish changes; phrases change if they held the old value."""
    found: list[JSONValue] = []
    for wish in wishes:
        if wish.intent is not Intent.UPDATE:
            continue
        told = moves.change_of(cues, wish)
        chosen = moves.targets(scene, wish) if wish.agreed else fits(told.aim, scene.found or scene.shown)[0]
        if chosen and told.value:
            text, _ = renewed(chosen[0].content, told)
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


def delete_ids(scene: Scene, wishes: Sequence[Wish]) -> list[JSONValue]:
    """Return the ids of the memories whose deletion the person agreed to."""
    agreed = (wish for wish in wishes if wish.intent is Intent.DELETE and wish.agreed)
    return [item.id for wish in agreed for item in moves.targets(scene, wish)]


# --- reports ---------------------------------------------------------------------------------------------------------


def report(brief: Brief) -> str:
    """Return one short text on what the last step did."""
    if not brief.steps:
        return say.FAILED[brief.locale]
    step = brief.steps[-1]
    if step.outcome in {Outcome.FAILED, Outcome.REPEATED}:
        return say.FAILED[brief.locale]
    if step.action == SEARCH:
        return _search_report(step, brief.locale)
    done, nothing = _CHANGES.get(step.action, (say.ACK, say.ACK))
    if step.outcome is Outcome.NOTHING or not step.items:
        return nothing[brief.locale]
    lines = [quoted(item.content) for item in step.items]
    if len(lines) == 1:
        return f"{done[brief.locale]} {lines[0]}"
    return "\n".join((done[brief.locale], *(f"- {quote}" for quote in lines)))


def _search_report(step: Step, locale: Locale) -> str:
    first = quoted(step.queries[0]) if step.queries else "…"
    told = say.FOUND_NOTHING if not step.items else say.FOUND_ONE if len(step.items) == 1 else say.FOUND_MANY
    return told[locale].format(queries=first, count=len(step.items))
