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
from core.text.senses import is_kind, sense, senses, subject, words
from core.text.subject import ARTICLES
from core.text.unicode import flat
from core.text.words import folded_words
from core.types import MemoryItem

MAX_PROPOSED: Final = 25
_MATCHING: Final = 0.5
"""The share of the weight of what is named that a memory must hold."""

_MATCHING_NAME: Final = 0.66
"""That share where it lacks the kind of thing that is named: of "Ben's appointment", another of Ben has the name."""

_NAME_WEIGHT: Final = 2
_ANY_MEMORY: Final = senses("note thing bit memory matter nota anotação memória coisa lembrança recuerdo cosa asunto")
"""Words for what is kept, whatever it is: "that tablets note"."""

_MAX_NAMES: Final = 8
_FEW_WORDS: Final = 3
"""With so many words, what stands before a wish to delete may be worth keeping itself."""

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


def names(part: MessagePart) -> list[str]:
    """Return what the person calls each thing to be deleted: three in "forget the pin, the gym code and bus 12"."""
    each = [subject(phrase, asking=True) for phrase in _phrases_after(part)]
    return list(filter(None, each)) or list(filter(None, [named(part)]))


def _named_after(part: MessagePart) -> str:
    """Return what stands behind the verb, up to a reason: "the pin, they gave us a new card"."""
    return next(iter(_phrases_after(part)), "")


def _phrases_after(part: MessagePart) -> list[str]:
    """Return the phrases between commas that stand behind the verb: things, or a thing and a reason."""
    about = part.about.strip(" ,:;")
    said = frames.begun("said_of", about)
    about = about if is_last(part) or is_everything(part) else about[said:]
    end = frames.pattern("reason").search(flat(about), 1)
    about = about[: end.start()] if end else about
    if _whole("pointed").match(flat(about)):
        return []
    first, *others = [phrase for phrase in re.split(r"\s*[,;]\s*", about) if phrase][:_MAX_NAMES] or [""]
    return [first, *others] if all(map(_is_thing, others)) else [first]


def _is_thing(phrase: str) -> bool:
    """Return whether what follows in a list is a thing, too, and no reason."""
    first, *others = folded_words(phrase) or [""]
    return first in ARTICLES or len(others) < _FEW_WORDS or _AND.search(phrase) is not None


def _before(part: MessagePart) -> str:
    """Return what stands before the verb: "Harlow paid, you can delete that"."""
    verb = frames.removed(part.text)
    return part.text[: verb[0]] if verb else ""


def may_tell(part: MessagePart) -> bool:
    """Return whether what asks to delete something may tell something: "rule: wash hands and bin the gloves"."""
    before = _before(part)
    is_stated = len(before[frames.opened(before) :].split()) >= _FEW_WORDS
    return not part.is_sure or (is_stated and bool(_named_after(part))) or bool(frames.told_of(part.text))


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
    found, before = _all_named(_phrases_after(part), scene.found) if part.is_sure else [], _before(part)
    if found or (part.is_sure and not before):
        return found
    # "Tainá cancelled, delete her appointment"
    said = f"{before} {_named_after(part)}" if part.is_sure else without_values(part.about)
    return nearest(said, scene.found, by_kind=True)


def settled(scene: Scene, parts: Sequence[MessagePart]) -> tuple[MessagePart, ...]:
    """Return the parts, those as what else they are for that may ask to delete something where no memory is near it.

    What one before is to keep is then told with it, once.
    """
    found: list[MessagePart] = []
    for part in parts:
        other = part.otherwise
        if other is None or scene.can_search or proposed(scene, part):
            found.append(part)
            continue
        if found and found[-1].text and other.text.startswith(found[-1].text):
            found.pop()
        found.append(other)
    return tuple(found)


def _all_named(phrases: Sequence[str], found: Sequence[MemoryItem]) -> list[MemoryItem]:
    """Return the memories that each thing of a list names; those that the first phrase names, if the others name none.

    What follows may be a reason: "the pin, they gave us a new card".
    """
    items = [item for phrase in phrases[:1] for item in _of_phrase(phrase, found)]
    others = [_of_phrase(phrase, found) for phrase in phrases[1:]]
    if items and all(others):
        items += [item for each in others for item in each]
    return list({item.id: item for item in items}.values())


def _of_phrase(phrase: str, found: Sequence[MemoryItem]) -> list[MemoryItem]:
    """Return the memories that each part of a phrase names, if the first names any; else those that the whole does."""
    each = [matching(name, found) for name in _AND.split(phrase)]
    return [item for items in each for item in items] if each[0] and len(each) > 1 else matching(phrase, found)


def matching(phrase: str, found: Sequence[MemoryItem]) -> list[MemoryItem]:
    """Return the memories that hold most of a phrase, if that is enough of it.

    A word for a kind of thing (password, birthday) weighs less than a name: "the netflix password" is not another one.
    """
    telling = senses(phrase) - _ANY_MEMORY or senses(phrase)
    weights = {name: 1 if is_kind(name) else _NAME_WEIGHT for name in telling}
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
    """Return the one memory that shares most names with what was said, or of several the first: else none.

    Where none shares any, it is with `by_kind` the one that calls a kind of thing as they do: "the meeting".
    """
    about = {name for name in senses(said) if not is_kind(name)}
    shared = [len(about & _held(item)) for item in found]
    if by_kind and not any(shared):
        kinds = {word for word in folded_words(said) if is_kind(sense(word))}
        shared = [len(kinds.intersection(folded_words(item.content))) for item in found]
    top = max(shared, default=0)
    best = [item for item, count in zip(found, shared, strict=True) if count == top > 0]
    for name in map(sense, words(said)) if len(best) > 1 else ():
        if name in about and (naming := [item for item in best if name in _held(item)]):
            best = naming
            break
    return best if len(best) == 1 else []


def phrases(part: MessagePart) -> Sequence[str]:
    """Return what may name one thing among others to be deleted, the likeliest first.

    It is what stands behind the verb, what is named, or anything: "he took me off the pills, you can delete that".
    """
    verb = frames.removed(part.text) or frames.rids(part.text)
    if verb is None:
        return [part.about]
    behind = re.split(r"[,;]", frames.pattern("reason").split(flat(part.text[verb[1] :].strip()), 1)[0], maxsplit=1)[0]
    return [behind, named(part), f"{part.text[: verb[0]]} {part.text[verb[1] :]}"]


@cache
def _whole(name: str) -> re.Pattern[str]:
    return re.compile(rf"\W*(?:{frames.pattern(name).pattern})(?!\w)")
