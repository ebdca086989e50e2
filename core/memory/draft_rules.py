"""Drafts made fit to be stored, and joined where they say the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core.text.unicode import clean, fold, one_line
from core.types import MemoryDraft, MemoryItem

MAX_PHRASE_CHARS = 200


def cleaned(draft: MemoryDraft) -> MemoryDraft:
    """Return the draft with clean texts, and each binding once; empty ones are left out."""
    return MemoryDraft(draft.kind, clean(draft.content), _once(clean(binding) for binding in draft.bindings))


def phrases_of(draft: MemoryDraft) -> tuple[str, ...]:
    """Return the texts that a draft is found by, and that need vectors: bindings and content, cleaned, each once."""
    ready = cleaned(draft)
    return tuple(dict.fromkeys(text for text in (*ready.bindings, ready.content) if text))


def distinct(drafts: Sequence[MemoryDraft]) -> Sequence[MemoryDraft]:
    """Return the drafts, those of one kind and content made one that has the bindings of all."""
    found: dict[tuple[str, str], MemoryDraft] = {}
    for draft in drafts:
        key = (draft.kind, fold(draft.content))
        found[key] = merged(found[key], draft) if key in found else draft
    return list(found.values())


def merged(known: MemoryDraft, draft: MemoryDraft) -> MemoryDraft:
    """Return what is known, with those bindings of the draft that it lacks."""
    return MemoryDraft(known.kind, known.content, _once((*known.bindings, *draft.bindings)))


def said_again(item: MemoryItem, draft: MemoryDraft, room: str) -> tuple[MemoryDraft, tuple[str, ...]]:
    """Return a memory whose content was said again in a room ("": in private), and the rooms where it is heard now.

    The phrases that it is found by are heard wherever the content is: one that was not said in every such place goes.
    """
    rooms = tuple(sorted({*item.rooms, room} - {""}))
    known = [phrase for phrase in item.bindings if rooms == item.rooms or phrase in draft.bindings]
    new = draft.bindings if not item.shared and set(rooms) <= {room} else ()
    bindings = _once((*known, *new)) or (one_line(item.content, MAX_PHRASE_CHARS),)
    return MemoryDraft(item.kind, item.content, bindings), rooms


def _once(bindings: Iterable[str]) -> tuple[str, ...]:
    """Return the first of the bindings that differ by case and accents only, none empty."""
    found: dict[str, str] = {}
    for binding in bindings:
        if binding:
            found.setdefault(fold(binding), binding)
    return tuple(found.values())
