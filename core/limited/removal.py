"""Choose the memories that a person asks to delete: those that are named, and no others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from core.limited import frames
from core.limited.reading import MessagePart
from core.limited.scene import Scene
from core.text.senses import is_kind, senses, subject
from core.text.unicode import flat
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
    found, before = matching(_named_after(part), scene.found), _before(part)
    if found or not before:
        return found
    return nearest(f"{before} {_named_after(part)}", scene.found)  # "Tainá cancelled, delete her appointment"


def matching(phrase: str, found: Sequence[MemoryItem]) -> list[MemoryItem]:
    """Return the memories that hold most of a phrase, if that is enough of it.

    A word for a kind of thing (password, birthday) weighs less than a name: "the netflix password" is not another one.
    """
    weights = {sense: 1 if is_kind(sense) else _NAME_WEIGHT for sense in senses(phrase)}
    held = [weights.keys() & senses(" ".join((item.content, *item.bindings))) for item in found]
    shares = [sum(weights[sense] for sense in each) / max(sum(weights.values()), 1) for each in held]
    top = max(shares, default=0)
    best = [each for each, share in zip(held, shares, strict=True) if share == top]
    is_other = any(is_kind(sense) for sense in weights.keys() - frozenset().union(*best))  # no such appointment
    if top < (_MATCHING_NAME if is_other else _MATCHING):
        return []
    return [item for item, share in zip(found, shares, strict=True) if share == top][:MAX_PROPOSED]


def nearest(said: str, found: Sequence[MemoryItem]) -> list[MemoryItem]:
    """Return the one memory that shares most names with what was said, if no other shares as many."""
    about = {sense for sense in senses(said) if not is_kind(sense)}
    shared = [len(about & senses(" ".join((item.content, *item.bindings)))) for item in found]
    top = max(shared, default=0)
    return [found[shared.index(top)]] if top and shared.count(top) == 1 else []


@cache
def _whole(name: str) -> re.Pattern[str]:
    return re.compile(rf"\W*(?:{frames.pattern(name).pattern})(?!\w)")
