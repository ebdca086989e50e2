"""Choose the memories that a person asks to delete: those that are named, and no others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from core.limited import frames
from core.limited.change import without_values
from core.limited.reading import MessagePart
from core.limited.scene import Scene
from core.text.senses import is_kind, sense, senses, subject
from core.text.unicode import flat
from core.text.words import folded_words
from core.types import MemoryItem

MAX_PROPOSED: Final = 25
_MATCHING: Final = 0.5
"""The share of the weight of what is named that a memory must hold."""

_MATCHING_NAME: Final = 0.66
"""That share where it lacks the kind of thing that is named: of "Ben's appointment", another of Ben has the name."""

_NAME_WEIGHT: Final = 2
_CLAUSE_END: Final = re.compile(
    r"[,;.!?\n]|\b(?:porque|pq|ja que|que ja|because|bc|since|cause|cuz|theyve|they've|porque|ya que|pues)\b"
)


_AND: Final = re.compile(r"\s*,?\s+(?:e|y|and)\s+|\s*&\s*", re.IGNORECASE)


def is_everything(part: MessagePart) -> bool:
    """Return whether all memories are to be deleted."""
    return _whole("all").match(flat(part.about)) is not None


def is_last(part: MessagePart) -> bool:
    """Return whether what was said last is to be deleted: "what I just told you"."""
    return frames.has("last", part.about)


def wants_all(part: MessagePart) -> bool:
    """Return whether it takes a look at all memories, to delete them or the newest."""
    return is_everything(part) or is_last(part)


def named(part: MessagePart) -> str:
    """Return what the person calls the thing to be deleted; "" for "delete that", which points at it."""
    return subject(_named_after(part), asking=True) or subject(_before(part))


def _named_after(part: MessagePart) -> str:
    """Return what stands behind the verb, up to a reason: "the pin, they gave us a new card"."""
    about = part.about.strip(" ,:;")
    end = _CLAUSE_END.search(flat(about), 1)
    about = about[: end.start()] if end else about
    return "" if _whole("pointed").match(flat(about)) else about


def _before(part: MessagePart) -> str:
    """Return what stands before the verb: "Harlow paid, you can delete that"."""
    verb = frames.removed(part.text)
    return part.text[: verb[0]] if verb else ""


def proposed(scene: Scene, part: MessagePart) -> Sequence[MemoryItem]:
    """Return the memories whose deletion is to be proposed, as far as this turn knows them."""
    if scene.can_search:
        return ()
    if is_everything(part):
        return scene.found[:MAX_PROPOSED]
    if is_last(part):
        return [max(scene.found, key=lambda item: item.updated_at)] if scene.found else []
    if not named(part):
        return scene.quoted[-1:]
    found, before = _all_named(_named_after(part), scene.found) if part.is_sure else [], _before(part)
    if found or (part.is_sure and not before):
        return found
    # "Tainá cancelled, delete her appointment"
    said = f"{before} {_named_after(part)}" if part.is_sure else without_values(part.about)
    return nearest(said, scene.found, by_kind=True)


def settled(scene: Scene, part: MessagePart) -> MessagePart:
    """Return a part as what else it is for, if it may ask to delete something and no one memory is near it."""
    is_none = part.otherwise is not None and not scene.can_search and not proposed(scene, part)
    return part.otherwise if is_none and part.otherwise is not None else part


def _all_named(phrase: str, found: Sequence[MemoryItem]) -> list[MemoryItem]:
    """Return the memories that each part of a phrase names, if each names any; else those that the whole does."""
    each = [matching(name, found) for name in _AND.split(phrase)]
    return list({item.id: item for items in each for item in items}.values()) if all(each) else matching(phrase, found)


def matching(phrase: str, found: Sequence[MemoryItem]) -> list[MemoryItem]:
    """Return the memories that hold most of a phrase, if that is enough of it.

    A word for a kind of thing (password, birthday) weighs less than a name: "the netflix password" is not another one.
    """
    weights = {name: 1 if is_kind(name) else _NAME_WEIGHT for name in senses(phrase)}
    held = [weights.keys() & _held(item) for item in found]
    shares = [sum(weights[name] for name in each) / max(sum(weights.values()), 1) for each in held]
    top = max(shares, default=0)
    best = [each for each, share in zip(held, shares, strict=True) if share == top]
    is_other = any(is_kind(name) for name in weights.keys() - frozenset().union(*best))  # no such appointment
    if top < (_MATCHING_NAME if is_other else _MATCHING):
        return []
    return [item for item, share in zip(found, shares, strict=True) if share == top][:MAX_PROPOSED]


def _held(item: MemoryItem) -> frozenset[str]:
    """Return what a memory has of names, and of kinds of things that it calls so: what finds it may guess at these."""
    return senses(item.content) | {name for name in senses(" ".join(item.bindings)) if not is_kind(name)}


def nearest(said: str, found: Sequence[MemoryItem], *, by_kind: bool = False) -> list[MemoryItem]:
    """Return the one memory that shares most names with what was said; none if another shares as many.

    Where none shares any, it is with `by_kind` the one that calls a kind of thing as they do: "the meeting".
    """
    about = {name for name in senses(said) if not is_kind(name)}
    shared = [len(about & _held(item)) for item in found]
    if by_kind and not any(shared):
        kinds = {word for word in folded_words(said) if is_kind(sense(word))}
        shared = [len(kinds.intersection(folded_words(item.content))) for item in found]
    top = max(shared, default=0)
    if top and shared.count(top) == 1:
        return [found[shared.index(top)]]
    return []


def phrases(part: MessagePart) -> Sequence[str]:
    """Return what may name one thing among others to be deleted, the likeliest first.

    It is what stands behind the verb, what is named, or anything: "he took me off the pills, you can delete that".
    """
    verb = frames.removed(part.text) or frames.rids(part.text)
    if verb is None:
        return [part.about]
    behind = _CLAUSE_END.split(flat(part.text[verb[1] :].strip()), 1)[0]
    return [behind, named(part), f"{part.text[: verb[0]]} {part.text[verb[1] :]}"]


@cache
def _whole(name: str) -> re.Pattern[str]:
    return re.compile(rf"\W*(?:{frames.pattern(name).pattern})(?!\w)")
